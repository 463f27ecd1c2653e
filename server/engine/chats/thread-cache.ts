/** Caches one-to-one threads by their key. */

import { setBounded } from "../../core/bounded-map.ts";
import type { Chat } from "../../core/chat.ts";
import { findChatByKey } from "../../store/chats.ts";
import type { Store, Transaction } from "../../store/store.ts";
import { SenderCache } from "./sender-cache.ts";

/** Cached threads; beyond this the least recently used one is dropped. */
const THREADS_MAX = 10_000;

/** Threads by their key. The id of a thread never changes, so a cached id is valid until the thread is deleted. */
export class ThreadCache {
  readonly #chats = new Map<string, Chat>();
  /** The latest conversations of each recipient. */
  readonly senders = new SenderCache();
  #generation = 0;

  /** Incremented by `clear`. A thread that was read before must be neither cached nor committed after it. */
  get generation(): number {
    return this.#generation;
  }

  get(key: string): Chat | null {
    return this.#chats.get(key) ?? null;
  }

  /** The cached thread, else the stored one; null if there is none. */
  async find(store: Pick<Store, "db">, key: string): Promise<Chat | null> {
    const generation = this.#generation;
    const chat = this.get(key) ?? (await findChatByKey(store.db, key));
    if (chat !== null && generation === this.#generation) this.keep(chat);
    return chat;
  }

  keep(chat: Chat): void {
    setBounded(this.#chats, chat.key, chat, THREADS_MAX);
  }

  /** Drops the threads that a refused transaction required: another process may have deleted them. */
  dropRequired(transaction: Transaction): void {
    for (const operation of transaction) {
      if (operation.op !== "require" || operation.table !== "chats") continue;
      for (const [key, { id }] of this.#chats) if (id === operation.where.id) this.#chats.delete(key);
    }
  }

  /** Drops all threads, after chats were deleted. */
  clear(): void {
    this.#generation += 1;
    this.#chats.clear();
    this.senders.clear();
  }
}
