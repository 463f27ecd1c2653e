/**
 * Handles Twilio's requests to the hook: verifies them, reports them to the engine, and responds once that is on disk.
 */

import type { MessageId } from "../../core/id.ts";
import { withoutTrailing } from "../../core/trim-end.ts";
import { type HookRequest, type HookResponse, PeerFault } from "../provider.ts";
import { readInbound } from "./inbound-message.ts";
import type { InboundReceiver } from "./inbound-receiver.ts";
import type { StatusUpdate, TwilioReporter } from "./reporter.ts";
import type { SentMessage, SentMessages } from "./sent-messages.ts";
import { isSignedBy, type Parameters, parametersOf } from "./signature.ts";

export interface HookParts {
  authToken: string;
  sent: SentMessages;
  reporter: TwilioReporter;
  receiver: InboundReceiver;
  /** Whether a later attempt of the message has begun, so that a status of this one says nothing about it. */
  isSuperseded(messageId: MessageId, attemptedAt: number): boolean;
  /** The number that a message to an RCS sender of the account is for; null if several customers share the instance. */
  numberOfSender(): Promise<string | null>;
  /** A signed request arrived. */
  eventReceived(): void;
  /** A status callback arrived. `notReported`: the status could not be stored, and Twilio will not send it again. */
  callbackReceived(): void;
  notReported(sent: SentMessage): void;
  fault(error: unknown): void;
}

const TWIML: HookResponse = { status: 200, contentType: "text/xml", body: "<Response/>" };
const DONE: HookResponse = { status: 204 };
const FORBIDDEN: HookResponse = { status: 403, contentType: "text/plain", body: "The signature is not right.\n" };
const NOT_FOUND: HookResponse = { status: 404, contentType: "text/plain", body: "There is no hook at this address.\n" };
const POST_ONLY: HookResponse = { status: 405, contentType: "text/plain", body: "Set the method to HTTP POST.\n" };

const FORM = /^application\/x-www-form-urlencoded\s*(;|$)/i;
const STATUS_PATH = /^\/status\/(msg_[0-9a-f-]{36})\/(\d{1,16})$/;

/** The path of an attempt's status callback, below the hook's own. */
export function statusPath(messageId: MessageId, attemptedAt: number): string {
  return `/status/${messageId}/${attemptedAt}`;
}

/**
 * Handles a request to the hook. Only a request signed with the account's token changes anything. After a throw Twilio
 * has to send it again.
 */
export async function receiveAt(parts: HookParts, request: HookRequest): Promise<HookResponse> {
  if (request.method !== "POST") return POST_ONLY;
  const isForm = FORM.test(request.headers["content-type"] ?? "");
  const parameters = isForm ? parametersOf(request.body) : NO_PARAMETERS;
  const signature = request.headers["x-twilio-signature"] ?? "";
  const { url, body } = request;
  // Twilio signs a body that is not a form by its hash in the address, or not at all.
  if (!isForm && !url.includes("bodySHA256=") && body.length > 0) return FORBIDDEN;
  if (!isSignedBy(parts.authToken, { url, signature, parameters, body })) return FORBIDDEN;
  parts.eventReceived();
  const path = withoutTrailing(request.path, "/");
  if (path === "" || path === "/inbound") return receiveInbound(parts, parameters);
  const [, id, at] = STATUS_PATH.exec(path) ?? [];
  return id === undefined ? NOT_FOUND : receiveStatus(parts, id as MessageId, Number(at), parameters);
}

const NO_PARAMETERS: Parameters = new Map();

async function receiveInbound(
  { receiver, numberOfSender, fault }: HookParts,
  parameters: Parameters,
): Promise<HookResponse> {
  const read = readInbound(parameters);
  if ("other" in read) {
    fault(new PeerFault(`a webhook that is no inbound message was ignored:  ${read.other}`));
    return TWIML;
  }
  const { inbound, optOut, toSender } = read;
  const to = toSender ? await numberOfSender() : inbound.to;
  if (to === null) {
    receiver.noteUnaddressed("an RCS sender");
    fault(
      new PeerFault("a message to an RCS sender was ignored: several customers share the instance, or none uses it"),
    );
    return TWIML;
  }
  await receiver.receive({ ...inbound, to }, optOut === null ? null : { ...optOut, to });
  return TWIML;
}

async function receiveStatus(
  parts: HookParts,
  messageId: MessageId,
  attemptedAt: number,
  parameters: Parameters,
): Promise<HookResponse> {
  const { reporter } = parts;
  const field = (name: string) => parameters.get(name)?.[0] || null;
  const sid = field("MessageSid") ?? field("SmsSid");
  const status = field("MessageStatus") ?? field("SmsStatus");
  if (sid === null || status === null) return NOT_FOUND;
  parts.callbackReceived();
  if (parts.isSuperseded(messageId, attemptedAt)) return DONE;
  // A queued message counts, too: it proves that Twilio accepted the message if the response to the send was lost.
  const sent = await parts.sent.called(messageId, attemptedAt, sid);
  const code = Number(field("ErrorCode") ?? Number.NaN);
  const news: StatusUpdate = {
    status: status.toLowerCase(),
    errorCode: Number.isSafeInteger(code) && code > 0 ? code : null,
    errorMessage: field("ErrorMessage"),
    from: field("From"),
    to: field("To"),
  };
  try {
    await reporter.receipt(sent, news);
  } catch (error) {
    parts.notReported(sent);
    throw error;
  }
  return DONE;
}
