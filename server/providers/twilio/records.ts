/** What the API answers, read loosely: fields may be missing, null, or more than are known here. Pure. */

import { jsonOf, listOf, numberOf, recordOf, textOf } from "../../core/loose-json.ts";

/** A message as the API shows it. */
export interface MessageRecord {
  sid: string;
  /** One of the thirteen statuses, or a word that is not known here. */
  status: string;
  errorCode: number | null;
  errorMessage: string | null;
  /** Null while the API does not know it yet. */
  segments: number | null;
  body: string;
  from: string | null;
  to: string | null;
  isOutbound: boolean;
  /** Epoch milliseconds by the API's clock, in whole seconds; null where it does not say. */
  createdAt: number | null;
  /** How many files it has, and the path of their list where the API names it. */
  mediaCount: number;
  mediaPath: string | null;
}

export interface MessagePage {
  messages: readonly MessageRecord[];
  /** Whether every row could be read: one that cannot could be any message, and a page with it proves nothing. */
  isWhole: boolean;
  /** The next page's path; null on the last one. */
  next: string | null;
}

/** A file of a message: the path at which its bytes are, and its type where that is known. */
export interface MediaRecord {
  path: string;
  mimeType: string | null;
}

/** What the API refused a request for. */
export interface ApiRefusal {
  code: number;
  message: string;
}

/** The message in an answer's body; null when there is none. */
export function readMessage(body: Buffer): MessageRecord | null {
  return messageOf(jsonOf(body));
}

/** A page of messages; null when the body is none. */
export function readPage(body: Buffer): MessagePage | null {
  const page = recordOf(jsonOf(body));
  if (page === null || !Array.isArray(page.messages)) return null;
  const messages = listOf(page.messages, messageOf);
  const next = wordOf(page.next_page_uri);
  return next?.startsWith("/") === false ? null : { messages, isWhole: messages.length === page.messages.length, next };
}

/** The files in the list of a message's; null when the body is no such list. */
export function readMedia(body: Buffer): readonly MediaRecord[] | null {
  const page = recordOf(jsonOf(body));
  return Array.isArray(page?.media_list) ? listOf(page.media_list, mediaOf) : null;
}

/** The refusal in an answer's body; null when its words are not the API's. */
export function readRefusal(body: Buffer): ApiRefusal | null {
  const fields = recordOf(jsonOf(body));
  const code = wholeNumberOf(fields?.code);
  return code === null ? null : { code, message: textOf(fields?.message) ?? "" };
}

/** The status of an account (`active`, `suspended`, `closed`); null when the body is no account. */
export function readAccountStatus(body: Buffer): string | null {
  return wordOf(recordOf(jsonOf(body))?.status);
}

function messageOf(value: unknown): MessageRecord | null {
  const fields = recordOf(value);
  const sid = wordOf(fields?.sid);
  if (fields === null || sid === null) return null;
  const segments = wholeNumberOf(fields.num_segments);
  return {
    sid,
    status: textOf(fields.status) ?? "",
    errorCode: wholeNumberOf(fields.error_code),
    errorMessage: wordOf(fields.error_message),
    segments: segments === null || segments < 1 ? null : segments,
    body: textOf(fields.body) ?? "",
    from: wordOf(fields.from),
    to: wordOf(fields.to),
    isOutbound: textOf(fields.direction)?.startsWith("inbound") !== true,
    createdAt: instantOf(fields.date_created),
    mediaCount: wholeNumberOf(fields.num_media) ?? 0,
    mediaPath: pathOf(recordOf(fields.subresource_uris)?.media),
  };
}

/** A file by its `uri`, at which the API shows it as JSON; its bytes are at the same path without `.json`. */
function mediaOf(value: unknown): MediaRecord | null {
  const fields = recordOf(value);
  const path = pathOf(fields?.uri)?.replace(/\.json$/, "") ?? null;
  return path === null ? null : { path, mimeType: wordOf(fields?.content_type) };
}

/** Epoch milliseconds of a date as the API writes it (RFC 2822); null for anything else. */
function instantOf(value: unknown): number | null {
  const at = Date.parse(textOf(value) ?? "");
  return Number.isNaN(at) ? null : at;
}

function pathOf(value: unknown): string | null {
  const path = textOf(value);
  return path?.startsWith("/") === true ? path : null;
}

/** A text that says something: the API leaves fields empty as well as out. */
function wordOf(value: unknown): string | null {
  return textOf(value) || null;
}

/** A whole number, also as text: `num_segments` is one. */
function wholeNumberOf(value: unknown): number | null {
  const text = textOf(value);
  const number = text !== null && /^\d{1,9}$/.test(text) ? Number(text) : numberOf(value);
  return Number.isSafeInteger(number) ? number : null;
}
