/** Knows in which chats the customer is shown as typing, and ends each indicator after a minute. */

import type { ChatId } from "../../core/id.ts";
import type { Deps } from "../deps.ts";
import { TYPING_MS_MAX } from "./typing-contacts.ts";

/** Most chats with an indicator at once; beyond this the oldest indicator ends. */
const SHOWN_MAX = 10_000;

interface ShownIndicator {
  stopTimer(): void;
  /** Ends the indicator at the provider. */
  end(): void;
}

/** The chats in which the customer is shown as typing. In memory only: phones also end an indicator by themselves. */
export class TypingIndicators {
  readonly #shown = new Map<ChatId, ShownIndicator>();

  /** Shows the indicator for a minute, then calls `end`. */
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

  /** Removes the indicator, because it ended or a message replaced it. Does not ask the provider. */
  end(id: ChatId): void {
    if (this.#shown.size === 0) return;
    this.#shown.get(id)?.stopTimer();
    this.#shown.delete(id);
  }

  /** Forgets everything. */
  stop(): void {
    for (const { stopTimer } of this.#shown.values()) stopTimer();
    this.#shown.clear();
  }
}
