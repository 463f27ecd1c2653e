/** Operations on the sandbox. */

import { Call, callExample } from "../calls.ts";
import { Chat, groupExample, Typing } from "../chats.ts";
import { AnyEvent, WaitQuery } from "../events.ts";
import { Message, messageExample, Reacted } from "../messages.ts";
import { linksTo, operation, type Section } from "../operation.ts";
import { at, CONTACT, IDS, OWN } from "../samples.ts";
import {
  Inbox,
  inboxExample,
  PhoneCall,
  PhoneGroupPhoto,
  PhoneKeptAudio,
  PhoneMessage,
  PhonePayment,
  PhoneReaction,
  PhoneSettings,
  PhoneTyping,
  receivedEventExample,
  SandboxClock,
  SandboxReset,
  SetClock,
  SetInboxBehaviour,
  SetPhoneSettings,
  settingsExample,
} from "../sandbox.ts";
import { orNull } from "../schema.ts";
import { addressShown, IdempotentRequest } from "../values.ts";

const inboundExample = {
  ...messageExample,
  id: IDS.reply,
  status: "received" as const,
  direction: "inbound" as const,
  from: CONTACT,
  to: OWN,
  content: { text: "On my way", mediaUrls: [] },
  metadata: null,
  externalMessageId: null,
  readAt: null,
  timeline: [{ status: "received" as const, at: at(30), channel: "imessage" as const }],
};

const inboxOperations: Section["operations"] = {
  "GET /v1/sandbox/inbox": operation({
    id: "getInbox",
    summary: "Get the inbox",
    description:
      "The inbox is the built-in receiver of webhooks: it receives every event from the first start on. Returns its last 500 requests, newest first, with headers and raw bodies.",
    response: Inbox,
    example: inboxExample,
    errors: ["NOT_FOUND"],
  }),
  "DELETE /v1/sandbox/inbox": operation({
    id: "clearInbox",
    summary: "Empty the inbox",
    description: "Deletes its requests; its behaviour stays.",
    response: Inbox,
    example: { ...inboxExample, requests: [] },
    errors: ["NOT_FOUND"],
  }),
  "PUT /v1/sandbox/inbox/behaviour": operation({
    id: "setInboxBehaviour",
    summary: "Set how the inbox responds",
    description: "Makes the inbox fail, respond slowly or hang. An absent field is reset, so `{}` resets all.",
    body: SetInboxBehaviour,
    response: Inbox,
    example: { ...inboxExample, behaviour: { status: 200, delayMs: 0, failFirst: 2 } },
    errors: ["NOT_FOUND"],
    bodyExample: { failFirst: 2 },
  }),
};

/** Errors of an action by which a phone contacts one of the customer's numbers. */
const acting = [
  "INVALID_PHONE_NUMBER",
  "NO_DEFAULT_ADDRESS",
  "ADDRESS_NOT_AUTHORIZED",
  "CHANNEL_NOT_SUPPORTED",
] as const;

const phoneOperations: Section["operations"] = {
  "POST /v1/sandbox/phones/:number/messages": operation({
    id: "writeFromPhone",
    summary: "Send a message as the contact",
    description: "Sends a message to one of your numbers and returns it as you receive it.",
    body: PhoneMessage,
    response: Message,
    example: inboundExample,
    errors: [...acting, "REPLY_NOT_FOUND", "CONVERSATION_NOT_FOUND", "INVALID_STATUS"],
    bodyExample: { text: "On my way" },
    links: linksTo("getMessage", "reactToMessage"),
  }),
  "POST /v1/sandbox/phones/:number/typing": operation({
    id: "typeOnPhone",
    summary: "Type as the contact",
    description: "Starts or stops typing.",
    body: PhoneTyping,
    response: Typing,
    example: { chatId: IDS.chat, status: "start" },
    errors: [...acting, "CONVERSATION_NOT_FOUND"],
    bodyExample: { typing: true },
  }),
  "POST /v1/sandbox/phones/:number/reactions": operation({
    id: "reactOnPhone",
    summary: "React as the contact",
    description:
      "Reacts to a message on this phone with one of the six reactions or a single emoji; a minus in front removes it.",
    body: PhoneReaction,
    response: Reacted,
    example: { messageId: IDS.message, reaction: "love" },
    errors: [...acting, "INVALID_STATUS"],
    bodyExample: { messageId: IDS.message, type: "love" },
  }),
  "POST /v1/sandbox/phones/:number/audio-kept": operation({
    id: "keepAudioOnPhone",
    summary: "Keep an audio message as the contact",
    description:
      "Keeps a message that you sent with `isAudioMessage` to this phone; emits `message.audio_kept` once, and returns the message.",
    body: PhoneKeptAudio,
    response: Message,
    example: messageExample,
    errors: [...acting, "INVALID_STATUS"],
    bodyExample: { messageId: IDS.message },
  }),
  "POST /v1/sandbox/phones/:number/group-photo": operation({
    id: "changePhotoFromPhone",
    summary: "Change a group's photo as the contact",
    description: "Emits `chat.photo.changed` for a group that the contact is in, and returns the group.",
    body: PhoneGroupPhoto,
    response: Chat,
    example: groupExample,
    errors: [...acting, "CONVERSATION_NOT_FOUND", "INVALID_STATUS"],
    bodyExample: { chatId: IDS.group },
  }),
  "POST /v1/sandbox/phones/:number/payments": operation({
    id: "payFromPhone",
    summary: "Pay as the contact",
    description: "Pays an amount, or that of a payment request, and returns the message that carries the payment.",
    body: PhonePayment,
    response: Message,
    example: { ...inboundExample, content: { text: null, mediaUrls: [] } },
    errors: [...acting, "INVALID_STATUS"],
    bodyExample: { requestId: IDS.payment },
  }),
  "POST /v1/sandbox/phones/:number/calls": operation({
    id: "callFromPhone",
    summary: "Call as the contact",
    description: "Rings by FaceTime, answers, hangs up, or misses the call.",
    body: PhoneCall,
    response: Call,
    example: callExample,
    errors: [...acting, "INVALID_STATUS"],
    bodyExample: { action: "ring", video: true },
  }),
  "GET /v1/sandbox/phones/:number/settings": operation({
    id: "getPhoneSettings",
    summary: "Get the settings of a phone",
    description: "Returns how the phone behaves towards this customer.",
    response: PhoneSettings,
    example: settingsExample,
    errors: ["INVALID_PHONE_NUMBER", "NO_DEFAULT_ADDRESS"],
  }),
  "PUT /v1/sandbox/phones/:number/settings": operation({
    id: "setPhoneSettings",
    summary: "Change the settings of a phone",
    description: "Changes the fields of the body. A phone that was offline gets its messages when it is online again.",
    body: SetPhoneSettings,
    response: PhoneSettings,
    example: { ...settingsExample, online: false },
    errors: ["INVALID_PHONE_NUMBER", "NO_DEFAULT_ADDRESS"],
    bodyExample: { online: false },
  }),
};

const timeOperations: Section["operations"] = {
  "GET /v1/sandbox/clock": operation({
    id: "getClock",
    summary: "Get the clock",
    description: "Returns the time of the service, and how far it is ahead of real time.",
    scope: "any",
    response: SandboxClock,
    example: { now: at(0), offsetMs: 0 },
    errors: ["NOT_FOUND"],
  }),
  "POST /v1/sandbox/clock": operation({
    id: "moveClock",
    summary: "Move the clock",
    description:
      "Moves the clock forward by `advance`, or back to real time by `reset`. The clock drives schedules, fallback times, expiry of payments, retries of deliveries, and the times of records and events. It belongs to the whole process: it cannot be moved while a real provider is connected, and takes an admin key if there are several customers. Existing records keep their times.",
    scope: "any",
    body: SetClock,
    response: SandboxClock,
    example: { now: at(30), offsetMs: 30_000 },
    errors: ["CLOCK_LOCKED", "NOT_FOUND"],
    bodyExample: { advance: "30s" },
  }),
  "GET /v1/sandbox/wait": operation({
    id: "waitForEvent",
    summary: "Wait for an event",
    description: "Returns the first stored event that matches, past events included; `data` is null after the timeout.",
    query: WaitQuery,
    response: orNull(AnyEvent),
    example: receivedEventExample,
    queryExample: { type: "message.inbound", timeoutSeconds: "10" },
    errors: ["NOT_FOUND"],
  }),
  "POST /v1/sandbox/reset": operation({
    id: "resetSandbox",
    summary: "Reset the sandbox",
    description:
      "Deletes this customer's messages, chats, contacts, opt-outs, payments, calls, events, deliveries and idempotency keys, and the pending actions of phones. Keys, numbers, endpoints, the inbox and usage stay.",
    body: IdempotentRequest,
    response: SandboxReset,
    example: { reset: true },
    errors: ["NOT_FOUND"],
  }),
};

export const sandbox: Section = {
  tag: "Sandbox",
  description:
    "A channel that needs no Mac and no carrier: the recipient's number decides the outcome. Available only to customers whose numbers are all on the sandbox; for others these routes are a 404.",
  parameters: { number: { description: "Number of the contact's phone.", example: CONTACT, ...addressShown } },
  operations: { ...inboxOperations, ...phoneOperations, ...timeOperations },
};
