/** What a provider need not remember any more: deleted in the unit of what its signal changes. */

import type { InstanceId } from "../core/id.ts";
import type { Signal } from "../providers/provider.ts";
import type { Operation } from "../store/store.ts";
import type { Deps } from "./deps.ts";

/** The operations that end the key of the instance's memory which a signal names; none where it names none. */
export function acknowledgementOf(instanceId: InstanceId, { forget }: Pick<Signal, "forget">): Operation[] {
  return forget === undefined ? [] : [{ op: "delete", table: "memory", where: { instanceId, key: forget } }];
}

/** Commits them alone: the signal itself changes nothing. */
export async function acknowledgeOnly({ store }: Pick<Deps, "store">, forgets: readonly Operation[]): Promise<void> {
  if (forgets.length > 0) await store.commit(forgets);
}
