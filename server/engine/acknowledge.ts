/** Acknowledges signals: deletes the signal's entry in the provider's memory in the transaction of the signal's effect. */

import type { InstanceId } from "../core/id.ts";
import type { Signal } from "../providers/provider.ts";
import type { Operation } from "../store/store.ts";
import type { Deps } from "./deps.ts";

/** The operations that delete the memory entry that a signal names in `forget`; none if it names none. */
export function acknowledgementOf(instanceId: InstanceId, { forget }: Pick<Signal, "forget">): Operation[] {
  return forget === undefined ? [] : [{ op: "delete", table: "memory", where: { instanceId, key: forget } }];
}

/** Commits only the acknowledgement, for a signal that changes nothing else. */
export async function acknowledgeOnly({ store }: Pick<Deps, "store">, forgets: readonly Operation[]): Promise<void> {
  if (forgets.length > 0) await store.commit(forgets);
}
