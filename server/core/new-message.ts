/** What a request to send asks for, in the one form that all its spellings come to, and what is wrong with it. Pure. */

import type { ErrorDetail, Mention, SendCarousel, SendMessage, SendOptions } from "../../sdk/wire.ts";
import { type AllowList, checkAddress } from "./address.ts";
import { isConversation } from "./chat.ts";
import { ApiError, invalidField } from "./error.ts";

/** What to send, and to whom: one of `to` and `chatId`. What is the same as leaving it out is left out. */
export interface Wanted extends Omit<SendOptions, "idempotencyKey"> {
  to?: string;
  chatId?: string;
  content?: { text?: string; mediaUrls?: string[] };
}

/** What the caller called its fields: problems are told in its words. */
export interface Spelling {
  text: string;
  mediaUrl: (index: number) => string;
}

/** A request to send, understood. */
export interface Understood {
  wanted: Wanted;
  spelling: Spelling;
}

/** How a message is asked for without any synonym. */
export const PLAIN_SPELLING: Spelling = {
  text: "content.text",
  mediaUrl: (index) => `content.mediaUrls[${index}]`,
};

/** Body of `POST /v1/messages`, understood. Throws where a field and its synonym are both given. */
export function understandMessage(body: SendMessage): Understood {
  const { to: _, chatId: __, conversationId: ___, idempotencyKey: ____, content = {}, ...options } = body;
  const { text, mediaUrls, spelling } = contentOf(content);
  return {
    wanted: { ...recipientOf(body), ...givenContent(text, mediaUrls), ...withoutDefaults(options) },
    spelling,
  };
}

/** Content as its caller spelled it: text, and media under either name. Throws where both names are given. */
export function contentOf({ text, mediaUrls, mediaUrl }: NonNullable<SendMessage["content"]>): {
  text: string | undefined;
  mediaUrls: string[] | undefined;
  spelling: Spelling;
} {
  if (mediaUrl !== undefined && mediaUrls !== undefined) {
    throw invalidField(
      "content.mediaUrl",
      "is another name for content.mediaUrls with one address; give one of the two",
    );
  }
  if (mediaUrl === undefined) return { text, mediaUrls, spelling: PLAIN_SPELLING };
  return { text, mediaUrls: [mediaUrl], spelling: { ...PLAIN_SPELLING, mediaUrl: () => "content.mediaUrl" } };
}

/** Body of `POST /v1/messages/carousel`, understood. */
export function understandCarousel(body: SendCarousel): Understood {
  const { to: _, chatId: __, conversationId: ___, idempotencyKey: ____, mediaUrls, text, ...options } = body;
  return {
    wanted: {
      ...recipientOf(body),
      ...givenContent(text, mediaUrls),
      ...withoutDefaults(options),
    },
    spelling: {
      text: "text",
      mediaUrl: (index) => `mediaUrls[${index}]`,
    },
  };
}

type Named = Pick<SendMessage, "to" | "chatId" | "conversationId">;

/**
 * Exactly one of the names for whom it goes to. An empty one counts as none. A conversation in `to` is
 * the same as in `chatId`.
 */
function recipientOf(named: Named): Pick<Wanted, "to" | "chatId"> {
  const { to, chatId, conversationId } = named;
  const given = Object.entries({ to, chatId, conversationId }).filter(
    ([, value]) => value !== undefined && value !== "",
  );
  const [first, ...more] = given;
  if (first === undefined) {
    const message =
      "name the recipient: a phone number in E.164 form, an e-mail address or a chat id; or a conversation by chatId";
    throw new ApiError("INVALID_RECIPIENT", `to: ${message}.`, { details: [{ path: "to", message }] });
  }
  const [name, value = ""] = first;
  if (more.length === 0) return name === "to" && !isConversation(value) ? { to: value } : { chatId: value };
  const message = `give one recipient, not ${given.map(([one]) => one).join(" and ")}`;
  const details = given.map(([path]) => ({ path, message }));
  throw new ApiError("INVALID_RECIPIENT", `${name}: ${message}.`, { details });
}

/** An empty text is none. */
function givenContent(text: string | undefined, mediaUrls: string[] | undefined): Pick<Wanted, "content"> {
  const content: NonNullable<Wanted["content"]> = {};
  if (text !== undefined && text !== "") content.text = text;
  if (mediaUrls !== undefined) content.mediaUrls = mediaUrls;
  return { content };
}

function withoutDefaults(options: Omit<SendOptions, "idempotencyKey">): Omit<Wanted, "to" | "chatId" | "content"> {
  const { attachments = [], mentions = [], createContact = false, ...rest } = options;
  return {
    ...rest,
    ...(attachments.length === 0 ? {} : { attachments: attachments.map(withoutAttachmentDefaults) }),
    ...(mentions.length === 0 ? {} : { mentions }),
    ...(createContact ? { createContact } : {}),
  };
}

type Input = NonNullable<Wanted["attachments"]>[number];

function withoutAttachmentDefaults({ isAudioMessage = false, ...input }: Input): Input {
  return isAudioMessage ? { ...input, isAudioMessage } : input;
}

/** Addresses that the operator opened: to be told of events, and to be fetched from. */
export interface Allowed {
  webhookAllow: AllowList;
  fetchAllow: AllowList;
}

/** What is wrong with the fields of a request, beyond what its schema says: all of it but the attachments themselves. */
export function problemsOf({ wanted, spelling }: Understood, allowed: Allowed): ErrorDetail[] {
  const { content = {}, attachments = [], mentions = [], callbackUrl } = wanted;
  const { text, mediaUrls = [] } = content;
  const found: ErrorDetail[] = [];
  const add = (path: string, message: string | null) => void (message !== null && found.push({ path, message }));
  if (text === undefined && mediaUrls.length === 0 && attachments.length === 0) {
    add(spelling.text, "is required, and must not be empty, where neither media nor attachments are given");
  }
  found.push(...mediaProblems(mediaUrls, spelling, allowed));
  for (const [index, one] of mentions.entries()) add(`mentions[${index}]`, checkMention(one, text ?? ""));
  if (callbackUrl !== undefined) add("callbackUrl", checkAddress(callbackUrl, allowed.webhookAllow));
  return found;
}

/** What is wrong with addresses of media. */
export function mediaProblems(
  mediaUrls: readonly string[],
  spelling: Spelling,
  { fetchAllow }: Pick<Allowed, "fetchAllow">,
): ErrorDetail[] {
  return mediaUrls.flatMap((url, index) => {
    const message = checkAddress(url, fetchAllow, "TB_FETCH_ALLOW");
    return message === null ? [] : [{ path: spelling.mediaUrl(index), message }];
  });
}

/** UTF-16 units, as in JavaScript and in what phones exchange. */
function checkMention({ start, length }: Mention, text: string): string | null {
  if (start + length <= text.length) return null;
  return `reaches from ${start} to ${start + length}; the text has ${text.length} UTF-16 units`;
}
