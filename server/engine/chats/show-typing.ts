/** Typing of the customer, shown on the other end's phone: ends when asked, with a message, or after a minute. */

import type { TypingStatus } from "../../../sdk/wire.ts";
import type { ChatId } from "../../core/id.ts";
import { runInTurn } from "../action.ts";
import type { Deps } from "../deps.ts";
import { type ChatActionRequest, completeAction, requireImessage, runChatAction } from "./chat-action.ts";
import type { ReadyChat } from "./require-chat.ts";
import { TYPING_MS_MAX } from "./typing.ts";

/** Chats in which typing is shown at once; beyond it the one in which it began first is ended. */
const SHOWN_MAX = 10_000;

interface ShownIndicator {
  stopTimer(): void;
  /** Ends it at the provider. */
  end(): void;
}

/** Where the customer is shown as typing. In memory only: phones end it by themselves, too. */
export class TypingIndicators {
  readonly #shown = new Map<ChatId, ShownIndicator>();

  /** It is shown from now on for a minute; then `end` is called. */
  begin({ clock }: Pick<Deps, "clock">, id: ChatId, end: () => void): void {
    this.end(id);
    const ended = () => {
      this.end(id);
      end();
    };
    this.#shown.set(id, { stopTimer: clock.after(TYPING_MS_MAX, ended), end: ended });
    const [first] = this.#shown.values();
    if (this.#shown.size > SHOWN_MAX) first?.end();
  }

  /** It is shown no more: it was ended, or a message has come in its place. Asks nobody. */
  end(id: ChatId): void {
    this.#shown.get(id)?.stopTimer();
    this.#shown.delete(id);
  }

  /** Forgets everything. */
  stop(): void {
    for (const { stopTimer } of this.#shown.values()) stopTimer();
    this.#shown.clear();
  }
}

/** Shows or ends typing in a chat. Throws 400 `CHANNEL_NOT_SUPPORTED` over SMS. Answers the chat's id. */
export async function showTyping(
  deps: Deps,
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

async function setTyping(deps: Deps, ready: ReadyChat, typing: boolean): Promise<void> {
  await completeAction(deps, ready, "setTyping", (set, abort) => set(ready.conversation, typing, abort));
}

async function endShown(deps: Deps, ready: ReadyChat): Promise<void> {
  try {
    await runInTurn(deps, ready.chat, () => setTyping(deps, ready, false));
  } catch (error) {
    deps.observer.fault("typing", error);
  }
}
