/** Chats as providers are told of them. */

import type { Channel } from "../../../sdk/wire.ts";
import type { Chat } from "../../core/chat.ts";
import type { Conversation } from "../../providers/provider.ts";

/** The chat as its provider is told of it; `channel` is that of what is done in it. */
export function conversationOf(chat: Chat, channel: Channel = chat.channel): Conversation {
  const { id: chatId, customerId, from, contact, reference, participants } = chat;
  return { chatId, customerId, from, channel, contact, reference, participants };
}
