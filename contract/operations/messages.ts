/** Operations on messages. */

import {
  EditMessage,
  Message,
  MessageList,
  MessagesQuery,
  messageExample,
  React,
  Reacted,
  RetryMessage,
  retriedExample,
  scheduledExample,
  UpdateMessage,
} from "../messages.ts";
import { linksTo, operation, type Section } from "../operation.ts";
import { at, CONTACT, CURSOR, IDS, LAST_PAGE } from "../samples.ts";
import {
  AcceptedCarousel,
  AcceptedMessage,
  acceptedExample,
  DryRun,
  SendCarousel,
  SendMessage,
  SendQuery,
} from "../sending.ts";
import { Deleted, IdempotentRequest, PageQuery } from "../values.ts";

const dryRun = { response: DryRun, when: "With `dryRun=true`: the plan of the message. Nothing is stored or sent." };

const sending = [
  "INVALID_PHONE_NUMBER",
  "INVALID_RECIPIENT",
  "NO_DEFAULT_ADDRESS",
  "NO_CHANNEL_AVAILABLE",
  "CHANNEL_NOT_SUPPORTED",
  "INVALID_STATUS",
  "INVALID_SCHEDULED_AT",
  "SCHEDULED_IN_PAST",
  "SCHEDULED_TOO_FAR",
  "ADDRESS_NOT_AUTHORIZED",
  "RECIPIENT_OPTED_OUT",
  "REPLY_NOT_FOUND",
  "CONVERSATION_NOT_FOUND",
] as const;

/** Errors of an action on a message that is on a phone. */
const acting = ["INVALID_STATUS", "CHANNEL_NOT_SUPPORTED", "PROVIDER_ERROR", "PROVIDER_TIMEOUT"] as const;

const sends: Section["operations"] = {
  "POST /v1/messages": operation({
    id: "sendMessage",
    summary: "Send a message",
    description:
      "Give exactly one of `to` and `chatId`, and a text, media or attachments. Without `from`, the message is sent from the number of the newest conversation with this recipient that has a channel for it, or from the default number; the timeline says which and why.\n\nThe response is a promise: the message and its event are on disk before anything is sent. Messages from one number to one recipient are sent in the order of acceptance. Events report the outcome.",
    status: 202,
    query: SendQuery,
    body: SendMessage,
    response: AcceptedMessage,
    example: acceptedExample,
    instead: dryRun,
    errors: sending,
    bodyExample: {
      to: CONTACT,
      content: { text: "Your table is ready." },
      externalMessageId: "order-1001",
      metadata: { table: 7 },
    },
    links: linksTo("getMessage", "updateMessage", "deleteMessage"),
  }),
  "POST /v1/messages/carousel": operation({
    id: "sendCarousel",
    summary: "Send a carousel of images",
    description: "Sends 2 to 20 images as one message, with every other option of a message.",
    status: 202,
    query: SendQuery,
    body: SendCarousel,
    response: AcceptedCarousel,
    instead: dryRun,
    example: { ...acceptedExample, messageType: "carousel", imageCount: 2 },
    errors: sending,
    bodyExample: {
      to: CONTACT,
      mediaUrls: ["https://images.example.com/1.jpg", "https://images.example.com/2.jpg"],
      text: "Two of our rooms.",
      externalMessageId: "order-1001",
    },
    links: linksTo("getMessage", "deleteMessage"),
  }),
};

const lists: Section["operations"] = {
  "GET /v1/messages": operation({
    id: "listMessages",
    summary: "List messages",
    description:
      "Lists messages of both directions, newest first. The list is stable while messages are added. A page looks through a limited number of messages: if a filter matches few among very many, the page may hold fewer than `limit`, or none, while `hasMore` is true; continue with `nextCursor`.\n\n`updatedAfter` makes the list a feed to synchronize another system with: messages that changed since that instant, oldest change first, each in its current state. Every event is a change. The response always has a `nextCursor`, even if `hasMore` is false: keep it, and pass it later to get what changed since. The feed misses nothing, including changes that commit late; a message that changes again is listed again. `deleted` holds ids of deleted messages. Changes older than the retention of events (`TB_RETENTION`) come first, in the order in which the messages were created.",
    query: MessagesQuery,
    response: MessageList,
    example: { messages: [messageExample], pagination: { hasMore: true, nextCursor: CURSOR } },
    queryExample: { status: "read", limit: "20" },
  }),
  "GET /v1/messages/scheduled": operation({
    id: "listScheduledMessages",
    summary: "List scheduled messages",
    description: "Lists messages that wait for their time, soonest first.",
    query: PageQuery,
    response: MessageList,
    example: { messages: [scheduledExample], pagination: LAST_PAGE },
  }),
};

const records: Section["operations"] = {
  "GET /v1/messages/:id": operation({
    id: "getMessage",
    summary: "Get a message",
    description: "Returns the current state of a message, with the timeline of its statuses and channels.",
    response: Message,
    example: messageExample,
  }),
  "PUT /v1/messages/:id": operation({
    id: "editMessage",
    summary: "Edit a message",
    description:
      "Changes the text on the recipient's phone (iMessage, once the message was sent). Phones that do not support edits show `backwardsCompatibilityMessage`.",
    body: EditMessage,
    response: Message,
    example: { ...messageExample, content: { text: "Your table is ready now.", mediaUrls: [] }, updatedAt: at(90) },
    errors: ["INVALID_STATUS", "CHANNEL_NOT_SUPPORTED", "ALREADY_UNSENT", "EDIT_FAILED", "PROVIDER_TIMEOUT"],
    bodyExample: { text: "Your table is ready now." },
  }),
  "PATCH /v1/messages/:id": operation({
    id: "updateMessage",
    summary: "Change a scheduled message",
    description:
      "Changes the text, media, time or metadata of a message before it is sent. An absent field stays as it is; `metadata` is replaced as a whole. The message keeps those of its channels that carry the files which it then requires (`routing.attachments`). Once the message is due, the response is 400 `INVALID_STATUS`. A change emits `message.scheduled` again, with the next `sequence`.",
    body: UpdateMessage,
    response: Message,
    example: {
      ...scheduledExample,
      content: { text: "Your table is ready at eight.", mediaUrls: [] },
      updatedAt: at(30),
    },
    errors: [
      "INVALID_STATUS",
      "CHANNEL_NOT_SUPPORTED",
      "INVALID_SCHEDULED_AT",
      "SCHEDULED_IN_PAST",
      "SCHEDULED_TOO_FAR",
    ],
    bodyExample: { content: { text: "Your table is ready at eight." } },
  }),
  "DELETE /v1/messages/:id": operation({
    id: "deleteMessage",
    summary: "Delete a message",
    description:
      "Erases the text and media in the service, not on the recipient's phone; in stored events too, once none of their deliveries is pending. A scheduled message is cancelled first. A queued or pending message cannot be deleted.",
    response: Deleted,
    example: { id: IDS.message, deleted: true },
    errors: ["INVALID_STATUS", "ALREADY_DELETED"],
  }),
};

const actions: Section["operations"] = {
  "DELETE /v1/messages/:id/schedule": operation({
    id: "cancelMessage",
    summary: "Cancel a scheduled message",
    description: "A message is either cancelled or sent, never both.",
    response: Message,
    example: { ...scheduledExample, status: "cancelled", updatedAt: at(30) },
    errors: ["NOT_SCHEDULED"],
  }),
  "POST /v1/messages/:id/unsend": operation({
    id: "unsendMessage",
    summary: "Unsend a message",
    description: "Removes the message from the recipient's phone (iMessage, once the message was sent).",
    body: IdempotentRequest,
    response: Message,
    example: { ...messageExample, status: "unsent", updatedAt: at(90) },
    errors: [...acting, "ALREADY_UNSENT"],
  }),
  "POST /v1/messages/:id/retry": operation({
    id: "retryMessage",
    summary: "Retry a failed message",
    description:
      "Sends the message again by the channel that failed. If `errorCode` is `ATTACHMENT_FAILED`, even on a `sent` message, only the missing files are sent. If it is `OUTCOME_UNKNOWN`, the message may already have been sent: retry it with `mayDuplicate`.",
    status: 202,
    body: RetryMessage,
    response: Message,
    example: retriedExample,
    errors: ["INVALID_STATUS", "OUTCOME_UNKNOWN"],
    bodyExample: { mayDuplicate: false },
  }),
  "POST /v1/messages/:id/reactions": operation({
    id: "reactToMessage",
    summary: "React to a message",
    description:
      "Reacts to a sent or received message (iMessage) with one of the six reactions, or with a single emoji if the channel supports it: the sandbox does, BlueBubbles does not. A minus in front removes the reaction.",
    body: React,
    response: Reacted,
    example: { messageId: IDS.message, reaction: "love" },
    errors: [...acting, "ALREADY_UNSENT"],
    bodyExample: { type: "love" },
  }),
};

export const messages: Section = {
  tag: "Messages",
  description: "Send a message now or later, follow its status, and change it on the recipient's phone.",
  parameters: { id: { description: "Id of the message.", example: IDS.message } },
  operations: { ...sends, ...lists, ...records, ...actions },
};
