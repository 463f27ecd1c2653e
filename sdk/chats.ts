/** Conversations: one-to-one threads, which may be named by the other address, and groups. */

import { type CallOptions, type Page, pages, segment } from "./paging.ts";
import type { Request } from "./request.ts";
import type { Chat, ChatList, CreateGroup, MessageList, Typing, TypingStatus } from "./wire.ts";

/** The routes under `/v1/chats`. */
export function chatRoutes(request: Request) {
  const path = (id: string) => `/v1/chats/${segment(id)}`;
  const list = (query?: Page, options?: CallOptions) => request<ChatList>("GET", "/v1/chats", { ...options, query });
  const messages = (id: string, query?: Page, options?: CallOptions) =>
    request<MessageList>("GET", `${path(id)}/messages`, { ...options, query });
  return {
    list,
    /** Every conversation, newest first, page by page. */
    listAll: (query: Page = {}, options?: CallOptions) => pages(list, query, options, (page) => page.chats),
    get: (id: string, options?: CallOptions) => request<Chat>("GET", path(id), options),
    messages,
    /** Every message of a conversation, newest first, page by page. */
    messagesAll: (id: string, query: Page = {}, options?: CallOptions) =>
      pages(
        (page: Page) => messages(id, page, options),
        query,
        options,
        (page) => page.messages,
      ),
    createGroup: (group: CreateGroup, options?: CallOptions) =>
      request<Chat>("POST", "/v1/chats/groups", { ...options, body: group }),
    /** Names a group. */
    rename: (id: string, name: string, options?: CallOptions) =>
      request<Chat>("PUT", `${path(id)}/name`, { ...options, body: { name } }),
    addParticipant: (id: string, participant: string, options?: CallOptions) =>
      request<Chat>("POST", `${path(id)}/participants`, { ...options, body: { participant } }),
    removeParticipant: (id: string, participant: string, options?: CallOptions) =>
      request<Chat>("DELETE", `${path(id)}/participants/${segment(participant)}`, options),
    leave: (id: string, options?: CallOptions) => request<Chat>("POST", `${path(id)}/leave`, options),
    markRead: (id: string, options?: CallOptions) => request<Chat>("POST", `${path(id)}/read`, options),
    markUnread: (id: string, options?: CallOptions) => request<Chat>("POST", `${path(id)}/unread`, options),
    /** Shows or ends the three dots on the other end's phone; they end by themselves after a minute. */
    typing: (id: string, status: TypingStatus = "start", options?: CallOptions) =>
      request<Typing>("POST", `${path(id)}/typing`, { ...options, body: { status } }),
  };
}
