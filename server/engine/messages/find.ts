/** Messages by the names that providers have for them. */

import { ApiError } from "../../core/error.ts";
import type { CustomerId, InstanceId, MessageId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import { findMessage, findMessageOf, findProviderReference } from "../../store/messages.ts";
import type { Deps } from "../deps.ts";
import type { EngineDeps, With } from "../engine-deps.ts";

/** The message that an instance's provider calls `reference`, whichever way it went; null where there is none. */
export async function findByReference(
  { store }: Pick<Deps, "store">,
  instanceId: InstanceId,
  reference: string,
): Promise<Message | null> {
  const handOver = await findProviderReference(store.db, instanceId, reference);
  return handOver === null ? null : findMessage(store.db, handOver.messageId as MessageId);
}

/** Whether a message called `reference` is here of the instance, or of another one at the same peer, which hears the same. */
export async function isKnown(
  { store, connections }: Pick<EngineDeps, "store" | "connections">,
  instanceId: InstanceId,
  reference: string,
): Promise<boolean> {
  for (const id of connections.withSameAccount(instanceId)) {
    if ((await findProviderReference(store.db, id, reference)) !== null) return true;
  }
  return false;
}

/**
 * Key of the turns of what a peer tells of one message: it is taken in as it was told, first that the message came, then
 * what became of it.
 */
export function referenceTurn(
  { connections }: Pick<EngineDeps, "connections">,
  instanceId: InstanceId,
  reference: string,
): string {
  return `${connections.accountKey(instanceId)} ${reference}`;
}

/** A customer's message that is not deleted; throws 404 `NOT_FOUND`. */
export async function requireMessage(deps: Deps, customerId: CustomerId, id: string): Promise<Message> {
  const message = await findMessageOf(deps.store.db, customerId, id);
  if (message !== null && message.deletedAt === null) return message;
  throw new ApiError("NOT_FOUND", `There is no message ${id.slice(0, 100)}.`);
}

/** The message is not there any more: its customer's sandbox was reset. Nothing is left to be done for it. */
export class MessageGone extends ApiError {
  constructor(id: MessageId) {
    super("NOT_FOUND", `The message ${id} is gone.`);
  }
}

/** A message that there must be, as it is stored. Throws where it is gone. */
export async function reread(deps: With<"messageCache">, id: MessageId): Promise<Message> {
  const message = await findMessage(deps.store.db, id);
  if (message !== null) return message;
  deps.messageCache.forget(id);
  throw new MessageGone(id);
}
