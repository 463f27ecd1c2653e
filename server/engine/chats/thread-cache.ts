/** Caches one-to-one threads by their key, and holds back readers while threads are deleted. */

import { setBounded } from "../../core/bounded-map.ts";
import type { Chat } from "../../core/chat.ts";
import { findChatByKey } from "../../store/chats.ts";
import type { Store } from "../../store/store.ts";
import { SenderCache } from "./sender-cache.ts";

/** Cached threads; beyond this the least recently used one is dropped. */
const THREADS_MAX = 10_000;

/** Threads by their key. The id of a thread never changes, so a cached id is valid until the thread is deleted. */
export class ThreadCache {
  readonly #chats = new Map<string, Chat>();
  /** The latest conversations of each recipient. */
  readonly senders = new SenderCache();
  #generation = 0;
  /** Resolves when exclusive work ends; null if there is none. */
  #alone: Promise<void> | null = null;

  /** Incremented by `clear`. A thread that was read before must be neither cached nor committed after it. */
  get generation(): number {
    return this.#generation;
  }

  get(key: string): Chat | null {
    return this.#chats.get(key) ?? null;
  }

  /** The cached thread, else the stored one; null if there is none. */
  async find(store: Pick<Store, "db">, key: string): Promise<Chat | null> {
    if (this.#alone !== null) await this.waitUntilFree();
    const generation = this.#generation;
    const chat = this.get(key) ?? (await findChatByKey(store.db, key));
    if (chat !== null && generation === this.#generation) this.keep(chat);
    return chat;
  }

  keep(chat: Chat): void {
    setBounded(this.#chats, chat.key, chat, THREADS_MAX);
  }

  /** Resolves when no exclusive work runs, so that threads can be read. */
  async waitUntilFree(): Promise<void> {
    while (this.#alone !== null) await this.#alone;
  }

  /**
   * Does `work` while no threads are read; decisions on earlier reads are made again. Only one `work` runs at a time.
   */
  async runExclusively(work: () => Promise<void>): Promise<void> {
    this.clear();
    const working = work();
    const ended = working.catch(() => {});
    this.#alone = ended;
    try {
      await working;
    } finally {
      this.#alone = null;
      this.clear();
    }
  }

  /** Drops all threads, after chats were deleted. */
  clear(): void {
    this.#generation += 1;
    this.#chats.clear();
    this.senders.clear();
  }
}
