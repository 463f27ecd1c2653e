/** Toasts: what an action did, for some seconds, at the edge of the page. */

import { useEffect, useSyncExternalStore } from "react";
import { IconButton } from "./button.tsx";
import { Icon } from "./icons.tsx";

interface Toast {
  id: number;
  tone: "good" | "bad";
  text: string;
}

const SHOWN_MS = 5_000;
const SHOWN_MAX = 3;

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function dismiss(id: number): void {
  change(toasts.filter((toast) => toast.id !== id));
}

/** Says that something was done. */
export function toast(text: string): void {
  change([...toasts, { id: ++lastId, tone: "good" as const, text }].slice(-SHOWN_MAX));
}

/** Says why something was refused, in the service's own words. */
export function toastError(error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  change([...toasts, { id: ++lastId, tone: "bad" as const, text }].slice(-SHOWN_MAX));
}

/** Where toasts are shown. */
export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div
      role="status"
      aria-live="polite"
      className="pointer-events-none fixed right-4 bottom-4 z-[60] flex w-80 max-w-[calc(100vw-2rem)] flex-col gap-2"
    >
      {shown.map((one) => (
        <ToastCard key={one.id} toast={one} />
      ))}
    </div>
  );
}

function ToastCard({ toast: { id, tone, text } }: { toast: Toast }) {
  useEffect(() => {
    const timer = setTimeout(() => dismiss(id), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [id]);
  return (
    <div className="pointer-events-auto flex items-start gap-2 rounded-lg border bg-raised py-2 pr-1 pl-3 shadow-lg">
      <Icon
        name={tone === "good" ? "check" : "warning"}
        className={`mt-0.5 ${tone === "good" ? "text-good" : "text-bad"}`}
      />
      <p className="min-w-0 flex-1">{text}</p>
      <IconButton label="Dismiss" icon="close" className="-my-1" onClick={() => dismiss(id)} />
    </div>
  );
}
