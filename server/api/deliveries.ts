/** Routes of deliveries: list and get them with all attempts, and retry one. */

import { IdempotentRequest } from "../../contract/values.ts";
import { DeliveriesQuery } from "../../contract/webhooks.ts";
import type { DeliveryList, Delivery as WireDelivery } from "../../sdk/wire.ts";
import { checkAddress, parseAllowList } from "../core/address.ts";
import { type Delivery, deliveryRecord } from "../core/delivery.ts";
import type { CustomerId } from "../core/id.ts";
import type { Deps } from "../engine/deps.ts";
import type { With } from "../engine/engine-deps.ts";
import { requireDelivery, retryDelivery } from "../engine/webhooks/redeliver.ts";
import { listCustomers } from "../store/customers.ts";
import { listDeliveries } from "../store/deliveries.ts";
import { findEventBytes } from "../store/events.ts";
import type { Store } from "../store/store.ts";
import { listReader } from "./list-reader.ts";
import { pageOf } from "./paging.ts";
import { type Route, route } from "./route.ts";

export function deliveryRoutes(deps: With<"attempted">): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/webhooks/deliveries",
      scope: "messages",
      query: DeliveriesQuery,
      async handle(request) {
        const { caller, query } = request;
        const { limit: _, cursor: __, ...filter } = query;
        const db = listReader(deps, request);
        const { records, pagination } = await pageOf("dlv_", query, (start, limit) =>
          listDeliveries(db, caller.customerId, filter, start, limit),
        );
        const deliveries = await recordsOf(deps, caller.customerId, records, db);
        return { data: { deliveries, pagination } satisfies DeliveryList };
      },
    }),
    route({
      method: "GET",
      path: "/v1/webhooks/deliveries/:id",
      scope: "messages",
      async handle({ caller, params }) {
        const delivery = await requireDelivery(deps, caller.customerId, params.id);
        return { data: await oneRecord(deps, delivery) };
      },
    }),
    route({
      method: "POST",
      path: "/v1/webhooks/deliveries/:id/retry",
      scope: "messages",
      body: IdempotentRequest,
      async handle({ caller: { customerId }, params: { id }, idempotencyKey: key }) {
        const request = { key, customerId, route: `POST /v1/webhooks/deliveries/${id}/retry`, body: {} };
        const result = await retryDelivery(deps, request, customerId, id);
        if (!result.repeated) return { status: 202, data: await oneRecord(deps, result.value) };
        return { data: await oneRecord(deps, await requireDelivery(deps, customerId, result.firstResult)) };
      },
    }),
  ];
}

const NOTHING_ALLOWED = parseAllowList("");

/** The record of a delivery, as `recordsOf` makes it. */
export async function oneRecord(deps: Deps, delivery: Delivery): Promise<WireDelivery> {
  const [record = deliveryRecord(delivery, null)] = await recordsOf(
    deps,
    delivery.customerId,
    [delivery],
    deps.store.db,
  );
  return record;
}

/**
 * The records of a customer's deliveries, without responses from the operator's own network if several customers share the service. `db` reads
 * the events whose attempts have headers.
 */
async function recordsOf(
  deps: Deps,
  customerId: CustomerId,
  deliveries: readonly Delivery[],
  db: Store["db"],
): Promise<WireDelivery[]> {
  const withHeaders = deliveries.filter(({ attempts }) => attempts.some(({ headers }) => headers !== undefined));
  const ids = [...new Set(withHeaders.map(({ eventId }) => eventId))];
  const events = ids.length === 0 ? null : await findEventBytes(db, customerId, ids);
  return await Promise.all(
    deliveries.map(async (delivery) =>
      deliveryRecord(await withShownResponses(deps, delivery), events?.get(delivery.eventId)?.correlationId ?? null),
    ),
  );
}

async function withShownResponses(deps: Deps, delivery: Delivery): Promise<Delivery> {
  const { attempts, url } = delivery;
  const isShown = checkAddress(url, NOTHING_ALLOWED) === null || attempts.every(({ response }) => response === null);
  if (isShown || (await listCustomers(deps.store.db, null, 2)).length < 2) return delivery;
  return { ...delivery, attempts: attempts.map((attempt) => ({ ...attempt, response: null })) };
}
