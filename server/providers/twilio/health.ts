/** The health of a Twilio instance, in sentences for an operator. Pure. */

import type { Health } from "../provider.ts";
import type { CodeKind } from "./codes.ts";
import { codeMeaning } from "./codes.ts";
import { canBeReached, type TwilioSettings } from "./settings.ts";

/** Kinds of codes that the operator can do something about. */
const OPERATORS: ReadonlySet<CodeKind> = new Set(["sender", "account"]);
/** How long a code is shown, in milliseconds. */
const SHOWN_MS = 3_600_000;

/** Error codes of the last hour. Bounded, since there are few codes. */
export class RecentErrorCodes {
  readonly #at = new Map<number, number>();

  /** Notes a code at the real time `now`. */
  note(code: number, now: number): void {
    if (OPERATORS.has(codeMeaning(code)?.kind ?? "content")) this.#at.set(code, now);
  }

  warnings(now: number): string[] {
    const recent = [...this.#at].filter(([, at]) => now - at < SHOWN_MS);
    return recent.map(([code]) => `A message failed within the last hour: ${codeMeaning(code)?.words} (${code})`);
  }
}

/** Warns of messages that came to no number of the service. `to`: where the last one went. */
export function unaddressedWarnings({ count, to }: { count: number; to: string }): string[] {
  if (count === 0) return [];
  const texts = count === 1 ? "1 text" : `${count} texts`;
  return [
    `${texts} came to an address that is no number of this service (last: ${to}), and nobody got ${count === 1 ? "it" : "them"}: add the number, or remove this instance's webhook from it at Twilio.`,
  ];
}

/** The state of an instance. */
export interface HealthInputs {
  settings: TwilioSettings;
  hookUrl: string;
  /** Why nothing can be sent; null if messages can be sent. */
  trouble: string | null;
  /** How long Twilio wants no requests, in milliseconds. */
  pausedMs: number;
  troubles: readonly string[];
}

/** Unhealthy if nothing can be sent, degraded if the operator should fix something. */
export function healthOf({ settings, hookUrl, trouble, pausedMs, troubles }: HealthInputs): Health {
  const warnings = [...troubles];
  if (!canBeReached(hookUrl, settings)) warnings.unshift(NO_WAY_IN);
  if (trouble !== null) return { status: "unhealthy", message: trouble, warnings };
  if (pausedMs > 0) {
    const seconds = Math.ceil(pausedMs / 1_000);
    return {
      status: "degraded",
      message: `Twilio limits the rate of requests; messages wait for ${seconds} s.`,
      warnings,
    };
  }
  return { status: warnings.length > 0 ? "degraded" : "healthy", warnings };
}

const NO_WAY_IN =
  "TB_PUBLIC_URL is not a public https:// address: inbound messages arrive a minute late, receipts are polled, " +
  "and files stored here cannot be sent.";
