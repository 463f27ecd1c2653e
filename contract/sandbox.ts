/** The sandbox: its inbox, its phones and its clock. */

import { type Static, Type } from "typebox";
import { ATTACHMENTS_MAX, AttachmentInput } from "./attachments.ts";
import { ReactionCommand } from "./messages.ts";
import { Amount } from "./payments.ts";
import { at, CONTACT, CORRELATION_ID, IDS, OWN } from "./samples.ts";
import {
  atLeastOne,
  choice,
  count,
  exactlyOne,
  flag,
  at as instant,
  list,
  optional,
  record,
  request,
  says,
  string,
  stringOrNull,
  text,
  yes,
} from "./schema.ts";
import { TEXT_LENGTH_MAX } from "./sending.ts";
import { addressShown, Channel, IdempotencyKey } from "./values.ts";

const idempotencyKey = optional(IdempotencyKey);

/** The number that a phone contacts; the engine checks it with codes of its own. */
const to = optional(text(1, 512, "One of your numbers. Default: your default number.", addressShown));

const messageId = (sentence: string) => text(1, 512, sentence);

export const InboxBehaviour = record("InboxBehaviour", "How the inbox responds.", {
  status: Type.Integer({ description: "HTTP status of the response." }),
  delayMs: Type.Integer({ description: "Delay of the response in milliseconds." }),
  failFirst: Type.Integer({ description: "Number of requests that get 503 first." }),
});

/** `delayMs` goes to twice the 30 s that a sender waits, `failFirst` to twice the requests that are kept. */
export const SetInboxBehaviour = request(
  "SetInboxBehaviour",
  "Body of `PUT /v1/sandbox/inbox/behaviour`: an absent field is reset.",
  {
    status: optional(count("HTTP status of the response. Default: 200.", { minimum: 200, maximum: 599 })),
    delayMs: optional(count("Delay of the response in milliseconds. Default: 0.", { minimum: 0, maximum: 60_000 })),
    failFirst: optional(count("Number of requests that get 503 first. Default: 0.", { minimum: 0, maximum: 1_000 })),
  },
);

export const InboxRequest = record("InboxRequest", "A request that the inbox received.", {
  receivedAt: instant("When the request was received."),
  realAt: optional(instant("When it was received in real time, if the sandbox's clock was ahead.")),
  verified: flag("Whether its signature was valid; if not, the inbox responded with 401."),
  status: Type.Integer({ description: "HTTP status of the response." }),
  headers: Type.Record(Type.String(), Type.String(), { description: "Headers of the request." }),
  body: string("Raw body of the request. Once the text of its event is erased: the present envelope of the event."),
});

export const Inbox = record("Inbox", "The inbox: the built-in receiver of webhooks.", {
  url: string("URL of the inbox."),
  secret: stringOrNull(
    "Signing secret of the inbox, to try signature verification with; null for a key without the permission `webhooks`.",
  ),
  behaviour: says(InboxBehaviour, "How the inbox responds."),
  requests: list(InboxRequest, "The last 500 requests, newest first."),
});

export const PhoneMessage = request(
  "PhoneMessage",
  "Body of `POST /v1/sandbox/phones/:number/messages`.",
  {
    text: optional(text(0, TEXT_LENGTH_MAX, "Text of the message.")),
    attachments: optional(list(AttachmentInput, "Files of the message.", { maxItems: ATTACHMENTS_MAX })),
    attachmentsAfterMs: optional(
      count(
        "How long after the message its files come, in milliseconds. It waits ten seconds for them at most. Default: 0.",
        {
          minimum: 0,
          maximum: 3_600_000,
        },
      ),
    ),
    replyTo: optional(messageId("Id of the message that this one replies to.")),
    to,
    chatId: optional(text(1, 512, "Id of a group that the contact is in, to write there.")),
    channel: optional(says(Channel, "Channel of the message. Default: iMessage if the phone has it.")),
    idempotencyKey,
  },
  {
    allOf: [
      {
        anyOf: [
          { required: ["text"], properties: { text: { minLength: 1 } } },
          { required: ["attachments"], properties: { attachments: { minItems: 1 } } },
        ],
      },
    ],
  },
);

export const PhoneTyping = request("PhoneTyping", "Body of `POST /v1/sandbox/phones/:number/typing`.", {
  typing: flag("Whether the contact starts or stops typing."),
  to,
  idempotencyKey,
});

export const PhoneReaction = request("PhoneReaction", "Body of `POST /v1/sandbox/phones/:number/reactions`.", {
  messageId: messageId("Id of a message on this phone."),
  type: ReactionCommand,
  idempotencyKey,
});

export const PhoneKeptAudio = request("PhoneKeptAudio", "Body of `POST /v1/sandbox/phones/:number/audio-kept`.", {
  messageId: messageId("Id of an audio message on this phone."),
  idempotencyKey,
});

export const PhoneGroupPhoto = request("PhoneGroupPhoto", "Body of `POST /v1/sandbox/phones/:number/group-photo`.", {
  chatId: text(1, 512, "Id of a group that the contact is in."),
  idempotencyKey,
});

export const PhonePayment = request(
  "PhonePayment",
  "Body of `POST /v1/sandbox/phones/:number/payments`.",
  {
    amount: optional(says(Amount, "Dollars. Default: the amount of the request.")),
    requestId: optional(text(1, 512, "Id of the payment request to pay.")),
    to,
    idempotencyKey,
  },
  { allOf: [atLeastOne("amount", "requestId")] },
);

export const CALL_ACTIONS = ["ring", "answer", "hangup", "miss"] as const;
export const CallAction = choice("CallAction", CALL_ACTIONS, "An action of a phone in a FaceTime call.");

export const PhoneCall = request("PhoneCall", "Body of `POST /v1/sandbox/phones/:number/calls`.", {
  action: says(CallAction, "Action of the contact."),
  video: optional(flag("Whether to call with video.")),
  to,
  idempotencyKey,
});

/** A phone waits at most ten minutes before each receipt. */
const LATENCY_MS_MAX = 600_000;

const sentences = {
  online: "Whether the phone receives messages now; if not, they are delivered when it is online again.",
  imessage: "Whether the phone has iMessage.",
  readReceipts: "Whether the phone sends read receipts.",
  edits: "Whether messages on the phone can be edited; if not, an edit fails.",
  latencyMs: "Delay of each receipt in milliseconds.",
  lossPercent: "Share of messages that are lost, 0 to 100.",
};

export const PhoneSettings = record("PhoneSettings", "How a phone of the sandbox behaves, for one customer.", {
  online: flag(sentences.online),
  imessage: flag(sentences.imessage),
  readReceipts: flag(sentences.readReceipts),
  edits: flag(sentences.edits),
  latencyMs: Type.Number({ minimum: 0, description: sentences.latencyMs }),
  lossPercent: Type.Number({ minimum: 0, maximum: 100, description: sentences.lossPercent }),
});

export const SetPhoneSettings = request(
  "SetPhoneSettings",
  "Body of `PUT /v1/sandbox/phones/:number/settings`: an absent field stays as it is.",
  {
    online: optional(flag(sentences.online)),
    imessage: optional(flag(sentences.imessage)),
    readReceipts: optional(flag(sentences.readReceipts)),
    edits: optional(flag(sentences.edits)),
    latencyMs: optional(count(sentences.latencyMs, { minimum: 0, maximum: LATENCY_MS_MAX })),
    lossPercent: optional(Type.Number({ minimum: 0, maximum: 100, description: sentences.lossPercent })),
  },
);

export const SandboxClock = record("SandboxClock", "The clock of a sandbox.", {
  now: instant("Time of the service."),
  offsetMs: count("How far the clock is ahead of real time, in milliseconds.", { minimum: 0 }),
});

export const SetClock = request(
  "SetClock",
  "Body of `POST /v1/sandbox/clock`: one of the two.",
  {
    advance: optional(
      text(1, 20, "A duration to move the clock forward by, such as `30s`, `5m`, `2h` or `1d`.", {
        pattern: "^\\d{1,12}(?:ms|s|m|h|d)$",
      }),
    ),
    reset: optional(Type.Boolean({ description: "Returns to real time; must be true.", "x-shown": { const: true } })),
    idempotencyKey,
  },
  { allOf: [exactlyOne("advance", "reset")] },
);

export const SandboxReset = record("SandboxReset", "Response of `POST /v1/sandbox/reset`.", {
  reset: yes(),
});

export const receivedEventExample = {
  id: IDS.event,
  type: "message.inbound",
  timestamp: at(30),
  data: {
    messageId: IDS.reply,
    from: CONTACT,
    to: OWN,
    text: "On my way",
    channel: "imessage",
    sequence: 1,
    correlationId: CORRELATION_ID,
    parentMessageId: null,
    attachments: [],
  },
} as const;

export const inboxExample: Static<typeof Inbox> = {
  url: "http://127.0.0.1:8080/sandbox/inbox/0123456789abcdef0123456789abcdef",
  secret: `whsec_${"QUJD".repeat(10)}QUI=`,
  behaviour: { status: 200, delayMs: 0, failFirst: 0 },
  requests: [
    {
      receivedAt: at(30),
      verified: true,
      status: 200,
      headers: { "content-type": "application/json", "x-timestamp": "1772366430" },
      body: JSON.stringify(receivedEventExample),
    },
  ],
};

export const settingsExample: Static<typeof PhoneSettings> = {
  online: true,
  imessage: true,
  readReceipts: false,
  edits: true,
  latencyMs: 20,
  lossPercent: 0,
};
