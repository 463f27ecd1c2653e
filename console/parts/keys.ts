/** Key bindings: a component binds keys while it is shown, the last one that binds a key has it, and `?` lists them all. */

import { useLayoutEffect, useRef, useSyncExternalStore } from "react";

/** A key and its action. `label` is shown in the help. */
export interface KeyBinding {
  key: string;
  label: string;
  run: () => void;
  /** Whether the key also works while somebody types. */
  whileTyping?: boolean;
}

let bound: readonly KeyBinding[] = [];
const listeners = new Set<() => void>();

function change(next: readonly KeyBinding[]): void {
  bound = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Binds keys while the component is shown. The bindings may be new at each render: their keys and labels count. */
export function useKeys(bindings: readonly KeyBinding[]): void {
  const latest = useRef(bindings);
  latest.current = bindings;
  const names = bindings.map(({ key, label, whileTyping }) => `${key}\n${label}\n${whileTyping ?? false}`).join("\r");
  // Together with what is shown: a key that follows the sight of it works.
  useLayoutEffect(() => {
    const own =
      names === ""
        ? []
        : names.split("\r").map((name) => {
            const [key = "", label = "", whileTyping] = name.split("\n");
            const run = () => latest.current.find((one) => one.key === key)?.run();
            return { key, label, run, whileTyping: whileTyping === "true" };
          });
    change([...bound, ...own]);
    return () => change(bound.filter((one) => !own.includes(one as (typeof own)[number])));
  }, [names]);
}

/** All bindings that work now, one a key. */
export function useBoundKeys(): readonly KeyBinding[] {
  const all = useSyncExternalStore(subscribe, () => bound);
  return [...new Map(all.map((one) => [one.key, one])).values()];
}

/** Whether keys mean text at an element, such as the one that has the focus. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

/** Whether a dialog is open: its keys are its own. */
function isModal(): boolean {
  return document.querySelector('[role="dialog"]') !== null;
}

function onKeyDown(event: KeyboardEvent): void {
  const name = (event.metaKey || event.ctrlKey ? "Mod+" : "") + event.key;
  if (event.altKey || event.defaultPrevented) return;
  const found = bound.findLast(({ key }) => key === name);
  if (found === undefined || (found.whileTyping !== true && (isTyping(event.target) || isModal()))) return;
  // Enter and Space on a button or link are its own.
  if (event.key === "Enter" && event.target instanceof Element && event.target.closest("button, a, [role=tab]")) return;
  event.preventDefault();
  found.run();
}

/** The key of the palette as this keyboard has it. */
export function paletteKey(): string {
  return /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘K" : "Ctrl K";
}

/** Listens to the keyboard. Returns the end of it. */
export function listenToKeys(): () => void {
  addEventListener("keydown", onKeyDown);
  return () => removeEventListener("keydown", onKeyDown);
}
