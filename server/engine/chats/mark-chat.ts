/** Marks chats as read or unread at the provider. The contact may see it; the service stores nothing. */

import type { With } from "../engine-deps.ts";
import {
  type ChatActionRequest,
  type ChatActionResult,
  completeAction,
  requireImessage,
  runChatAction,
} from "./chat-action.ts";

/** Marks a chat and returns it. Throws 400 `CHANNEL_NOT_SUPPORTED` over SMS. */
export async function markChat(
  deps: With<"configCache" | "providers" | "threadCache">,
  asked: ChatActionRequest,
  isRead: boolean,
): Promise<ChatActionResult> {
  return await runChatAction(deps, asked, {
    route: ["POST", isRead ? "/read" : "/unread"],
    body: {},
    async ask(ready) {
      requireImessage(ready, "read state");
      const name = isRead ? "markRead" : "markUnread";
      await completeAction(deps, ready, name, (mark, abort) => mark(ready.conversation, abort));
    },
  });
}
