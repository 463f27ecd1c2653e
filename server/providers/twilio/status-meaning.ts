/** Twilio's statuses of a message, all thirteen, and what each is a receipt of. Pure. */

import type { ReceiptSignal } from "../provider.ts";

interface StatusMeaning {
  /** Null: it is on its way, or no word about one of ours. */
  receipt: ReceiptSignal["receipt"] | null;
  /** No other status follows, but `read` after `delivered`. */
  isFinal: boolean;
}

/**
 * The thirteen. `partially_delivered` proves that it left, and not that all of it arrived: it counts as sent, and is asked
 * about again. `canceled` is somebody's doing in the console: provably not delivered. `received` is an inbound message's.
 */
export const STATUSES: Readonly<Record<string, StatusMeaning>> = {
  accepted: { receipt: null, isFinal: false },
  scheduled: { receipt: null, isFinal: false },
  queued: { receipt: null, isFinal: false },
  sending: { receipt: null, isFinal: false },
  sent: { receipt: "sent", isFinal: false },
  partially_delivered: { receipt: "sent", isFinal: false },
  delivered: { receipt: "delivered", isFinal: true },
  read: { receipt: "read", isFinal: true },
  undelivered: { receipt: "failed", isFinal: true },
  failed: { receipt: "failed", isFinal: true },
  canceled: { receipt: "failed", isFinal: true },
  receiving: { receipt: null, isFinal: false },
  received: { receipt: null, isFinal: false },
};

const ON_ITS_WAY: StatusMeaning = { receipt: null, isFinal: false };

/** What a status means; one that is not known says nothing. */
export function meaningOf(status: string): StatusMeaning {
  return Object.hasOwn(STATUSES, status) ? (STATUSES[status] ?? ON_ITS_WAY) : ON_ITS_WAY;
}

/** What was told last of a hand-over: callbacks have no order, and what ranks no higher is no news. */
const RANKS: Readonly<Record<ReceiptSignal["receipt"], number>> = { sent: 1, failed: 2, delivered: 3, read: 4 };

/** The rank of a receipt: 1 to 4. A delivery that is told after a failure corrects it; a failure after a delivery does not. */
export function rankOf(receipt: ReceiptSignal["receipt"]): number {
  return RANKS[receipt];
}
