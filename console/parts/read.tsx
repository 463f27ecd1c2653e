/** The result of a read in each of its states. */

import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Failed, Loading } from "./empty.tsx";
import { isGone } from "./refusals.ts";

interface ReadProps<Data> {
  found: Pick<UseQueryResult<Data>, "data" | "error" | "refetch">;
  /** Lines of the placeholder. */
  rows?: number;
  children: (data: Data) => ReactNode;
}

/** A placeholder, the refusal, or what `children` make of the data. What was read once stays while the service is away. */
export function Read<Data>({ found: { data, error, refetch }, rows, children }: ReadProps<Data>) {
  if (data !== undefined && !isGone(error)) return children(data);
  if (error !== null) return <Failed error={error} onRetry={() => void refetch()} />;
  return <Loading {...(rows === undefined ? {} : { rows })} />;
}
