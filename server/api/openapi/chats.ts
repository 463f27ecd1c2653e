/** Reference of chats: one-to-one threads and groups. */

import { Type } from "typebox";
import {
  CHANNELS,
  TYPING_STATUSES,
  type Chat as WireChat,
  type ChatEventData as WireChatEventData,
  type ChatList as WireChatList,
  type Typing as WireTyping,
  type TypingEventData as WireTypingEventData,
} from "../../../sdk/wire.ts";
import { wire } from "../schemas/common.ts";
import { MessageList, messageExample } from "./messages.ts";
import {
  At,
  AtOrNull,
  component,
  happening,
  id,
  operation,
  orNull,
  Pagination,
  type Section,
  TextOrNull,
} from "./operation.ts";
import { at, CONTACT, IDS, LAST_PAGE, OTHER_CONTACT, OWN } from "./samples.ts";

/** The record of a conversation. */
export const Chat = wire<WireChat>()(
  component("Chat", {
    id: id("chat"),
    guid: id("chat"),
    chatId: id("chat"),
    conversationId: id("chat"),
    name: TextOrNull,
    participants: Type.Array(Type.String()),
    isGroup: Type.Boolean(),
    from: Type.String(),
    channel: Type.Enum(CHANNELS),
    lastMessageAt: AtOrNull,
    createdAt: At,
    updatedAt: At,
  }),
);

const ChatList = wire<WireChatList>()(component("ChatList", { chats: Type.Array(Chat), pagination: Pagination }));

/** What is shown to the other end: that somebody types, or no longer does. */
export const Typing = wire<WireTyping>()(
  component("Typing", { chatId: id("chat"), status: Type.Enum(TYPING_STATUSES) }),
);

const ChatEventData = wire<WireChatEventData>()(
  component("ChatEventData", {
    chatId: id("chat"),
    participant: Type.Optional(Type.String()),
    title: Type.Optional(orNull(Type.String())),
    actor: TextOrNull,
    to: Type.String(),
    channel: Type.Enum(CHANNELS),
  }),
);

const TypingEventData = wire<WireTypingEventData>()(
  component("TypingEventData", {
    chatId: id("chat"),
    chatGuid: id("chat"),
    from: Type.String(),
    to: Type.String(),
    channel: Type.Enum(CHANNELS),
    typing: Type.Boolean(),
  }),
);

function named(chatId: string): Pick<WireChat, "id" | "guid" | "chatId" | "conversationId"> {
  return { id: chatId, guid: chatId, chatId, conversationId: chatId };
}

const threadExample: WireChat = {
  ...named(IDS.chat),
  name: null,
  participants: [CONTACT],
  isGroup: false,
  from: OWN,
  channel: "imessage",
  lastMessageAt: at(60),
  createdAt: at(0),
  updatedAt: at(60),
};

/** A group of three. */
export const groupExample: WireChat = {
  ...threadExample,
  ...named(IDS.group),
  name: "Table for six",
  participants: [CONTACT, OTHER_CONTACT],
  isGroup: true,
  lastMessageAt: null,
  updatedAt: at(0),
};

/** Of an operation that a group's phone has to carry out. */
const grouping = [
  "CONVERSATION_NOT_FOUND",
  "CONVERSATION_NOT_READY",
  "GROUP_SMS_UNSUPPORTED",
  "CHANNEL_NOT_SUPPORTED",
  "INVALID_STATUS",
  "ADDRESS_NOT_AUTHORIZED",
  "PROVIDER_ERROR",
  "PROVIDER_TIMEOUT",
] as const;

/** Of an operation on any conversation that a phone has to carry out. */
const telling = [
  "CONVERSATION_NOT_FOUND",
  "CONVERSATION_NOT_READY",
  "CHANNEL_NOT_SUPPORTED",
  "INVALID_STATUS",
  "ADDRESS_NOT_AUTHORIZED",
  "PROVIDER_ERROR",
  "PROVIDER_TIMEOUT",
] as const;

const change = { chatId: IDS.group, actor: CONTACT, to: OWN, channel: "imessage" } as const;

export const chats: Section = {
  tag: "Chats",
  description:
    "Conversations. A one-to-one thread appears by itself with its first message, and can be named by the other address, also as `iMessage;-;<address>` and `SMS;-;<address>`; groups are made.",
  parameters: {
    id: {
      description:
        "The chat, or for a one-to-one thread the other address: as it is, or as `iMessage;-;<address>` or `SMS;-;<address>`, which name the same thread.",
      example: IDS.group,
    },
    address: { description: "A participant's phone number or iMessage e-mail.", example: OTHER_CONTACT },
  },
  operations: {
    "POST /v1/chats/groups": operation({
      id: "createGroup",
      summary: "Make a group",
      description: "2 to 32 participants, not counting the number it is made from.",
      status: 201,
      answer: Chat,
      example: groupExample,
      errors: [
        "INVALID_PHONE_NUMBER",
        "NO_DEFAULT_ADDRESS",
        "CHANNEL_NOT_SUPPORTED",
        "GROUP_SMS_UNSUPPORTED",
        "ADDRESS_NOT_AUTHORIZED",
        "RECIPIENT_OPTED_OUT",
        "PROVIDER_ERROR",
        "PROVIDER_TIMEOUT",
      ],
      body: { name: "Table for six", participants: [CONTACT, OTHER_CONTACT] },
    }),
    "GET /v1/chats": operation({
      id: "listChats",
      summary: "List chats",
      description: "Threads and groups, newest first.",
      answer: ChatList,
      example: { chats: [groupExample, threadExample], pagination: LAST_PAGE },
    }),
    "GET /v1/chats/:id": operation({
      id: "getChat",
      summary: "Get a chat",
      description: "By its id, or a one-to-one thread by the other address.",
      answer: Chat,
      example: groupExample,
      errors: ["CONVERSATION_NOT_FOUND"],
    }),
    "GET /v1/chats/:id/messages": operation({
      id: "listChatMessages",
      summary: "List the messages of a chat",
      description: "Both directions, newest first.",
      answer: MessageList,
      example: { messages: [messageExample], pagination: LAST_PAGE },
      errors: ["CONVERSATION_NOT_FOUND"],
    }),
    "PUT /v1/chats/:id/name": operation({
      id: "renameChat",
      summary: "Rename a group",
      description: "For everybody in it. Groups over iMessage only.",
      answer: Chat,
      example: { ...groupExample, name: "Table for seven", updatedAt: at(90) },
      errors: grouping,
      body: { name: "Table for seven" },
    }),
    "POST /v1/chats/:id/participants": operation({
      id: "addParticipant",
      summary: "Add somebody to a group",
      description: "Groups over iMessage only.",
      answer: Chat,
      example: { ...groupExample, participants: [CONTACT, OTHER_CONTACT, "+15005550111"], updatedAt: at(90) },
      errors: [...grouping, "INVALID_PHONE_NUMBER", "RECIPIENT_OPTED_OUT"],
      body: { participant: "+15005550111" },
    }),
    "DELETE /v1/chats/:id/participants/:address": operation({
      id: "removeParticipant",
      summary: "Take somebody out of a group",
      description: "Groups over iMessage only; two participants have to stay.",
      answer: Chat,
      example: { ...groupExample, participants: [CONTACT, "+15005550111"], updatedAt: at(90) },
      errors: grouping,
    }),
    "POST /v1/chats/:id/leave": operation({
      id: "leaveChat",
      summary: "Leave a group",
      description: "The chat and its messages stay readable here.",
      answer: Chat,
      example: { ...groupExample, updatedAt: at(90) },
      errors: grouping,
    }),
    "POST /v1/chats/:id/read": operation({
      id: "markChatRead",
      summary: "Mark a chat as read",
      description: "The other end sees a read receipt, where the channel has them.",
      answer: Chat,
      example: threadExample,
      errors: telling,
    }),
    "POST /v1/chats/:id/unread": operation({
      id: "markChatUnread",
      summary: "Mark a chat as unread",
      description: "On the phone that the number is on; the other end is told nothing.",
      answer: Chat,
      example: threadExample,
      errors: telling,
    }),
    "POST /v1/chats/:id/typing": operation({
      id: "setTyping",
      summary: "Show that you are typing",
      description: "Without a body: start. It ends by itself after a minute, and with the next message.",
      answer: Typing,
      example: { chatId: IDS.chat, status: "start" },
      errors: telling,
      body: { status: "start" },
    }),
  },
  events: [
    happening("typing.indicator", "A contact has begun or ceased to type.", TypingEventData, {
      chatId: IDS.chat,
      chatGuid: IDS.chat,
      from: CONTACT,
      to: OWN,
      channel: "imessage",
      typing: true,
    }),
    happening("chat.participant.added", "Somebody was added to a group.", ChatEventData, {
      ...change,
      participant: OTHER_CONTACT,
    }),
    happening("chat.participant.left", "Somebody has left a group, or was taken out of it.", ChatEventData, {
      ...change,
      participant: OTHER_CONTACT,
    }),
    happening("chat.title.changed", "A group was renamed.", ChatEventData, { ...change, title: "Table for seven" }),
    happening("chat.photo.changed", "The photo of a group was changed.", ChatEventData, { ...change }),
  ],
};
