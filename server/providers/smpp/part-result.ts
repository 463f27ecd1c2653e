/** What becomes of a message whose first part was not taken, by the answer to that part. Pure. */

import type { Outcome } from "../provider.ts";
import type { SubmitResult } from "./link.ts";
import { describeStatus, type StatusClass, statusOf } from "./status.ts";

/** What became of one part: as the link says, or that it cannot be written at all. */
export type PartResult = SubmitResult | { answer: "notWritable"; reason: string };

type Deferred = Extract<Outcome, { outcome: "deferred" }>;
type PartFailure = Deferred | Extract<Outcome, { outcome: "rejected" }>;

/** A message that found no place in time comes again after this. */
export const RETRY_AFTER_MS = 1_000;
/** After a word that nothing goes at present: the session, or the account. */
const BIND_RETRY_AFTER_MS = 10_000;

/** What a status puts off, by its class, and for how long: null is as long as the service sees fit. All others are for good. */
const PUT_OFF: Partial<Record<StatusClass, (throttledMs: number) => Pick<Deferred, "retryAfterMs" | "isDown">>> = {
  transient: () => ({ retryAfterMs: null }),
  throttled: (throttledMs) => ({ retryAfterMs: throttledMs }),
  bind: () => ({ retryAfterMs: BIND_RETRY_AFTER_MS, isDown: true }),
};

/**
 * Null: it was taken, or may have been. Else `rejected`, where this part would be refused again, or `deferred`, where later it may be taken;
 * `throttledMs` is for how long nothing goes when it came too fast.
 */
export function failureOf(answer: PartResult, throttledMs: number): PartFailure | null {
  switch (answer.answer) {
    case "ok":
    case "unknown":
      return null;
    case "notSent":
      if (answer.isDown) return unavailable(answer.reason);
      return { outcome: "deferred", retryAfterMs: RETRY_AFTER_MS, reason: answer.reason };
    case "notWritable":
      return { outcome: "rejected", code: "NOT_WRITABLE", reason: `SMPP cannot carry it: ${answer.reason}.` };
    case "refused": {
      const status = statusOf(answer.status);
      const reason = reasonOf(answer);
      const putOff = PUT_OFF[status.class];
      if (putOff === undefined) return { outcome: "rejected", code: status.name, reason };
      return { outcome: "deferred", ...putOff(throttledMs), reason };
    }
  }
}

/** Whether a part that was answered so may be submitted again: it was not taken, and later it may be. */
export function isRetryable(answer: PartResult): boolean {
  return failureOf(answer, 0)?.outcome === "deferred";
}

/** Nothing can be handed over at present. */
export function unavailable(reason: string): PartFailure {
  return { outcome: "deferred", retryAfterMs: null, reason, isDown: true };
}

/** Why a part was not taken, or nobody knows, in words. */
export function reasonOf(answer: Exclude<PartResult, { answer: "ok" }>): string {
  return answer.answer === "refused" ? `the SMSC refuses it: ${describeStatus(answer.status)}` : answer.reason;
}
