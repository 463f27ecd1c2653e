/** Endpoints and events as tests of webhooks lay them out, on the routes and the store of a test context. */

import type { TestContext as NodeTest } from "node:test";
import type { DeliveryList, EventType, Webhook } from "../../sdk/wire.ts";
import { deliveryRoutes } from "../../server/api/deliveries.ts";
import { OpenResponses } from "../../server/api/open-responses.ts";
import type { Route } from "../../server/api/route.ts";
import { webhookRoutes } from "../../server/api/webhooks.ts";
import { type Event, makeEvent } from "../../server/core/event.ts";
import type { MessageId } from "../../server/core/id.ts";
import type { Endpoint } from "../../server/core/webhook.ts";
import { endpointSecretPlace } from "../../server/engine/secret-places.ts";
import { commitAll, type TestContext } from "./context.ts";
import { type Ask, type Served, served } from "./served.ts";

export const URL_A = "https://a.example.com/hooks";
export const URL_B = "https://b.example.com/hooks";

/** The routes of webhooks and deliveries. */
export function webhookRoutesOf(deps: TestContext["deps"]): Route[] {
  // Nothing delivers here: a service that stops waits for no attempt.
  const lasting = new OpenResponses();
  lasting.stop();
  return [...webhookRoutes(deps, lasting), ...deliveryRoutes(deps)];
}

/** Serves the routes of webhooks and deliveries until the test ends. */
export function serveWebhooks(t: NodeTest): Promise<Served> {
  return served(t, webhookRoutesOf);
}

/** Creates or changes the primary endpoint. */
export function put(api: Served, body: object): Promise<Webhook> {
  return api.data<Webhook>(200, "PUT", "/v1/webhooks", { body });
}

/** Creates a further endpoint. */
export function create(api: Served, body: object): Promise<Webhook> {
  return api.data<Webhook>(201, "POST", "/v1/webhooks", { body });
}

/** A page of the delivery log; `query` with its question mark. */
export function log(api: Served, query = "", ask: Ask = {}): Promise<DeliveryList> {
  return api.data<DeliveryList>(200, "GET", `/v1/webhooks/deliveries${query}`, ask);
}

/** Fields of an event; by default `message.sent` without a message. */
export interface EventFields {
  type?: EventType;
  messageId?: MessageId;
  sequence?: number;
}

/** An event of the context's customer, not committed. */
export function eventOf({ deps, customer }: TestContext, more: EventFields = {}): Event {
  const { type = "message.sent", messageId = null, sequence = 0 } = more;
  const id = deps.newId("evt");
  const fields = { id, customerId: customer.id, type, messageId, sequence, correlationId: "cor_1" };
  return makeEvent({ ...fields, createdAt: deps.clock.now() }, {});
}

/** Commits an event with its deliveries, a millisecond after the previous event; returns its id. */
export async function emitEvent(made: TestContext, more: EventFields & { callbackUrl?: string } = {}): Promise<string> {
  await made.clock.advance(1);
  const event = eventOf(made, more);
  await commitAll(made.deps, [{ op: "event", event, callbackUrl: more.callbackUrl ?? null }]);
  return event.id;
}

/** Adds the built-in inbox of the context's customer, as the service creates it. */
export async function addInbox({ deps, customer }: Pick<TestContext, "deps" | "customer">): Promise<Endpoint> {
  const id = deps.newId("wh");
  const now = deps.clock.now();
  const inbox: Endpoint = {
    id,
    version: 1,
    customerId: customer.id,
    kind: "inbox",
    name: null,
    url: "/sandbox/inbox/token",
    events: ["*"],
    active: true,
    maxInFlight: null,
    secret: deps.sealer.seal("whsec_inbox", endpointSecretPlace(id)),
    previousSecret: null,
    previousSecretUntil: null,
    goneSince: null,
    createdAt: now,
    updatedAt: now,
  };
  await commitAll(deps, [{ op: "insert", table: "endpoints", record: inbox }]);
  return inbox;
}
