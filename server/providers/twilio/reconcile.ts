/** Settles an unknown outcome: looks through what the account sent from this number to this recipient. Pure. */

import type { Outbound } from "../provider.ts";
import type { TwilioResponse } from "./api.ts";
import type { MessageRecord } from "./records.ts";

/** An answer proves that a message was never taken only so long after its hand-over, in milliseconds. */
const PROOF_MS = 60_000;
/** How far Twilio's clock and ours may be apart once their difference is known, and where it is not. */
const TOLERANCE_MS = 30_000;
const TOLERANCE_UNKNOWN_MS = 600_000;

/** What was found. `nobody knows` gives the reason. */
export type MatchResult = { message: MessageRecord } | "absent" | { reason: string };

/** All that the account has from one number to one recipient, and how far its clock is ahead of ours; null: not known. */
export interface MessageList {
  messages: readonly MessageRecord[];
  aheadMs: number | null;
}

/**
 * Which of the messages listed is this one. Compared are the two numbers (the list is of them), the time it was made and
 * the text; Twilio knows no name of ours. Those that are known to be other messages, by `isOther`, are none of it. Proof that
 * it was never taken is only a list in which nothing since the hand-over could be it, whatever its text: a service of the
 * account may change texts.
 */
export function findMatch(
  { messages, aheadMs }: MessageList,
  asked: Pick<Outbound, "text" | "attemptedAt">,
  { now, isOther }: { now: number; isOther: (sid: string) => boolean },
): MatchResult {
  const tolerance = aheadMs === null ? TOLERANCE_UNKNOWN_MS : TOLERANCE_MS;
  const since = asked.attemptedAt + (aheadMs ?? 0) - tolerance;
  const possible = messages.filter(
    ({ sid, isOutbound, createdAt }) => isOutbound && (createdAt ?? since) >= since && !isOther(sid),
  );
  const alike = possible.filter(({ body }) => body.trim() === asked.text.trim());
  const [first] = alike;
  if (first !== undefined && alike.length === 1) return { message: first };
  if (alike.length > 1) return { reason: "Twilio has several messages that it could be" };
  if (possible.length > 0) return { reason: "Twilio has a message of that time with another text" };
  if (now - asked.attemptedAt < PROOF_MS) return { reason: "Twilio does not have it yet" };
  return "absent";
}

/** How far the API's clock is ahead of the real time `now`, by an answer's `Date`; null where it has none. */
export function clockAheadMs({ headers }: TwilioResponse, now: number): number | null {
  const at = Date.parse(headers.date ?? "");
  return Number.isNaN(at) ? null : at - now;
}
