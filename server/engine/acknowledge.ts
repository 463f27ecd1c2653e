/** Acknowledges signals: what a provider no longer has to remember changes in the transaction of the signal's effect. */

import type { InstanceId } from "../core/id.ts";
import type { Signal } from "../providers/provider.ts";
import type { Operation } from "../store/store.ts";
import type { Deps } from "./deps.ts";

/** The operations that delete the memory entry of `forget`, and replace the note of an attempt; none if a signal has neither. */
export function acknowledgementOf(
  instanceId: InstanceId,
  { forget, note }: Pick<Signal, "forget" | "note">,
): Operation[] {
  const operations: Operation[] = [];
  if (forget !== undefined) operations.push({ op: "delete", table: "memory", where: { instanceId, key: forget } });
  if (note === undefined) return operations;
  const where = { instanceId, reference: note.reference };
  return [...operations, { op: "set", table: "sendAttempts", where, set: { note: note.text } }];
}

/** Commits only the acknowledgement, for a signal that changes nothing else. */
export async function acknowledgeOnly({ store }: Pick<Deps, "store">, forgets: readonly Operation[]): Promise<void> {
  if (forgets.length > 0) await store.commit(forgets);
}
