/** Finds one-to-one threads, and creates one with the first message between two addresses. */

import type { Channel } from "../../../sdk/wire.ts";
import { type Chat, threadKey } from "../../core/chat.ts";
import { ApiError } from "../../core/error.ts";
import type { CustomerId, InstanceId } from "../../core/id.ts";
import { subscriberForms } from "../../core/phone-forms.ts";
import { findChatByKey } from "../../store/chats.ts";
import type { Operation } from "../../store/store.ts";
import type { Deps } from "../deps.ts";
import type { With } from "../engine-deps.ts";

/** Most repeats of work whose thread another request created at the same time. */
const ROUNDS_MAX = 5;
const BUSY_RETRY_AFTER_SECONDS = 1;

/** Two addresses that write with each other. */
export interface ThreadPair {
  customerId: CustomerId;
  from: string;
  contact: string;
  channel: Channel;
  instanceId: InstanceId;
}

/**
 * A chat, and the operations that create it if it is new, change it, or require that it still exists; they belong into the transaction
 * of its message.
 */
export interface PreparedChat {
  chat: Chat;
  make: Operation[];
}

/** A stored chat. A sandbox reset or an erasure, by whichever process, may delete it before the transaction of its message. */
export function storedChat(chat: Chat): PreparedChat {
  return { chat, make: [{ op: "require", table: "chats", where: { id: chat.id }, scope: chat.customerId }] };
}

/** Another request created the same thread at the same moment. */
class ThreadDuplicate extends Error {}

/** The thread of a pair, which exists once `make` is committed. */
export async function prepareThread(deps: With<"threadCache">, pair: ThreadPair): Promise<PreparedChat> {
  const key = threadKey(pair.customerId, pair.from, pair.contact);
  const known = await deps.threadCache.find(deps.store, key);
  return known === null ? newThread(deps, pair, key) : storedChat(known);
}

/** The thread of a pair in which the contact writes: it notes the form of the contact's address. */
export async function prepareInboundThread(deps: With<"threadCache">, pair: ThreadPair): Promise<PreparedChat> {
  const { contact } = pair;
  if (subscriberForms(contact).length === 1) return prepareThread(deps, pair);
  const key = threadKey(pair.customerId, pair.from, contact);
  // Another process may have noted a form: what is cached may be old.
  const known = await findChatByKey(deps.store.db, key);
  if (known === null) return newThread(deps, pair, key, contact);
  if (known.lastForm === contact) return storedChat(known);
  const { id, version } = known;
  const set: Partial<Chat> = { lastForm: contact };
  return {
    chat: { ...known, ...set, version: version + 1 },
    make: [{ op: "update", table: "chats", id, version, set }],
  };
}

function newThread(deps: Deps, pair: ThreadPair, key: string, lastForm: string | null = null): PreparedChat {
  const now = deps.clock.now();
  const chat: Chat = {
    id: deps.newId("chat"),
    version: 1,
    customerId: pair.customerId,
    key,
    isGroup: false,
    from: pair.from,
    contact: pair.contact,
    lastForm,
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

/** The error to throw if a transaction is a duplicate because of its thread: `retryDuplicateThread` then repeats the work. */
export function duplicateThread(): Error {
  return new ThreadDuplicate("another request created this thread at the same moment");
}

/**
 * Does `work`, which may create a thread, and repeats it if another request created the same thread at the same time.
 */
export async function retryDuplicateThread<Value>(work: () => Promise<Value>): Promise<Value> {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ThreadDuplicate)) throw error;
    }
  }
  throw new ApiError("SERVICE_UNAVAILABLE", "Many requests are creating this conversation at once; try again.", {
    retryAfterSeconds: BUSY_RETRY_AFTER_SECONDS,
  });
}
