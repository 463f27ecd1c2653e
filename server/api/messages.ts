/** Routes of messages: send, carousel, list, get, cancel, retry, delete (contract 3). */

import { messageRecord } from "../core/message-record.ts";
import { understandCarousel, understandMessage } from "../core/sending.ts";
import type { Inquiries } from "../engine/contacts/availability.ts";
import { type Context, forRequest } from "../engine/context.ts";
import { accept, acceptCarousel } from "../engine/messages/accept.ts";
import { dryRun } from "../engine/messages/dry-run.ts";
import { cancelSchedule, deleteMessage, requireMessage, retryMessage } from "../engine/messages/revise.ts";
import { updateMessage } from "../engine/messages/schedule.ts";
import { messageListRoutes } from "./message-lists.ts";
import { ATTACHMENT_BODY_BYTES_MAX, type Route, route } from "./route.ts";
import { Rehearsal, RetryMessage, SendCarousel, SendMessage, UpdateMessage } from "./schemas/messages.ts";

export function messageRoutes(context: Context, inquiries: Inquiries): Route[] {
  return [
    sendRoute(context, inquiries),
    carouselRoute(context, inquiries),
    ...messageListRoutes(context),
    ...oneMessageRoutes(context),
  ];
}

function sendRoute(context: Context, inquiries: Inquiries): Route {
  return route({
    method: "POST",
    path: "/v1/messages",
    scope: "messages",
    query: Rehearsal,
    body: SendMessage,
    bodyBytesMax: ATTACHMENT_BODY_BYTES_MAX,
    async handle({ caller, query, body, correlationId, idempotencyKey }) {
      const { customerId, key } = caller;
      const owner = { customerId, keyId: key.id, correlationId };
      if (query.dryRun === true) return { data: await dryRun(context, inquiries, owner, understandMessage(body)) };
      const accepted = await accept(context, { ...owner, idempotencyKey, body });
      return { status: accepted.repeated ? 200 : 202, data: accepted.record };
    },
  });
}

function carouselRoute(context: Context, inquiries: Inquiries): Route {
  return route({
    method: "POST",
    path: "/v1/messages/carousel",
    scope: "messages",
    query: Rehearsal,
    body: SendCarousel,
    bodyBytesMax: ATTACHMENT_BODY_BYTES_MAX,
    async handle({ caller, query, body, correlationId, idempotencyKey }) {
      const { customerId, key } = caller;
      const owner = { customerId, keyId: key.id, correlationId };
      if (query.dryRun === true) return { data: await dryRun(context, inquiries, owner, understandCarousel(body)) };
      const { repeated, record } = await acceptCarousel(context, { ...owner, idempotencyKey, body });
      return { status: repeated ? 200 : 202, data: record };
    },
  });
}

function oneMessageRoutes(context: Context): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/messages/:id",
      scope: "messages",
      async handle({ caller, params }) {
        return { data: messageRecord(await requireMessage(context, caller.customerId, params.id), context.link) };
      },
    }),
    route({
      method: "PATCH",
      path: "/v1/messages/:id",
      scope: "messages",
      body: UpdateMessage,
      async handle({ caller: { customerId }, params: { id }, body, correlationId }) {
        const message = await updateMessage(forRequest(context, correlationId), customerId, id, body);
        return { data: messageRecord(message, context.link) };
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/messages/:id",
      scope: "messages",
      async handle({ caller, params, correlationId }) {
        await deleteMessage(forRequest(context, correlationId), caller.customerId, params.id);
        return { data: { id: params.id, deleted: true } };
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/messages/:id/schedule",
      scope: "messages",
      async handle({ caller, params, correlationId }) {
        const message = await cancelSchedule(forRequest(context, correlationId), caller.customerId, params.id);
        return { data: messageRecord(message, context.link) };
      },
    }),
    route({
      method: "POST",
      path: "/v1/messages/:id/retry",
      scope: "messages",
      body: RetryMessage,
      async handle({ caller: { customerId }, params: { id }, body, idempotencyKey, correlationId }) {
        const retrying = { customerId, id, mayDuplicate: body.mayDuplicate ?? false, idempotencyKey };
        const { repeated, message } = await retryMessage(forRequest(context, correlationId), retrying);
        return { status: repeated ? 200 : 202, data: messageRecord(message, context.link) };
      },
    }),
  ];
}
