/** One-to-one threads: found or made with the first message between two addresses, and kept at hand. */

import type { Channel } from "../../../sdk/wire.ts";
import { setBounded } from "../../core/bounded-map.ts";
import { type Chat, threadKey } from "../../core/chat.ts";
import { ApiError } from "../../core/error.ts";
import type { CustomerId, InstanceId } from "../../core/id.ts";
import { findChatByKey } from "../../store/chats.ts";
import type { Operation, Store } from "../../store/store.ts";
import type { Deps } from "../deps.ts";
import { SenderCache } from "./sender-cache.ts";

/** Threads kept at hand; beyond it the one that was used longest ago goes. */
const KEPT_MAX = 10_000;
/** Times that a thread is looked for again which somebody else made at the same moment. */
const ROUNDS_MAX = 5;
const BUSY_RETRY_AFTER_SECONDS = 1;

/** Threads by their key. An id never changes, so one that is known stays right until it is deleted. */
export class ThreadCache {
  readonly #chats = new Map<string, Chat>();
  /** Who wrote with whom last. */
  readonly senders = new SenderCache();
  #age = 0;
  /** Ends when nobody works on threads alone any more; null while nobody does. */
  #alone: Promise<void> | null = null;

  /** Grows with `clear`: what was read before it must be neither kept nor committed after it. */
  get generation(): number {
    return this.#age;
  }

  get(key: string): Chat | null {
    return this.#chats.get(key) ?? null;
  }

  /** The thread at hand, else as it is stored; null when there is none. */
  async find(store: Pick<Store, "db">, key: string): Promise<Chat | null> {
    if (this.#alone !== null) await this.waitUntilFree();
    const age = this.#age;
    const chat = this.get(key) ?? (await findChatByKey(store.db, key));
    if (chat !== null && age === this.#age) this.keep(chat);
    return chat;
  }

  keep(chat: Chat): void {
    setBounded(this.#chats, chat.key, chat, KEPT_MAX);
  }

  /** Resolves when threads can be read: nobody is deleting some. */
  async waitUntilFree(): Promise<void> {
    while (this.#alone !== null) await this.#alone;
  }

  /** Does `work` while nobody reads threads: what was decided on those read before is decided again. One at a time. */
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

  /** Forgets all of them: after chats were deleted. */
  clear(): void {
    this.#age += 1;
    this.#chats.clear();
    this.senders.clear();
  }
}

/** Two addresses that write with each other. */
export interface ThreadPair {
  customerId: CustomerId;
  from: string;
  contact: string;
  channel: Channel;
  instanceId: InstanceId;
}

/** A thread, and what makes it where it is new: goes into the unit of what is said in it. */
export interface PreparedChat {
  chat: Chat;
  make: Operation[];
}

/** Somebody else made the same thread at the same moment. */
class ThreadDuplicate extends Error {}

/** The thread of a pair as it is, or as it will be once `make` is committed. */
export async function prepareThread(deps: Deps, pair: ThreadPair): Promise<PreparedChat> {
  const key = threadKey(pair.customerId, pair.from, pair.contact);
  const known = await deps.threadCache.find(deps.store, key);
  if (known !== null) return { chat: known, make: [] };
  const now = deps.clock.now();
  const chat: Chat = {
    id: deps.newId("chat"),
    version: 1,
    customerId: pair.customerId,
    key,
    isGroup: false,
    from: pair.from,
    contact: pair.contact,
    instanceId: pair.instanceId,
    reference: null,
    channel: pair.channel,
    name: null,
    participants: [pair.contact],
    leftAt: null,
    createdAt: now,
    updatedAt: now,
  };
  return { chat, make: [{ op: "insertUnique", table: "chats", record: chat }] };
}

/** What a unit is to throw that is answered `taken` for its thread's sake: `retryDuplicateThread` then works again. */
export function duplicateThread(): Error {
  return new ThreadDuplicate("somebody else made this thread at the same moment");
}

/** Does `work`, which commits a thread that may be new, again where somebody else made the thread in between. */
export async function retryDuplicateThread<Value>(work: () => Promise<Value>): Promise<Value> {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ThreadDuplicate)) throw error;
    }
  }
  throw new ApiError("SERVICE_UNAVAILABLE", "The conversation is being made by many at once; try again.", {
    retryAfterSeconds: BUSY_RETRY_AFTER_SECONDS,
  });
}
