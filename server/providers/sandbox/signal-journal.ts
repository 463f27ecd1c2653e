/** What a phone of the sandbox still owes for a message it took, and the entry in memory that outlives the process. Pure. */

import { CALL_STATUSES, CHANNELS, type Channel, REACTIONS } from "../../../sdk/wire.ts";
import type { CustomerId, MessageId } from "../../core/id.ts";
import type { Phone } from "../phones.ts";
import type { Outbound } from "../provider.ts";
import type { PhoneStep } from "./phones.ts";

/** Every key of an entry begins with it. */
export const JOURNAL_PREFIX = "owed/";

/** A message that a phone took, until all that it owes is told. */
export interface PendingSignals {
  key: string;
  messageId: MessageId;
  channel: Channel;
  /** Whose message it was, and the phone that has it; `number` is the chat's id where it went to a group. */
  phone: Phone;
  /** When the phone begins: epoch milliseconds, real. */
  beginsAt: number;
  steps: readonly PhoneStep[];
  /** Steps told so far. Not in the entry: after a restart they are told again, which changes nothing. */
  reported: number;
  /** Steps that would change something if they were told again, and are told already: see `stepKey`. */
  spent: ReadonlySet<number>;
  /** The last step is being told, and with it the entry forgotten. */
  isEnding: boolean;
  /** Failed tries in a row at what comes next. */
  failures: number;
  /** It waits for its phone to be online. */
  isWaitingForPhone: boolean;
  /** Ends with what is being told now. */
  reporting: Promise<void>;
  /** Whether the entry came to be in memory. */
  stored: Promise<boolean>;
  stopTimer: () => void;
}

/** Key of the entry: one for a message on a channel, sorted as message ids are, by time. */
export function entryKey(messageId: MessageId, channel: Channel): string {
  return `${JOURNAL_PREFIX}${messageId}/${channel}`;
}

/**
 * Key that stands in memory until the step at `index` is told, and goes with it. Typing has no name that it could be
 * known by when it is told twice, so each has such a key; the last step has the entry itself.
 */
export function stepKey(owed: Pick<PendingSignals, "key">, index: number): string {
  return `${owed.key}/${index}`;
}

/** The steps of an entry that have keys of their own. */
export function stepsWithKey({ steps }: Pick<PendingSignals, "steps">): number[] {
  return steps.flatMap((step, index) => (hasKey(step) && index < steps.length - 1 ? [index] : []));
}

function hasKey(step: PhoneStep): boolean {
  return "does" in step && step.does === "type";
}

/** What is owed for a message just taken. `stored` is to be set by whoever stores it. */
export function newEntry(
  message: Pick<Outbound, "messageId" | "channel" | "customerId" | "from" | "to">,
  beginsAt: number,
  steps: readonly PhoneStep[],
): PendingSignals {
  const { messageId, channel, customerId, from, to } = message;
  return {
    key: entryKey(messageId, channel),
    messageId,
    channel,
    phone: { customerId, number: to, to: from },
    beginsAt,
    steps,
    reported: 0,
    spent: new Set(),
    isEnding: false,
    failures: 0,
    isWaitingForPhone: false,
    reporting: Promise.resolve(),
    stored: Promise.resolve(true),
    stopTimer: () => {},
  };
}

/** The sandbox's name for the hand-over: the same whenever it is asked for. */
export function referenceOf({ messageId, channel }: Pick<PendingSignals, "messageId" | "channel">): string {
  return `sbx_${messageId.slice("msg_".length)}_${channel}`;
}

/** The entry's value. */
export function formatEntry({ beginsAt, steps, phone }: PendingSignals): string {
  return JSON.stringify({ beginsAt, steps, phone });
}

const KEY = new RegExp(`^${JOURNAL_PREFIX}(msg_[^/]+)/(${CHANNELS.join("|")})$`);
const TOKEN_KEY = new RegExp(`^(${JOURNAL_PREFIX}msg_[^/]+/(?:${CHANNELS.join("|")}))/\\d+$`);

/** The key of the entry that a step's own key belongs to; null for a key that is none of these. */
export function entryOfStepKey(key: string): string | null {
  return TOKEN_KEY.exec(key)?.[1] ?? null;
}

/** Whose entry it is that could not be read. */
const NOBODY: Phone = { customerId: "cust_", number: "", to: "" };

/**
 * What an entry says is owed. Null for a key that is none of these. A value that cannot be read (another version wrote
 * it) still proves that the message was taken: `sent` is owed then.
 */
export function parseEntry(key: string, value: string): PendingSignals | null {
  const [, id, word] = KEY.exec(key) ?? [];
  const channel = CHANNELS.find((candidate) => candidate === word);
  if (id === undefined || channel === undefined) return null;
  const parsed = parseValue(value) ?? { beginsAt: 0, steps: [{ receipt: "sent", afterMs: 0 }] };
  const { customerId, number, to: from } = parsed.phone ?? NOBODY;
  const message = { messageId: id as MessageId, channel, customerId: customerId as CustomerId, from, to: number };
  return newEntry(message, parsed.beginsAt, parsed.steps);
}

type StoredEntry = Pick<PendingSignals, "beginsAt" | "steps"> & Partial<Pick<PendingSignals, "phone">>;

function parseValue(text: string): StoredEntry | null {
  try {
    const value: unknown = JSON.parse(text);
    return isValue(value) ? value : null;
  } catch {
    return null;
  }
}

function isValue(value: unknown): value is StoredEntry {
  if (!isObject(value)) return false;
  const { beginsAt, steps, phone } = value;
  if (typeof beginsAt !== "number" || !Array.isArray(steps) || steps.length === 0) return false;
  return isPhone(phone) ? steps.every(isStep) : phone === undefined && steps.every(isReceipt);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function isPhone(value: unknown): value is Phone {
  if (!isObject(value)) return false;
  return [value.customerId, value.number, value.to].every((part) => typeof part === "string");
}

const RECEIPTS: readonly unknown[] = ["sent", "delivered", "read", "failed"];

function isStep(value: unknown): value is PhoneStep {
  return isReceipt(value) || isPersonAction(value);
}

function isReceipt(value: unknown): value is PhoneStep {
  return isObject(value) && RECEIPTS.includes(value.receipt) && isTime(value.afterMs);
}

function isPersonAction(value: unknown): value is PhoneStep {
  if (!isObject(value) || !isTime(value.afterMs)) return false;
  switch (value.does) {
    case "type":
      return typeof value.typing === "boolean";
    case "write":
      return typeof value.text === "string";
    case "react":
      return (REACTIONS as readonly unknown[]).includes(value.type) && typeof value.text === "string";
    case "pay":
      return typeof value.amountCents === "number";
    case "call":
      return (CALL_STATUSES as readonly unknown[]).includes(value.status);
    default:
      return false;
  }
}

function isTime(value: unknown): boolean {
  return typeof value === "number" && value >= 0;
}
