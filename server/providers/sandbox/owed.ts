/** What a phone of the sandbox still owes for a message it took, and the entry in memory that outlives the process. Pure. */

import { CHANNELS, type Channel } from "../../../sdk/wire.ts";
import type { MessageId } from "../../core/id.ts";
import type { Outbound, Signal } from "../provider.ts";
import type { Step } from "./phones.ts";

/** Every key of an entry begins with it. */
export const OWED_PREFIX = "owed/";

/** A message that a phone took, until all its receipts are told. */
export interface Owed {
  key: string;
  messageId: MessageId;
  channel: Channel;
  /** When the phone begins with its receipts: epoch milliseconds, real. */
  beginsAt: number;
  steps: readonly Step[];
  /** Receipts told so far. Not in the entry: after a restart they are told again, which changes nothing. */
  told: number;
  /** The last receipt is being told, and with it the entry forgotten. */
  isEnding: boolean;
  /** Failed tries in a row at what comes next. */
  failures: number;
  /** Whether the entry came to be in memory. */
  stored: Promise<boolean>;
  stopTimer: () => void;
}

/** Key of the entry: one for a message on a channel, sorted as message ids are, by time. */
export function owedKey(messageId: MessageId, channel: Channel): string {
  return `${OWED_PREFIX}${messageId}/${channel}`;
}

/** What is owed for a message just taken. `stored` is to be set by whoever stores it. */
export function newOwed(
  message: Pick<Outbound, "messageId" | "channel">,
  beginsAt: number,
  steps: readonly Step[],
): Owed {
  const { messageId, channel } = message;
  return {
    key: owedKey(messageId, channel),
    messageId,
    channel,
    beginsAt,
    steps,
    told: 0,
    isEnding: false,
    failures: 0,
    stored: Promise.resolve(true),
    stopTimer: () => {},
  };
}

/** The sandbox's name for the hand-over: the same whenever it is asked for. */
export function referenceOf(owed: Owed): string {
  return `sbx_${owed.messageId.slice("msg_".length)}_${owed.channel}`;
}

/** The signal that tells of `step`. */
export function receiptOf(owed: Owed, step: Step): Signal {
  const { receipt, code, reason } = step;
  return {
    kind: "receipt",
    reference: referenceOf(owed),
    messageId: owed.messageId,
    channel: owed.channel,
    receipt,
    ...(code === undefined ? {} : { code }),
    ...(reason === undefined ? {} : { reason }),
  };
}

/** The entry's value. */
export function owedText(owed: Owed): string {
  return JSON.stringify({ beginsAt: owed.beginsAt, steps: owed.steps });
}

const KEY = new RegExp(`^${OWED_PREFIX}(msg_[^/]+)/(${CHANNELS.join("|")})$`);

/**
 * What an entry says is owed. Null for a key that is none of these. A value that cannot be read (another version wrote
 * it) still proves that the message was taken: `sent` is owed then.
 */
export function parseOwed(key: string, value: string): Owed | null {
  const [, id, word] = KEY.exec(key) ?? [];
  const channel = CHANNELS.find((candidate) => candidate === word);
  if (id === undefined || channel === undefined) return null;
  const { beginsAt, steps } = parseValue(value) ?? { beginsAt: 0, steps: [{ receipt: "sent", afterMs: 0 }] };
  return newOwed({ messageId: id as MessageId, channel }, beginsAt, steps);
}

function parseValue(text: string): Pick<Owed, "beginsAt" | "steps"> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isValue(value) ? value : null;
  } catch {
    return null;
  }
}

function isValue(value: unknown): value is Pick<Owed, "beginsAt" | "steps"> {
  if (typeof value !== "object" || value === null || !("beginsAt" in value) || !("steps" in value)) return false;
  const { beginsAt, steps } = value;
  return typeof beginsAt === "number" && Array.isArray(steps) && steps.length > 0 && steps.every(isStep);
}

const RECEIPTS: readonly unknown[] = ["sent", "delivered", "read", "failed"] satisfies Step["receipt"][];

function isStep(value: unknown): value is Step {
  if (typeof value !== "object" || value === null || !("receipt" in value) || !("afterMs" in value)) return false;
  const { receipt, afterMs } = value;
  return RECEIPTS.includes(receipt) && typeof afterMs === "number" && afterMs >= 0;
}
