/** Lists of messages: by filters, newest first; changes, oldest first; scheduled messages, soonest first. */

import type { Static } from "typebox";
import { MessagesQuery } from "../../contract/messages.ts";
import { PageQuery } from "../../contract/values.ts";
import type { MessageList } from "../../sdk/wire.ts";
import { ApiError, invalidField } from "../core/error.ts";
import type { ChatId, CustomerId } from "../core/id.ts";
import { messageRecord } from "../core/message-record.ts";
import { parseAddress } from "../core/phone.ts";
import { searchWords } from "../core/search.ts";
import { requireChat } from "../engine/chats/require-chat.ts";
import type { With } from "../engine/engine-deps.ts";
import { beginChanges, type ChangesCursor, listChanges } from "../store/message-changes.ts";
import { listMessages, listScheduled, type MessageFilter, type ScheduledCursor } from "../store/message-lists.ts";
import { decodeCursor, encodeCursor, readCursor } from "./cursor.ts";
import { listReader } from "./list-reader.ts";
import { pageOf, startOf } from "./paging.ts";
import { type ApiRequest, type Route, route } from "./route.ts";

export function messageListRoutes(deps: With<"link" | "threadCache">): Route[] {
  return [listRoute(deps), scheduledRoute(deps)];
}

type MessageListQuery = Static<typeof MessagesQuery>;

function listRoute(deps: With<"link" | "threadCache">): Route {
  return route({
    method: "GET",
    path: "/v1/messages",
    scope: "messages",
    query: MessagesQuery,
    async handle(request) {
      const { caller, query } = request;
      const { cursor, offset, updatedAfter } = query;
      if (cursor !== undefined && offset !== undefined) {
        throw invalidField("offset", "cannot be used together with cursor");
      }
      const filter = await filterOf(deps, caller.customerId, query);
      const place = cursor === undefined ? null : feedPlaceOf(cursor);
      if (updatedAfter !== undefined || place !== null) return { data: await feed(deps, request, filter, place) };
      const db = listReader(deps, request);
      const { records, pagination } = await pageOf(
        "msg_",
        query,
        (start, limit) => listMessages(db, caller.customerId, filter, start, limit),
        offset,
      );
      const data: MessageList = { messages: records.map((one) => messageRecord(one, deps.link)), pagination };
      return { data };
    },
  });
}

/** The changes from `place` on. There is always a cursor: the next change comes after it. */
async function feed(
  deps: With<"link">,
  request: ApiRequest<unknown, MessageListQuery>,
  filter: MessageFilter,
  place: ChangesCursor | null,
): Promise<MessageList> {
  const { caller, query } = request;
  const { cursor, offset, updatedAfter = "", limit } = query;
  if (offset !== undefined)
    throw invalidField("offset", "cannot be used together with updatedAfter; continue with cursor");
  if (cursor !== undefined && place === null) {
    // Throws for text that is no cursor of the list either.
    startOf("msg_", cursor);
    throw invalidField("cursor", "comes from a list without updatedAfter; begin the feed without a cursor");
  }
  const { clock, settings } = deps;
  const real = clock.real();
  const times = { real, shiftMs: clock.now() - real, retentionMs: settings.retentionMs };
  const db = listReader(deps, request);
  const from = place ?? (await beginChanges(db, Date.parse(updatedAfter), times));
  const customerId = caller?.customerId as CustomerId;
  const { messages, deleted, next, hasMore } = await listChanges(db, customerId, filter, { place: from, limit, times });
  return {
    messages: messages.map((one) => messageRecord(one, deps.link)),
    deleted,
    pagination: { hasMore, nextCursor: encodeCursor(next) },
  };
}

function feedPlaceOf(cursor: string): ChangesCursor | null {
  const value = readCursor(cursor);
  return isFeedPlace(value) ? value : null;
}

function isFeedPlace(value: unknown): value is ChangesCursor {
  if (typeof value !== "object" || value === null || !("in" in value)) return false;
  const place = value as Record<string, unknown>;
  const isTime = (at: unknown) => Number.isFinite(at);
  if (place.in === "events") {
    const { position, readAt, since } = place;
    return Number.isSafeInteger(position) && isTime(readAt) && (since === null || isTime(since));
  }
  const { after, since, keptAt } = place;
  return place.in === "messages" && (after === null || typeof after === "string") && isTime(since) && isTime(keptAt);
}

async function filterOf(
  deps: With<"threadCache">,
  customerId: CustomerId,
  query: MessageListQuery,
): Promise<MessageFilter> {
  const { status, direction, externalMessageId, channel, q, createdAfter, createdBefore } = query;
  return {
    status,
    direction,
    externalMessageId,
    channel,
    to: addressOf(query.to),
    from: addressOf(query.from),
    chatId: query.chatId === undefined ? undefined : await chatIdOf(deps, customerId, query.chatId),
    words: q === undefined ? undefined : wordsOf(q),
    createdAfter: instantOf(createdAfter),
    createdBefore: instantOf(createdBefore),
  };
}

/** Finds the chat by any form of id that `GET /v1/chats/:id` accepts. */
async function chatIdOf(deps: With<"threadCache">, customerId: CustomerId, id: string): Promise<ChatId> {
  try {
    return (await requireChat(deps, { customerId, id })).id;
  } catch (error) {
    if (error instanceof ApiError && error.code === "CONVERSATION_NOT_FOUND") {
      throw invalidField("chatId", `names no conversation: there is no ${JSON.stringify(id.slice(0, 100))}`);
    }
    throw error;
  }
}

function wordsOf(search: string): string {
  const words = searchWords(search);
  if (words === "") throw invalidField("q", "must contain a word to search for");
  return words;
}

function scheduledRoute(deps: With<"link">): Route {
  return route({
    method: "GET",
    path: "/v1/messages/scheduled",
    scope: "messages",
    query: PageQuery,
    async handle(request) {
      const { limit, cursor } = request.query;
      const after = cursor === undefined ? null : decodeCursor(cursor, isScheduledPlace);
      const db = listReader(deps, request);
      const found = await listScheduled(db, request.caller.customerId, after, limit + 1);
      const messages = found.slice(0, limit).map((message) => messageRecord(message, deps.link));
      const last = found[limit - 1];
      const hasMore = found.length > limit && last !== undefined;
      const nextCursor = hasMore ? encodeCursor({ id: last.id, scheduledAt: last.scheduledAt }) : null;
      const data: MessageList = { messages, pagination: { hasMore, nextCursor } };
      return { data };
    },
  });
}

function isScheduledPlace(value: unknown): value is ScheduledCursor {
  if (typeof value !== "object" || value === null || !("id" in value) || !("scheduledAt" in value)) return false;
  return typeof value.id === "string" && typeof value.scheduledAt === "number";
}

function instantOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Date.parse(text);
}

/** The address in the form in which it is stored. */
function addressOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : (parseAddress(text)?.address ?? text);
}
