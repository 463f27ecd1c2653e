/** Caches the last committed state of messages, so that the next change of a message need not read it first. */

import type { MessageStatus } from "../../../sdk/wire.ts";
import { Cached } from "../../core/cached.ts";
import type { MessageId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";

/** Most messages cached. */
const KEPT_MAX = 4_096;

/**
 * Nothing is on its way to a message in these statuses. Kept for the rare receipt or action that follows, it would outlive
 * the nursery, and collecting the old generation makes others wait.
 */
const ENDED: ReadonlySet<MessageStatus> = new Set(["delivered", "read", "failed", "cancelled", "unsent"]);

/**
 * The messages that changed last. A cached message may be out of date: a decision from it is then refused as a conflict by the
 * store and made again from the stored state. The cache only saves reads.
 */
export class MessageCache {
  readonly #messages = new Cached<MessageId, Message>({
    max: KEPT_MAX,
    keeps: ({ status }) => !ENDED.has(status),
  });

  get(id: MessageId): Message | null {
    return this.#messages.peek(id) ?? null;
  }

  keep(message: Message): void {
    this.#messages.keep(message.id, message);
  }

  /** Caches a message as a claim returned it, unless it has changed since. */
  keepClaimed(claimed: Message): void {
    const known = this.get(claimed.id);
    if (known === null || known.version < claimed.version) this.keep(claimed);
  }

  /**
   * Whether a message has changed since its claim, as far as the cache can tell. A claimed message that is not cached any more has
   * ended, or was dropped: then it is claimed again.
   */
  hasChangedSince(claimed: Message): boolean {
    const known = this.get(claimed.id);
    return known === null ? !ENDED.has(claimed.status) : known.version > claimed.version;
  }

  /** Drops a message that no longer exists. */
  forget(id: MessageId): void {
    this.#messages.forget(id);
  }

  /** Drops all messages, after messages were removed. */
  clear(): void {
    this.#messages.clear();
  }
}
