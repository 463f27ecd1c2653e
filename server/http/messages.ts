/** Routes of messages: send, carousel, list, get, cancel, retry, delete (contract 3). */

import type { Message as WireMessage } from "../../sdk/wire.ts";
import { invalidField } from "../core/error.ts";
import type { Message } from "../core/message.ts";
import { messageRecord } from "../core/message-record.ts";
import { parseAddress } from "../core/phone.ts";
import { understandCarousel, understandMessage } from "../core/sending.ts";
import type { Inquiries } from "../engine/contacts/availability.ts";
import { type Context, forRequest } from "../engine/context.ts";
import { accept, acceptCarousel } from "../engine/messages/accept.ts";
import { dryRun } from "../engine/messages/dry-run.ts";
import { cancelSchedule, deleteMessage, requireMessage, retryMessage } from "../engine/messages/revise.ts";
import { updateMessage } from "../engine/messages/schedule.ts";
import { listMessages, listScheduled, type ScheduledPlace } from "../store/messages.ts";
import { ATTACHMENT_BODY_BYTES_MAX, type Route, route } from "./route.ts";
import { decodeCursor, encodeCursor } from "./schemas/common.ts";
import {
  ListMessages,
  ListScheduled,
  Rehearsal,
  RetryMessage,
  SendCarousel,
  SendMessage,
  UpdateMessage,
} from "./schemas/messages.ts";

export function messageRoutes(context: Context, inquiries: Inquiries): Route[] {
  return [
    sendRoute(context, inquiries),
    carouselRoute(context, inquiries),
    listRoute(context),
    scheduledRoute(context),
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

function listRoute(context: Context): Route {
  return route({
    method: "GET",
    path: "/v1/messages",
    scope: "messages",
    query: ListMessages,
    async handle({ caller, query }) {
      const { limit, cursor, offset, to, from, createdAfter, createdBefore, ...filter } = query;
      if (cursor !== undefined && offset !== undefined)
        throw invalidField("offset", "cannot be used together with cursor");
      const times = { createdAfter: instantOf(createdAfter), createdBefore: instantOf(createdBefore) };
      const addresses = { to: addressOf(to), from: addressOf(from) };
      const page = {
        before: cursor === undefined ? null : decodeCursor(cursor, isId),
        offset: offset ?? 0,
        limit: limit + 1,
      };
      const found = await listMessages(
        context.store.db,
        caller.customerId,
        { ...filter, ...addresses, ...times },
        page,
      );
      return { data: pageOf(context, found, limit, ({ id }) => id) };
    },
  });
}

function scheduledRoute(context: Context): Route {
  return route({
    method: "GET",
    path: "/v1/messages/scheduled",
    scope: "messages",
    query: ListScheduled,
    async handle({ caller, query: { limit, cursor } }) {
      const after = cursor === undefined ? null : decodeCursor(cursor, isScheduledPlace);
      const found = await listScheduled(context.store.db, caller.customerId, after, limit + 1);
      return { data: pageOf(context, found, limit, ({ id, scheduledAt }) => ({ id, scheduledAt })) };
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

/** A page of the `limit` first of what was found; one more was asked for, to know whether there is more. */
function pageOf({ link }: Context, found: readonly Message[], limit: number, place: (last: Message) => unknown) {
  const messages: WireMessage[] = found.slice(0, limit).map((message) => messageRecord(message, link));
  const last = found[limit - 1];
  const hasMore = found.length > limit && last !== undefined;
  return { messages, pagination: { hasMore, nextCursor: hasMore ? encodeCursor(place(last)) : null } };
}

function isId(value: unknown): value is string {
  return typeof value === "string";
}

function isScheduledPlace(value: unknown): value is ScheduledPlace {
  if (typeof value !== "object" || value === null || !("id" in value) || !("scheduledAt" in value)) return false;
  return typeof value.id === "string" && typeof value.scheduledAt === "number";
}

function instantOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Date.parse(text);
}

/** The form that addresses are stored in. */
function addressOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : (parseAddress(text)?.address ?? text);
}
