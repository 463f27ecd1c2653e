/** Finds messages by id or by provider reference. */

import { ApiError } from "../../core/error.ts";
import type { CustomerId, InstanceId, MessageId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import { findMessage, findMessageOf } from "../../store/messages.ts";
import { findProviderReference } from "../../store/send-attempts.ts";
import type { Deps } from "../deps.ts";
import type { EngineDeps, With } from "../engine-deps.ts";

/** The message with a provider's reference, inbound or outbound; null if there is none. */
export async function findByReference(
  { store }: Pick<Deps, "store">,
  instanceId: InstanceId,
  reference: string,
): Promise<Message | null> {
  const found = await findProviderReference(store.db, instanceId, reference);
  return found === null ? null : findMessage(store.db, found.messageId as MessageId);
}

/**
 * Whether a message with this reference was recorded for the instance, or for another instance with the same account, which
 * receives the same messages.
 */
export async function isRecorded(
  { store, connections }: Pick<EngineDeps, "store" | "connections">,
  instanceId: InstanceId,
  reference: string,
): Promise<boolean> {
  for (const id of connections.withSameAccount(instanceId)) {
    if ((await findProviderReference(store.db, id, reference)) !== null) return true;
  }
  return false;
}

/** Serial key for signals about one message: they are applied in the order in which the account reported them. */
export function referenceKey(
  { connections }: Pick<EngineDeps, "connections">,
  instanceId: InstanceId,
  reference: string,
): string {
  return `${connections.accountKey(instanceId)} ${reference}`;
}

/** A customer's message that is not deleted. Throws 404 `NOT_FOUND`. */
export async function requireMessage(deps: Deps, customerId: CustomerId, id: string): Promise<Message> {
  const message = await findMessageOf(deps.store.db, customerId, id);
  if (message !== null && message.deletedAt === null) return message;
  throw new ApiError("NOT_FOUND", `There is no message ${id.slice(0, 100)}.`);
}

/** A reset of the customer's sandbox deleted the message: nothing is left to do for it. */
export class MessageGone extends ApiError {
  constructor(id: MessageId) {
    super("NOT_FOUND", `The message ${id} is gone.`);
  }
}

/** The stored state of a message that must exist. Throws `MessageGone`. */
export async function reread(deps: With<"messageCache">, id: MessageId): Promise<Message> {
  const message = await findMessage(deps.store.db, id);
  if (message !== null) return message;
  deps.messageCache.forget(id);
  throw new MessageGone(id);
}
