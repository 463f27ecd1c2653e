/** Messages as they were last committed here, so that what happens to them next need not read them first. */

import { setBounded } from "../../core/bounded-map.ts";
import type { MessageId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";

/** Messages kept at the most; beyond it the one that changed longest ago goes. */
const KEPT_MAX = 4_096;

/**
 * The messages that changed last. One of them may be out of date: a decision made on it is then refused as stale by
 * the store, and made again on what is read from there. So nothing rests on its being right, only speed.
 */
export class MessageCache {
  readonly #messages = new Map<MessageId, Message>();

  get(id: MessageId): Message | null {
    return this.#messages.get(id) ?? null;
  }

  keep(message: Message): void {
    setBounded(this.#messages, message.id, message, KEPT_MAX);
  }

  /** Forgets a message that is gone. */
  forget(id: MessageId): void {
    this.#messages.delete(id);
  }

  /** Forgets all of them: after messages were removed. */
  clear(): void {
    this.#messages.clear();
  }
}
