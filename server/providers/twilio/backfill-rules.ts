/** What is to be done about the messages of a number's list. Pure. */

import { keywordOf } from "../../core/opt-out.ts";
import type { InboundAttachment, OptOutSignal } from "../provider.ts";
import type { InboundCursor } from "./inbound-cursors.ts";
import { inboundOfListed } from "./inbound-message.ts";
import type { MessageRecord } from "./records.ts";

/**
 * Each look begins so far before what was heard last, in milliseconds: messages come into the list a little late, and one
 * whose files are still being received is waited for as long.
 */
export const OVERLAP_MS = 600_000;

const NO_FILES: readonly InboundAttachment[] = [];

/** What is known when a message is looked at. Instants are by the API's clock. */
export interface ListContext {
  number: string;
  /** What came before is no news. */
  floor: number;
  now: number;
  /** Whether this process told the message. */
  isReported: (sid: string) => boolean;
}

/**
 * The table of the catch-up, first line that fits:
 *
 * | a message of the list | |
 * |---|---|
 * | not a contact's SMS to this number, or without a date | left |
 * | from before the number was here, or before what was looked through | left |
 * | told by this process, by the hook or by the list | left |
 * | still `receiving`, and not for long | waits for a later look |
 * | any other, also one that a process before told | told: the service knows a repeat |
 */
export function decide(
  message: MessageRecord,
  { number, floor, now, isReported }: ListContext,
): "leave" | "wait" | "tell" {
  const { sid, createdAt } = message;
  if (createdAt === null || message.to !== number || inboundOfListed(message, NO_FILES) === null) return "leave";
  if (createdAt < floor || isReported(sid)) return "leave";
  return message.status === "receiving" && now - createdAt < OVERLAP_MS ? "wait" : "tell";
}

/** From when on messages are news, by the API's clock, which is `aheadMs` ahead of ours and tells whole seconds. */
export function floorOf({ bornAt, heardAt }: InboundCursor, aheadMs: number | null): number {
  const from = Math.floor((bornAt + (aheadMs ?? 0)) / 1_000) * 1_000;
  return heardAt === null ? from : Math.max(from, heardAt - OVERLAP_MS);
}

/** Whether a page, and so all after it, is older than what is wanted: the API lists the newest first. */
export function isOlder(page: readonly MessageRecord[], floor: number): boolean {
  return page.length > 0 && page.every(({ createdAt }) => createdAt !== null && createdAt < floor);
}

/** As they were written, of a list that has the newest first: a thread has its messages in the order they are told. */
export function oldestFirst(messages: readonly MessageRecord[]): readonly MessageRecord[] {
  return messages.toReversed().sort((a, b) => (a.createdAt ?? 0) - (b.createdAt ?? 0));
}

/**
 * What a start that is told late must not take back: a stop that the same contact wrote after it, and that was heard before
 * it. Null where there is none. A stop that is told after a start stays: in doubt a contact is left alone.
 */
export function stopAfter({ from, to, body }: MessageRecord, listed: readonly MessageRecord[]): OptOutSignal | null {
  if (from === null || to === null || keywordOf(body)?.intent !== "start") return null;
  const said = oldestFirst(listed).filter((one) => one.from === from && keywordOf(one.body) !== null);
  const last = keywordOf(said.at(-1)?.body ?? null);
  return last?.intent === "stop"
    ? { kind: "optOut", from, to, channel: "sms", request: "stop", keyword: last.word }
    : null;
}
