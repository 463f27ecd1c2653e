/** Messages, and what the phones of their recipients can do. */

import { type CallOptions, type Page, pages, segment } from "./paging.ts";
import type { Request } from "./request.ts";
import type {
  AcceptedCarousel,
  AcceptedMessage,
  Channel,
  Deleted,
  Direction,
  DryRun,
  EditMessage,
  Message,
  MessageList,
  MessageStatus,
  Reacted,
  ReactionCommand,
  SendCarousel,
  SendMessage,
  UpdateMessage,
} from "./wire.ts";

/** Filters of the message list; instants are ISO 8601. */
export interface MessageQuery extends Page {
  status?: MessageStatus | undefined;
  to?: string | undefined;
  from?: string | undefined;
  direction?: Direction | undefined;
  externalMessageId?: string | undefined;
  createdAfter?: string | undefined;
  createdBefore?: string | undefined;
  channel?: Channel | undefined;
  /** A chat id, or the address of a one-to-one thread. */
  chatId?: string | undefined;
  /** Words that are all in the text. */
  q?: string | undefined;
  /** Messages that changed since then, the oldest change first. The answer always has a `nextCursor`: keep it, and ask by it later. */
  updatedAfter?: string | undefined;
}

/** The routes under `/v1/messages`. */
export function messageRoutes(request: Request) {
  const path = (id: string) => `/v1/messages/${segment(id)}`;
  const list = (query?: MessageQuery, options?: CallOptions) =>
    request<MessageList>("GET", "/v1/messages", { ...options, query });
  return {
    list,
    send: (message: SendMessage, options?: CallOptions) =>
      request<AcceptedMessage>("POST", "/v1/messages", { ...options, body: message }),
    /** What would become of a message: its channel and why, its segments, what holds it back. Nothing is kept, and nothing sent. */
    dryRun: (message: SendMessage, options?: CallOptions) =>
      request<DryRun>("POST", "/v1/messages", { ...options, query: { dryRun: true }, body: message }),
    /** Sends two to twenty images as one message. */
    carousel: (carousel: SendCarousel, options?: CallOptions) =>
      request<AcceptedCarousel>("POST", "/v1/messages/carousel", { ...options, body: carousel }),
    get: (id: string, options?: CallOptions) => request<Message>("GET", path(id), options),
    /** Every message that matches, newest first, page by page. */
    listAll: (query: MessageQuery = {}, options?: CallOptions) => pages(list, query, options, (page) => page.messages),
    scheduled: (query?: Page, options?: CallOptions) =>
      request<MessageList>("GET", "/v1/messages/scheduled", { ...options, query }),
    /** Changes the text, media, time or metadata of one that is still scheduled. */
    update: (id: string, update: UpdateMessage, options?: CallOptions) =>
      request<Message>("PATCH", path(id), { ...options, body: update }),
    /** Stops one that is still scheduled. */
    cancel: (id: string, options?: CallOptions) => request<Message>("DELETE", `${path(id)}/schedule`, options),
    /** Sends a failed one again; one whose outcome is unknown only with `mayDuplicate`. */
    retry: (id: string, body?: { mayDuplicate?: boolean }, options?: CallOptions) =>
      request<Message>("POST", `${path(id)}/retry`, { ...options, body }),
    /** Changes the text on the recipient's phone (iMessage). */
    edit: (id: string, edit: EditMessage, options?: CallOptions) =>
      request<Message>("PUT", path(id), { ...options, body: edit }),
    /** Takes it back from the recipient's phone (iMessage). */
    unsend: (id: string, options?: CallOptions) => request<Message>("POST", `${path(id)}/unsend`, options),
    /** Reacts to it, or with a minus takes the reaction back (iMessage). */
    react: (id: string, type: ReactionCommand, options?: CallOptions) =>
      request<Reacted>("POST", `${path(id)}/reactions`, { ...options, body: { type } }),
    delete: (id: string, options?: CallOptions) => request<Deleted>("DELETE", path(id), options),
  };
}
