/** Builds the request for a message, and classifies the response to it. Pure. */

import type { Outbound, Outcome } from "../provider.ts";
import { REFUSED, UNKNOWN_ACCOUNT } from "./account-monitor.ts";
import type { NoResponse, TwilioResponse } from "./api.ts";
import { codeMeaning } from "./codes.ts";
import { type MessageRecord, readMessage, readRefusal } from "./records.ts";
import { canBeReached, type TwilioSettings } from "./settings.ts";

/** Limits of a message's text and files (Twilio's Messages resource). */
const TEXT_LENGTH_MAX = 1_600;
const MEDIA_MAX = 10;
/** How long to spare one of our numbers whose queue at Twilio is full, in milliseconds. */
export const QUEUE_FULL_MS = 30_000;
const RETRY_AFTER_MS_MAX = 3_600_000;

/** Why Twilio cannot send a message at all; no request is made. */
type Refused = Extract<Outcome, { outcome: "rejected" }>;

/** The form of a message. `statusCallback` is null if Twilio cannot call us. */
export function formOf(
  message: Outbound,
  settings: TwilioSettings,
  statusCallback: string | null,
): { form: URLSearchParams } | { refused: Refused } {
  const { text, attachments, group, from, to } = message;
  const { length } = [...text];
  if (group !== null) return refuse("GROUP", "Twilio sends to one recipient, not to a group.");
  if (length > TEXT_LENGTH_MAX)
    return refuse("21617", `The text has ${length} characters; Twilio accepts at most 1,600.`);
  if (attachments.length > MEDIA_MAX) {
    return refuse("TOO_MANY_MEDIA", `There are ${attachments.length} files; Twilio accepts at most ${MEDIA_MAX}.`);
  }
  const form = new URLSearchParams({ To: to, From: from });
  if (settings.messagingServiceSid !== null) form.set("MessagingServiceSid", settings.messagingServiceSid);
  if (text !== "") form.set("Body", text);
  for (const { url, filename } of attachments) {
    if (url === undefined || !canBeReached(url, settings)) {
      const reason = `Twilio cannot fetch ${filename}: its address is not public. Set TB_PUBLIC_URL to one that is.`;
      return refuse("MEDIA_NOT_PUBLIC", reason);
    }
    form.append("MediaUrl", url);
  }
  if (statusCallback !== null) form.set("StatusCallback", statusCallback);
  return { form };
}

function refuse(code: string, reason: string): { refused: Refused } {
  return { refused: { outcome: "rejected", code, reason } };
}

/**
 * A classified response. `taken`: Twilio returned the message's sid. `refused`: with an error code. The others become
 * an `Outcome`, and may say something about the instance: `down`, it can send nothing; `busy`, it makes too many
 * requests.
 */
export type SendVerdict =
  | { verdict: "taken"; message: MessageRecord }
  | { verdict: "refused"; outcome: Refused; code: number | null }
  | { verdict: "later"; reason: string }
  | { verdict: "queueFull"; reason: string }
  | { verdict: "busy"; waitMs: number | null; reason: string }
  | { verdict: "down"; reason: string }
  | { verdict: "unknown"; reason: string };

/**
 * Classifies the response to a send at the real time `now`. A message that may have been sent is never refused or
 * deferred.
 */
export function classifyResponse(answer: TwilioResponse | NoResponse, now: number): SendVerdict {
  if ("noResponse" in answer) {
    const verdict = answer.noResponse === "unsent" ? "down" : "unknown";
    return { verdict, reason: `Twilio cannot be reached: ${answer.reason}.` };
  }
  const { status, body } = answer;
  if (status >= 200 && status < 300) {
    const message = readMessage(body);
    if (message !== null) return { verdict: "taken", message };
    return { verdict: "unknown", reason: `Twilio responded with ${status} without naming the message` };
  }
  // A proxy that does not know the outcome answers 408.
  if (status >= 500 || status === 408) return { verdict: "unknown", reason: `Twilio responded with ${status}` };
  return classifyRefusal(answer, now);
}

function classifyRefusal({ status, headers, body }: TwilioResponse, now: number): SendVerdict {
  const refusal = readRefusal(body);
  const meaning = codeMeaning(refusal?.code ?? null);
  const reason = meaning?.words ?? sentence(status, refusal?.message ?? "");
  if (meaning?.kind === "queueFull") return { verdict: "queueFull", reason };
  if (status === 429 || meaning?.kind === "busy") {
    return {
      verdict: "busy",
      waitMs: retryAfterMs(headers["retry-after"], now),
      reason: "Twilio limits the rate of requests.",
    };
  }
  if (status === 401) return { verdict: "down", reason: REFUSED };
  if (status === 404) return { verdict: "down", reason: UNKNOWN_ACCOUNT };
  if (meaning?.kind === "account") return { verdict: "down", reason };
  if (refusal === null)
    return { verdict: "down", reason: `The server at baseUrl is not Twilio's API: it responds with ${status}.` };
  if (meaning?.kind === "later") return { verdict: "later", reason };
  if (meaning?.kind === "unsure") return { verdict: "unknown", reason };
  const outcome: Refused = { outcome: "rejected", code: String(refusal.code), reason };
  const isUnreachable = meaning?.kind === "unreachable";
  return {
    verdict: "refused",
    outcome: isUnreachable ? { ...outcome, notReachable: true } : outcome,
    code: refusal.code,
  };
}

function sentence(status: number, message: string): string {
  const words = message.replace(SIDS, "…").slice(0, 300);
  return words === "" ? `Twilio refused the message with ${status}.` : `Twilio refused the message: ${words}`;
}

/** Twilio's ids of the account and its resources: of no use to the customer. */
const SIDS = /\b[A-Z]{2}[0-9a-f]{32}\b/g;

/** `Retry-After`, in seconds or as a date (RFC 9110, 10.2.3), at most an hour; null if there is none. */
export function retryAfterMs(value: string | undefined, now: number): number | null {
  if (value === undefined) return null;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - now;
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 1_000), RETRY_AFTER_MS_MAX);
}
