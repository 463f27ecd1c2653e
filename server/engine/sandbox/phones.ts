/** Actions of the sandbox's phones: each becomes a provider signal and is applied like any other. */

import { createHash } from "node:crypto";
import type {
  Channel,
  PhoneCall,
  PhoneGroupPhoto,
  PhoneKeptAudio,
  PhoneMessage,
  PhonePayment,
  PhoneReaction,
  PhoneSettings,
  PhoneTyping,
} from "../../../sdk/wire.ts";
import type { Call } from "../../core/call.ts";
import { type Chat, threadKey } from "../../core/chat.ts";
import { ApiError, invalidField, refusedField } from "../../core/error.ts";
import type { GroupSnapshot } from "../../core/group.ts";
import type { CustomerId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import { NotRunningHere } from "../../core/not-running-here.ts";
import { type CustomerNumber, channelsOf } from "../../core/number.ts";
import { AMOUNT_EXPECTED, parseAmount } from "../../core/payment.ts";
import { isSamePhone } from "../../core/phone-forms.ts";
import { parseReaction, REACTION_EXPECTED } from "../../core/reaction.ts";
import { CHANNEL_NAMES } from "../../core/routing.ts";
import type { Phone, Phones } from "../../providers/phones.ts";
import { findCallByUuid, findCallOf } from "../../store/calls.ts";
import { findChat, findChatByKey } from "../../store/chats.ts";
import { findMessageOf } from "../../store/messages.ts";
import { findPaymentOf } from "../../store/payments.ts";
import type { Deps } from "../deps.ts";
import type { EngineDeps, With } from "../engine-deps.ts";
import { idempotent } from "../idempotency.ts";
import { findByReference, requireMessage } from "../messages/find.ts";
import { chooseNumber } from "../messages/recipient.ts";
import { withPhoneFiles } from "./phone-files.ts";
import { requireSandbox } from "./sandbox.ts";

/** A requested action on the phone of `number`, on behalf of a customer. */
export interface PhoneAction<Body> {
  customerId: CustomerId;
  /** The contact's address, in the form it is stored in. */
  number: string;
  idempotencyKey: string | null;
  body: Body;
  /** The signal that is aborted when the client has gone. */
  gone(): AbortSignal;
}

/** The contact's phone, the customer's number that it writes to, and the sandbox instance that holds it. */
interface ContactLine {
  phone: Phone;
  number: CustomerNumber;
  phones: Phones;
}

/**
 * The contact writes, in a group if `chatId` names one. Returns the received message. Throws 404 `REPLY_NOT_FOUND`, 400
 * `CHANNEL_NOT_SUPPORTED`, a 400 for an empty message, and as `changePhotoFromPhone` does for a group.
 */
export async function writeFromPhone(deps: EngineDeps, action: PhoneAction<PhoneMessage>): Promise<Message> {
  const { customerId, number, body } = action;
  return await act(deps, action, ["messages", requireMessage], async (name) => {
    const { text = "", attachments = [], attachmentsAfterMs = 0 } = body;
    if (text === "" && attachments.length === 0) {
      throw invalidField("text", "is required, and must not be empty, where no attachments are given");
    }
    const parent = body.replyTo === undefined ? null : await requireParent(deps, action, body.replyTo);
    const group = body.chatId === undefined ? null : await requireGroup(deps, action, body.chatId);
    const to = group?.from ?? body.to ?? (parent === null ? undefined : ownEnd(parent));
    const line = await lineTo(deps, customerId, number, to);
    const channel = channelFrom(line, group === null ? body.channel : "imessage");
    const replyTo = parent?.providerMessageId ?? null;
    const said = { text: text === "" ? null : text, replyTo, channel, group: group?.snapshot ?? null };
    const { reference } = await withPhoneFiles(deps, { customerId, gone: action.gone() }, attachments, (files) =>
      line.phones.write(line.phone, name, { ...said, attachments: files, attachmentsAfterMs }),
    );
    return await receivedMessage(deps, line, reference);
  });
}

/** The contact begins or ends typing. Returns the chat. Throws 400 `CHANNEL_NOT_SUPPORTED` for a phone without iMessage. */
export async function typeOnPhone(
  deps: With<"configCache" | "providers">,
  action: PhoneAction<PhoneTyping>,
): Promise<Chat> {
  const { customerId, number, body } = action;
  return await act(deps, action, ["typing", chatById], async () => {
    const line = await lineTo(deps, customerId, number, body.to);
    channelFrom(line, "imessage");
    await line.phones.type(line.phone, body.typing);
    const chat = await findChatByKey(deps.store.db, threadKey(customerId, line.phone.to, number));
    if (chat !== null) return chat;
    throw new ApiError("CONVERSATION_NOT_FOUND", `Nothing was ever written between ${line.phone.to} and ${number}.`);
  });
}

/** The contact reacts to a message, or removes the reaction. Throws 404, 400 `INVALID_STATUS` and 400 `CHANNEL_NOT_SUPPORTED`. */
export async function reactFromPhone(deps: EngineDeps, action: PhoneAction<PhoneReaction>): Promise<Message> {
  const { customerId, number, body } = action;
  const reaction = parseReaction(body.type);
  if (reaction === null) throw invalidField("type", REACTION_EXPECTED);
  return await act(deps, action, ["reactions", requireMessage], async (name) => {
    const { message, reference } = await requireOnPhone(deps, action, body.messageId, "reactions");
    const { text } = message;
    const { phones, phone } = await lineTo(deps, customerId, number, ownEnd(message));
    // After a reset the same key reacts to another message, so the message's reference is part of the reaction's name.
    await phones.react(phone, `${name}_${message.id}`, { reference, text }, reaction);
    return message;
  });
}

/**
 * The contact keeps an audio message of the customer's, which is reported once. Returns it. Throws as `reactFromPhone`
 * does, and a 400 for a message without audio.
 */
export async function keepAudioOnPhone(deps: EngineDeps, action: PhoneAction<PhoneKeptAudio>): Promise<Message> {
  const { customerId, number, body } = action;
  return await act(deps, action, ["audio-kept", requireMessage], async () => {
    const { message, reference } = await requireOnPhone(deps, action, body.messageId, "audio messages");
    const isAudio = message.attachments.some(({ isAudioMessage }) => isAudioMessage);
    if (message.direction !== "outbound" || !isAudio) {
      throw invalidField("messageId", "names no audio message of yours: send one with attachments[].isAudioMessage");
    }
    const { phones, phone } = await lineTo(deps, customerId, number, message.from);
    await phones.keepAudio(phone, reference);
    return await requireMessage(deps, customerId, message.id);
  });
}

/**
 * The contact changes the photo of a group. Returns the group. Throws 404 for an unknown group or one that the
 * contact is not in, and 400 `INVALID_STATUS` for a one-to-one thread and for a group that the customer has left.
 */
export async function changePhotoFromPhone(
  deps: With<"configCache" | "providers">,
  action: PhoneAction<PhoneGroupPhoto>,
): Promise<Chat> {
  const { customerId, number, body } = action;
  return await act(deps, action, ["group-photo", chatById], async (name) => {
    const { chat, from, snapshot } = await requireGroup(deps, action, body.chatId);
    const { phones, phone } = await lineTo(deps, customerId, number, from);
    await phones.changePhoto(phone, `${name}_${chat.id}`, snapshot);
    return chat;
  });
}

/** A group that the contact is in, as its members see it, and the customer's number in it. */
async function requireGroup(
  deps: Deps,
  { customerId, number }: PhoneAction<unknown>,
  chatId: string,
): Promise<{ chat: Chat; from: string; snapshot: GroupSnapshot }> {
  const chat = await chatById(deps, customerId, chatId);
  const { id, isGroup, leftAt, reference, participants, name, from } = chat;
  if (!isGroup || reference === null) throw new ApiError("INVALID_STATUS", `${id} is no group.`);
  if (!participants.some((one) => isSamePhone(one, number)))
    throw new ApiError("NOT_FOUND", `${number} is not in ${id}.`);
  if (leftAt !== null)
    throw new ApiError("INVALID_STATUS", `${id}: you have left this group and receive nothing from it any more.`);
  return { chat, from, snapshot: { reference, name, participants } };
}

/**
 * The contact pays. Returns the message that carries the payment. Throws 404 for a request to another
 * contact, 400 `INVALID_STATUS` for a request that is not pending, and a 400 without an amount.
 */
export async function payFromPhone(deps: EngineDeps, action: PhoneAction<PhonePayment>): Promise<Message> {
  const { customerId, number, body } = action;
  return await act(deps, action, ["payments", requireMessage], async (name) => {
    const request = body.requestId === undefined ? null : await requireRequest(deps, action, body.requestId);
    const amount = body.amount ?? null;
    const cents = amount === null ? (request?.amountCents ?? null) : parseAmount(amount);
    if (cents === null) {
      throw invalidField("amount", amount === null ? "is required where no requestId is given" : AMOUNT_EXPECTED);
    }
    const line = await lineTo(deps, customerId, number, body.to ?? request?.from);
    channelFrom(line, "imessage");
    const { reference } = await line.phones.pay(line.phone, name, cents);
    return await receivedMessage(deps, line, reference);
  });
}

/** The contact calls, answers, or hangs up. Throws 400 `INVALID_STATUS` if there is no such call. */
export async function callFromPhone(
  deps: With<"configCache" | "providers">,
  action: PhoneAction<PhoneCall>,
): Promise<Call> {
  const { customerId, number, body } = action;
  return await act(deps, action, ["calls", requireCall], async (name) => {
    const line = await lineTo(deps, customerId, number, body.to);
    channelFrom(line, "imessage");
    const { phones, phone } = line;
    const called = await phones.call(phone, name, body.action, body.video ?? false);
    if (called === null) throw noCall(phone, body.action);
    const call = await findCallByUuid(deps.store.db, line.number.instanceId, called.callUuid);
    if (call === null) throw new Error(`the call ${called.callUuid} was not taken in`);
    return call;
  });
}

/** Changes how the phone of `number` behaves, and returns all its settings. */
export async function changePhone(
  deps: With<"configCache" | "providers">,
  owner: Pick<PhoneAction<unknown>, "customerId" | "number">,
  settings: Partial<PhoneSettings>,
): Promise<PhoneSettings> {
  const { customerId, number } = owner;
  return await inTurn(deps, owner, async () =>
    (await phonesOf(deps, customerId, number)).change(customerId, number, settings),
  );
}

/** Works on a phone after all earlier requests of the same phone: some look up more than others, and none may be overtaken. */
function inTurn<Value>(
  { serial }: Deps,
  { customerId, number }: Pick<PhoneAction<unknown>, "customerId" | "number">,
  work: () => Promise<Value>,
): Promise<Value> {
  return serial.run(`phone ${customerId} ${number}`, work);
}

/** The keeper of a contact's phone, as the customer's default number reaches it. */
export async function phonesOf(
  deps: With<"configCache" | "providers">,
  customerId: CustomerId,
  number: string,
): Promise<Phones> {
  await requireSandbox(deps, customerId);
  return (await lineTo(deps, customerId, number, undefined)).phones;
}

/**
 * Performs an action in its turn, once per idempotency key; `again` reads the first result. The action's reference is derived from
 * the key: if this process dies between the action and its record, the repeat performs the same action again, which
 * changes nothing.
 */
async function act<
  Given extends With<"configCache">,
  Body extends { idempotencyKey?: string },
  Value extends { id: string },
>(
  deps: Given,
  action: PhoneAction<Body>,
  [what, again]: [what: string, again: (deps: Given, customerId: CustomerId, id: string) => Promise<Value>],
  work: (name: string) => Promise<Value>,
): Promise<Value> {
  const { customerId, number, idempotencyKey: key, body } = action;
  const { idempotencyKey: _, ...said } = body;
  const route = `POST /v1/sandbox/phones/${number}/${what}`;
  return await inTurn(deps, action, async () => {
    await requireSandbox(deps, customerId);
    const name = key === null ? deps.newId("act") : nameOf(customerId, route, key);
    const result = await idempotent(deps, { key, customerId, route, body: said }, async () => {
      const value = await work(name);
      return { transaction: null, value, result: value.id };
    });
    return result.repeated ? await again(deps, customerId, result.firstResult) : result.value;
  });
}

function nameOf(...parts: string[]): string {
  return `key_${createHash("sha256").update(parts.join("\n")).digest("hex").slice(0, 32)}`;
}

async function lineTo(
  deps: With<"configCache" | "providers">,
  customerId: CustomerId,
  contact: string,
  to: string | undefined,
): Promise<ContactLine> {
  const number = chooseNumber(await deps.configCache.numbers(customerId), to, "to");
  if (number.address === contact) {
    throw invalidField(to === undefined ? "number" : "to", `is the phone itself; ${contact} cannot turn to itself`);
  }
  const phones = deps.providers.get(number.instanceId)?.phones;
  if (phones !== undefined) return { phone: { customerId, number: contact, to: number.address }, number, phones };
  throw new NotRunningHere(number.instanceId, "The sandbox of this number");
}

/** The requested channel, otherwise the phone's preferred one. Throws if the phone or the number lacks the channel. */
function channelFrom({ phone, number, phones }: ContactLine, wanted: Channel | undefined): Channel {
  const { imessage } = phones.settings(phone.customerId, phone.number);
  const channel = wanted ?? (imessage ? "imessage" : "sms");
  const ends = [number.address, phone.number];
  const hasBoth = ends.every((address) => channelsOf(address, [channel]).length > 0);
  if (hasBoth && (channel !== "imessage" || imessage)) return channel;
  const isOnPhones = channel !== "imessage";
  const lacking = isOnPhones
    ? `an e-mail address has no ${CHANNEL_NAMES[channel]}`
    : `${phone.number} is set not to be on iMessage`;
  const message = `${channel} does not go from ${ends[1]} to ${ends[0]}: ${lacking}`;
  throw refusedField("CHANNEL_NOT_SUPPORTED", "channel", message);
}

/** Statuses of a message that a phone has. */
const ON_PHONE: ReadonlySet<Message["status"]> = new Set(["sent", "delivered", "read", "received"]);

/** Whether a message belongs to the thread of the customer and this contact, in either direction. A group's message does not. */
function isBetween(message: Message, contact: string): boolean {
  return isSamePhone(message.direction === "inbound" ? message.from : message.to, contact);
}

/** An iMessage that the phone has, with its provider reference. `what`: the action, for the error of an SMS. */
async function requireOnPhone(
  deps: Deps,
  { customerId, number }: PhoneAction<unknown>,
  id: string,
  what: string,
): Promise<{ message: Message; reference: string }> {
  const message = await requireMessage(deps, customerId, id);
  if (!isBetween(message, number)) throw new ApiError("NOT_FOUND", `${id} is no message between you and ${number}.`);
  const { providerMessageId: reference, channel, status } = message;
  if (channel !== "imessage") {
    throw new ApiError(
      "CHANNEL_NOT_SUPPORTED",
      `${message.id} went over ${CHANNEL_NAMES[channel]}, which has no ${what} here.`,
    );
  }
  if (reference === null || !ON_PHONE.has(status)) {
    throw new ApiError("INVALID_STATUS", `${message.id} is ${status}; the phone of ${number} does not have it.`);
  }
  return { message, reference };
}

function ownEnd({ direction, from, to }: Message): string {
  return direction === "inbound" ? to : from;
}

async function requireParent(deps: Deps, { customerId, number }: PhoneAction<unknown>, id: string): Promise<Message> {
  const message = await findMessageOf(deps.store.db, customerId, id);
  const isThere = message !== null && message.deletedAt === null && isBetween(message, number);
  if (isThere && message.providerMessageId !== null) return message;
  throw refusedField("REPLY_NOT_FOUND", "replyTo", `${id.slice(0, 100)} is no message that the phone of ${number} has`);
}

async function requireRequest(deps: Deps, { customerId, number }: PhoneAction<unknown>, id: string) {
  const request = await findPaymentOf(deps.store.db, customerId, id);
  if (request === null || !isSamePhone(request.to, number)) {
    throw new ApiError("NOT_FOUND", `There is no payment request ${id.slice(0, 100)} to ${number}.`);
  }
  if (request.status === "pending") return request;
  throw new ApiError("INVALID_STATUS", `${request.id} is ${request.status}; only a pending request can be paid.`);
}

/** The message that the service stored for a phone's message. */
async function receivedMessage(deps: Deps, { number }: ContactLine, reference: string): Promise<Message> {
  const message = await findByReference(deps, number.instanceId, reference);
  if (message !== null) return message;
  throw new Error(`what the phone called ${reference} was not taken in`);
}

async function chatById({ store }: Deps, customerId: CustomerId, id: string): Promise<Chat> {
  const chat = await findChat(store.db, customerId, id);
  if (chat !== null) return chat;
  throw new ApiError("CONVERSATION_NOT_FOUND", `There is no conversation ${id.slice(0, 100)}.`);
}

async function requireCall({ store }: Deps, customerId: CustomerId, id: string): Promise<Call> {
  const call = await findCallOf(store.db, customerId, id);
  if (call !== null) return call;
  throw new ApiError("NOT_FOUND", `There is no call ${id} any more.`);
}

function noCall({ number, to }: Phone, action: PhoneCall["action"]): ApiError {
  const why = {
    ring: "there is a call already; hang up first",
    answer: "no call rings",
    hangup: "there is no call",
    miss: "no call rings",
  }[action];
  return new ApiError("INVALID_STATUS", `action: ${action} cannot be done from ${number} to ${to}: ${why}.`);
}
