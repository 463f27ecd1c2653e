/** A full disk: the store says so until a write has succeeded, whatever else succeeds meanwhile. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job, WrittenGroup } from "../jobs/jobs.ts";
import { StoreFull, type Transaction } from "../store.ts";
import { openSqliteInProcess } from "./store.ts";

const TRANSACTION: Transaction = [{ op: "put", table: "settings", record: { name: "a", value: "b" } }];

/** Jobs that write nothing where they find nothing. */
const EMPTY: readonly Job[0][] = ["claimMessages", "releaseLeases", "recheck"];

test("a claim that finds nothing does not end a full disk; a probe or a transaction does once there is room", async () => {
  let hasRoom = true;
  const store = await openSqliteInProcess(
    ":memory:",
    () => {},
    (ports) => ({
      ...ports,
      write: async (jobs: Job[]): Promise<WrittenGroup> =>
        hasRoom || jobs.every(([kind]) => EMPTY.includes(kind))
          ? ports.write(jobs)
          : { results: jobs.map(() => ({ error: "full" })), pushed: [] },
    }),
  );
  const further = store.fork();
  for (const write of [() => store.probe(), () => store.commit(TRANSACTION)]) {
    hasRoom = false;
    await assert.rejects(store.commit(TRANSACTION), StoreFull);
    await store.claimMessages({ lanes: [{ lane: "inst_1", permits: 1 }], now: 1, leaseMs: 2 });
    await store.releaseLeases(1, 1);
    assert.equal(store.isFull, true);
    await assert.rejects(store.probe(), StoreFull);
    assert.deepEqual([store.isFull, further.isFull], [true, true]);
    hasRoom = true;
    await write();
    assert.deepEqual([store.isFull, further.isFull], [false, false]);
  }
  await store.close();
});
