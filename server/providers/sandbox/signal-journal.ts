/**
 * Journal of signals that a sandbox phone has yet to report for a message it accepted. Survives a restart. Pure. It is neither a
 * `kit/journal` nor a note of the send attempt: its entries are committed with an outcome and deleted with signals of every kind, while a
 * journal writes by itself and a note changes with receipts only.
 */

import { CALL_STATUSES, CHANNELS, type Channel, REACTIONS } from "../../../sdk/wire.ts";
import type { CustomerId, MessageId } from "../../core/id.ts";
import type { Phone } from "../phones.ts";
import type { Outbound } from "../provider.ts";
import type { PhoneStep } from "./phones.ts";

/** Prefix of every entry's key. */
export const JOURNAL_PREFIX = "owed/";

/** A message that a phone accepted, until all its signals are reported. */
export interface PendingSignals {
  key: string;
  messageId: MessageId;
  channel: Channel;
  /** Customer and phone. `number` is the chat's id if the message went to a group. */
  phone: Phone;
  /** Start of the first step: epoch milliseconds, real. */
  beginsAt: number;
  steps: readonly PhoneStep[];
  /** Number of steps reported. It is not stored: after a restart they are reported again, which changes nothing. */
  reported: number;
  /** Steps already reported whose repetition would have an effect: see `stepKey`. */
  spent: ReadonlySet<number>;
  /** The last step is being reported, which deletes the entry. */
  isEnding: boolean;
  /** Consecutive failures to report the next step. */
  failures: number;
  /** The next step waits until the phone is online. */
  isWaitingForPhone: boolean;
  /** Report in progress. */
  reporting: Promise<void>;
  /** Whether the entry is on disk: signals are reported from then on. */
  isStored: boolean;
  stopTimer: () => void;
}

/** Key of an entry: one per message and channel, in the order of message ids, which is by time. */
export function entryKey(messageId: MessageId, channel: Channel): string {
  return `${JOURNAL_PREFIX}${messageId}/${channel}`;
}

/**
 * Key that exists until the step at `index` is reported. Typing signals need one: they have no reference by which a repeat
 * could be recognised. The last step has the entry itself.
 */
export function stepKey(pending: Pick<PendingSignals, "key">, index: number): string {
  return `${pending.key}/${index}`;
}

/** Steps of an entry that have a key of their own. */
export function stepsWithKey({ steps }: Pick<PendingSignals, "steps">): number[] {
  return steps.flatMap((step, index) => (hasKey(step) && index < steps.length - 1 ? [index] : []));
}

function hasKey(step: PhoneStep): boolean {
  return "does" in step && step.does === "type";
}

/** Creates the entry of a message just accepted. */
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
    isStored: false,
    stopTimer: () => {},
  };
}

/** The sandbox's reference of a message: the same for every attempt. */
export function referenceOf({ messageId, channel }: Pick<PendingSignals, "messageId" | "channel">): string {
  return `sbx_${messageId.slice("msg_".length)}_${channel}`;
}

/** Formats an entry for storage. */
export function formatEntry({ beginsAt, steps, phone }: Pick<PendingSignals, "beginsAt" | "steps" | "phone">): string {
  return JSON.stringify({ beginsAt, steps, phone });
}

const KEY = new RegExp(`^${JOURNAL_PREFIX}(msg_[^/]+)/(${CHANNELS.join("|")})$`);
const TOKEN_KEY = new RegExp(`^(${JOURNAL_PREFIX}msg_[^/]+/(?:${CHANNELS.join("|")}))/\\d+$`);

/** Key of the entry that a step's key belongs to; null for any other key. */
export function entryOfStepKey(key: string): string | null {
  return TOKEN_KEY.exec(key)?.[1] ?? null;
}

/** Phone of an entry that cannot be parsed. */
const UNKNOWN_PHONE: Phone = { customerId: "cust_", number: "", to: "" };

/**
 * Parses an entry; null for the key of anything else. A value that cannot be parsed (written by another version) still
 * proves that the message was accepted, so `sent` is reported for it.
 */
export function parseEntry(key: string, value: string): PendingSignals | null {
  const [, id, word] = KEY.exec(key) ?? [];
  const channel = CHANNELS.find((candidate) => candidate === word);
  if (id === undefined || channel === undefined) return null;
  const parsed = parseValue(value) ?? { beginsAt: 0, steps: [{ receipt: "sent", afterMs: 0 }] };
  const { customerId, number, to: from } = parsed.phone ?? UNKNOWN_PHONE;
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
