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
    /** List chats. Lists one-to-one threads and groups, newest first. */
    list,
    /** Iterates over every conversation, newest first, and requests page after page. */
    listAll: (query: Page = {}, options?: CallOptions) => pages(list, query, options, (page) => page.chats),
    /** Get a chat. Finds a chat by its id, or a one-to-one thread by the contact's address. */
    get: (id: string, options?: CallOptions) => request<Chat>("GET", path(id), options),
    /** List the messages of a chat. Lists messages of both directions, newest first. */
    messages,
    /** Iterates over every message of a conversation, newest first, and requests page after page. */
    messagesAll: (id: string, query: Page = {}, options?: CallOptions) =>
      pages(
        (page: Page) => messages(id, page, options),
        query,
        options,
        (page) => page.messages,
      ),
    /** Create a group. A group has 2 to 32 participants beside your own number. */
    createGroup: (group: CreateGroup, options?: CallOptions) =>
      request<Chat>("POST", "/v1/chats/groups", { ...options, body: group }),
    /** Rename a group. Renames the group for all of its participants (iMessage). */
    rename: (id: string, name: string, options?: CallOptions) =>
      request<Chat>("PUT", `${path(id)}/name`, { ...options, body: { name } }),
    /** Add a participant to a group. Adds a phone number or iMessage e-mail to the group (iMessage). */
    addParticipant: (id: string, participant: string, options?: CallOptions) =>
      request<Chat>("POST", `${path(id)}/participants`, { ...options, body: { participant } }),
    /** Remove a participant from a group. Removes a participant (iMessage). */
    removeParticipant: (id: string, participant: string, options?: CallOptions) =>
      request<Chat>("DELETE", `${path(id)}/participants/${segment(participant)}`, options),
    /** Leave a group. The chat and its messages stay readable in the service. */
    leave: (id: string, options?: CallOptions) => request<Chat>("POST", `${path(id)}/leave`, options),
    /** Mark a chat as read. The contact sees a read receipt, if the channel has read receipts. */
    markRead: (id: string, options?: CallOptions) => request<Chat>("POST", `${path(id)}/read`, options),
    /** Mark a chat as unread. Marks the chat on the phone of your number; the contact is not notified. */
    markUnread: (id: string, options?: CallOptions) => request<Chat>("POST", `${path(id)}/unread`, options),
    /** Show or hide the typing indicator. Without a body the indicator starts. */
    typing: (id: string, status: TypingStatus = "start", options?: CallOptions) =>
      request<Typing>("POST", `${path(id)}/typing`, { ...options, body: { status } }),
  };
}
