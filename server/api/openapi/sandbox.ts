/** Reference of the sandbox: its inbox, its phones, its clock. */

import { Type } from "typebox";
import type {
  Inbox as WireInbox,
  InboxBehaviour as WireInboxBehaviour,
  InboxRequest as WireInboxRequest,
  PhoneSettings as WirePhoneSettings,
  SandboxClock as WireSandboxClock,
  SandboxReset as WireSandboxReset,
} from "../../../sdk/wire.ts";
import { wire } from "../schemas/common.ts";
import { Call, callExample } from "./calls.ts";
import { Chat, groupExample, Typing } from "./chats.ts";
import { AnyEvent } from "./events.ts";
import { Message, messageExample, Reacted } from "./messages.ts";
import { At, component, operation, orNull, type Section } from "./operation.ts";
import { at, CONTACT, CORRELATION_ID, IDS, OWN } from "./samples.ts";

const InboxBehaviour = wire<WireInboxBehaviour>()(
  component("InboxBehaviour", { status: Type.Integer(), delayMs: Type.Integer(), failFirst: Type.Integer() }),
);

const InboxRequest = wire<WireInboxRequest>()(
  component("InboxRequest", {
    receivedAt: At,
    verified: Type.Boolean(),
    status: Type.Integer(),
    headers: Type.Record(Type.String(), Type.String()),
    body: Type.String(),
  }),
);

const Inbox = wire<WireInbox>()(
  component("Inbox", {
    url: Type.String(),
    secret: Type.String(),
    behaviour: InboxBehaviour,
    requests: Type.Array(InboxRequest),
  }),
);

const PhoneSettings = wire<WirePhoneSettings>()(
  component("PhoneSettings", {
    online: Type.Boolean(),
    imessage: Type.Boolean(),
    readReceipts: Type.Boolean(),
    edits: Type.Boolean(),
    latencyMs: Type.Number({ minimum: 0 }),
    lossPercent: Type.Number({ minimum: 0, maximum: 100 }),
  }),
);

const SandboxClock = wire<WireSandboxClock>()(
  component("SandboxClock", { now: At, offsetMs: Type.Integer({ minimum: 0 }) }),
);

const SandboxReset = wire<WireSandboxReset>()(component("SandboxReset", { reset: Type.Literal(true) }));

const event = {
  id: IDS.event,
  type: "message.inbound" as const,
  timestamp: at(30),
  data: {
    messageId: IDS.reply,
    from: CONTACT,
    to: OWN,
    text: "On my way",
    channel: "imessage" as const,
    sequence: 1,
    correlationId: CORRELATION_ID,
    parentMessageId: null,
    attachments: [],
  },
};

const inbox: WireInbox = {
  url: "http://127.0.0.1:8080/sandbox/inbox/0123456789abcdef0123456789abcdef",
  secret: `whsec_${"QUJD".repeat(10)}QUI=`,
  behaviour: { status: 200, delayMs: 0, failFirst: 0 },
  requests: [
    {
      receivedAt: at(30),
      verified: true,
      status: 200,
      headers: { "content-type": "application/json", "x-timestamp": "1772366430" },
      body: JSON.stringify(event),
    },
  ],
};

const settings: WirePhoneSettings = {
  online: true,
  imessage: true,
  readReceipts: false,
  edits: true,
  latencyMs: 20,
  lossPercent: 0,
};

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
    summary: "See what the inbox received",
    description:
      "The built-in receiver of webhooks: it gets every event from the first start on. The last 500 requests, newest first, with headers and raw bodies.",
    answer: Inbox,
    example: inbox,
    errors: ["NOT_FOUND"],
  }),
  "DELETE /v1/sandbox/inbox": operation({
    id: "clearInbox",
    summary: "Empty the inbox",
    description: "Its behaviour stays.",
    answer: Inbox,
    example: { ...inbox, requests: [] },
    errors: ["NOT_FOUND"],
  }),
  "PUT /v1/sandbox/inbox/behaviour": operation({
    id: "setInboxBehaviour",
    summary: "Tell the inbox how to answer",
    description: "To fail, to be slow, to hang. What is left out is as at the start, so that `{}` resets it.",
    answer: Inbox,
    example: { ...inbox, behaviour: { status: 200, delayMs: 0, failFirst: 2 } },
    errors: ["NOT_FOUND"],
    body: { failFirst: 2 },
  }),
};

/** Of an action by which a phone turns to one of the customer's numbers. */
const turning = [
  "INVALID_PHONE_NUMBER",
  "NO_DEFAULT_ADDRESS",
  "ADDRESS_NOT_AUTHORIZED",
  "CHANNEL_NOT_SUPPORTED",
] as const;

const phoneOperations: Section["operations"] = {
  "POST /v1/sandbox/phones/:number/messages": operation({
    id: "writeFromPhone",
    summary: "Write as the contact",
    description: "To one of your numbers, the default one unless `to` is given; answers the message as you receive it.",
    answer: Message,
    example: inboundExample,
    errors: [...turning, "REPLY_NOT_FOUND"],
    body: { text: "On my way" },
  }),
  "POST /v1/sandbox/phones/:number/typing": operation({
    id: "typeOnPhone",
    summary: "Type as the contact",
    description: "Begins or ceases to type.",
    answer: Typing,
    example: { chatId: IDS.chat, status: "start" },
    errors: [...turning, "CONVERSATION_NOT_FOUND"],
    body: { typing: true },
  }),
  "POST /v1/sandbox/phones/:number/reactions": operation({
    id: "reactOnPhone",
    summary: "React as the contact",
    description:
      "To a message that is on this phone, with one of the six or any single emoji; with a minus the reaction is taken back.",
    answer: Reacted,
    example: { messageId: IDS.message, reaction: "love" },
    errors: [...turning, "INVALID_STATUS"],
    body: { messageId: IDS.message, type: "love" },
  }),
  "POST /v1/sandbox/phones/:number/audio-kept": operation({
    id: "keepAudioOnPhone",
    summary: "Keep an audio message as the contact",
    description:
      "One that you sent with `isAudioMessage`, and that is on this phone: `message.audio_kept` tells of it, once. Answers the message.",
    answer: Message,
    example: messageExample,
    errors: [...turning, "INVALID_STATUS"],
    body: { messageId: IDS.message },
  }),
  "POST /v1/sandbox/phones/:number/group-photo": operation({
    id: "changePhotoFromPhone",
    summary: "Change a group's photo as the contact",
    description: "Of a group that the contact is in: `chat.photo.changed` tells of it. Answers the group.",
    answer: Chat,
    example: groupExample,
    errors: [...turning, "CONVERSATION_NOT_FOUND", "INVALID_STATUS"],
    body: { chatId: IDS.group },
  }),
  "POST /v1/sandbox/phones/:number/payments": operation({
    id: "payFromPhone",
    summary: "Pay as the contact",
    description: "An amount, or what a payment request asks for; answers the message that carries the payment.",
    answer: Message,
    example: { ...inboundExample, content: { text: null, mediaUrls: [] } },
    errors: [...turning, "INVALID_STATUS"],
    body: { requestId: IDS.payment },
  }),
  "POST /v1/sandbox/phones/:number/calls": operation({
    id: "callFromPhone",
    summary: "Call as the contact",
    description: "By FaceTime: rings, is answered, hangs up, is missed.",
    answer: Call,
    example: callExample,
    errors: [...turning, "INVALID_STATUS"],
    body: { action: "ring", video: true },
  }),
  "GET /v1/sandbox/phones/:number/settings": operation({
    id: "getPhoneSettings",
    summary: "See how a phone behaves",
    description: "Towards this customer.",
    answer: PhoneSettings,
    example: settings,
    errors: ["INVALID_PHONE_NUMBER", "NO_DEFAULT_ADDRESS"],
  }),
  "PUT /v1/sandbox/phones/:number/settings": operation({
    id: "setPhoneSettings",
    summary: "Change how a phone behaves",
    description: "Changes what the body names. A phone that is offline gets its messages when it is online again.",
    answer: PhoneSettings,
    example: { ...settings, online: false },
    errors: ["INVALID_PHONE_NUMBER", "NO_DEFAULT_ADDRESS"],
    body: { online: false },
  }),
};

const timeOperations: Section["operations"] = {
  "GET /v1/sandbox/clock": operation({
    id: "getClock",
    summary: "Read the clock",
    description: "What time the service takes it to be, and how far that is ahead.",
    answer: SandboxClock,
    example: { now: at(0), offsetMs: 0 },
    errors: ["NOT_FOUND"],
  }),
  "POST /v1/sandbox/clock": operation({
    id: "moveClock",
    summary: "Move the clock",
    description:
      "Forward by `advance`, or back to the real time by `reset`. Drives schedules, fallback times, expiry of payments, retries of deliveries, and the times of records and events; for the whole process, so not while there is an instance that reaches people, and only with an admin key while there is more than one customer. Records keep the times they were given.",
    answer: SandboxClock,
    example: { now: at(30), offsetMs: 30_000 },
    errors: ["CLOCK_LOCKED", "NOT_FOUND"],
    body: { advance: "30s" },
  }),
  "GET /v1/sandbox/wait": operation({
    id: "waitForEvent",
    summary: "Wait for an event",
    description: "The first stored event that matches, past ones included; `data` is null when none came in time.",
    answer: orNull(AnyEvent),
    example: event,
    query: { type: "message.inbound", timeoutSeconds: "10" },
    errors: ["NOT_FOUND"],
  }),
  "POST /v1/sandbox/reset": operation({
    id: "resetSandbox",
    summary: "Start anew",
    description:
      "Deletes this customer's messages, chats, contacts, opt-outs, payments, calls, events, deliveries and idempotency keys, and what phones still owe. Keys, numbers, endpoints, the inbox and usage stay.",
    answer: SandboxReset,
    example: { reset: true },
    errors: ["NOT_FOUND"],
  }),
};

export const sandbox: Section = {
  tag: "Sandbox",
  description:
    "A channel that needs no Mac and no carrier: the recipient's number says what happens. Only for customers without a real instance; for others all of this is a 404.",
  parameters: { number: { description: "The contact's phone.", example: CONTACT } },
  operations: { ...inboxOperations, ...phoneOperations, ...timeOperations },
};
