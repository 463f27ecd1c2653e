/** Operations on chats. */

import {
  AddParticipant,
  Chat,
  ChatList,
  ChatQuery,
  CreateGroup,
  groupExample,
  RenameChat,
  SetTyping,
  Typing,
  threadExample,
} from "../chats.ts";
import { ChatMessagesQuery, MessageList, messageExample } from "../messages.ts";
import { linksTo, linksToFirst, operation, type Section } from "../operation.ts";
import { at, CONTACT, IDS, LAST_PAGE, OTHER_CONTACT } from "../samples.ts";
import { EITHER_FORM } from "../sentences.ts";
import { IdempotentRequest, PageQuery } from "../values.ts";

/** Errors of an action that a phone carries out in a conversation. */
const acting = [
  "CONVERSATION_NOT_FOUND",
  "CONVERSATION_NOT_READY",
  "CHANNEL_NOT_SUPPORTED",
  "INVALID_STATUS",
  "ADDRESS_NOT_AUTHORIZED",
  "PROVIDER_ERROR",
  "PROVIDER_TIMEOUT",
] as const;

const grouping = [...acting, "GROUP_SMS_UNSUPPORTED"] as const;

const records: Section["operations"] = {
  "POST /v1/chats/groups": operation({
    id: "createGroup",
    summary: "Create a group",
    description: "A group has 2 to 32 participants beside your own number.",
    status: 201,
    body: CreateGroup,
    response: Chat,
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
    bodyExample: { name: "Table for six", participants: [CONTACT, OTHER_CONTACT] },
    links: linksTo("getChat", "renameChat", "leaveChat"),
  }),
  "GET /v1/chats": operation({
    id: "listChats",
    summary: "List chats",
    description: "Lists one-to-one threads and groups, newest first.",
    query: PageQuery,
    response: ChatList,
    example: { chats: [groupExample, threadExample], pagination: LAST_PAGE },
    links: linksToFirst("chats", "getChat"),
  }),
  "GET /v1/chats/:id": operation({
    id: "getChat",
    summary: "Get a chat",
    description: "Finds a chat by its id, or a one-to-one thread by the contact's address.",
    query: ChatQuery,
    response: Chat,
    example: groupExample,
    errors: ["CONVERSATION_NOT_FOUND"],
  }),
  "GET /v1/chats/:id/messages": operation({
    id: "listChatMessages",
    summary: "List the messages of a chat",
    description: "Lists messages of both directions, newest first.",
    query: ChatMessagesQuery,
    response: MessageList,
    example: { messages: [messageExample], pagination: LAST_PAGE },
    errors: ["CONVERSATION_NOT_FOUND"],
  }),
};

const groups: Section["operations"] = {
  "PUT /v1/chats/:id/name": operation({
    id: "renameChat",
    summary: "Rename a group",
    description: "Renames the group for all of its participants (iMessage).",
    query: ChatQuery,
    body: RenameChat,
    response: Chat,
    example: { ...groupExample, name: "Table for seven", updatedAt: at(90) },
    errors: grouping,
    bodyExample: { name: "Table for seven" },
  }),
  "POST /v1/chats/:id/participants": operation({
    id: "addParticipant",
    summary: "Add a participant to a group",
    description: "Adds a phone number or iMessage e-mail to the group (iMessage).",
    query: ChatQuery,
    body: AddParticipant,
    response: Chat,
    example: { ...groupExample, participants: [CONTACT, OTHER_CONTACT, "+15005550111"], updatedAt: at(90) },
    errors: [...grouping, "INVALID_PHONE_NUMBER", "RECIPIENT_OPTED_OUT"],
    bodyExample: { participant: "+15005550111" },
  }),
  "DELETE /v1/chats/:id/participants/:address": operation({
    id: "removeParticipant",
    summary: "Remove a participant from a group",
    description: "Removes a participant (iMessage). At least two participants must remain.",
    query: ChatQuery,
    response: Chat,
    example: { ...groupExample, participants: [CONTACT, "+15005550111"], updatedAt: at(90) },
    errors: grouping,
  }),
  "POST /v1/chats/:id/leave": operation({
    id: "leaveChat",
    summary: "Leave a group",
    description: "The chat and its messages stay readable in the service.",
    query: ChatQuery,
    body: IdempotentRequest,
    response: Chat,
    example: { ...groupExample, updatedAt: at(90) },
    errors: grouping,
  }),
};

const actions: Section["operations"] = {
  "POST /v1/chats/:id/read": operation({
    id: "markChatRead",
    summary: "Mark a chat as read",
    description: "The contact sees a read receipt, if the channel has read receipts.",
    query: ChatQuery,
    body: IdempotentRequest,
    response: Chat,
    example: threadExample,
    errors: acting,
  }),
  "POST /v1/chats/:id/unread": operation({
    id: "markChatUnread",
    summary: "Mark a chat as unread",
    description: "Marks the chat on the phone of your number; the contact is not notified.",
    query: ChatQuery,
    body: IdempotentRequest,
    response: Chat,
    example: threadExample,
    errors: acting,
  }),
  "POST /v1/chats/:id/typing": operation({
    id: "setTyping",
    summary: "Show or hide the typing indicator",
    description: "Without a body the indicator starts. It stops by itself after a minute, and with the next message.",
    query: ChatQuery,
    body: SetTyping,
    response: Typing,
    example: { chatId: IDS.chat, status: "start" },
    errors: acting,
    bodyExample: { status: "start" },
  }),
};

export const chats: Section = {
  tag: "Chats",
  description:
    "Conversations. The first message creates a one-to-one thread; name it by its id, by the contact's address, or as `iMessage;-;<address>` or `SMS;-;<address>`. Groups are created explicitly.",
  parameters: {
    id: {
      description:
        "Id of the chat. A one-to-one thread can also be named by the contact's address: as it is, or as `iMessage;-;<address>` or `SMS;-;<address>`.",
      example: IDS.group,
    },
    address: {
      description: `Phone number or iMessage e-mail of a participant. ${EITHER_FORM}`,
      example: OTHER_CONTACT,
    },
  },
  operations: { ...records, ...groups, ...actions },
};
