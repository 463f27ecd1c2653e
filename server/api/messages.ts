/** Routes of messages: send, carousel, list, get, cancel, retry, delete. */

import { RetryMessage, UpdateMessage } from "../../contract/messages.ts";
import { SendCarousel, SendMessage, SendQuery } from "../../contract/sending.ts";
import { messageRecord } from "../core/message-record.ts";
import { newCarousel, newMessage } from "../core/new-message.ts";
import type { AvailabilityLookups } from "../engine/contacts/availability.ts";
import { forRequest } from "../engine/deps.ts";
import type { With } from "../engine/engine-deps.ts";
import { type AcceptDeps, accept, acceptCarousel } from "../engine/messages/accept.ts";
import { deleteMessage, retryMessage } from "../engine/messages/actions.ts";
import { dryRun } from "../engine/messages/dry-run.ts";
import { requireMessage } from "../engine/messages/find.ts";
import { cancelSchedule, updateMessage } from "../engine/messages/schedule.ts";
import { messageListRoutes } from "./message-lists.ts";
import { ATTACHMENT_BODY_BYTES_MAX, type Route, route } from "./route.ts";

export function messageRoutes(deps: AcceptDeps & With<"backPressure">, inquiries: AvailabilityLookups): Route[] {
  return [
    sendRoute(deps, inquiries),
    carouselRoute(deps, inquiries),
    ...messageListRoutes(deps),
    ...oneMessageRoutes(deps),
  ];
}

function sendRoute(deps: AcceptDeps & With<"backPressure">, inquiries: AvailabilityLookups): Route {
  return route({
    method: "POST",
    path: "/v1/messages",
    scope: "messages",
    query: SendQuery,
    body: SendMessage,
    bodyBytesMax: ATTACHMENT_BODY_BYTES_MAX,
    async handle({ caller, query, body, correlationId, idempotencyKey, gone }) {
      const { customerId, key } = caller;
      const requester = { customerId, keyId: key.id, correlationId };
      if (query.dryRun === true) return { data: await dryRun(deps, inquiries, newMessage(requester, body)) };
      await deps.backPressure.turn(customerId, gone);
      const accepted = await accept(deps, newMessage(requester, body), idempotencyKey);
      return { status: accepted.repeated ? 200 : 202, data: accepted.record };
    },
  });
}

function carouselRoute(deps: AcceptDeps & With<"backPressure">, inquiries: AvailabilityLookups): Route {
  return route({
    method: "POST",
    path: "/v1/messages/carousel",
    scope: "messages",
    query: SendQuery,
    body: SendCarousel,
    bodyBytesMax: ATTACHMENT_BODY_BYTES_MAX,
    async handle({ caller, query, body, correlationId, idempotencyKey, gone }) {
      const { customerId, key } = caller;
      const requester = { customerId, keyId: key.id, correlationId };
      if (query.dryRun === true) return { data: await dryRun(deps, inquiries, newCarousel(requester, body)) };
      await deps.backPressure.turn(customerId, gone);
      const { repeated, record } = await acceptCarousel(deps, newCarousel(requester, body), idempotencyKey);
      return { status: repeated ? 200 : 202, data: record };
    },
  });
}

function oneMessageRoutes(deps: With<"configCache" | "connections" | "link" | "messageCache" | "providers">): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/messages/:id",
      scope: "messages",
      async handle({ caller, params }) {
        return { data: messageRecord(await requireMessage(deps, caller.customerId, params.id), deps.link) };
      },
    }),
    route({
      method: "PATCH",
      path: "/v1/messages/:id",
      scope: "messages",
      body: UpdateMessage,
      async handle({ caller: { customerId }, params: { id }, body, correlationId }) {
        const message = await updateMessage(forRequest(deps, correlationId), customerId, id, body);
        return { data: messageRecord(message, deps.link) };
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/messages/:id",
      scope: "messages",
      async handle({ caller, params, correlationId }) {
        await deleteMessage(forRequest(deps, correlationId), caller.customerId, params.id);
        return { data: { id: params.id, deleted: true } };
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/messages/:id/schedule",
      scope: "messages",
      async handle({ caller, params, correlationId }) {
        const message = await cancelSchedule(forRequest(deps, correlationId), caller.customerId, params.id);
        return { data: messageRecord(message, deps.link) };
      },
    }),
    route({
      method: "POST",
      path: "/v1/messages/:id/retry",
      scope: "messages",
      body: RetryMessage,
      async handle({ caller: { customerId }, params: { id }, body, idempotencyKey, correlationId }) {
        const retrying = { customerId, id, mayDuplicate: body.mayDuplicate ?? false, idempotencyKey };
        const { repeated, message } = await retryMessage(forRequest(deps, correlationId), retrying);
        return { status: repeated ? 200 : 202, data: messageRecord(message, deps.link) };
      },
    }),
  ];
}
