/** The phones of the sandbox's contacts: how each behaves on each channel, as data. Pure. */

import { createHash } from "node:crypto";
import type { Channel } from "../../../sdk/wire.ts";
import { parseAddress } from "../../core/phone.ts";
import type { ReceiptSignal } from "../provider.ts";

/** One receipt that a phone gives, `afterMs` after the one before it, or after it took the message. */
export interface Step {
  receipt: ReceiptSignal["receipt"];
  afterMs: number;
  code?: string;
  reason?: string;
}

/** A phone that takes messages on a channel. */
export interface Taking {
  takes: true;
  /** Hand-overs that are put off with a transient error before one is taken. */
  deferrals: number;
  /** How long it thinks before it takes a message. */
  takesAfterMs: number;
  /** `unknown`: it takes the message, and its answer never comes. */
  answer: "accepted" | "unknown";
  steps: readonly Step[];
  /** Share of messages, by a hash of their id, that it takes and then fails to deliver. */
  failedShare: number;
}

/** A phone that refuses messages on a channel. */
export interface Refusing {
  takes: false;
  code: string;
  reason: string;
  notReachable: boolean;
}

/** How a phone behaves on one channel. */
export type Line = Taking | Refusing;

type Phone = Readonly<Record<Channel, Line>>;

/** A tenth of the 50 ms in which contract 7 wants a message delivered. */
const DELIVERED_AFTER_MS = 5;

const delivered: Step = { receipt: "delivered", afterMs: DELIVERED_AFTER_MS };
const read: Step = { receipt: "read", afterMs: DELIVERED_AFTER_MS };

/** Every phone that takes a message owes a receipt at least: it is the proof that the service knows the outcome. */
const works: Taking = {
  takes: true,
  deferrals: 0,
  takesAfterMs: 0,
  answer: "accepted",
  steps: [delivered],
  failedShare: 0,
};

const notHere: Refusing = {
  takes: false,
  code: "SANDBOX_NOT_REACHABLE",
  reason: "the recipient is not on this channel",
  notReachable: true,
};

const refuses: Refusing = {
  takes: false,
  code: "SANDBOX_REFUSED",
  reason: "the recipient's carrier refuses the message",
  notReachable: false,
};

const failed: Step = {
  receipt: "failed",
  afterMs: DELIVERED_AFTER_MS,
  code: "SANDBOX_FAILED",
  reason: "the recipient's phone failed, as it does with three messages in ten",
};

/** Same on both channels. */
function both(line: Line): Phone {
  return { imessage: line, sms: line };
}

const anyPhone = both(works);

/** Has no number, so no SMS. */
const anyEmail: Phone = { imessage: works, sms: notHere };

/** Contract 7's table. SMS has no read receipts (specification 6.2), so only iMessage steps have `read`. */
const PHONES: Readonly<Record<string, Phone>> = {
  "+15005550100": anyPhone,
  "+15005550101": { imessage: { ...works, steps: [delivered, { receipt: "read", afterMs: 200 }] }, sms: works },
  "+15005550102": { imessage: notHere, sms: works },
  "+15005550103": { imessage: { ...works, steps: [{ receipt: "sent", afterMs: DELIVERED_AFTER_MS }] }, sms: works },
  "+15005550104": { imessage: notHere, sms: refuses },
  "+15005550105": both(notHere),
  "+15005550106": both({ ...works, deferrals: 2 }),
  "+15005550107": both({ ...works, answer: "unknown" }),
  "+15005550108": {
    imessage: { ...works, steps: [read, read, delivered, delivered] },
    sms: { ...works, steps: [delivered, delivered] },
  },
  "+15005550109": both({ ...works, takesAfterMs: 5_000, steps: [{ receipt: "delivered", afterMs: 5_000 }] }),
  "+15005550116": both({ ...works, failedShare: 0.3 }),
};

/** How the phone at `address` behaves on `channel`. One that is not in the table works, and an e-mail has no SMS. */
export function lineOf(address: string, channel: Channel): Line {
  const phone = PHONES[address] ?? (parseAddress(address)?.kind === "email" ? anyEmail : anyPhone);
  return phone[channel];
}

/** The receipts that `line` gives for a message it took: the same for the same message id, on every channel. */
export function stepsFor(line: Taking, messageId: string): readonly Step[] {
  return line.failedShare > 0 && chanceOf(messageId) < line.failedShare ? [failed] : line.steps;
}

/** A number in [0, 1) that a message id always has. */
function chanceOf(messageId: string): number {
  return createHash("sha256").update(messageId).digest().readUInt32BE(0) / 2 ** 32;
}
