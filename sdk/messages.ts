/** Routes of messages. */

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
  /** Only messages whose text has all these words. */
  q?: string | undefined;
  /** Only messages that changed since then, the oldest change first. Store the `nextCursor`, and continue with it later. */
  updatedAfter?: string | undefined;
}

/** The routes under `/v1/messages`. */
export function messageRoutes(request: Request) {
  const path = (id: string) => `/v1/messages/${segment(id)}`;
  const list = (query?: MessageQuery, options?: CallOptions) =>
    request<MessageList>("GET", "/v1/messages", { ...options, query });
  return {
    /** List messages. Lists messages of both directions, newest first. */
    list,
    /** Send a message. Give exactly one of `to` and `chatId`, and a text, media or attachments. */
    send: (message: SendMessage, options?: CallOptions) =>
      request<AcceptedMessage>("POST", "/v1/messages", { ...options, body: message }),
    /**
     * Send a message. Give exactly one of `to` and `chatId`, and a text, media or attachments.
     * @remarks Only a dry run: returns the channel and why, the segments, and what would hold the message. Nothing is
     * stored or sent.
     */
    dryRun: (message: SendMessage, options?: CallOptions) =>
      request<DryRun>("POST", "/v1/messages", { ...options, query: { dryRun: true }, body: message }),
    /** Send a carousel of images. Sends 2 to 20 images as one message, with every other option of a message. */
    carousel: (carousel: SendCarousel, options?: CallOptions) =>
      request<AcceptedCarousel>("POST", "/v1/messages/carousel", { ...options, body: carousel }),
    /** Get a message. Returns the current state of a message, with the timeline of its statuses and channels. */
    get: (id: string, options?: CallOptions) => request<Message>("GET", path(id), options),
    /** Iterates over every message that matches, newest first, and requests page after page. */
    listAll: (query: MessageQuery = {}, options?: CallOptions) => pages(list, query, options, (page) => page.messages),
    /** List scheduled messages. Lists messages that wait for their time, soonest first. */
    scheduled: (query?: Page, options?: CallOptions) =>
      request<MessageList>("GET", "/v1/messages/scheduled", { ...options, query }),
    /** Change a scheduled message. Changes the text, media, time or metadata of a message before it is sent. */
    update: (id: string, update: UpdateMessage, options?: CallOptions) =>
      request<Message>("PATCH", path(id), { ...options, body: update }),
    /** Cancel a scheduled message. A message is either cancelled or sent, never both. */
    cancel: (id: string, options?: CallOptions) => request<Message>("DELETE", `${path(id)}/schedule`, options),
    /**
     * Retry a failed message. Sends the message again by the channel that failed.
     * @remarks A message whose outcome is unknown needs `mayDuplicate`.
     */
    retry: (id: string, body?: { mayDuplicate?: boolean }, options?: CallOptions) =>
      request<Message>("POST", `${path(id)}/retry`, { ...options, body }),
    /** Edit a message. Changes the text on the recipient's phone (iMessage, once the message was sent). */
    edit: (id: string, edit: EditMessage, options?: CallOptions) =>
      request<Message>("PUT", path(id), { ...options, body: edit }),
    /** Unsend a message. Removes the message from the recipient's phone (iMessage, once the message was sent). */
    unsend: (id: string, options?: CallOptions) => request<Message>("POST", `${path(id)}/unsend`, options),
    /**
     * React to a message. Reacts to a sent or received message (iMessage) with one of the six reactions, or with a
     * single emoji if the channel supports it: the sandbox does, BlueBubbles does not.
     * @remarks A minus before the reaction removes it.
     */
    react: (id: string, type: ReactionCommand, options?: CallOptions) =>
      request<Reacted>("POST", `${path(id)}/reactions`, { ...options, body: { type } }),
    /**
     * Delete a message. Erases the text and media in the service, not on the recipient's phone; in stored events too,
     * once none of their deliveries is pending.
     */
    delete: (id: string, options?: CallOptions) => request<Deleted>("DELETE", path(id), options),
  };
}
