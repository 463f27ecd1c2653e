/** Decodes claimed and due records one by one: a row that cannot be decoded affects no other. */

import type { Delivery } from "../../core/delivery.ts";
import type { DeliveryId } from "../../core/id.ts";
import type { DueDelivery, PushedChange } from "../due-deliveries.ts";
import { unpackEnvelope } from "../packed-envelope.ts";
import { decodeEach, decodeRecord, RowUnreadable, type SqlValue, type UnreadableRow } from "../rows.ts";
import type { ClaimedMessage } from "../store.ts";
import type { DueRow, LeasedRow, PushedRow } from "./jobs.ts";

/** Decoded deliveries, and those whose row or event cannot be decoded. */
export interface DecodedDue {
  records: DueDelivery[];
  unreadable: UnreadableRow[];
}

/** Decoded changes, and the new deliveries whose row or event cannot be decoded. */
export interface DecodedPush {
  records: PushedChange[];
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

export function decodeDue(rows: readonly DueRow[]): DecodedDue {
  return decodeEach(rows, decodeDueRow);
}

export function decodePush(rows: readonly PushedRow[]): DecodedPush {
  return decodeEach(rows, (pushed): PushedChange => {
    switch (pushed[0]) {
      case "new": {
        const [, ...row] = pushed;
        return { kind: "new", due: decodeDueRow(row) };
      }
      case "due": {
        const [, id, lane, dueAt, row] = pushed;
        return { kind: "due", id: id as DeliveryId | null, lane, place: { dueAt, row } };
      }
      case "gone":
        return { kind: "gone", id: pushed[1] as DeliveryId };
      case "all":
        return { kind: "all" };
    }
  });
}

function decodeDueRow([row, values, bytes, correlationId]: DueRow): DueDelivery {
  const delivery = decodeRecord("deliveries", values);
  return { delivery, row, ...envelope(delivery, bytes, correlationId) };
}

/**
 * The envelope of a delivery's event. In an embedded database that a PostgreSQL backup was restored into, it is packed.
 */
function envelope(delivery: Delivery, bytes: SqlValue, correlationId: SqlValue) {
  const { id, customerId, eventId, eventType: type, messageId } = delivery;
  if (typeof bytes === "string" && typeof correlationId === "string")
    return { bytes: unpackEnvelope(bytes, { id: eventId, type, messageId, correlationId }), correlationId };
  const reason = bytes === null ? `its event ${eventId} is gone` : `its event ${eventId} is not text`;
  throw new RowUnreadable({ table: "deliveries", id, customerId, reason });
}
