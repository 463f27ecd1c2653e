/** Messages by the names that providers have for them. */

import type { InstanceId, MessageId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import { findMessage, findProviderReference } from "../../store/messages.ts";
import type { Deps } from "../deps.ts";

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
  { store, connections }: Pick<Deps, "store" | "connections">,
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
  { connections }: Pick<Deps, "connections">,
  instanceId: InstanceId,
  reference: string,
): string {
  return `${connections.accountKey(instanceId)} ${reference}`;
}
