/** Shows the customer's typing on the contact's phone until a request, a message or a minute ends it. */

import type { TypingStatus } from "../../../sdk/wire.ts";
import { ApiError } from "../../core/error.ts";
import type { ChatId } from "../../core/id.ts";
import { PeerFault } from "../../providers/provider.ts";
import { runInTurn } from "../action.ts";
import type { With } from "../engine-deps.ts";
import { type ChatActionRequest, completeAction, requireImessage, runChatAction } from "./chat-action.ts";
import type { ReadyChat } from "./require-chat.ts";

/** Shows or ends typing in a chat. Throws 400 `CHANNEL_NOT_SUPPORTED` over SMS. Returns the chat's id. */
export async function showTyping(
  deps: With<"configCache" | "providers" | "threadCache" | "typingIndicators">,
  asked: ChatActionRequest,
  status: TypingStatus,
): Promise<{ repeated: boolean; chatId: ChatId }> {
  const { repeated, chat } = await runChatAction(deps, asked, {
    route: ["POST", "/typing"],
    body: { status },
    async ask(ready) {
      requireImessage(ready, "typing indicator");
      await setTyping(deps, ready, status === "start");
      if (status === "start") deps.typingIndicators.begin(deps, ready.chat.id, () => void endShown(deps, ready));
      else deps.typingIndicators.end(ready.chat.id);
    },
  });
  return { repeated, chatId: chat.id };
}

async function setTyping(deps: With<"providers">, ready: ReadyChat, typing: boolean): Promise<void> {
  await completeAction(deps, ready, "setTyping", (set, abort) => set(ready.conversation, typing, abort));
}

async function endShown(deps: With<"providers">, ready: ReadyChat): Promise<void> {
  try {
    await runInTurn(deps, ready.chat, () => setTyping(deps, ready, false));
  } catch (error) {
    // The phone ends the indicator by itself, so only a fault of this process is an error in the log.
    const isRefused = error instanceof ApiError;
    deps.observer.fault("show-typing", isRefused ? new PeerFault(`typing was not ended: ${error.message}`) : error);
  }
}
