/** A provider instance's small durable memory in the store. */

import type { InstanceId } from "../../core/id.ts";
import type { Memory } from "../../providers/provider.ts";
import { listMemory } from "../../store/memory.ts";
import type { Store } from "../../store/store.ts";

/** The memory of one instance. Changes reach the disk in the order of the calls. */
export function memoryOf(store: Store, instanceId: InstanceId): Memory {
  return {
    list: (prefix) => listMemory(store.db, instanceId, prefix),
    async put(key, value) {
      await store.commit([{ op: "put", table: "memory", record: { instanceId, key, value } }]);
    },
    async delete(key) {
      await store.commit([{ op: "delete", table: "memory", where: { instanceId, key } }]);
    },
  };
}
