/** Parses the API's responses loosely: fields may be missing, null or unknown. Pure. */

import { jsonOf, listOf, numberOf, recordOf, textOf } from "../../core/loose-json.ts";

/** A message in the API. */
export interface MessageRecord {
  sid: string;
  /** One of the thirteen statuses, or an unknown word. */
  status: string;
  errorCode: number | null;
  errorMessage: string | null;
  /** Null until the API knows it. */
  segments: number | null;
  body: string;
  from: string | null;
  to: string | null;
  isOutbound: boolean;
  /** Epoch milliseconds by the API's clock, in whole seconds; null if the API does not say. */
  createdAt: number | null;
  /** The number of files, and the path of their list if the API names it. */
  mediaCount: number;
  mediaPath: string | null;
}

export interface MessagePage {
  messages: readonly MessageRecord[];
  /** Whether every row could be read. An unreadable row could be any message, so a page with one proves nothing. */
  isWhole: boolean;
  /** The path of the next page; null on the last one. */
  next: string | null;
}

/** A file of a message: the path of its bytes, and its type if known. */
export interface MediaRecord {
  path: string;
  mimeType: string | null;
}

/** The API's reason for refusing a request. */
export interface ApiRefusal {
  code: number;
  message: string;
}

/** Reads the message in a body; null if there is none. */
export function readMessage(body: Buffer): MessageRecord | null {
  return messageOf(jsonOf(body));
}

/** Reads a page of messages; null if the body is none. */
export function readPage(body: Buffer): MessagePage | null {
  const page = recordOf(jsonOf(body));
  if (page === null || !Array.isArray(page.messages)) return null;
  const messages = listOf(page.messages, messageOf);
  const next = wordOf(page.next_page_uri);
  return next?.startsWith("/") === false ? null : { messages, isWhole: messages.length === page.messages.length, next };
}

/** Reads the list of a message's files; null if the body is none. */
export function readMedia(body: Buffer): readonly MediaRecord[] | null {
  const page = recordOf(jsonOf(body));
  return Array.isArray(page?.media_list) ? listOf(page.media_list, mediaOf) : null;
}

/** Reads the refusal in a body; null if the body is not in the API's form. */
export function readRefusal(body: Buffer): ApiRefusal | null {
  const fields = recordOf(jsonOf(body));
  const code = wholeNumberOf(fields?.code);
  return code === null ? null : { code, message: textOf(fields?.message) ?? "" };
}

/** Reads the status of an account (`active`, `suspended`, `closed`); null if the body is no account. */
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

/** A file by its `uri`, which shows it as JSON; the bytes are at the same path without `.json`. */
function mediaOf(value: unknown): MediaRecord | null {
  const fields = recordOf(value);
  const path = pathOf(fields?.uri)?.replace(/\.json$/, "") ?? null;
  return path === null ? null : { path, mimeType: wordOf(fields?.content_type) };
}

/** Epoch milliseconds of an RFC 2822 date; null for anything else. */
function instantOf(value: unknown): number | null {
  const at = Date.parse(textOf(value) ?? "");
  return Number.isNaN(at) ? null : at;
}

function pathOf(value: unknown): string | null {
  const path = textOf(value);
  return path?.startsWith("/") === true ? path : null;
}

/** A text that is not empty: the API leaves fields empty as well as out. */
function wordOf(value: unknown): string | null {
  return textOf(value) || null;
}

/** A whole number, also in a string, as in `num_segments`. */
function wholeNumberOf(value: unknown): number | null {
  const text = textOf(value);
  const number = text !== null && /^\d{1,9}$/.test(text) ? Number(text) : numberOf(value);
  return Number.isSafeInteger(number) ? number : null;
}
