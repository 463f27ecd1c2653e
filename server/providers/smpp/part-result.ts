/** Decides the outcome of a message whose first part was not accepted. Pure. */

import type { Outcome } from "../provider.ts";
import type { SubmitResult } from "./link.ts";
import { describeStatus, type StatusClass, statusOf } from "./status.ts";

/** The result of submitting a part: the link's result, or that SMPP cannot encode the part. */
export type PartResult = SubmitResult | { answer: "notWritable"; reason: string };

type Deferred = Extract<Outcome, { outcome: "deferred" }>;
type PartFailure = Deferred | Extract<Outcome, { outcome: "rejected" }>;

/** A message that found no room in time is retried after this. */
export const RETRY_AFTER_MS = 1_000;
/** The retry after a status that says that the session or the account cannot send now. */
const BIND_RETRY_AFTER_MS = 10_000;

/**
 * The status classes that defer a message, and for how long: null leaves the delay to the engine. All other classes are
 * final.
 */
const PUT_OFF: Partial<Record<StatusClass, (throttledMs: number) => Pick<Deferred, "retryAfterMs" | "isDown">>> = {
  transient: () => ({ retryAfterMs: null }),
  throttled: (throttledMs) => ({ retryAfterMs: throttledMs }),
  bind: () => ({ retryAfterMs: BIND_RETRY_AFTER_MS, isDown: true }),
};

/**
 * Returns null if the part was accepted or may have been. Otherwise `rejected` if the SMSC would refuse the part again,
 * or `deferred` if it may accept it later. `throttledMs` is the present pause after a throttling status.
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

/** Whether the part may be submitted again: it was not accepted, and may be later. */
export function isRetryable(answer: PartResult): boolean {
  return failureOf(answer, 0)?.outcome === "deferred";
}

/** The outcome while the instance can send nothing. */
export function unavailable(reason: string): PartFailure {
  return { outcome: "deferred", retryAfterMs: null, reason, isDown: true };
}

/** Says why a part was not accepted, or why its result is unknown. */
export function reasonOf(answer: Exclude<PartResult, { answer: "ok" }>): string {
  return answer.answer === "refused" ? `the SMSC refuses it: ${describeStatus(answer.status)}` : answer.reason;
}
