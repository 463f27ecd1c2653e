/** Routes of conversations: groups, and one-to-one threads, whose id may be the contact's address. */

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
    /** List chats. Threads and groups, newest first. */
    list,
    /** Iterates over every conversation, newest first, and requests page after page. */
    listAll: (query: Page = {}, options?: CallOptions) => pages(list, query, options, (page) => page.chats),
    /** Get a chat. By its id, or a one-to-one thread by the other address. */
    get: (id: string, options?: CallOptions) => request<Chat>("GET", path(id), options),
    /** List the messages of a chat. Both directions, newest first. */
    messages,
    /** Iterates over every message of a conversation, newest first, and requests page after page. */
    messagesAll: (id: string, query: Page = {}, options?: CallOptions) =>
      pages(
        (page: Page) => messages(id, page, options),
        query,
        options,
        (page) => page.messages,
      ),
    /** Make a group. 2 to 32 participants, not counting the number it is made from. */
    createGroup: (group: CreateGroup, options?: CallOptions) =>
      request<Chat>("POST", "/v1/chats/groups", { ...options, body: group }),
    /** Rename a group. For everybody in it. */
    rename: (id: string, name: string, options?: CallOptions) =>
      request<Chat>("PUT", `${path(id)}/name`, { ...options, body: { name } }),
    /** Add somebody to a group. Groups over iMessage only. */
    addParticipant: (id: string, participant: string, options?: CallOptions) =>
      request<Chat>("POST", `${path(id)}/participants`, { ...options, body: { participant } }),
    /** Take somebody out of a group. Groups over iMessage only; two participants have to stay. */
    removeParticipant: (id: string, participant: string, options?: CallOptions) =>
      request<Chat>("DELETE", `${path(id)}/participants/${segment(participant)}`, options),
    /** Leave a group. The chat and its messages stay readable here. */
    leave: (id: string, options?: CallOptions) => request<Chat>("POST", `${path(id)}/leave`, options),
    /** Mark a chat as read. The other end sees a read receipt, where the channel has them. */
    markRead: (id: string, options?: CallOptions) => request<Chat>("POST", `${path(id)}/read`, options),
    /** Mark a chat as unread. On the phone that the number is on; the other end is told nothing. */
    markUnread: (id: string, options?: CallOptions) => request<Chat>("POST", `${path(id)}/unread`, options),
    /** Show that you are typing. Without a body: start. */
    typing: (id: string, status: TypingStatus = "start", options?: CallOptions) =>
      request<Typing>("POST", `${path(id)}/typing`, { ...options, body: { status } }),
  };
}
