/** Deliveries on request: a further attempt of a delivery, and a test event to one endpoint. */

import type { WebhookTestData } from "../../../sdk/wire.ts";
import { type Delivery, deliveryTo, retryByHand } from "../../core/delivery.ts";
import { ApiError } from "../../core/error.ts";
import { makeEvent } from "../../core/event.ts";
import type { CustomerId } from "../../core/id.ts";
import { findDeliveryOf } from "../../store/deliveries.ts";
import { findInbox } from "../../store/inboxes.ts";
import type { Operation } from "../../store/store.ts";
import { findWebhook } from "../../store/webhooks.ts";
import type { Deps } from "../deps.ts";
import type { With } from "../engine-deps.ts";
import { type IdempotentRequest, type IdempotentResult, idempotent } from "../idempotency.ts";
import { announceDeliveries } from "./announce-deliveries.ts";
import { type EndpointRef, requireActive } from "./endpoints.ts";

const TEST_MESSAGE = "A test event: if you read this, your endpoint receives what is sent to it.";

/**
 * Requests one extra attempt at once; the schedule does not change. A repeat returns the id. Throws 404 `NOT_FOUND`,
 * and 400 `INVALID_STATUS` if the endpoint is paused or deleted.
 */
export async function retryDelivery(
  deps: With<"attempted">,
  request: IdempotentRequest,
  customerId: CustomerId,
  id: string,
): Promise<IdempotentResult<Delivery>> {
  const result = await idempotent<Delivery>(deps, request, async () => {
    const delivery = await requireDelivery(deps, customerId, id);
    await requireReceiver(deps, delivery);
    const set = retryByHand(delivery, deps.clock.now());
    const retry: Operation = { op: "update", table: "deliveries", id: delivery.id, version: delivery.version, set };
    return { transaction: [retry], value: { ...delivery, ...set }, result: delivery.id };
  });
  if (!result.repeated) await announceDeliveries(deps, customerId, [result.value], { atOnce: true });
  return result;
}

/** A customer's delivery. Throws 404 `NOT_FOUND`. */
export async function requireDelivery(
  { store }: Pick<Deps, "store">,
  customerId: CustomerId,
  id: string,
): Promise<Delivery> {
  const delivery = await findDeliveryOf(store.db, customerId, id);
  if (delivery === null)
    throw new ApiError("NOT_FOUND", `There is no delivery ${id.slice(0, 100)}, or it is no longer kept.`);
  return delivery;
}

async function requireReceiver({ store }: Deps, { id, customerId, endpointId }: Delivery): Promise<void> {
  if (endpointId === null) return;
  const endpoint = await findWebhook(store.db, customerId, endpointId);
  if (endpoint?.active) return;
  const message =
    endpoint === null
      ? `The endpoint of the delivery ${id} was deleted, so it cannot be sent again.`
      : `The endpoint ${endpointId} is paused, so nothing is sent to it; set active to true first.`;
  throw new ApiError("INVALID_STATUS", message);
}

/**
 * Sends a `webhook.test` event to one endpoint, whatever its filter, and to the sandbox's inbox, which gets every
 * event. Returns the endpoint's delivery; a repeat returns its id. Throws 404, and 400 `INVALID_STATUS` if the endpoint
 * is paused.
 */
export async function testWebhook(
  deps: With<"attempted">,
  request: IdempotentRequest,
  customerId: CustomerId,
  { target, correlationId }: { target: EndpointRef; correlationId: string },
): Promise<IdempotentResult<Delivery>> {
  const made: Delivery[] = [];
  const result = await idempotent<Delivery>(deps, request, async () => {
    const endpoint = await requireActive(deps, customerId, target);
    const inbox = await findInbox(deps.store.db, customerId);
    const now = deps.clock.now();
    const data: WebhookTestData = { message: TEST_MESSAGE, webhookId: endpoint.id, customerId };
    const event = makeEvent(
      {
        id: deps.newId("evt"),
        customerId,
        type: "webhook.test",
        messageId: null,
        sequence: 0,
        correlationId,
        createdAt: now,
      },
      data,
    );
    const receivers = inbox?.active ? [endpoint, inbox] : [endpoint];
    const delivery = deliveryTo(event, endpoint, now);
    const deliveries = receivers.map((receiver) => deliveryTo(event, receiver, now));
    made.splice(0, made.length, ...deliveries);
    // Not as an `event` operation: that would also deliver it to every endpoint that subscribes to all events.
    const transaction: Operation[] = [
      { op: "insert", table: "events", record: event },
      ...deliveries.map((record): Operation => ({ op: "insert", table: "deliveries", record })),
    ];
    return { transaction, value: delivery, result: delivery.id };
  });
  if (!result.repeated) await announceDeliveries(deps, customerId, made, { atOnce: true });
  return result;
}
