/** Describes chats to providers. */

import type { Channel } from "../../../sdk/wire.ts";
import { addressIn, type Chat } from "../../core/chat.ts";
import type { Conversation } from "../../providers/provider.ts";

/** The provider's view of a chat. `channel`: the channel of the message or action. */
export function conversationOf(chat: Chat, channel: Channel = chat.channel): Conversation {
  const { id: chatId, customerId, from, reference, participants } = chat;
  return { chatId, customerId, from, channel, contact: addressIn(chat), reference, participants };
}
