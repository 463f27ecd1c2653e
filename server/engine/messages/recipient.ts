/** Finds the recipient of a new message, the number to send from and the usable channels, from the customer's own records. */

import { CHANNELS, type Channel } from "../../../sdk/wire.ts";
import { addressIn, type Chat, parseConversation, threadKey } from "../../core/chat.ts";
import { ApiError, invalidField, refusedField } from "../../core/error.ts";
import type { CustomerId } from "../../core/id.ts";
import type { MessageFiles } from "../../core/message-files.ts";
import type { NewMessage } from "../../core/new-message.ts";
import { type CustomerNumber, channelsOf } from "../../core/number.ts";
import {
  type CheckedRecipient,
  checkRecipient,
  isSenderName,
  NAMES_CANNOT_BE_ANSWERED,
  parseAddress,
} from "../../core/phone.ts";
import { subscriberForms } from "../../core/phone-forms.ts";
import { answerTo, CHANNEL_NAMES, type Chosen, wayOf } from "../../core/routing.ts";
import { findChatByKey, findThreadByContact } from "../../store/chats.ts";
import { requireChat } from "../chats/require-chat.ts";
import type { Deps } from "../deps.ts";
import type { EngineDeps, With } from "../engine-deps.ts";
import { offered, planFrom, plansInGroup, type RoutePlan } from "../routing/route.ts";

/** The default order of channels. */
export const DEFAULT_PREFERENCE: readonly Channel[] = ["imessage", "sms"];

/** The recipient of a new message: an address, or a group. */
export interface Recipient {
  number: CustomerNumber;
  /** Why this number was chosen, for the timeline; null if the request named the number or the conversation. */
  sender: string | null;
  /** The address, in the form that the message goes to, or the id of the group's chat. */
  to: string;
  /** Why the message goes to this form of the address, for the timeline; null if the request named it. */
  form: string | null;
  /** The chat, if it is known without a search. */
  chat: Chat | null;
  isGroup: boolean;
  /** The instances that can send it, by channel. */
  plan: RoutePlan;
  /** Channels that the number and the recipient can both use. */
  usable: readonly Channel[];
}

/** The recipient of a new message. Throws an `ApiError` for a number, address or conversation that cannot be used. */
export async function recipientOf(
  deps: With<"configCache" | "providers" | "threadCache">,
  wanted: NewMessage,
): Promise<Recipient> {
  const { customerId } = wanted;
  if (wanted.chatId !== undefined) return chatRecipient(deps, wanted, wanted.chatId);
  const to = await requireRecipient(deps, customerId, wanted.to ?? "");
  const numbers = await deps.configCache.numbers(customerId);
  if (wanted.from !== undefined) return addressRecipient(deps, chooseNumber(numbers, wanted.from), to, wanted);
  return (await stickyRecipient(deps, numbers, to, wanted)) ?? defaultRecipient(deps, numbers, to, wanted);
}

/**
 * The recipient, from the number of the newest conversation that has a channel for the message. Null if there is none. A number
 * that the recipient opted out of is still chosen: another number would get around the opt-out.
 */
async function stickyRecipient(
  deps: With<"configCache" | "providers" | "threadCache">,
  numbers: readonly CustomerNumber[],
  to: string,
  wanted: NewMessage,
): Promise<Recipient | null> {
  const [first] = numbers;
  // A customer with one number has no choice, and nothing is read.
  if (first === undefined || numbers.length === 1) return null;
  for (const address of await deps.threadCache.senders.find(deps.store, first.customerId, to)) {
    const number = numbers.find((one) => one.address === address);
    if (number === undefined) continue;
    const recipient = await addressRecipient(deps, number, to, wanted);
    const sender = `from ${address} (newest conversation with this recipient)`;
    if (routeFor(recipient, wanted).length > 0) return { ...recipient, sender };
  }
  return null;
}

async function defaultRecipient(
  deps: With<"configCache" | "providers">,
  numbers: readonly CustomerNumber[],
  to: string,
  wanted: NewMessage,
): Promise<Recipient> {
  const number = chooseNumber(numbers, undefined);
  return { ...(await addressRecipient(deps, number, to, wanted)), sender: `from ${number.address} (default number)` };
}

async function addressRecipient(
  deps: With<"configCache" | "providers">,
  number: CustomerNumber,
  given: string,
  wanted: NewMessage,
  chat: Chat | null = null,
): Promise<Recipient> {
  const { to, form } = await formOf(deps, number, given, chat);
  const plan = await planFrom(deps, number, to, filesOf(wanted));
  const usable = CHANNELS.filter((channel) => plan.reaches(channel));
  return { number, sender: null, to, form, chat, isGroup: false, plan, usable };
}

/**
 * The form of the recipient's address that a message goes to:
 *
 * | The contact wrote | The given form | The message goes to |
 * |---|---|---|
 * | with a form | any | that form |
 * | never | possible | the given form |
 * | never | impossible, and there is a thread | the thread's contact |
 */
async function formOf(
  { store }: Deps,
  { customerId, address }: CustomerNumber,
  given: string,
  chat: Chat | null,
): Promise<Pick<Recipient, "to" | "form">> {
  if (subscriberForms(given).length === 1) return { to: given, form: null };
  const thread = chat ?? (await findChatByKey(store.db, threadKey(customerId, address, given)));
  const hasWritten = thread !== null && thread.lastForm !== null;
  const isGiven = !hasWritten && checkRecipient(given).problem === null;
  const to = isGiven || thread === null ? given : (addressIn(thread) ?? given);
  if (to === given) return { to, form: null };
  return {
    to,
    form: `to ${to} (${hasWritten ? "the form that the contact last wrote with" : "the form of this conversation"})`,
  };
}

/** Channels of a number on its own instance; the customer's routes may add SMS. */
export function offeredBy(deps: Pick<EngineDeps, "providers">, number: CustomerNumber): Channel[] {
  return channelsOf(number.address, offered(deps, number));
}

async function chatRecipient(
  deps: With<"configCache" | "providers" | "threadCache">,
  wanted: NewMessage,
  chatId: string,
): Promise<Recipient> {
  const { customerId } = wanted;
  // A thread that is named by an address belongs to `from`, if that is given.
  const from = parseConversation(chatId).kind === "id" ? undefined : wanted.from;
  const chat = await requireChat(deps, { customerId, id: chatId, from });
  const number = numberOfChat(await deps.configCache.numbers(customerId), chat, wanted.from);
  if (chat.contact !== null) return addressRecipient(deps, number, requireAnswerable(chat.contact), wanted, chat);
  if (chat.leftAt !== null) {
    throw new ApiError("INVALID_STATUS", `${chat.id}: ${chat.from} has left this group; nothing can be sent to it.`);
  }
  // The provider's reference of a group exists on its own instance only, and a group has one channel.
  const plan = (await plansInGroup(deps, chat.instanceId))(filesOf(wanted));
  return { number, sender: null, to: chat.id, form: null, chat, isGroup: true, plan, usable: [answerTo(chat.channel)] };
}

/** The customer's number in a chat. A `from` that names another number is refused. */
function numberOfChat(numbers: readonly CustomerNumber[], chat: Chat, from: string | undefined): CustomerNumber {
  const number = chooseNumber(numbers, from ?? chat.from, from === undefined ? "chatId" : "from");
  if (number.address === chat.from) return number;
  throw invalidField("from", `is not the number of this conversation, which is ${chat.from}; leave it out`);
}

/** Like `checkRecipient`, but a number with which the customer has a thread is possible, whatever its numbering plan says. */
export async function checkKnownRecipient(
  { store }: Deps,
  customerId: CustomerId,
  text: string,
): Promise<CheckedRecipient> {
  const checked = checkRecipient(text);
  const address = checked.problem === null ? null : (parseAddress(text)?.address ?? null);
  if (address === null || (await findThreadByContact(store.db, customerId, address, null)) === null) return checked;
  return { address, problem: null };
}

/** The stored form of the address. Throws `INVALID_PHONE_NUMBER`. */
export async function requireRecipient(deps: Deps, customerId: CustomerId, text: string): Promise<string> {
  const { address, problem } = await checkKnownRecipient(deps, customerId, text);
  if (address !== null) return address;
  throw new ApiError("INVALID_PHONE_NUMBER", `to: ${JSON.stringify(text.slice(0, 40))} ${problem}.`, {
    details: [{ path: "to", message: problem }],
  });
}

/** The contact of a thread. Throws `INVALID_PHONE_NUMBER` for a name, to which nothing can be sent. */
function requireAnswerable(contact: string): string {
  if (!isSenderName(contact)) return contact;
  const problem = `names ${JSON.stringify(contact)}, which is no number: ${NAMES_CANNOT_BE_ANSWERED}`;
  throw new ApiError("INVALID_PHONE_NUMBER", `chatId: ${problem}.`, {
    details: [{ path: "chatId", message: problem }],
  });
}

/** The number of the field `from`; the default number without one. Throws `NO_DEFAULT_ADDRESS` and `ADDRESS_NOT_AUTHORIZED`. */
export function chooseNumber(
  numbers: readonly CustomerNumber[],
  from: string | undefined,
  field = "from",
): CustomerNumber {
  if (from === undefined) {
    const [number] = numbers;
    if (number !== undefined) return number;
    throw new ApiError("NO_DEFAULT_ADDRESS", "This customer has no number to send from; an admin adds one.");
  }
  const address = parseAddress(from)?.address;
  const number = numbers.find((one) => one.address === address);
  if (number !== undefined) return number;
  const message = `${from} is not a number of this customer; GET /v1/numbers lists them`;
  throw refusedField("ADDRESS_NOT_AUTHORIZED", field, message);
}

/** Why a message begins with this channel and this instance, for the first entry of its timeline. */
export function reasonFor(recipient: Recipient, wanted: NewMessage, channel: Channel, chosen: Chosen): string {
  return `${CHANNEL_NAMES[channel]} (${whyOn(recipient, wanted, channel)}), via ${wayOf(chosen).way}`;
}

function whyOn({ isGroup, usable }: Recipient, wanted: NewMessage, channel: Channel): string {
  const [preferred = channel] = wanted.routing?.preference ?? DEFAULT_PREFERENCE;
  if (isGroup) return "this group's channel";
  if (channel === preferred) return "preferred";
  return usable.includes(preferred) ? "needed by its files" : `no ${CHANNEL_NAMES[preferred]} between these two`;
}

/** The files of a new message. */
export function filesOf({ content = {}, attachments = [], routing = {} }: NewMessage): MessageFiles {
  const { text = null, mediaUrls = [] } = content;
  return { text, mediaUrls, attachments, attachmentsRule: routing.attachments ?? null };
}

/**
 * Channels to try, in order: the preferred ones that number and recipient can both use, and that carry the files which the
 * message requires. Throws `NO_CHANNEL_AVAILABLE` and `CHANNEL_NOT_SUPPORTED`.
 */
export function channelsFor(recipient: Recipient, wanted: NewMessage): [Channel, ...Channel[]] {
  const { number, to, usable } = recipient;
  const [first, ...rest] = routeFor(recipient, wanted);
  if (first !== undefined) return [first, ...rest];
  const preference = wanted.routing?.preference ?? DEFAULT_PREFERENCE;
  const route = preferredOf(recipient, wanted);
  if (route.length === 0) {
    throw new ApiError(
      "NO_CHANNEL_AVAILABLE",
      `routing.preference names ${preference.join(", ")}; from ${number.address} to ${to} there is ${usable.join(", ") || "none"}.`,
      { details: [{ path: "routing.preference", message: `must name one of: ${usable.join(", ")}` }] },
    );
  }
  const files = filesOf(wanted);
  throw filesRefused(files, files.attachments.length > 0 ? "attachments" : wanted.fieldNames.mediaUrl(0), route);
}

/** The refusal of files that none of the message's channels carries, in the field `path`. */
export function filesRefused(files: MessageFiles, path: string, channels: readonly Channel[]): ApiError {
  const names = channels.map((channel) => CHANNEL_NAMES[channel]).join(" and ");
  const why = files.text === null ? "without a text nothing would be left to send" : "routing.attachments is require";
  const instead =
    files.text === null ? "give a text, which is sent without the files" : "drop sends the text without them";
  return refusedField("CHANNEL_NOT_SUPPORTED", path, `cannot go by ${names} from this number, and ${why}; ${instead}`);
}

/** Channels that the message can use, in order; empty if there are none. */
function routeFor(recipient: Recipient, wanted: NewMessage): Channel[] {
  return preferredOf(recipient, wanted).filter((channel) => recipient.plan.on(channel).length > 0);
}

/** Preferred channels that number and recipient can both use. */
function preferredOf({ usable }: Recipient, { routing }: NewMessage): Channel[] {
  return [...new Set(routing?.preference ?? DEFAULT_PREFERENCE)].filter((channel) => usable.includes(channel));
}
