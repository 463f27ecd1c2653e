/** Reads lists of messages page by page, as far as is wanted and never for ever; and says what an answer that is none means. */

import type { Clock } from "../../clock.ts";
import type { Api, NoResponse, TwilioResponse } from "./api.ts";
import { clockAheadMs, type MessageList } from "./reconcile.ts";
import { type MessageRecord, readPage } from "./records.ts";
import { retryAfterMs } from "./send.ts";

/** How long an answer to a question is waited for, in milliseconds. */
export const READ_TIMEOUT_MS = 10_000;

/**
 * Why a question came to nothing. `account`: any other would be answered the same. `question`: this one. `length`: the list
 * has more pages than are read. `disk`: what was answered, or how far that got, could not be kept.
 */
export interface ReadFailure {
  failure: "account" | "question" | "length" | "disk";
  /** How long the API wants to be asked nothing, in milliseconds; null where it does not say. */
  waitMs: number | null;
  /** In words without anybody's number. */
  reason: string;
}

/** What was read of a list, newest first; `isWhole`: every row of it could be read. */
export type CompleteList = MessageList & { isWhole: boolean };

/** Reads the list at `path`, until a page is the last, or is enough. */
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
  reason: "Twilio has more messages than are looked through",
};

/** Refused credentials, a suspended account, asked too fast. */
const ACCOUNTS: ReadonlySet<number> = new Set([401, 403, 429]);

/** What it means that a question was not answered as it should be, at the real time `now`. */
export function failureOf(answer: TwilioResponse | NoResponse, now: number): ReadFailure {
  if ("noResponse" in answer) {
    const failure = answer.noResponse === "tooLarge" ? "question" : "account";
    return { failure, waitMs: null, reason: `Twilio cannot be asked: ${answer.reason}` };
  }
  const { status, headers } = answer;
  return {
    failure: ACCOUNTS.has(status) ? "account" : "question",
    waitMs: retryAfterMs(headers["retry-after"], now),
    reason: `Twilio answered ${status} when it was asked`,
  };
}
