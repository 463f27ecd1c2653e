/** A provider instance's small durable memory in the store. */

import type { InstanceId } from "../../core/id.ts";
import type { Memory } from "../../providers/provider.ts";
import { listMemory } from "../../store/memory.ts";
import type { Operation, Store } from "../../store/store.ts";

/** The memory of one instance. Changes reach the disk in the order of the calls, and throw if `required` does not hold. */
export function memoryOf(store: Store, instanceId: InstanceId, required: readonly Operation[] = []): Memory {
  const commit = async (operation: Operation) => {
    const { result } = await store.commit([...required, operation]);
    if (result !== "ok") throw new Error(`the memory of ${instanceId} was not changed: ${result}`);
  };
  return {
    list: (prefix) => listMemory(store.db, instanceId, prefix),
    put: (key, value) => commit({ op: "put", table: "memory", record: { instanceId, key, value } }),
    delete: (key) => commit({ op: "delete", table: "memory", where: { instanceId, key } }),
  };
}
