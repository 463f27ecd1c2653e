/** Accepts a message: checks what only the database and the clock can tell, and commits it with its first event. */

import type { AcceptedMessage, Channel, SendMessage } from "../../sdk/wire.ts";
import { checkAddress } from "../core/address.ts";
import { ApiError, invalidField } from "../core/error.ts";
import type { CustomerId, KeyId, MessageId } from "../core/id.ts";
import { parseInstant } from "../core/instant.ts";
import { type Message, NEW_MESSAGE } from "../core/message.ts";
import { begin } from "../core/message-lifecycle.ts";
import { acceptedRecord } from "../core/message-record.ts";
import { type CustomerNumber, channelsOf } from "../core/number.ts";
import { parseAddress } from "../core/phone.ts";
import { capabilitiesOf } from "../providers/registry.ts";
import { findMessage } from "../store/messages.ts";
import type { Operation } from "../store/store.ts";
import { type Context, changeContext } from "./context.ts";
import { once } from "./idempotency.ts";

/** Farthest ahead a message can be scheduled: 30 days (contract 3). */
const SCHEDULE_AHEAD_MS_MAX = 30 * 86_400_000;

const DEFAULT_PREFERENCE: readonly Channel[] = ["imessage", "sms"];

/** A request to send, and on whose behalf. */
export interface Sending {
  customerId: CustomerId;
  keyId: KeyId;
  correlationId: string;
  idempotencyKey: string | null;
  body: SendMessage;
}

/** What was accepted; `repeated` when an earlier request with the same idempotency key had done it. */
export interface Accepted {
  repeated: boolean;
  record: AcceptedMessage;
}

/**
 * Accepts a message. When it resolves, message and event are on disk. Throws the refusals of contract 3; a repeat of an
 * idempotency key answers the first message as it now is.
 */
export async function accept(context: Context, sending: Sending): Promise<Accepted> {
  const { idempotencyKey: key, customerId } = sending;
  const command = { key, customerId, route: "POST /v1/messages", body: withDefaults(sending.body) };
  const commanded = await once(context, command, async () => {
    const told = changeContext(context);
    const change = begin(await newMessage(context, sending, told.now), told);
    const { message } = change;
    const unit: Operation[] = [{ op: "insert", table: "messages", record: message }];
    for (const event of change.events) unit.push({ op: "event", event, callbackUrl: message.callbackUrl });
    return { unit, value: message, result: message.id };
  });
  if (commanded.repeated) {
    const first = await findMessage(context.store.db, commanded.result as MessageId);
    if (first === null) throw new Error(`${commanded.result} is gone`);
    return { repeated: true, record: acceptedRecord(first) };
  }
  const { value: message } = commanded;
  context.observer.accepted();
  if (message.scheduledAt === null) {
    context.recent.keep(message);
    context.wake.messages([message.instanceId]);
  }
  return { repeated: false, record: acceptedRecord(message) };
}

/** The body as it counts for idempotency: defaults filled in, the key itself left out. */
function withDefaults({ idempotencyKey: _, ...body }: SendMessage): unknown {
  const routing = { preference: DEFAULT_PREFERENCE, fallback: true, ...body.routing };
  return { ...body, routing };
}

async function newMessage(context: Context, sending: Sending, now: number): Promise<Message> {
  const { body } = sending;
  const to = recipient(body.to);
  const scheduledAt = scheduleOf(body.scheduledAt, now);
  if (body.callbackUrl !== undefined) requireAddress(context, body.callbackUrl);
  const number = chooseNumber(await context.known.numbers(sending.customerId), body.from);
  const [channel, ...channelsLeft] = routeOf(number, to, body.routing?.preference ?? DEFAULT_PREFERENCE);
  const afterSeconds = body.routing?.fallbackAfterSeconds;
  const { fallbackAfterMs, messageTtlMs } = context.settings;
  return {
    ...NEW_MESSAGE,
    id: context.newId("msg"),
    customerId: sending.customerId,
    keyId: sending.keyId,
    from: number.address,
    to,
    channel,
    channelsLeft,
    fallback: body.routing?.fallback ?? true,
    fallbackAfterMs: afterSeconds === undefined ? fallbackAfterMs : afterSeconds * 1_000,
    text: body.content?.text ?? null,
    metadata: body.metadata ?? null,
    externalMessageId: body.externalMessageId ?? null,
    callbackUrl: body.callbackUrl ?? null,
    correlationId: sending.correlationId,
    instanceId: number.instanceId,
    dueAt: scheduledAt ?? now,
    expiresAt: scheduledAt === null ? now + messageTtlMs : null,
    scheduledAt,
    createdAt: now,
    updatedAt: now,
  };
}

function recipient(text: string | undefined): string {
  if (text === undefined || text === "") {
    const message = "name the recipient: a phone number in E.164 form or an e-mail address";
    throw new ApiError("INVALID_RECIPIENT", `to: ${message}.`, { details: [{ path: "to", message }] });
  }
  const parsed = parseAddress(text);
  if (parsed !== null) return parsed.address;
  throw new ApiError(
    "INVALID_PHONE_NUMBER",
    `to: ${JSON.stringify(text.slice(0, 40))} is neither a phone number in E.164 form, such as +15005550100, nor an e-mail address.`,
    { details: [{ path: "to", message: "must be a phone number in E.164 form or an e-mail address" }] },
  );
}

function scheduleOf(text: string | undefined, now: number): number | null {
  if (text === undefined) return null;
  const refuse = (code: "INVALID_SCHEDULED_AT" | "SCHEDULED_IN_PAST" | "SCHEDULED_TOO_FAR", message: string) =>
    new ApiError(code, `scheduledAt: ${text} ${message}`, { details: [{ path: "scheduledAt", message }] });
  const at = parseInstant(text);
  if (at === null) throw refuse("INVALID_SCHEDULED_AT", "is not an ISO 8601 instant with an offset or Z.");
  if (at <= now) throw refuse("SCHEDULED_IN_PAST", `is not in the future; it is ${new Date(now).toISOString()} now.`);
  if (at > now + SCHEDULE_AHEAD_MS_MAX) throw refuse("SCHEDULED_TOO_FAR", "is more than 30 days ahead.");
  return at;
}

function requireAddress(context: Context, url: string): void {
  const problem = checkAddress(url, context.settings.webhookAllow);
  if (problem !== null) throw invalidField("callbackUrl", problem);
}

function chooseNumber(numbers: readonly CustomerNumber[], from: string | undefined): CustomerNumber {
  if (from === undefined) {
    const [number] = numbers;
    if (number !== undefined) return number;
    throw new ApiError("NO_DEFAULT_ADDRESS", "This customer has no number to send from; an admin adds one.");
  }
  const address = parseAddress(from)?.address;
  const number = numbers.find((one) => one.address === address);
  if (number !== undefined) return number;
  throw new ApiError(
    "ADDRESS_NOT_AUTHORIZED",
    `from: ${from} is not a number of this customer; GET /v1/numbers lists them.`,
  );
}

/** Channels to try, in order: of those preferred, the ones that both ends can have. */
function routeOf(number: CustomerNumber, to: string, preference: readonly Channel[]): [Channel, ...Channel[]] {
  const offered = channelsOf(number.address, capabilitiesOf(number.provider).channels);
  const usable = channelsOf(to, offered);
  const [first, ...rest] = [...new Set(preference)].filter((channel) => usable.includes(channel));
  if (first !== undefined) return [first, ...rest];
  throw new ApiError(
    "NO_CHANNEL_AVAILABLE",
    `routing.preference names ${preference.join(", ")}; from ${number.address} to ${to} there is ${usable.join(", ") || "none"}.`,
    { details: [{ path: "routing.preference", message: `must name one of: ${usable.join(", ")}` }] },
  );
}
