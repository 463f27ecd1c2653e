/** Turns a request to send, in any of its forms, into a `NewMessage`, and finds the problems of its fields. Pure. */

import type { AttachmentInput, ErrorDetail, Mention, SendCarousel, SendMessage, SendOptions } from "../../sdk/wire.ts";
import { type AllowList, checkAddress } from "./address.ts";
import { isConversation } from "./chat.ts";
import { ApiError, invalidField, refusedField } from "./error.ts";
import type { CustomerId, KeyId, MessageId, PaymentId } from "./id.ts";

/** The caller of a request to send, and the id of that request. */
export interface Requester {
  customerId: CustomerId;
  keyId: KeyId;
  correlationId: string;
}

/** A message to send. It has either `to` or `chatId`. Options that equal their default are left out. */
export interface NewMessage extends Requester, Omit<SendOptions, "idempotencyKey"> {
  to?: string;
  chatId?: string;
  content?: { text?: string; mediaUrls?: string[] };
  /** The caller's own names of the fields, for error details. */
  fieldNames: FieldNames;
  /** The payment that the message requests. */
  payment?: { id: PaymentId; amountCents: number };
  /** The message's id; a new id by default. */
  messageId?: MessageId;
}

/** Fields that have an alias. */
export interface FieldNames {
  text: string;
  mediaUrl: (index: number) => string;
}

const MESSAGE_FIELDS: FieldNames = {
  text: "content.text",
  mediaUrl: (index) => `content.mediaUrls[${index}]`,
};

const CAROUSEL_FIELDS: FieldNames = { text: "text", mediaUrl: (index) => `mediaUrls[${index}]` };

/** Makes the message of a body of `POST /v1/messages`. Throws if the body has both a field and its alias. */
export function newMessage(requester: Requester, body: SendMessage): NewMessage {
  const { to: _, chatId: __, conversationId: ___, idempotencyKey: ____, content = {}, ...options } = body;
  const { text, mediaUrls, fieldNames } = contentOf(content);
  return {
    ...recipientOf(body),
    ...givenContent(text, mediaUrls),
    ...withoutDefaults(options),
    ...requester,
    fieldNames,
  };
}

/** Makes the message of a body of `POST /v1/messages/carousel`. */
export function newCarousel(requester: Requester, body: SendCarousel): NewMessage {
  const { to: _, chatId: __, conversationId: ___, idempotencyKey: ____, mediaUrls, text, ...options } = body;
  return {
    ...recipientOf(body),
    ...givenContent(text, mediaUrls),
    ...withoutDefaults(options),
    ...requester,
    fieldNames: CAROUSEL_FIELDS,
  };
}

/** The requested fields, by which two requests with the same idempotency key are compared. */
export function requestedFields(message: NewMessage): Omit<NewMessage, keyof Requester | "fieldNames"> {
  const { customerId: _, keyId: __, correlationId: ___, fieldNames: ____, ...fields } = message;
  return fields;
}

/** The text and media of a request. Throws if both `mediaUrl` and `mediaUrls` are given. */
export function contentOf({ text, mediaUrls, mediaUrl }: NonNullable<SendMessage["content"]>): {
  text: string | undefined;
  mediaUrls: string[] | undefined;
  fieldNames: FieldNames;
} {
  if (mediaUrl !== undefined && mediaUrls !== undefined) {
    throw invalidField(
      "content.mediaUrl",
      "is another name for content.mediaUrls with one address; give one of the two",
    );
  }
  if (mediaUrl === undefined) return { text, mediaUrls, fieldNames: MESSAGE_FIELDS };
  return { text, mediaUrls: [mediaUrl], fieldNames: { ...MESSAGE_FIELDS, mediaUrl: () => "content.mediaUrl" } };
}

/**
 * The recipient, named by exactly one of the three fields; an empty field counts as absent. A chat id in `to` means the
 * same as in `chatId`. Throws `INVALID_RECIPIENT`.
 */
function recipientOf(body: Pick<SendMessage, "to" | "chatId" | "conversationId">): Pick<NewMessage, "to" | "chatId"> {
  const { to, chatId, conversationId } = body;
  const given = Object.entries({ to, chatId, conversationId }).filter(
    ([, value]) => value !== undefined && value !== "",
  );
  const [first, ...more] = given;
  if (first === undefined) {
    const message =
      "name the recipient: a phone number in E.164 form, an e-mail address or a chat id, or name the conversation in chatId";
    throw refusedField("INVALID_RECIPIENT", "to", message);
  }
  const [name, value = ""] = first;
  if (more.length === 0) return name === "to" && !isConversation(value) ? { to: value } : { chatId: value };
  const message = `give one recipient, not ${given.map(([one]) => one).join(" and ")}`;
  const details = given.map(([path]) => ({ path, message }));
  throw new ApiError("INVALID_RECIPIENT", `${name}: ${message}.`, { details });
}

/** The content of a message; an empty text counts as absent. */
function givenContent(text: string | undefined, mediaUrls: string[] | undefined): Pick<NewMessage, "content"> {
  const content: NonNullable<NewMessage["content"]> = {};
  if (text !== undefined && text !== "") content.text = text;
  if (mediaUrls !== undefined) content.mediaUrls = mediaUrls;
  return { content };
}

function withoutDefaults(options: Omit<SendOptions, "idempotencyKey">): Omit<SendOptions, "idempotencyKey"> {
  const { attachments = [], mentions = [], createContact = false, ...rest } = options;
  return {
    ...rest,
    ...(attachments.length === 0 ? {} : { attachments: attachments.map(withoutAttachmentDefaults) }),
    ...(mentions.length === 0 ? {} : { mentions }),
    ...(createContact ? { createContact } : {}),
  };
}

function withoutAttachmentDefaults({ isAudioMessage = false, ...input }: AttachmentInput): AttachmentInput {
  return isAudioMessage ? { ...input, isAudioMessage } : input;
}

/** Private addresses that the operator allows for webhooks and for fetched media. */
export interface AllowedAddresses {
  webhookAllow: AllowList;
  fetchAllow: AllowList;
}

/** Problems that the request's schema does not find. Attachments are checked elsewhere. */
export function problemsOf(message: NewMessage, allowed: AllowedAddresses): ErrorDetail[] {
  const { content = {}, attachments = [], mentions = [], callbackUrl, fieldNames } = message;
  const { text, mediaUrls = [] } = content;
  const found: ErrorDetail[] = [];
  const add = (path: string, problem: string | null) =>
    void (problem !== null && found.push({ path, message: problem }));
  if (text === undefined && mediaUrls.length === 0 && attachments.length === 0) {
    add(fieldNames.text, "is required, and must not be empty, unless media or attachments are given");
  }
  found.push(...mediaProblems(mediaUrls, fieldNames, allowed));
  for (const [index, one] of mentions.entries()) add(`mentions[${index}]`, checkMention(one, text ?? ""));
  if (callbackUrl !== undefined) add("callbackUrl", checkAddress(callbackUrl, allowed.webhookAllow));
  return found;
}

/** Problems of media URLs. */
export function mediaProblems(
  mediaUrls: readonly string[],
  fieldNames: FieldNames,
  { fetchAllow }: Pick<AllowedAddresses, "fetchAllow">,
): ErrorDetail[] {
  return mediaUrls.flatMap((url, index) => {
    const message = checkAddress(url, fetchAllow, "TB_FETCH_ALLOW");
    return message === null ? [] : [{ path: fieldNames.mediaUrl(index), message }];
  });
}

/** Counts UTF-16 units, as JavaScript and phones do. */
function checkMention({ start, length }: Mention, text: string): string | null {
  if (start + length <= text.length) return null;
  return `reaches from ${start} to ${start + length}; the text has ${text.length} UTF-16 units`;
}
