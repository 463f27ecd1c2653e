/** Matches a message with an unknown outcome to the account's messages between the same two numbers. Pure. */

import type { Outbound } from "../provider.ts";
import type { TwilioResponse } from "./api.ts";
import type { MessageRecord } from "./records.ts";

/** A message that is missing from the list proves nothing until this long after its attempt, in milliseconds. */
const PROOF_MS = 60_000;
/** How far Twilio's clock and ours may differ once their difference was measured, and if it was not. */
const TOLERANCE_MS = 30_000;
const TOLERANCE_UNKNOWN_MS = 600_000;

/** `reason`: why the outcome stays unknown. */
export type MatchResult = { message: MessageRecord } | "absent" | { reason: string };

/** The account's messages between two numbers, and how far its clock is ahead of ours; null: not measured. */
export interface MessageList {
  messages: readonly MessageRecord[];
  aheadMs: number | null;
}

/**
 * Finds a message in the list by its time and text, since Twilio stores no id of ours. `isOther` excludes messages that
 * are known to be others. The message is `absent` only if nothing since its attempt could be it, whatever its text,
 * because the account's services may change texts.
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
  if (alike.length > 1) return { reason: "several messages at Twilio match" };
  if (possible.length > 0) return { reason: "Twilio has a message from that time with another text" };
  if (now - asked.attemptedAt < PROOF_MS) return { reason: "Twilio's list does not contain the message yet" };
  return "absent";
}

/** How far the API's clock is ahead of the real time `now`, by the response's `Date`; null if it has none. */
export function clockAheadMs({ headers }: TwilioResponse, now: number): number | null {
  const at = Date.parse(headers.date ?? "");
  return Number.isNaN(at) ? null : at - now;
}
