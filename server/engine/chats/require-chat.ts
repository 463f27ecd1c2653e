/** Which of a customer's chats a request means, and whether its provider can be asked about it. */

import { type Chat, channelOf, parseConversation } from "../../core/chat.ts";
import { ApiError } from "../../core/error.ts";
import type { CustomerId, InstanceId } from "../../core/id.ts";
import { parseAddress } from "../../core/phone.ts";
import type { Conversation } from "../../providers/provider.ts";
import { findChat, findLastMessage, findThreadByContact } from "../../store/chats.ts";
import type { With } from "../engine-deps.ts";
import { conversationOf } from "./conversation.ts";

/**
 * A chat by its id, or a one-to-one thread by the other end's address in one of the forms of `parseConversation`: the
 * newest one, or that with the own address `from`.
 */
export interface ChatName {
  customerId: CustomerId;
  id: string;
  from?: string | undefined;
}

/** The chat that is named; throws 404 `CONVERSATION_NOT_FOUND`, also for another customer's. */
export async function requireChat(
  { store, threadCache }: With<"threadCache">,
  { customerId, id, from }: ChatName,
): Promise<Chat> {
  const own = from === undefined ? null : (parseAddress(from)?.address ?? from);
  const name = parseConversation(id);
  await threadCache.waitUntilFree();
  const chat =
    name.kind === "id"
      ? await findChat(store.db, customerId, name.id)
      : await findThreadByContact(store.db, customerId, name.contact, own);
  if (chat !== null && (own === null || chat.from === own)) return chat;
  const where = own === null ? "" : ` of ${own.slice(0, 100)}`;
  throw new ApiError("CONVERSATION_NOT_FOUND", `There is no conversation ${id.slice(0, 100)}${where}.`);
}

/** A chat that its provider can be asked to do something about. */
export interface ReadyChat {
  chat: Chat;
  /** Where it is now: a thread goes with its number, a group lives where it was made. */
  instanceId: InstanceId;
  /** The chat as the provider gets it, with its present channel. */
  conversation: Conversation;
}

/**
 * The chat with its instance, for an action. Throws 403 if its number is no longer the customer's, 400 `INVALID_STATUS`
 * for a group that the customer has left, 409 `CONVERSATION_NOT_READY` for one that the provider has no name for yet.
 */
export async function readyChat(deps: With<"configCache">, chat: Chat): Promise<ReadyChat> {
  const number = (await deps.configCache.numbers(chat.customerId)).find(({ address }) => address === chat.from);
  if (number === undefined) {
    throw new ApiError("ADDRESS_NOT_AUTHORIZED", `${chat.from}, the number of ${chat.id}, is not yours any more.`);
  }
  if (chat.leftAt !== null) throw new ApiError("INVALID_STATUS", `${chat.id}: you have left this group.`);
  if (chat.isGroup && chat.reference === null) {
    throw new ApiError(
      "CONVERSATION_NOT_READY",
      `${chat.id} is created at the provider with its first message; send one, and try again when it is delivered.`,
    );
  }
  const last = chat.isGroup ? null : await findLastMessage(deps.store.db, chat.id);
  const instanceId = chat.isGroup ? chat.instanceId : number.instanceId;
  return { chat, instanceId, conversation: conversationOf(chat, channelOf(chat, last)) };
}
