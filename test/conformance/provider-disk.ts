/** The disk of the provider suite: what providers remember, and the references of accepted messages. */

import type { MessageId } from "../../server/core/id.ts";
import type { ReceiptSignal } from "../../server/providers/provider.ts";
import { AttemptsKept } from "../support/attempts.ts";

/** The memory of an instance, which outlives its providers. `created` counts the entries under a key. */
export class ProviderDisk {
  readonly entries = new Map<string, string>();
  readonly attempts = new AttemptsKept();
  /** The references of accepted messages, as the service has stored them. */
  readonly references = new Map<string, MessageId>();
  readonly #created = new Map<string, number>();

  /** The message of a receipt, by its id or by a stored reference; null if there is none. */
  messageOf({ messageId, reference }: Pick<ReceiptSignal, "messageId" | "reference">): MessageId | null {
    return messageId ?? this.references.get(reference) ?? this.attempts.messageOf(reference);
  }

  created(key: string): number {
    return this.#created.get(key) ?? 0;
  }

  put(key: string, value: string): void {
    if (!this.entries.has(key)) this.#created.set(key, this.created(key) + 1);
    this.entries.set(key, value);
  }
}
