/** Puts together what a claim of deliveries read, row by row: one that cannot be decoded keeps none of the others. */

import type { Delivery } from "../../core/delivery.ts";
import type { Endpoint } from "../../core/webhook.ts";
import { decodeEach } from "../quarantine.ts";
import { decodePart, decodeRecord, RowUnreadable, type SqlValue, type UnreadableRow } from "../rows.ts";
import type { ClaimedDelivery, Signer } from "../store.ts";
import type { ClaimedRows } from "./jobs.ts";
import type { ReturnedDelivery } from "./quarantine.ts";

/** What became of a claim. */
export interface DecodedClaim {
  claimed: ClaimedDelivery[];
  /** Endpoints and customers that cannot be decoded. */
  unreadable: UnreadableRow[];
  /** Leased deliveries that cannot be tried, themselves or their event. */
  leased: UnreadableRow[];
  /** Leased deliveries whose endpoint cannot be decoded: they wait for it. */
  givenBack: ReturnedDelivery[];
}

const SIGNER = ["id", "secret", "previousSecret", "previousSecretUntil"] as const;

/** Decodes what a claim of deliveries read. */
export function decodeClaim(rows: ClaimedRows): DecodedClaim {
  const endpoints = decodeEach(rows.endpoints, (values) => decodeRecord("endpoints", values));
  const customers = decodeEach(rows.customers, (values): Signer => decodePart("customers", values, SIGNER));
  const known = {
    endpoints: new Map(endpoints.records.map((one) => [one.id, one])),
    unreadable: new Set(endpoints.unreadable.map(({ id }) => id)),
    customers: new Map(customers.records.map((one) => [one.id, one])),
  };
  const givenBack: ReturnedDelivery[] = [];
  const { records, unreadable: leased } = decodeEach(rows.deliveries, ({ values, dueAt, bytes, correlationId }) => {
    const delivery = decodeRecord("deliveries", values);
    const { id, endpointId, customerId } = delivery;
    if (endpointId !== null && known.unreadable.has(endpointId)) {
      givenBack.push([id, dueAt]);
      return [];
    }
    const endpoint: Endpoint | null = endpointId === null ? null : (known.endpoints.get(endpointId) ?? null);
    const customer = known.customers.get(customerId) ?? null;
    return [{ delivery, dueAt, ...envelope(delivery, bytes, correlationId), endpoint, customer }];
  });
  return { claimed: records.flat(), unreadable: [...endpoints.unreadable, ...customers.unreadable], leased, givenBack };
}

function envelope({ id, customerId, eventId }: Delivery, bytes: SqlValue, correlationId: SqlValue) {
  if (typeof bytes === "string" && typeof correlationId === "string") return { bytes, correlationId };
  const reason = bytes === null ? `its event ${eventId} is gone` : `its event ${eventId} is not text`;
  throw new RowUnreadable({ table: "deliveries", id, customerId, reason });
}
