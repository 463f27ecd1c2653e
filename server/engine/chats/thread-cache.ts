/** Caches one-to-one threads by their key. */

import { Cached } from "../../core/cached.ts";
import type { Chat } from "../../core/chat.ts";
import { findChatByKey } from "../../store/chats.ts";
import type { Store, Transaction } from "../../store/store.ts";
import { SenderCache } from "./sender-cache.ts";

/** Most cached threads. */
const THREADS_MAX = 10_000;

/** Threads by their key. The id of a thread never changes, so a cached id is valid until the thread is deleted. */
export class ThreadCache {
  readonly #chats = new Cached<string, Chat | null>({ max: THREADS_MAX, keeps: (chat) => chat !== null });
  /** The latest conversations of each recipient. */
  readonly senders = new SenderCache();
  #generation = 0;

  /** Incremented by `clear`. A thread that was read before must be neither kept nor committed after it. */
  get generation(): number {
    return this.#generation;
  }

  /** The cached thread, else the stored one; null if there is none. */
  find(store: Pick<Store, "db">, key: string): Promise<Chat | null> {
    return this.#chats.get(key, () => findChatByKey(store.db, key));
  }

  /** Caches a thread that was committed. */
  keep(chat: Chat): void {
    this.#chats.keep(chat.key, chat);
  }

  /** Drops the threads that a refused transaction required: another process may have deleted them. */
  dropRequired(transaction: Transaction): void {
    for (const operation of transaction)
      if (operation.op === "require" && operation.table === "chats")
        this.#chats.forgetWhere((chat) => chat?.id === operation.where.id);
  }

  /** Drops all threads, after chats were deleted. */
  clear(): void {
    this.#generation += 1;
    this.#chats.clear();
    this.senders.clear();
  }
}
