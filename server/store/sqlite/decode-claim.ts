/** Decodes the rows of a claim of deliveries one by one: a row that cannot be decoded affects no other. */

import type { Delivery } from "../../core/delivery.ts";
import type { Endpoint } from "../../core/webhook.ts";
import { decodeEach } from "../quarantine.ts";
import { decodePart, decodeRecord, RowUnreadable, type SqlValue, type UnreadableRow } from "../rows.ts";
import type { ClaimedDelivery, Signer } from "../store.ts";
import type { ClaimedRows } from "./jobs.ts";
import type { ReturnedDelivery } from "./quarantine.ts";

/** A decoded claim, and the rows that could not be decoded. */
export interface DecodedClaim {
  claimed: ClaimedDelivery[];
  /** Endpoints and customers that cannot be decoded. */
  unreadable: UnreadableRow[];
  /** Leased deliveries that cannot be tried: their row or their event cannot be decoded. */
  leased: UnreadableRow[];
  /** Leased deliveries whose endpoint cannot be decoded: they return to the queue. */
  returned: ReturnedDelivery[];
}

const SIGNER = ["id", "secret", "previousSecret", "previousSecretUntil"] as const;

export function decodeClaim(rows: ClaimedRows): DecodedClaim {
  const endpoints = decodeEach(rows.endpoints, (values) => decodeRecord("endpoints", values));
  const customers = decodeEach(rows.customers, (values): Signer => decodePart("customers", values, SIGNER));
  const decoded = {
    endpoints: new Map(endpoints.records.map((one) => [one.id, one])),
    unreadable: new Set(endpoints.unreadable.map(({ id }) => id)),
    customers: new Map(customers.records.map((one) => [one.id, one])),
  };
  const returned: ReturnedDelivery[] = [];
  const { records, unreadable: leased } = decodeEach(rows.deliveries, ({ values, dueAt, bytes, correlationId }) => {
    const delivery = decodeRecord("deliveries", values);
    const { id, endpointId, customerId } = delivery;
    if (endpointId !== null && decoded.unreadable.has(endpointId)) {
      returned.push([id, dueAt]);
      return [];
    }
    const endpoint: Endpoint | null = endpointId === null ? null : (decoded.endpoints.get(endpointId) ?? null);
    const customer = decoded.customers.get(customerId) ?? null;
    return [{ delivery, dueAt, ...envelope(delivery, bytes, correlationId), endpoint, customer }];
  });
  return { claimed: records.flat(), unreadable: [...endpoints.unreadable, ...customers.unreadable], leased, returned };
}

function envelope({ id, customerId, eventId }: Delivery, bytes: SqlValue, correlationId: SqlValue) {
  if (typeof bytes === "string" && typeof correlationId === "string") return { bytes, correlationId };
  const reason = bytes === null ? `its event ${eventId} is gone` : `its event ${eventId} is not text`;
  throw new RowUnreadable({ table: "deliveries", id, customerId, reason });
}
