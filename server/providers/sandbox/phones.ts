/** The phones of the sandbox's contacts: how each behaves on each channel, as data. Pure. */

import { createHash } from "node:crypto";
import type { CallStatus, Channel, PhoneSettings, Reaction } from "../../../sdk/wire.ts";
import { parseAddress } from "../../core/phone.ts";
import type { Outbound, ReceiptSignal } from "../provider.ts";

/** One receipt that a phone gives. */
interface PhoneReceipt {
  receipt: ReceiptSignal["receipt"];
  code?: string;
  reason?: string;
}

/** One thing that a person does with the phone after the message came. */
export type PersonAction =
  | { does: "type"; typing: boolean }
  | { does: "write"; text: string }
  | { does: "react"; type: Reaction; text: string }
  | { does: "pay"; amountCents: number }
  | { does: "call"; status: CallStatus };

/** What a phone owes: `afterMs` after what came before it, or after it took the message. */
export type PhoneStep = (PhoneReceipt | PersonAction) & { afterMs: number };

type ReceiptStep = PhoneReceipt & { afterMs: number };

/** A phone that takes messages on a channel. */
export interface AcceptingLine {
  accepts: true;
  /** Hand-overs that are put off with a transient error before one is taken. */
  deferrals: number;
  /** How long it thinks before it takes a message, and never longer than its latency. */
  acceptsAfterMs: number;
  /** `unknown`: it takes the message, and its answer never comes. */
  outcome: "accepted" | "unknown";
  steps: readonly ReceiptStep[];
}

/** A phone that refuses messages on a channel. */
export interface RejectingLine {
  accepts: false;
  code: string;
  reason: string;
  notReachable: boolean;
}

/** How a phone behaves on one channel. */
export type PhoneLine = AcceptingLine | RejectingLine;

/** What a person does once a message was delivered, made into deeds by what the message says. */
type Habit = "echoes" | "loves" | "pays" | "rings" | "misses";

/** A phone: its two lines, what its person does with a message, and the settings that differ from those of others. */
interface PhoneProfile {
  lines: Readonly<Record<Channel, PhoneLine>>;
  habit?: Habit;
  latencyMs?: number;
  lossPercent?: number;
}

/** A tenth of the 50 ms in which the sandbox delivers a message (docs/sandbox.md). */
const DELIVERED_AFTER_MS = 5;

/** Contract 7: a message of 0101 is read after this long. */
const READ_AFTER_MS = 200;

const delivered: ReceiptStep = { receipt: "delivered", afterMs: DELIVERED_AFTER_MS };
const readSoon: ReceiptStep = { receipt: "read", afterMs: DELIVERED_AFTER_MS };
const read: ReceiptStep = { receipt: "read", afterMs: READ_AFTER_MS };

/** Every phone that takes a message owes a receipt at least: it is the proof that the service knows the outcome. */
const works: AcceptingLine = {
  accepts: true,
  deferrals: 0,
  acceptsAfterMs: 0,
  outcome: "accepted",
  steps: [delivered],
};

const notHere: RejectingLine = {
  accepts: false,
  code: "SANDBOX_NOT_REACHABLE",
  reason: "the recipient is not on this channel",
  notReachable: true,
};

const refuses: RejectingLine = {
  accepts: false,
  code: "SANDBOX_REFUSED",
  reason: "the recipient's carrier refuses the message",
  notReachable: false,
};

const lost: ReceiptStep = {
  receipt: "failed",
  afterMs: DELIVERED_AFTER_MS,
  code: "SANDBOX_FAILED",
  reason: "the recipient's phone lost the message, as it does with some",
};

/** Same on both channels. */
function both(line: PhoneLine): PhoneProfile["lines"] {
  return { imessage: line, sms: line };
}

const anyPhone: PhoneProfile = { lines: both(works) };

/** Has no number, so no SMS. */
const anyEmail: PhoneProfile = { lines: { imessage: works, sms: notHere } };

/** Contract 7: how slow 0109 is, a step. */
const SLOW_MS = 5_000;

/** Contract 7's table. SMS has no read receipts, so only iMessage steps have `read`. */
const PHONES: Readonly<Record<string, PhoneProfile>> = {
  "+15005550100": anyPhone,
  "+15005550101": { lines: { imessage: { ...works, steps: [delivered, read] }, sms: works } },
  "+15005550102": { lines: { imessage: notHere, sms: works } },
  "+15005550103": {
    lines: { imessage: { ...works, steps: [{ receipt: "sent", afterMs: DELIVERED_AFTER_MS }] }, sms: works },
  },
  "+15005550104": { lines: { imessage: notHere, sms: refuses } },
  "+15005550105": { lines: both(notHere) },
  "+15005550106": { lines: both({ ...works, deferrals: 2 }) },
  "+15005550107": { lines: both({ ...works, outcome: "unknown" }) },
  "+15005550108": {
    lines: {
      imessage: { ...works, steps: [readSoon, readSoon, delivered, delivered] },
      sms: { ...works, steps: [delivered, delivered] },
    },
  },
  "+15005550109": {
    lines: both({ ...works, acceptsAfterMs: SLOW_MS, steps: [{ receipt: "delivered", afterMs: 0 }] }),
    latencyMs: SLOW_MS,
  },
  "+15005550110": { lines: both(works), habit: "echoes" },
  "+15005550111": { lines: both(works), habit: "loves" },
  "+15005550112": { lines: both(works), habit: "pays" },
  "+15005550113": anyPhone,
  "+15005550114": { lines: both(works), habit: "rings" },
  "+15005550115": { lines: both(works), habit: "misses" },
  "+15005550116": { lines: both(works), lossPercent: 30 },
  "+15005550199": anyPhone,
};

/** One that is not in the table works, and an e-mail has no SMS. */
function phoneAt(address: string): PhoneProfile {
  return PHONES[address] ?? (parseAddress(address)?.kind === "email" ? anyEmail : anyPhone);
}

/** How the phone at `address` is set until somebody sets it otherwise. */
export function defaultSettings(address: string): PhoneSettings {
  const { lines, latencyMs = 0, lossPercent = 0 } = phoneAt(address);
  const { imessage } = lines;
  const readReceipts = imessage.accepts && imessage.steps.some(({ receipt }) => receipt === "read");
  return { online: true, imessage: imessage.accepts, readReceipts, edits: true, latencyMs, lossPercent };
}

/** How the phone at `address`, set like this, behaves on `channel`. */
export function lineOf(address: string, channel: Channel, settings: PhoneSettings): PhoneLine {
  const line = phoneAt(address).lines[channel];
  if (channel === "sms" || settings.imessage === line.accepts) return line;
  return settings.imessage ? works : notHere;
}

/** The message as far as it decides what comes of it. */
type AcceptedMessage = Pick<Outbound, "messageId" | "to" | "channel" | "text" | "payment" | "group">;

/**
 * All that is owed for a message that `line` took: receipts, then what the person does. The same for the same message
 * id, on every channel. Nobody answers a group.
 */
export function stepsFor(line: AcceptingLine, message: AcceptedMessage, settings: PhoneSettings): readonly PhoneStep[] {
  if (chanceOf(message.messageId) * 100 < settings.lossPercent) return [lost];
  const receipts = withReading(line.steps, message.channel === "imessage" && settings.readReceipts);
  const habit = message.group === null ? phoneAt(message.to).habit : undefined;
  return habit === undefined ? receipts : [...receipts, ...actionsOf(habit, message)];
}

/** The steps with `read` after `delivered`, or without it. Steps that have both in their own way are left alone. */
function withReading(steps: readonly ReceiptStep[], reads: boolean): readonly ReceiptStep[] {
  const has = (receipt: PhoneReceipt["receipt"]) => steps.some((step) => step.receipt === receipt);
  if (has("read") === reads || !has("delivered")) return steps;
  return reads ? [...steps, read] : steps.filter(({ receipt }) => receipt !== "read");
}

/** Times after the message was delivered, in milliseconds: together within 200 ms (docs/sandbox.md). */
const THINKS_MS = 30;
const TYPES_MS = 60;
/** Contract 7: 0114 hangs up after this long; 0115 is missed after it. */
const RINGS_MS = 500;

/** What comes of a habit. iMessage alone knows typing and reactions. */
function actionsOf(habit: Habit, { channel, text, payment }: AcceptedMessage): PhoneStep[] {
  const isRich = channel === "imessage";
  switch (habit) {
    case "echoes": {
      const writes: PhoneStep = {
        does: "write",
        text: text === "" ? "You sent a file" : `You said: ${text}`,
        afterMs: 10,
      };
      if (!isRich) return [writes];
      const types: PhoneStep[] = [
        { does: "type", typing: true, afterMs: THINKS_MS },
        { does: "type", typing: false, afterMs: TYPES_MS },
      ];
      return [...types, writes];
    }
    case "loves":
      return isRich ? [{ does: "react", type: "love", text, afterMs: THINKS_MS }] : [];
    case "pays":
      return payment === null ? [] : [{ does: "pay", amountCents: payment.amountCents, afterMs: THINKS_MS }];
    case "rings":
    case "misses": {
      const ends = habit === "rings" ? "disconnected" : "missed";
      return [
        { does: "call", status: "incoming", afterMs: THINKS_MS },
        { does: "call", status: ends, afterMs: RINGS_MS },
      ];
    }
  }
}

/** A number in [0, 1) that a message id always has. */
function chanceOf(messageId: string): number {
  return createHash("sha256").update(messageId).digest().readUInt32BE(0) / 2 ** 32;
}
