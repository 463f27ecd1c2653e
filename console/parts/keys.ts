/** Key bindings: a component binds keys while it is shown, the last one that binds a key has it, and `?` lists them all. */

import { useLayoutEffect, useRef, useSyncExternalStore } from "react";

/** A key and its action. `label` is shown in the help. */
export interface KeyBinding {
  key: string;
  label: string;
  run: () => void;
  /** Whether the key also works while somebody types; `empty`: only in a field without text, where the key is not typed then. */
  whileTyping?: WhileTyping;
}

type WhileTyping = boolean | "empty";

/** Where a key was pressed: the name of the key, and whether keys mean text there. */
export interface Pressed {
  name: string;
  /** `text` in a field with text, `empty` in one without, null elsewhere. */
  field: "text" | "empty" | null;
  /** Whether a dialog is open: its keys are its own. */
  isModal: boolean;
}

/** The binding that a key has, of all bindings, the oldest first; undefined if it has none there. Pure. */
export function findBinding(
  bindings: readonly KeyBinding[],
  { name, field, isModal }: Pressed,
): KeyBinding | undefined {
  const found = bindings.findLast(({ key }) => key === name);
  if (found === undefined || found.whileTyping === true) return found;
  if (isModal || field === "text" || (field === "empty" && found.whileTyping !== "empty")) return undefined;
  return found;
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
            const typing: WhileTyping = whileTyping === "empty" ? "empty" : whileTyping === "true";
            return { key, label, run, whileTyping: typing };
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

/** Whether an element is a field, and has text. A choice always has one. */
function fieldAt(target: EventTarget | null): Pressed["field"] {
  if (!isTyping(target)) return null;
  const isText = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
  return isText && target.value === "" ? "empty" : "text";
}

function onKeyDown(event: KeyboardEvent): void {
  // AltGr makes characters, such as ~ on many keyboards; Windows tells it as Ctrl and Alt.
  const isAltGraph = event.getModifierState("AltGraph");
  if ((event.altKey && !isAltGraph) || event.defaultPrevented) return;
  const name = (!isAltGraph && (event.metaKey || event.ctrlKey) ? "Mod+" : "") + event.key;
  const found = findBinding(bound, { name, field: fieldAt(event.target), isModal: isModal() });
  if (found === undefined) return;
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
