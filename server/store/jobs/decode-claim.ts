/** Decodes claimed records one by one: a row that cannot be decoded affects no other. */

import type { Delivery } from "../../core/delivery.ts";
import { unpackEnvelope } from "../packed-envelope.ts";
import { decodeEach, decodeRecord, RowUnreadable, type SqlValue, type UnreadableRow } from "../rows.ts";
import type { ClaimedDelivery, ClaimedMessage } from "../store.ts";
import type { ClaimedRow, LeasedRow } from "./jobs.ts";

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

/** An embedded database that was restored from a backup of PostgreSQL has packed bytes. */
function envelope(delivery: Delivery, bytes: SqlValue, correlationId: SqlValue) {
  const { id, customerId, eventId, eventType: type, messageId } = delivery;
  if (typeof bytes === "string" && typeof correlationId === "string")
    return { bytes: unpackEnvelope(bytes, { id: eventId, type, messageId, correlationId }), correlationId };
  const reason = bytes === null ? `its event ${eventId} is gone` : `its event ${eventId} is not text`;
  throw new RowUnreadable({ table: "deliveries", id, customerId, reason });
}
