/** Statuses as badges: a dot and a word. Red is only for what needs a hand. */

import type { ReactNode } from "react";

/** Colour of a badge. */
export type Tone = "good" | "warn" | "bad" | "accent" | "neutral";

const TONES: Record<Tone, string> = {
  good: "bg-good-soft text-good",
  warn: "bg-warn-soft text-warn",
  bad: "bg-bad-soft text-bad",
  accent: "bg-accent-soft text-accent",
  neutral: "bg-hover text-soft",
};

/** Colours of the statuses of messages, deliveries, payments, calls and health. */
const STATUS_TONES: Record<string, Tone> = {
  scheduled: "neutral",
  queued: "neutral",
  pending: "accent",
  sent: "accent",
  delivered: "good",
  read: "good",
  received: "good",
  failed: "bad",
  cancelled: "neutral",
  unsent: "neutral",
  succeeded: "good",
  exhausted: "bad",
  healthy: "good",
  ok: "good",
  degraded: "warn",
  unhealthy: "bad",
  unknown: "neutral",
  paid: "good",
  expired: "neutral",
};

/** Statuses that something still happens to: their dot pulses. */
const MOVING = new Set(["queued", "pending"]);

/** The colour of a status; neutral of one that is not known. */
export function toneOf(status: string): Tone {
  return STATUS_TONES[status] ?? "neutral";
}

/** The colour of an HTTP status. */
export function toneOfHttp(status: number | null): Tone {
  if (status === null || status >= 500) return "bad";
  if (status >= 400) return "warn";
  return status >= 300 ? "neutral" : "good";
}

/** A word on a soft ground. */
export function Badge({ tone = "neutral", title, children }: { tone?: Tone; title?: string; children: ReactNode }) {
  return (
    <span
      title={title}
      className={`inline-flex h-5 items-center gap-1.5 rounded-full px-2 text-xs font-medium whitespace-nowrap ${TONES[tone]}`}
    >
      {children}
    </span>
  );
}

/** The status of a record. */
export function StatusBadge({ status }: { status: string }) {
  return (
    <Badge tone={toneOf(status)}>
      <span
        aria-hidden="true"
        className={`size-1.5 rounded-full bg-current ${MOVING.has(status) ? "pulse-dot" : ""}`}
      />
      {status}
    </Badge>
  );
}
