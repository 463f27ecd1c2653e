/** Reads lists of messages page by page, up to a limit, and explains failed requests. */

import type { Clock } from "../../clock.ts";
import type { Api, NoResponse, TwilioResponse } from "./api.ts";
import { clockAheadMs, type MessageList } from "./reconcile.ts";
import { type MessageRecord, readPage } from "./records.ts";
import { retryAfterMs } from "./send.ts";

/** The timeout of a read, in milliseconds. */
export const READ_TIMEOUT_MS = 10_000;

/**
 * Why a read failed. `account`: any other request would fail too. `question`: only this request. `length`: the list has
 * too many pages. `disk`: a message or the cursor could not be stored.
 */
export interface ReadFailure {
  failure: "account" | "question" | "length" | "disk";
  /** How long the API wants no requests, in milliseconds; null if it does not say. */
  waitMs: number | null;
  /** Contains no phone number. */
  reason: string;
}

/** A list, newest first. `isWhole`: every row could be read. */
export type CompleteList = MessageList & { isWhole: boolean };

/** Reads the list at `path` up to its last page, or to the first one that is enough. */
export async function readList(
  { api, clock }: { api: Api; clock: Clock },
  given: {
    path: string;
    pagesMax: number;
    isEnough?: (page: readonly MessageRecord[], aheadMs: number | null) => boolean;
  },
): Promise<CompleteList | ReadFailure> {
  const messages: MessageRecord[] = [];
  let isWhole = true;
  let aheadMs: number | null = null;
  let path: string | null = given.path;
  for (let pages = 0; path !== null; pages += 1) {
    if (pages === given.pagesMax) return TOO_LONG;
    const answer = await api.request({ method: "GET", path, timeoutMs: READ_TIMEOUT_MS });
    const page = "noResponse" in answer || answer.status !== 200 ? null : readPage(answer.body);
    if ("noResponse" in answer || page === null) return failureOf(answer, clock.real());
    messages.push(...page.messages);
    isWhole &&= page.isWhole;
    aheadMs ??= clockAheadMs(answer, clock.real());
    path = given.isEnough?.(page.messages, aheadMs) === true ? null : page.next;
  }
  return { messages, aheadMs, isWhole };
}

const TOO_LONG: ReadFailure = {
  failure: "length",
  waitMs: null,
  reason: "Twilio's list has more messages than one read covers",
};

/** Refused credentials, a suspended account, too many requests. */
const ACCOUNTS: ReadonlySet<number> = new Set([401, 403, 429]);

/** Explains a failed read at the real time `now`. */
export function failureOf(answer: TwilioResponse | NoResponse, now: number): ReadFailure {
  if ("noResponse" in answer) {
    const failure = answer.noResponse === "tooLarge" ? "question" : "account";
    return { failure, waitMs: null, reason: `Twilio cannot be reached: ${answer.reason}` };
  }
  const { status, headers } = answer;
  return {
    failure: ACCOUNTS.has(status) ? "account" : "question",
    waitMs: retryAfterMs(headers["retry-after"], now),
    reason: `Twilio responded with ${status}`,
  };
}
