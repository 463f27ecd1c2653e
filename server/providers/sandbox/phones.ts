/** Behaviour of the sandbox's phones on each channel, as data. Pure. */

import { createHash } from "node:crypto";
import type { CallStatus, Channel, PhoneSettings, Reaction } from "../../../sdk/wire.ts";
import { parseAddress } from "../../core/phone.ts";
import { answerTo, type SENT_CHANNELS } from "../../core/routing.ts";
import type { Outbound, ReceiptSignal } from "../provider.ts";

/** Receipt that a phone reports. */
interface PhoneReceipt {
  receipt: ReceiptSignal["receipt"];
  code?: string;
  reason?: string;
}

/** Something that the phone's owner does after receiving a message. */
export type PersonAction =
  | { does: "type"; typing: boolean }
  | { does: "write"; text: string }
  | { does: "react"; type: Reaction; text: string }
  | { does: "pay"; amountCents: number }
  | { does: "call"; status: CallStatus };

/** Step of a phone, `afterMs` after the step before it or after the phone accepted the message. Stored as JSON. */
export type PhoneStep = (PhoneReceipt | PersonAction) & { afterMs: number };

type ReceiptStep = PhoneReceipt & { afterMs: number };

/** Phone that accepts messages on a channel. */
export interface AcceptingLine {
  accepts: true;
  /** Attempts that fail with a transient error before one succeeds. */
  deferrals: number;
  /** Delay before the phone accepts a message; the setting `latencyMs` limits it. */
  acceptsAfterMs: number;
  /** `unknown`: the phone accepts the message, and its response gets lost. */
  outcome: "accepted" | "unknown";
  steps: readonly ReceiptStep[];
}

/** Phone that rejects messages on a channel. */
export interface RejectingLine {
  accepts: false;
  code: string;
  reason: string;
  notReachable: boolean;
}

/** Behaviour of a phone on one channel. */
export type PhoneLine = AcceptingLine | RejectingLine;

/** How the phone's owner reacts to a delivered message. */
type Habit = "echoes" | "loves" | "pays" | "rings" | "misses";

/** A phone: behaviour per channel, habit of the owner, and settings that differ from the defaults. */
interface PhoneProfile {
  lines: Readonly<Record<(typeof SENT_CHANNELS)[number], PhoneLine>>;
  habit?: Habit;
  latencyMs?: number;
  lossPercent?: number;
}

/** A tenth of the 50 ms in which the sandbox delivers a message (docs/sandbox.md). */
const DELIVERED_AFTER_MS = 5;

/** Delay until 0101 reads a message. */
const READ_AFTER_MS = 200;

const delivered: ReceiptStep = { receipt: "delivered", afterMs: DELIVERED_AFTER_MS };
const readSoon: ReceiptStep = { receipt: "read", afterMs: DELIVERED_AFTER_MS };
const read: ReceiptStep = { receipt: "read", afterMs: READ_AFTER_MS };

/** A phone that accepts a message always reports a receipt, which proves the outcome to the service. */
const works: AcceptingLine = {
  accepts: true,
  deferrals: 0,
  acceptsAfterMs: 0,
  outcome: "accepted",
  steps: [delivered],
};

/** A phone that cannot be reached on a channel. The reason ends up in `errorMessage` if no other channel is left. */
function unreachable(reason: string): RejectingLine {
  return { accepts: false, code: "SANDBOX_NOT_REACHABLE", reason, notReachable: true };
}

const notOnIMessage = unreachable("the recipient is not on iMessage");
const noSms = unreachable("an e-mail address cannot receive SMS");
const nowhere = unreachable("the recipient cannot be reached on any channel");

const refuses: RejectingLine = {
  accepts: false,
  code: "SANDBOX_REFUSED",
  reason: "the recipient's carrier rejects the message",
  notReachable: false,
};

const lost: ReceiptStep = {
  receipt: "failed",
  afterMs: DELIVERED_AFTER_MS,
  code: "SANDBOX_FAILED",
  reason: "the recipient's phone lost the message (simulated loss)",
};

/** Same behaviour on both channels. */
function both(line: PhoneLine): PhoneProfile["lines"] {
  return { imessage: line, sms: line };
}

const anyPhone: PhoneProfile = { lines: both(works) };

const anyEmail: PhoneProfile = { lines: { imessage: works, sms: noSms } };

/** Delay of each step of 0109. */
const SLOW_MS = 5_000;

/** Behaviour per number: see docs/sandbox.md. SMS has no read receipts, so only iMessage steps have `read`. */
const PHONES: Readonly<Record<string, PhoneProfile>> = {
  "+15005550100": anyPhone,
  "+15005550101": { lines: { imessage: { ...works, steps: [delivered, read] }, sms: works } },
  "+15005550102": { lines: { imessage: notOnIMessage, sms: works } },
  "+15005550103": {
    lines: { imessage: { ...works, steps: [{ receipt: "sent", afterMs: DELIVERED_AFTER_MS }] }, sms: works },
  },
  "+15005550104": { lines: { imessage: notOnIMessage, sms: refuses } },
  "+15005550105": { lines: both(nowhere) },
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

/** Finds the phone at an address. Unlisted numbers accept everything; e-mail addresses accept iMessage only. */
function phoneAt(address: string): PhoneProfile {
  return PHONES[address] ?? (parseAddress(address)?.kind === "email" ? anyEmail : anyPhone);
}

/** Default settings of the phone at `address`. */
export function defaultSettings(address: string): PhoneSettings {
  const { lines, latencyMs = 0, lossPercent = 0 } = phoneAt(address);
  const { imessage } = lines;
  const readReceipts = imessage.accepts && imessage.steps.some(({ receipt }) => receipt === "read");
  return { online: true, imessage: imessage.accepts, readReceipts, edits: true, latencyMs, lossPercent };
}

/** Behaviour of the phone at `address` on `channel`, with these settings. */
export function lineOf(address: string, channel: Channel, settings: PhoneSettings): PhoneLine {
  const sent = answerTo(channel);
  const line = phoneAt(address).lines[sent];
  if (sent === "sms" || settings.imessage === line.accepts) return line;
  return settings.imessage ? works : notOnIMessage;
}

/** Fields of a message that decide which steps follow. */
type AcceptedMessage = Pick<Outbound, "messageId" | "to" | "channel" | "text" | "payment" | "group">;

/**
 * Returns all steps for a message that `line` accepted: receipts, then actions of the owner. The steps of a message id are
 * always the same, on every channel. Nobody responds to a group.
 */
export function stepsFor(line: AcceptingLine, message: AcceptedMessage, settings: PhoneSettings): readonly PhoneStep[] {
  if (chanceOf(message.messageId) * 100 < settings.lossPercent) return [lost];
  const receipts = withReading(line.steps, message.channel === "imessage" && settings.readReceipts);
  const habit = message.group === null ? phoneAt(message.to).habit : undefined;
  return habit === undefined ? receipts : [...receipts, ...actionsOf(habit, message)];
}

/** Adds `read` after `delivered`, or removes it, as set. Leaves steps alone that define both themselves. */
function withReading(steps: readonly ReceiptStep[], reads: boolean): readonly ReceiptStep[] {
  const has = (receipt: PhoneReceipt["receipt"]) => steps.some((step) => step.receipt === receipt);
  if (has("read") === reads || !has("delivered")) return steps;
  return reads ? [...steps, read] : steps.filter(({ receipt }) => receipt !== "read");
}

/** Milliseconds after the delivery; together within 200 ms (docs/sandbox.md). */
const THINKS_MS = 30;
const TYPES_MS = 60;
/** Delay until 0114 hangs up, and until 0115 has missed the call. */
const RINGS_MS = 500;

/** The beginning of an echo. A program that answers an echo with an echo would never stop: such a text is not echoed. */
const ECHO = "You said:";

/** Actions of a habit. Only iMessage has typing and reactions. */
function actionsOf(habit: Habit, { channel, text, payment }: AcceptedMessage): PhoneStep[] {
  const isRich = channel === "imessage";
  switch (habit) {
    case "echoes": {
      if (text.startsWith(ECHO)) return [];
      const writes: PhoneStep = {
        does: "write",
        text: text === "" ? "You sent a file" : `${ECHO} ${text}`,
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

/** Pseudo-random number in [0, 1), derived from the message id. */
function chanceOf(messageId: string): number {
  return createHash("sha256").update(messageId).digest().readUInt32BE(0) / 2 ** 32;
}
