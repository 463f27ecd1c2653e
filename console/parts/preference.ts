/** Choices of this browser's reader, as React components use them. */

import { useCallback, useSyncExternalStore } from "react";
import { onPreference, readPreference, writePreference } from "./kept.ts";

/** A choice and its setter. */
export function usePreference(name: string, fallback: string): [string, (value: string) => void] {
  const value = useSyncExternalStore(onPreference, () => readPreference(name)) ?? fallback;
  const set = useCallback((next: string) => writePreference(name, next), [name]);
  return [value, set];
}
