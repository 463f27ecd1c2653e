/** Finds the chat that a request names, and checks that its provider can act on it. */

import { type Chat, channelOf, parseConversation } from "../../core/chat.ts";
import { ApiError } from "../../core/error.ts";
import type { CustomerId, InstanceId } from "../../core/id.ts";
import { parseAddress } from "../../core/phone.ts";
import type { Conversation } from "../../providers/provider.ts";
import { findChat, findLastMessage, findThreadByContact } from "../../store/chats.ts";
import type { EngineDeps, With } from "../engine-deps.ts";
import { conversationOf } from "./conversation.ts";

/**
 * Names a chat by its id, or a one-to-one thread by the contact's address in a form of `parseConversation`: the newest
 * thread, or the thread of the customer's address `from`.
 */
export interface ChatName {
  customerId: CustomerId;
  id: string;
  from?: string | undefined;
}

/** The named chat. Throws 404 `CONVERSATION_NOT_FOUND`, also for another customer's chat. */
export async function requireChat(
  { store }: Pick<EngineDeps, "store">,
  { customerId, id, from }: ChatName,
): Promise<Chat> {
  const own = from === undefined ? null : (parseAddress(from)?.address ?? from);
  const name = parseConversation(id);
  const chat =
    name.kind === "id"
      ? await findChat(store.db, customerId, name.id)
      : await findThreadByContact(store.db, customerId, name.contact, own);
  if (chat !== null && (own === null || chat.from === own)) return chat;
  const where = own === null ? "" : ` of ${own.slice(0, 100)}`;
  throw new ApiError("CONVERSATION_NOT_FOUND", `There is no conversation ${id.slice(0, 100)}${where}.`);
}

/** A chat on which its provider can act. */
export interface ReadyChat {
  chat: Chat;
  /** Its present instance: a thread follows its number, a group stays on the instance that created it. */
  instanceId: InstanceId;
  /** The provider's view of the chat, with its present channel. */
  conversation: Conversation;
}

/**
 * The chat with its instance, for an action. Throws 403 if its number is no longer the customer's, 400 `INVALID_STATUS`
 * for a group that the customer has left, 409 `CONVERSATION_NOT_READY` for a group without a provider reference.
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
