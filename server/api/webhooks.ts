/** Routes of webhooks: the primary endpoint, further endpoints, their secrets, tests and replays. */

import { IdempotentRequest } from "../../contract/values.ts";
import { CreateWebhook, ReplayEvents, RotateSecret, SetWebhook, UpdateWebhook } from "../../contract/webhooks.ts";
import type { StartedReplay, TestedDelivery, ReplayEvents as WireReplayEvents } from "../../sdk/wire.ts";
import type { Delivery } from "../core/delivery.ts";
import { invalidField } from "../core/error.ts";
import type { CustomerId, DeliveryId } from "../core/id.ts";
import { type Replay, replayRecord } from "../core/replay.ts";
import { isStandardSecret } from "../core/signature.ts";
import { type Endpoint, signingSecretRecord, webhookRecord } from "../core/webhook.ts";
import type { Deps } from "../engine/deps.ts";
import type { With } from "../engine/engine-deps.ts";
import type { IdempotentResult } from "../engine/idempotency.ts";
import { customerSecretPlace, endpointSecretPlace, openedSecret } from "../engine/secret-places.ts";
import {
  type Configured,
  createWebhook,
  deleteWebhook,
  rotateSecret,
  setWebhook,
  updateWebhook,
} from "../engine/webhooks/configure.ts";
import { type EndpointRef, requireEndpoint } from "../engine/webhooks/endpoints.ts";
import { requireDelivery, testWebhook } from "../engine/webhooks/redeliver.ts";
import { beginReplay, lastReplay, type ReplayRequest, startedReplay, stopReplay } from "../engine/webhooks/replay.ts";
import { findSigners, type Signer } from "../store/customers.ts";
import { tallyReplay } from "../store/replays.ts";
import type { Store } from "../store/store.ts";
import { findPrimaryEndpoint, listWebhooks } from "../store/webhooks.ts";
import { oneRecord } from "./deliveries.ts";
import { listReader } from "./list-reader.ts";
import { LongPoll } from "./long-poll.ts";
import type { OpenResponses } from "./open-responses.ts";
import { type ApiResponse, type Route, route } from "./route.ts";

/** How long a test waits for its first attempt, in real milliseconds. */
const TEST_MS_MAX = 5_000;

export function webhookRoutes(
  deps: With<"attempted" | "membership" | "sealer">,
  openResponses: OpenResponses,
): Route[] {
  return [
    ...primaryEndpointRoutes(deps),
    ...endpointsRoutes(deps),
    ...oneEndpointRoutes(deps),
    ...secretRoutes(deps),
    ...testRoutes(deps, openResponses),
    ...replayRoutes(deps),
  ];
}

function primaryEndpointRoutes(deps: With<"membership" | "sealer">): Route[] {
  return [
    route({
      method: "PUT",
      path: "/v1/webhooks",
      scope: "messages",
      body: SetWebhook,
      async handle({ caller, body }) {
        const { endpoint, secret } = await setWebhook(deps, caller.customerId, body);
        return { data: await recordOf(deps, endpoint, secret) };
      },
    }),
    route({
      method: "GET",
      path: "/v1/webhooks",
      scope: "messages",
      async handle({ caller }) {
        const endpoint = await findPrimaryEndpoint(deps.store.db, caller.customerId);
        return { data: endpoint === null ? null : await recordOf(deps, endpoint) };
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/webhooks",
      scope: "messages",
      async handle({ caller, gone }) {
        return { data: { id: await deleteWebhook(deps, caller.customerId, null, gone()), deleted: true } };
      },
    }),
  ];
}

function endpointsRoutes(deps: With<"membership" | "sealer">): Route[] {
  return [
    route({
      method: "POST",
      path: "/v1/webhooks",
      scope: "messages",
      body: CreateWebhook,
      async handle({ caller: { customerId }, body, idempotencyKey: key }) {
        const request = { key, customerId, route: "POST /v1/webhooks", body };
        const created = await createWebhook(deps, request, customerId, body);
        return configuredReply(deps, customerId, created);
      },
    }),
    route({
      method: "GET",
      path: "/v1/webhooks/list",
      scope: "messages",
      async handle(request) {
        const endpoints = await listWebhooks(listReader(deps, request), request.caller.customerId);
        return { data: await Promise.all(endpoints.map((endpoint) => recordOf(deps, endpoint))) };
      },
    }),
  ];
}

function oneEndpointRoutes(deps: With<"membership" | "sealer">): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/webhooks/:id",
      scope: "messages",
      async handle({ caller, params }) {
        return { data: await recordOf(deps, await requireEndpoint(deps, caller.customerId, params.id)) };
      },
    }),
    route({
      method: "PATCH",
      path: "/v1/webhooks/:id",
      scope: "messages",
      body: UpdateWebhook,
      async handle({ caller, params, body, gone }) {
        return { data: await recordOf(deps, await updateWebhook(deps, caller.customerId, params.id, body, gone())) };
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/webhooks/:id",
      scope: "messages",
      async handle({ caller, params, gone }) {
        return { data: { id: await deleteWebhook(deps, caller.customerId, params.id, gone()), deleted: true } };
      },
    }),
  ];
}

/** The two paths of a POST to an endpoint: without an id for the primary one, with its id for any. */
const WAYS = ["/v1/webhooks", "/v1/webhooks/:id"] as const;

function targetOf(params: { id?: string }): { target: EndpointRef; path: string } {
  const { id } = params;
  return id === undefined ? { target: null, path: "/v1/webhooks" } : { target: id, path: `/v1/webhooks/${id}` };
}

function secretRoutes(deps: With<"membership" | "sealer">): Route[] {
  return WAYS.map((way) =>
    route({
      method: "POST",
      path: `${way}/rotate-secret`,
      scope: "messages",
      body: RotateSecret,
      async handle({ caller: { customerId }, params, body, idempotencyKey: key }) {
        const { target, path } = targetOf(params);
        const graceSeconds = body.gracePeriodSeconds ?? 0;
        const request = { key, customerId, route: `POST ${path}/rotate-secret`, body: { graceSeconds } };
        const rotated = await rotateSecret(deps, request, customerId, { target, graceSeconds });
        // Without an id, the current primary endpoint is meant; with an id, exactly that endpoint.
        const endpoint = rotated.repeated ? await standing(deps, customerId, target) : rotated.value.endpoint;
        const secret = rotated.repeated ? null : rotated.value.secret;
        if (endpoint !== null) return { data: await recordOf(deps, endpoint, secret) };
        const [signer] = await findSigners(deps.store.db, [customerId]);
        return { data: signingSecretRecord({ graceUntil: graceOf(deps, signer), secret }) };
      },
    }),
  );
}

function testRoutes(deps: With<"attempted">, openResponses: OpenResponses): Route[] {
  return WAYS.map((way) =>
    route({
      method: "POST",
      path: `${way}/test`,
      scope: "messages",
      body: IdempotentRequest,
      async handle({ caller: { customerId }, params, correlationId, idempotencyKey: key, gone }) {
        const { target, path } = targetOf(params);
        const request = { key, customerId, route: `POST ${path}/test`, body: {} };
        const tested = await testWebhook(deps, request, customerId, { target, correlationId });
        const id = (tested.repeated ? tested.firstResult : tested.value.id) as DeliveryId;
        const poll = new LongPoll(deps, TEST_MS_MAX, openResponses, gone());
        return { data: await testedRecord(deps, await firstAttempt(deps, customerId, id, poll)) };
      },
    }),
  );
}

/** The delivery after its first attempt, or its state when the poll ends. */
async function firstAttempt(
  deps: With<"attempted">,
  customerId: CustomerId,
  id: DeliveryId,
  poll: LongPoll,
): Promise<Delivery> {
  const stopListening = deps.attempted.listen(id, () => poll.wake());
  try {
    for (;;) {
      // Read after listening began, so that every later attempt wakes the poll.
      const delivery = await requireDelivery(deps, customerId, id);
      if (delivery.attemptCount > 0 || delivery.status !== "pending" || poll.isOver) return delivery;
      await poll.pause();
    }
  } finally {
    stopListening();
    poll.end();
  }
}

async function testedRecord(deps: Deps, delivery: Delivery): Promise<TestedDelivery> {
  const record = await oneRecord(deps, delivery);
  const delivered = record.status === "succeeded";
  return { ...record, delivered, responseStatus: record.attempts.at(-1)?.status ?? null };
}

function replayRoutes(deps: Deps): Route[] {
  const path = "/v1/webhooks/:id/replay";
  const shown = async (replay: Replay, reader: Store["db"]) =>
    replayRecord(replay, await tallyReplay(reader, replay.id));
  return [
    route({
      method: "POST",
      path,
      scope: "messages",
      body: ReplayEvents,
      async handle(request) {
        const { caller, params, body, idempotencyKey: key } = request;
        const { customerId } = caller;
        const named = { key, customerId, route: `POST /v1/webhooks/${params.id}/replay`, body };
        const wish = wishOf(params.id, body);
        const begun = await beginReplay(deps, named, customerId, wish, listReader(deps, request));
        if (begun.repeated) return { data: JSON.parse(begun.firstResult) as StartedReplay };
        return { status: 202, data: startedReplay(begun.value) };
      },
    }),
    route({
      method: "GET",
      path,
      scope: "messages",
      async handle(request) {
        const replay = await lastReplay(deps, request.caller.customerId, request.params.id);
        return { data: replay === null ? null : await shown(replay, listReader(deps, request)) };
      },
    }),
    route({
      method: "DELETE",
      path,
      scope: "messages",
      async handle(request) {
        const replay = await stopReplay(deps, request.caller.customerId, request.params.id, request.gone());
        return { data: await shown(replay, listReader(deps, request)) };
      },
    }),
  ];
}

function wishOf(endpointId: string, body: WireReplayEvents): ReplayRequest {
  const since = Date.parse(body.since);
  const until = body.until === undefined ? null : Date.parse(body.until);
  if (until !== null && until <= since) throw invalidField("until", "must be later than since");
  return { endpointId, since, until, types: body.types ?? null, onlyFailed: body.only === "failed" };
}

async function recordOf(deps: With<"sealer">, endpoint: Endpoint, secret: string | null = null) {
  const { settings, store } = deps;
  const { id, customerId } = endpoint;
  const [signer] = endpoint.secret === null ? await findSigners(store.db, [customerId]) : [endpoint];
  const place = endpoint.secret === null ? customerSecretPlace(customerId) : endpointSecretPlace(id);
  const graceUntil = graceOf(deps, signer);
  const sealed = signer?.secret ?? null;
  const signing = sealed === null ? null : openedSecret(deps.sealer, sealed, place);
  const standardWebhooks = signing !== null && isStandardSecret(signing);
  return webhookRecord(endpoint, { maxInFlight: settings.webhookConcurrency, standardWebhooks, graceUntil, secret });
}

/** The end of the grace period that runs; null without one. */
function graceOf({ clock }: Deps, signer: Pick<Signer, "previousSecretUntil"> | undefined): number | null {
  const until = signer?.previousSecretUntil ?? null;
  return until !== null && until > clock.real() ? until : null;
}

/** The endpoint that a repeated rotation names; null if it is the primary one and there is none. */
function standing(deps: Deps, customerId: CustomerId, target: EndpointRef): Promise<Endpoint | null> {
  return target === null ? findPrimaryEndpoint(deps.store.db, customerId) : requireEndpoint(deps, customerId, target);
}

/** The endpoint with its generated secret. A repeat gets the current state without the secret. Throws 404 if the endpoint is gone. */
async function configuredReply(
  deps: With<"sealer">,
  customerId: CustomerId,
  result: IdempotentResult<Configured>,
): Promise<ApiResponse> {
  if (!result.repeated) return { status: 201, data: await recordOf(deps, result.value.endpoint, result.value.secret) };
  return { data: await recordOf(deps, await requireEndpoint(deps, customerId, result.firstResult)) };
}
