/** Maps Twilio's thirteen message statuses to receipts. Pure. */

import type { ReceiptSignal } from "../provider.ts";

interface StatusMeaning {
  /** Null: the message is on its way, or the status is not about one of ours. */
  receipt: ReceiptSignal["receipt"] | null;
  /** No other status follows, except `read` after `delivered`. */
  isFinal: boolean;
}

/**
 * `partially_delivered` proves that the message left, and not that all of it arrived: it counts as sent and is polled
 * again. `canceled` comes from the console and proves that the message was not delivered. `received` is for inbound
 * messages.
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

/** Looks up a status; an unknown one means nothing. */
export function meaningOf(status: string): StatusMeaning {
  return Object.hasOwn(STATUSES, status) ? (STATUSES[status] ?? ON_ITS_WAY) : ON_ITS_WAY;
}

/** Callbacks arrive in any order, so a receipt with a rank that is not higher than the last one is no news. */
const RANKS: Readonly<Record<ReceiptSignal["receipt"], number>> = { sent: 1, failed: 2, delivered: 3, read: 4 };

/**
 * The rank of a receipt, from 1 to 4. A later delivery corrects a failure; a later failure does not correct a delivery.
 */
export function rankOf(receipt: ReceiptSignal["receipt"]): number {
  return RANKS[receipt];
}
