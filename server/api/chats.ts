/** Routes of chats: list and get them, create and change groups, read their messages, send typing indicators. */

import { AddParticipant, ChatQuery, CreateGroup, RenameChat, SetTyping } from "../../contract/chats.ts";
import { ChatMessagesQuery } from "../../contract/messages.ts";
import { IdempotentRequest, PageQuery } from "../../contract/values.ts";
import { type Chat, chatRecord } from "../core/chat.ts";
import { invalidField } from "../core/error.ts";
import { messageRecord } from "../core/message-record.ts";
import { addParticipant, leaveGroup, removeParticipant, renameGroup } from "../engine/chats/change-group.ts";
import type { ChatActionResult } from "../engine/chats/chat-action.ts";
import { createGroup } from "../engine/chats/create-group.ts";
import { markChat } from "../engine/chats/mark-chat.ts";
import { requireChat } from "../engine/chats/require-chat.ts";
import { showTyping } from "../engine/chats/show-typing.ts";
import type { Deps } from "../engine/deps.ts";
import type { With } from "../engine/engine-deps.ts";
import { findLastMessage, listChats } from "../store/chats.ts";
import { listMessagesOfChat } from "../store/message-lists.ts";
import { listReader } from "./list-reader.ts";
import { pageOf, pageOfAll } from "./paging.ts";
import { type ApiResponse, type Route, route } from "./route.ts";

export function chatRoutes(
  deps: With<"configCache" | "link" | "optOutCache" | "providers" | "threadCache" | "typingIndicators">,
): Route[] {
  return [
    createRoute(deps),
    listRoute(deps),
    ...readRoutes(deps),
    ...memberRoutes(deps),
    ...markRoutes(deps),
    typingRoute(deps),
  ];
}

async function recordOf({ store }: Deps, chat: Chat) {
  return chatRecord(chat, await findLastMessage(store.db, chat.id));
}

async function answer(deps: Deps, result: Promise<ChatActionResult>): Promise<ApiResponse> {
  return { data: await recordOf(deps, (await result).chat) };
}

function createRoute(deps: With<"configCache" | "optOutCache" | "providers">): Route {
  return route({
    method: "POST",
    path: "/v1/chats/groups",
    scope: "messages",
    body: CreateGroup,
    async handle({ caller: { customerId }, body, idempotencyKey }) {
      const { repeated, chat } = await createGroup(deps, { customerId, idempotencyKey, body });
      return { status: repeated ? 200 : 201, data: await recordOf(deps, chat) };
    },
  });
}

function listRoute(deps: Deps): Route {
  return route({
    method: "GET",
    path: "/v1/chats",
    scope: "messages",
    query: PageQuery,
    async handle(request) {
      const { caller, query } = request;
      const db = listReader(deps, request);
      const { records, pagination } = await pageOfAll("chat_", query, async (before, limit) => {
        const found = await listChats(db, caller.customerId, before, limit);
        return found.map(({ chat, last }) => chatRecord(chat, last));
      });
      return { data: { chats: records, pagination } };
    },
  });
}

function readRoutes(deps: With<"link" | "threadCache">): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/chats/:id",
      scope: "messages",
      query: ChatQuery,
      async handle({ caller: { customerId }, params: { id }, query: { from } }) {
        return { data: await recordOf(deps, await requireChat(deps, { customerId, id, from })) };
      },
    }),
    route({
      method: "GET",
      path: "/v1/chats/:id/messages",
      scope: "messages",
      query: ChatMessagesQuery,
      async handle(request) {
        const { caller, params, query } = request;
        const { from, ...page } = query;
        const chat = await requireChat(deps, { customerId: caller.customerId, id: params.id, from });
        const db = listReader(deps, request);
        const { records, pagination } = await pageOf("msg_", page, (start, limit) =>
          listMessagesOfChat(db, chat.id, start, limit),
        );
        return { data: { messages: records.map((one) => messageRecord(one, deps.link)), pagination } };
      },
    }),
  ];
}

function memberRoutes(deps: With<"configCache" | "optOutCache" | "providers" | "threadCache">): Route[] {
  return [
    route({
      method: "PUT",
      path: "/v1/chats/:id/name",
      scope: "messages",
      body: RenameChat,
      query: ChatQuery,
      handle: ({ caller: { customerId }, params: { id }, query: { from }, body, correlationId, idempotencyKey }) =>
        answer(deps, renameGroup(deps, { customerId, id, from, correlationId, idempotencyKey }, body.name)),
    }),
    route({
      method: "POST",
      path: "/v1/chats/:id/participants",
      scope: "messages",
      body: AddParticipant,
      query: ChatQuery,
      async handle({ caller: { customerId }, params: { id }, query: { from }, body, correlationId, idempotencyKey }) {
        await requireChat(deps, { customerId, id, from });
        const asked = { customerId, id, from, correlationId, idempotencyKey };
        return await answer(deps, addParticipant(deps, asked, participantOf(body)));
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/chats/:id/participants/:address",
      scope: "messages",
      query: ChatQuery,
      handle: ({ caller: { customerId }, params: { id, address }, query: { from }, correlationId, idempotencyKey }) =>
        answer(deps, removeParticipant(deps, { customerId, id, from, correlationId, idempotencyKey }, address)),
    }),
    route({
      method: "POST",
      path: "/v1/chats/:id/leave",
      scope: "messages",
      body: IdempotentRequest,
      query: ChatQuery,
      handle: ({ caller: { customerId }, params: { id }, query: { from }, correlationId, idempotencyKey }) =>
        answer(deps, leaveGroup(deps, { customerId, id, from, correlationId, idempotencyKey })),
    }),
  ];
}

/** The participant to add, and the field that names it. */
function participantOf(body: { participant?: string; phoneNumber?: string }): { field: string; value: string } {
  const { participant, phoneNumber } = body;
  if (participant !== undefined && phoneNumber !== undefined) {
    throw invalidField("phoneNumber", "is an alias of participant; give one of the two");
  }
  if (phoneNumber !== undefined) return { field: "phoneNumber", value: phoneNumber };
  if (participant !== undefined) return { field: "participant", value: participant };
  throw invalidField("participant", "is required");
}

function markRoutes(deps: With<"configCache" | "providers" | "threadCache">): Route[] {
  return (["read", "unread"] as const).map((state) =>
    route({
      method: "POST",
      path: `/v1/chats/:id/${state}`,
      scope: "messages",
      body: IdempotentRequest,
      query: ChatQuery,
      handle: ({ caller: { customerId }, params: { id }, query: { from }, correlationId, idempotencyKey }) =>
        answer(deps, markChat(deps, { customerId, id, from, correlationId, idempotencyKey }, state === "read")),
    }),
  );
}

function typingRoute(deps: With<"configCache" | "providers" | "threadCache" | "typingIndicators">): Route {
  return route({
    method: "POST",
    path: "/v1/chats/:id/typing",
    scope: "messages",
    body: SetTyping,
    query: ChatQuery,
    async handle({ caller: { customerId }, params: { id }, query: { from }, body, correlationId, idempotencyKey }) {
      const { status = "start" } = body;
      const { chatId } = await showTyping(deps, { customerId, id, from, correlationId, idempotencyKey }, status);
      return { data: { chatId, status } };
    },
  });
}
