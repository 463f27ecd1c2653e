/** `tightbeam chats`: the rows of its commands, and how a conversation is shown. */

import type { Page } from "../sdk/paging.ts";
import { type Chat, TYPING_STATUSES, type TypingStatus } from "../sdk/wire.ts";
import { type CommandRow, list, request } from "./command.ts";
import { MESSAGE_COLUMNS } from "./messages.ts";
import { listing, type Paint } from "./output.ts";
import { REQUEST_FIELDS } from "./request-fields.ts";

const CHAT = { "<chat>": "chat id (chat_…), or the other address of a one-to-one conversation" };
const GROUP = { "<chat>": "id of the group (chat_…)" };
const ADDRESS = { "<address>": "phone number or iMessage e-mail address" };

/** Commands about conversations, one-to-one and in groups. */
export const chats: CommandRow = {
  name: "chats",
  help: "List conversations, read them, and make and change groups.",
  examples: {
    "tightbeam chats list": "the newest first",
    "tightbeam chats messages +15005550100": "the messages with one address",
    'tightbeam chats create-group +15005550100 +15005550101 --name "Lunch"': "a group",
    "tightbeam chats typing +15005550100": "show the typing indicator there",
  },
  commands: [
    list({
      name: "list",
      help: "List conversations, the newest first.",
      examples: { "tightbeam chats list | jq -r '.[].id'": "just the ids" },
      pages: (client) => client.chats,
      items: (page) => page.chats,
      columns: [
        { title: "ID", value: (chat) => chat.id },
        { title: "KIND", value: kindOf },
        { title: "CHANNEL", value: (chat) => chat.channel },
        { title: "FROM", value: (chat) => chat.from, optional: true },
        { title: "LAST MESSAGE", value: (chat) => chat.lastMessageAt },
        { title: "NAME", value: (chat) => chat.name },
        { title: "WITH", value: (chat) => chat.participants.join(", ") },
      ],
      empty: "No conversations.",
    }),
    request({
      name: "get",
      help: "Show one conversation.",
      arguments: CHAT,
      examples: { "tightbeam chats get +15005550100 | jq -r .id": "its id" },
      call: (client, id: string) => client.chats.get(id),
      show: detail,
    }),
    list({
      name: "messages",
      help: "List the messages of a conversation, the newest first.",
      arguments: CHAT,
      examples: { "tightbeam chats messages +15005550100 --limit 5": "the last five" },
      pages: ({ chats: { messages, messagesAll } }, id: string) => ({
        list: (query: Page) => messages(id, query),
        listAll: (query: Page) => messagesAll(id, query),
      }),
      items: (page) => page.messages,
      columns: MESSAGE_COLUMNS,
      empty: "No messages.",
    }),
    request({
      name: "create-group",
      help: "Create a group with two to thirty-two others (iMessage only).",
      arguments: { "<address...>": "the other members" },
      options: {
        "--name <name>": REQUEST_FIELDS.CreateGroup.name,
        "--from <address>": REQUEST_FIELDS.CreateGroup.from,
        "--idempotency-key <key>": REQUEST_FIELDS.CreateGroup.idempotencyKey,
      },
      examples: {
        'tightbeam chats create-group +15005550100 +15005550101 --name "Lunch"': "",
        "tightbeam chats create-group +15005550100 +15005550101 | jq -r .id": "just the id",
      },
      call: (
        client,
        participants: string[],
        { idempotencyKey, ...group }: { name?: string; from?: string; idempotencyKey?: string },
      ) => client.chats.createGroup({ participants, ...group }, { idempotencyKey }),
      show: detail,
    }),
    request({
      name: "rename",
      help: "Rename a group.",
      arguments: { ...GROUP, "<name>": "the new name" },
      examples: { 'tightbeam chats rename <chat> "Lunch on Friday"': "every member sees it" },
      call: (client, id: string, name: string) => client.chats.rename(id, name),
      show: detail,
    }),
    request({
      name: "add",
      help: "Add a member to a group.",
      arguments: { ...GROUP, ...ADDRESS },
      examples: { "tightbeam chats add <chat> +15005550199": "" },
      call: (client, id: string, address: string) => client.chats.addParticipant(id, address),
      show: detail,
    }),
    request({
      name: "remove",
      help: "Remove a member from a group.",
      arguments: { ...GROUP, ...ADDRESS },
      examples: { "tightbeam chats remove <chat> +15005550199": "" },
      call: (client, id: string, address: string) => client.chats.removeParticipant(id, address),
      show: detail,
    }),
    request({
      name: "leave",
      help: "Leave a group.",
      arguments: GROUP,
      examples: { "tightbeam chats leave <chat>": "you cannot send to it any more" },
      call: (client, id: string) => client.chats.leave(id),
      show: detail,
    }),
    request({
      name: "read",
      help: "Mark a conversation as read.",
      arguments: CHAT,
      examples: { "tightbeam chats read +15005550100": "the contact sees the read receipt" },
      call: (client, id: string) => client.chats.markRead(id),
      show: detail,
    }),
    request({
      name: "unread",
      help: "Mark a conversation as unread.",
      arguments: CHAT,
      examples: { "tightbeam chats unread +15005550100": "on your own devices" },
      call: (client, id: string) => client.chats.markUnread(id),
      show: detail,
    }),
    request({
      name: "typing",
      help: "Show the typing indicator on the contact's phone, or end it.",
      arguments: {
        ...CHAT,
        "[status]": { help: "it ends by itself after a minute", choices: TYPING_STATUSES, default: "start" },
      },
      examples: {
        "tightbeam chats typing +15005550100": "show it",
        "tightbeam chats typing +15005550100 stop": "end it",
      },
      call: (client, id: string, status: TypingStatus) => client.chats.typing(id, status),
      show: ({ status, chatId }) => `typing ${status} in ${chatId}`,
    }),
  ],
};

function kindOf({ isGroup }: Chat): string {
  return isGroup ? "group" : "one-to-one";
}

function detail(chat: Chat, paint: Paint): string {
  const { id, name, from, participants, channel, lastMessageAt, createdAt } = chat;
  const facts = {
    id,
    kind: kindOf(chat),
    name,
    from,
    with: participants.join(", "),
    channel,
    lastMessageAt,
    createdAt,
  };
  return listing(facts, paint);
}
