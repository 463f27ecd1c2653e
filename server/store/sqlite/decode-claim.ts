/** Decodes claimed records one by one: a row that cannot be decoded affects no other. */

import type { Delivery } from "../../core/delivery.ts";
import { decodeEach, decodeRecord, RowUnreadable, type SqlValue, type UnreadableRow } from "../rows.ts";
import type { ClaimedDelivery, ClaimedMessage } from "../store.ts";
import type { ClaimedRow } from "./jobs.ts";
import type { LeasedRow } from "./message-claims.ts";

/** Decoded deliveries, and those whose row or event cannot be decoded. */
export interface DecodedClaim {
  records: ClaimedDelivery[];
  unreadable: UnreadableRow[];
}

/** Decoded messages, and those whose row cannot be decoded. */
export interface DecodedMessageClaim {
  records: ClaimedMessage[];
  unreadable: UnreadableRow[];
}

export function decodeMessageClaim(rows: readonly LeasedRow[]): DecodedMessageClaim {
  return decodeEach(rows, ({ values, lease }) => ({ message: decodeRecord("messages", values), lease }));
}

export function decodeClaim(rows: readonly ClaimedRow[]): DecodedClaim {
  return decodeEach(rows, ([lease, values, bytes, correlationId]) => {
    const delivery = decodeRecord("deliveries", values);
    return { delivery, lease, ...envelope(delivery, bytes, correlationId) };
  });
}

function envelope({ id, customerId, eventId }: Delivery, bytes: SqlValue, correlationId: SqlValue) {
  if (typeof bytes === "string" && typeof correlationId === "string") return { bytes, correlationId };
  const reason = bytes === null ? `its event ${eventId} is gone` : `its event ${eventId} is not text`;
  throw new RowUnreadable({ table: "deliveries", id, customerId, reason });
}
