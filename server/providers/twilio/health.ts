/** How an instance is, in words that an operator can act on. Pure. */

import type { Health } from "../provider.ts";
import type { CodeKind } from "./codes.ts";
import { codeMeaning } from "./codes.ts";
import { canBeReached, type TwilioSettings } from "./settings.ts";

/** Codes that are the operator's to do something about, whichever message they came with. */
const OPERATORS: ReadonlySet<CodeKind> = new Set(["sender", "account"]);
/** How long it is told that one came, in milliseconds. */
const TOLD_MS = 3_600_000;

/** Codes that came lately, each with when. Bounded by the codes there are. */
export class RecentErrorCodes {
  readonly #at = new Map<number, number>();

  /** A code came at the real time `now`. */
  note(code: number, now: number): void {
    if (OPERATORS.has(codeMeaning(code)?.kind ?? "content")) this.#at.set(code, now);
  }

  warnings(now: number): string[] {
    const recent = [...this.#at].filter(([, at]) => now - at < TOLD_MS);
    return recent.map(([code]) => `A message failed within the last hour: ${codeMeaning(code)?.words} (${code})`);
  }
}

/** What is known of an instance. */
export interface HealthInputs {
  settings: TwilioSettings;
  hookUrl: string;
  /** Why nothing can be handed over; null when it can. */
  trouble: string | null;
  /** How much longer Twilio wants to be asked nothing, in milliseconds. */
  pausedMs: number;
  troubles: readonly string[];
}

/** The instance's health: unhealthy when nothing goes out, degraded when there is something to put in order. */
export function healthOf({ settings, hookUrl, trouble, pausedMs, troubles }: HealthInputs): Health {
  const warnings = [...troubles];
  if (!canBeReached(hookUrl, settings)) warnings.unshift(NO_WAY_IN);
  if (trouble !== null) return { status: "unhealthy", message: trouble, warnings };
  if (pausedMs > 0) {
    const seconds = Math.ceil(pausedMs / 1_000);
    return { status: "degraded", message: `Twilio is asked too fast; messages wait for ${seconds} s.`, warnings };
  }
  return { status: warnings.length > 0 ? "degraded" : "healthy", warnings };
}

const NO_WAY_IN =
  "TB_PUBLIC_URL is no public https:// address: inbound messages come a minute late, what became of a message is found " +
  "out by asking, and files kept here cannot be sent.";
