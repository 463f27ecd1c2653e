/** Sending: the requests that send a message, and their responses. */

import { type Static, Type } from "typebox";
import { ATTACHMENTS_MAX, AttachmentInput } from "./attachments.ts";
import { at, CONTACT, IDS, OWN } from "./samples.ts";
import {
  absent,
  alias,
  atOrNull,
  choice,
  closed,
  count,
  flag,
  id,
  at as instant,
  list,
  optional,
  orNull,
  record,
  request,
  SHOWN,
  says,
  string,
  stringOrNull,
  text,
  yes,
} from "./schema.ts";
import { EITHER_FORM } from "./sentences.ts";
import {
  Address,
  addressShown,
  CHANNELS,
  Channel,
  HttpsUrl,
  IdempotencyKey,
  instantShown,
  metadataInput,
  recipientShown,
} from "./values.ts";

/** Longest text of a message, in characters. */
export const TEXT_LENGTH_MAX = 10_000;
/** Longest identifier of the caller's own, in characters. */
export const EXTERNAL_ID_LENGTH_MAX = 255;
/** Media that one message can have. */
export const MEDIA_URLS_MAX = 20;
/** Mentions that one message can have. */
const MENTIONS_MAX = 100;

export const OUTBOUND_STATUSES = [
  "scheduled",
  "queued",
  "pending",
  "sent",
  "delivered",
  "read",
  "failed",
  "cancelled",
  "unsent",
] as const;
export const OutboundStatus = choice(
  "OutboundStatus",
  OUTBOUND_STATUSES,
  "Status of an outbound message. `pending`: a provider was asked to send it and has not answered yet.",
);

export const MESSAGE_TYPES = ["text", "media", "carousel"] as const;
export const MessageType = choice("MessageType", MESSAGE_TYPES, "Kind of a message.");

export const EFFECTS = [
  "slam",
  "loud",
  "gentle",
  "invisibleInk",
  "echo",
  "spotlight",
  "balloons",
  "confetti",
  "love",
  "lasers",
  "fireworks",
] as const;
export const Effect = choice("Effect", EFFECTS, "Effect of an iMessage; ignored on SMS.");

export const ENCODINGS = ["GSM-7", "Latin-1", "UCS-2"] as const;
export const Encoding = choice(
  "Encoding",
  ENCODINGS,
  "Encoding of an SMS: seven bits of GSM 03.38, ISO 8859-1, or UTF-16.",
);

export const ATTACHMENTS_RULES = ["drop", "require"] as const;
export const AttachmentsRule = choice(
  "AttachmentsRule",
  ATTACHMENTS_RULES,
  "The rule for a message with files on a channel that does not carry them. `drop`: its text goes without them. `require`: the channel is not used.",
);

export const Routing = request("Routing", "Which channels to try, and when to give one up.", {
  attachments: optional(
    says(
      AttachmentsRule,
      "Files on a channel without files, such as most SMS: `drop` sends the text without them (default with a text), `require` does not use the channel (default without a text).",
    ),
  ),
  preference: optional(
    list(Channel, "Channels in the order in which they are tried.", { minItems: 1, maxItems: CHANNELS.length }),
  ),
  fallback: optional(flag("Whether to try the next channel when one is given up. Default: true.")),
  fallbackAfterSeconds: optional(
    count("Gives a channel up after this time without a delivery. Default: never, or as configured.", {
      minimum: 10,
      maximum: 86_400,
    }),
  ),
});

export const Mention = request("Mention", "A part of the text that names somebody in the conversation.", {
  address: says(Address, "Phone number or e-mail address of the person."),
  start: count("Start of the part, in UTF-16 units.", { minimum: 0, maximum: TEXT_LENGTH_MAX * 2 }),
  length: count("Length of the part, in UTF-16 units.", { minimum: 1, maximum: TEXT_LENGTH_MAX * 2 }),
});

/** Addresses and instants have error codes of their own, so the engine checks them. */
const recipients = {
  to: optional(
    text(0, 512, `The recipient: a phone number, an iMessage e-mail, or a chat id. ${EITHER_FORM}`, recipientShown),
  ),
  chatId: optional(text(0, 512, "The chat to send to, in place of `to`.", recipientShown)),
  conversationId: optional(alias("chatId", text(0, 512, undefined, recipientShown))),
};

/** The number to send from. */
export const Sender = text(
  1,
  512,
  "One of your numbers. Default: the number of the newest conversation with the recipient, else your default number.",
  addressShown,
);

/** Options of both requests that send. */
export const SendOptions = request("SendOptions", "Options of every request that sends a message.", {
  from: optional(Sender),
  attachments: optional(
    list(AttachmentInput, "Files to send; `routing.attachments` says what happens on channels without files.", {
      maxItems: ATTACHMENTS_MAX,
    }),
  ),
  replyTo: optional(text(1, 512, "Id of the message that this one replies to.")),
  effect: optional(says(Effect, "Effect on the recipient's iPhone; ignored on SMS.")),
  mentions: optional(
    list(Mention, "Parts of the text that name people in the conversation.", { maxItems: MENTIONS_MAX }),
  ),
  createContact: optional(flag("Whether to create a contact for the recipient if none exists.")),
  routing: optional(Routing),
  scheduledAt: optional(
    text(0, 100, "When to send the message: ISO 8601 with an offset or `Z`, at most 30 days ahead.", instantShown),
  ),
  idempotencyKey: optional(IdempotencyKey),
  externalMessageId: optional(
    text(1, EXTERNAL_ID_LENGTH_MAX, "Your own identifier of the message: in events, and a filter. Need not be unique."),
  ),
  callbackUrl: optional(
    says(HttpsUrl, "URL that receives every event of this message, whatever webhooks subscribe to."),
  ),
  metadata: optional(metadataInput),
});

/** The text of a request. */
export const Text = text(
  0,
  TEXT_LENGTH_MAX,
  "1 to 10,000 characters; optional if the message has media or attachments.",
);

/** `mediaUrl` is the alias: only one of the two names may be given. */
export const oneMedia = {
  allOf: [{ anyOf: [{ properties: { mediaUrls: absent } }, { properties: { mediaUrl: absent } }] }],
};

/** Media of a request. */
export const mediaInput = (minItems?: number) => ({
  mediaUrls: optional(
    list(HttpsUrl, "HTTPS URLs of images; two or more make a carousel.", {
      ...(minItems === undefined ? {} : { minItems }),
      maxItems: MEDIA_URLS_MAX,
    }),
  ),
  mediaUrl: optional(alias("content.mediaUrls", HttpsUrl)),
});

/** Exactly one of the three fields must be given and not be empty. */
const oneRecipient = {
  oneOf: ["to", "chatId", "conversationId"].map((name) => ({
    required: [name],
    properties: { [name]: { minLength: 1 } },
  })),
};

/**
 * A text, media or attachments, as a refusal of requests without any of them. Generators number the alternatives of all lists of a schema
 * alike, so a second list beside `oneRecipient` would give two types one name.
 */
const hasContent = {
  not: {
    properties: {
      attachments: { maxItems: 0 },
      content: { properties: { text: { maxLength: 0 }, mediaUrls: absent, mediaUrl: absent } },
    },
  },
};

export const SendMessage = request(
  "SendMessage",
  "Body of `POST /v1/messages`: exactly one of `to` and `chatId`, and a text, media or attachments.",
  {
    ...recipients,
    ...SendOptions.properties,
    content: optional(
      closed({ text: optional(Text), ...mediaInput(1) }, { description: "Text and media.", [SHOWN]: oneMedia }),
    ),
  },
  { allOf: [oneRecipient, hasContent] },
);

export const SendCarousel = request(
  "SendCarousel",
  "Body of `POST /v1/messages/carousel`: exactly one of `to` and `chatId`.",
  {
    ...recipients,
    ...SendOptions.properties,
    mediaUrls: list(HttpsUrl, "HTTPS URLs of 2 to 20 images.", { minItems: 2, maxItems: MEDIA_URLS_MAX }),
    text: optional(text(0, TEXT_LENGTH_MAX, "Text to send with the images.")),
  },
  { allOf: [oneRecipient] },
);

/** Query of both routes that send. */
export const SendQuery = closed({
  dryRun: optional(flag("Returns the plan of the message and sends nothing.")),
});

export const acceptedFields = {
  id: id("msg"),
  status: says(OutboundStatus, "Status of the message."),
  to: string("Address of the recipient."),
  from: string("Address of the sender."),
  channel: says(Channel, "Channel that was used, or the planned one until one is used."),
  scheduledAt: atOrNull("When the message is, or was, to be sent; null if it was not scheduled."),
  externalMessageId: stringOrNull("Your own identifier of the message."),
  createdAt: instant("When the message was accepted."),
};

export const AcceptedMessage = record("AcceptedMessage", "Response of `POST /v1/messages`.", acceptedFields);

export const AcceptedCarousel = record("AcceptedCarousel", "Response of `POST /v1/messages/carousel`.", {
  ...acceptedFields,
  messageType: says(MessageType, "Kind of the message."),
  imageCount: count("Number of images.", { minimum: 1 }),
});

export const PlannedHop = record("PlannedHop", "One channel and instance that routing considers for a message.", {
  channel: says(Channel, "The channel."),
  instanceId: stringOrNull("The provider instance; null if the channel has none."),
  usable: flag("Whether the message would be tried this way."),
  attachmentsDropped: count("Files that would not be sent this way.", { minimum: 0 }),
  reason: string("Why, or why not."),
});

export const DryRun = record(
  "DryRun",
  "Response of `POST /v1/messages?dryRun=true`: the plan of the message. Nothing is stored or sent.",
  {
    dryRun: yes(),
    to: string("Address of the recipient."),
    from: string("Address of the sender."),
    channel: orNull(Channel, "The channel that would be tried first; null if none can be."),
    instanceId: stringOrNull("The provider instance that would send it first; null if none can."),
    reason: string("Why this channel and this instance."),
    attachmentsDropped: count("Files that this channel and this instance would not send.", { minimum: 0 }),
    hops: list(PlannedHop, "Every way considered, in the order in which they would be tried."),
    segments: orNull(
      Type.Integer({ minimum: 1 }),
      "Number of SMS segments of its text; null if no SMS can be sent, or without a text.",
    ),
    encoding: orNull(Encoding, "Encoding of the SMS; null if no SMS can be sent."),
    scheduledAt: atOrNull("When the message would be sent, if it is scheduled."),
    quietUntil: atOrNull("When the quiet hours that hold the message end; null if none hold it."),
  },
);

export const acceptedExample: Static<typeof AcceptedMessage> = {
  id: IDS.message,
  status: "queued",
  to: CONTACT,
  from: OWN,
  channel: "imessage",
  scheduledAt: null,
  externalMessageId: "order-1001",
  createdAt: at(0),
};
