/** Chats: one-to-one threads and groups, and the events of both. */

import { type Static, Type } from "typebox";
import { event } from "./event-type.ts";
import { at, CONTACT, IDS, OTHER_CONTACT, OWN } from "./samples.ts";
import {
  alias,
  atOrNull,
  choice,
  closed,
  exactlyOne,
  flag,
  id,
  list,
  optional,
  orNull,
  record,
  request,
  says,
  string,
  stringOrNull,
  text,
} from "./schema.ts";
import { Address, addressShown, Channel, changed, IdempotencyKey, Pagination } from "./values.ts";

/** Longest name of a group, in characters. */
export const GROUP_NAME_LENGTH_MAX = 200;
/** Fewest participants of a group beside your own number. */
export const GROUP_MIN = 2;
/** Most participants of a group beside your own number. */
export const GROUP_MAX = 32;

export const TYPING_STATUSES = ["start", "stop"] as const;
export const TypingStatus = choice("TypingStatus", TYPING_STATUSES, "Whether typing starts or stops.");

/** Addresses of bodies have an error code of their own, so the engine checks them. */
const participant = (sentence?: string) => text(0, 512, sentence, addressShown);

const GroupName = (sentence: string) => text(1, GROUP_NAME_LENGTH_MAX, sentence);

export const Chat = record("Chat", "A conversation. `guid`, `chatId` and `conversationId` equal `id`.", {
  id: id("chat"),
  guid: id("chat", "The same as `id`."),
  chatId: id("chat", "The same as `id`."),
  conversationId: id("chat", "The same as `id`."),
  name: stringOrNull("Name of the group; null for a one-to-one thread."),
  participants: list(Type.String(), "Addresses of everybody in the chat except you."),
  isGroup: flag("Whether the chat is a group."),
  from: string("Your number in the chat."),
  channel: says(Channel, "Channel of the chat."),
  lastMessageAt: atOrNull("When the last message was sent or received."),
  ...changed,
});

export const ChatList = record("ChatList", "A page of chats.", {
  chats: list(Chat, "The chats of this page."),
  pagination: says(Pagination, "Where the list continues."),
});

export const CreateGroup = request("CreateGroup", "Body of `POST /v1/chats/groups`.", {
  name: optional(GroupName("Name of the group.")),
  participants: list(participant(), "2 to 32 phone numbers or iMessage e-mails.", {
    minItems: GROUP_MIN,
    maxItems: GROUP_MAX,
  }),
  from: optional(text(1, 512, "One of your numbers. Default: your default number.", addressShown)),
  idempotencyKey: optional(IdempotencyKey),
});

export const RenameChat = request("RenameChat", "Body of `PUT /v1/chats/:id/name`.", {
  name: GroupName("The new name."),
});

export const AddParticipant = request(
  "AddParticipant",
  "Body of `POST /v1/chats/:id/participants`.",
  {
    participant: optional(participant("Phone number or iMessage e-mail of the participant.")),
    phoneNumber: optional(alias("participant", participant())),
    idempotencyKey: optional(IdempotencyKey),
  },
  { allOf: [exactlyOne("participant", "phoneNumber")] },
);

export const SetTyping = request("SetTyping", "Body of `POST /v1/chats/:id/typing`; without a body: `start`.", {
  status: optional(says(TypingStatus, "Whether you start or stop typing. Default: `start`.")),
  idempotencyKey: optional(IdempotencyKey),
});

/** The typing indicator that a chat shows now. */
export const Typing = record("Typing", "Response of `POST /v1/chats/:id/typing`.", {
  chatId: id("chat", "The chat."),
  status: says(TypingStatus, "Whether you are typing."),
});

/** Query of the routes of one chat. */
export const ChatQuery = closed({
  from: optional(says(Address, "Your number in the chat, if several of your numbers have a thread with this address.")),
});

export const ChatEventData = record("ChatEventData", "`data` of `chat.*` events.", {
  chatId: id("chat", "The group."),
  participant: optional(string("Address of the participant who was added, left or was removed.")),
  title: optional(orNull(Type.String(), "The new name; null when the name was removed.")),
  actor: stringOrNull("Address of the person who made the change; null if it is not known."),
  to: string("Your number in the group."),
  channel: says(Channel, "Channel of the group."),
});

export const TypingEventData = record("TypingEventData", "`data` of `typing.indicator`.", {
  chatId: id("chat", "The chat."),
  chatGuid: id("chat", "The same as `chatId`."),
  from: string("Address of the contact who types."),
  to: string("Your number."),
  channel: says(Channel, "Channel of the chat."),
  typing: flag("Whether the contact is typing."),
});

function named(chatId: string): Pick<Static<typeof Chat>, "id" | "guid" | "chatId" | "conversationId"> {
  return { id: chatId, guid: chatId, chatId, conversationId: chatId };
}

export const threadExample: Static<typeof Chat> = {
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
export const groupExample: Static<typeof Chat> = {
  ...threadExample,
  ...named(IDS.group),
  name: "Table for six",
  participants: [CONTACT, OTHER_CONTACT],
  isGroup: true,
  lastMessageAt: null,
  updatedAt: at(0),
};

const change = { chatId: IDS.group, actor: CONTACT, to: OWN, channel: "imessage" } as const;

export const chatEvents = [
  event("typing.indicator", "A contact has started or stopped typing.", TypingEventData, {
    chatId: IDS.chat,
    chatGuid: IDS.chat,
    from: CONTACT,
    to: OWN,
    channel: "imessage",
    typing: true,
  }),
  event("chat.participant.added", "A participant was added to a group.", ChatEventData, {
    ...change,
    participant: OTHER_CONTACT,
  }),
  event("chat.participant.left", "A participant has left a group, or was removed from it.", ChatEventData, {
    ...change,
    participant: OTHER_CONTACT,
  }),
  event("chat.title.changed", "A group was renamed.", ChatEventData, { ...change, title: "Table for seven" }),
  event("chat.photo.changed", "The photo of a group was changed.", ChatEventData, { ...change }),
];
