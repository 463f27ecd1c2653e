/** Decides for each listed message whether the backfill reports it. Pure. */

import type { InboundAttachment } from "../../core/attachment.ts";
import { type ChosenWords, keywordOf } from "../../core/opt-out.ts";
import type { OptOutSignal } from "../provider.ts";
import type { InboundCursor } from "./inbound-cursors.ts";
import { inboundOfListed } from "./inbound-message.ts";
import type { MessageRecord } from "./records.ts";

/**
 * Each read begins this long before the cursor, in milliseconds, because messages appear in the list a little late. A
 * message whose files Twilio is still receiving may wait as long.
 */
export const OVERLAP_MS = 600_000;

const NO_FILES: readonly InboundAttachment[] = [];

/** The context of a decision. Instants are by the API's clock. */
export interface ListContext {
  number: string;
  /** Earlier messages are not news. */
  floor: number;
  now: number;
  /** Whether this process has reported the message. */
  isReported: (sid: string) => boolean;
}

/**
 * Decides by the first line that fits:
 *
 * | a message of the list | |
 * |---|---|
 * | not a contact's SMS to this number, or without a date | skipped |
 * | older than the number on this instance, or than the cursor | skipped |
 * | reported by this process, from the hook or the list | skipped |
 * | `receiving`, and not for long | waits for a later read |
 * | any other, also one that an earlier process reported | reported: the engine recognises a duplicate |
 */
export function decide(
  message: MessageRecord,
  { number, floor, now, isReported }: ListContext,
): "leave" | "wait" | "report" {
  const { sid, createdAt } = message;
  if (createdAt === null || message.to !== number || inboundOfListed(message, NO_FILES) === null) return "leave";
  if (createdAt < floor || isReported(sid)) return "leave";
  return message.status === "receiving" && now - createdAt < OVERLAP_MS ? "wait" : "report";
}

/** The time from which messages are news, by the API's clock: it is `aheadMs` ahead of ours and has whole seconds. */
export function floorOf({ bornAt, readUntil }: InboundCursor, aheadMs: number | null): number {
  const from = Math.floor((bornAt + (aheadMs ?? 0)) / 1_000) * 1_000;
  return readUntil === null ? from : Math.max(from, readUntil - OVERLAP_MS);
}

/** Whether a page, and so all pages after it, is older than `floor`: the API lists the newest first. */
export function isOlder(page: readonly MessageRecord[], floor: number): boolean {
  return page.length > 0 && page.every(({ createdAt }) => createdAt !== null && createdAt < floor);
}

/** Sorts a list by time, the oldest first, so that a thread gets its messages in order. */
export function oldestFirst(messages: readonly MessageRecord[]): readonly MessageRecord[] {
  return messages.toReversed().sort((a, b) => (a.createdAt ?? 0) - (b.createdAt ?? 0));
}

/**
 * A STOP that the contact wrote after this START, and that was received before it, so that the late START must not
 * cancel it, by the words of the customer of the number. Null if there is none. If the order is unclear, the STOP wins.
 */
export function stopAfter(
  { from, to, body }: MessageRecord,
  listed: readonly MessageRecord[],
  words: ChosenWords,
): OptOutSignal | null {
  if (from === null || to === null || keywordOf(body, words)?.intent !== "start") return null;
  const said = oldestFirst(listed).filter((one) => one.from === from && keywordOf(one.body, words) !== null);
  const last = keywordOf(said.at(-1)?.body ?? null, words);
  return last?.intent === "stop"
    ? { kind: "optOut", from, to, channel: "sms", request: "stop", keyword: last.word }
    : null;
}
