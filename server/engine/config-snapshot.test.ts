/** Tests when a process learns what other processes change in the configuration. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../test/support/clock.ts";
import { CONFIG_PARTS, type ConfigPart, type ConfigVersions } from "../store/shared-database.ts";
import type { Store } from "../store/store.ts";
import { ConfigSnapshot, CURRENT_MS_MAX } from "./config-snapshot.ts";

/** A database whose versions a test raises, and a snapshot of it. */
function stage() {
  const clock = new SimulatedClock();
  const versions = Object.fromEntries(CONFIG_PARTS.map((part) => [part, 1])) as Record<ConfigPart, number>;
  const changed: ConfigPart[] = [];
  const faults: string[] = [];
  const database = { isUp: true, refusesToApply: false };
  const configVersions = async (): Promise<ConfigVersions> => {
    if (!database.isUp) throw new Error("the database is away");
    return { ...versions };
  };
  const apply = (part: ConfigPart) => {
    if (database.refusesToApply) throw new Error("not now");
    changed.push(part);
  };
  const snapshot = new ConfigSnapshot(
    {
      store: { shared: { configVersions } } as unknown as Store,
      clock,
      observer: { fault: (where: string) => void faults.push(where) } as never,
    },
    Object.fromEntries(CONFIG_PARTS.map((part) => [part, () => apply(part)])) as never,
  );
  return { clock, versions, changed, faults, database, snapshot };
}

test("a start applies every part, and a later change of a part is applied once, within half a second", async () => {
  const { clock, versions, changed, snapshot } = stage();
  assert.equal(snapshot.isCurrent, false);
  await snapshot.start();
  assert.deepEqual([changed.splice(0), snapshot.isCurrent], [[...CONFIG_PARTS], true]);
  versions.optOuts += 1;
  await clock.advance(500);
  assert.deepEqual(changed, ["optOuts"]);
  await clock.advance(5_000);
  assert.deepEqual([changed, snapshot.isCurrent], [["optOuts"], true]);
  await snapshot.stop();
});

test("a snapshot is not current a second after its last comparison, and is again once the database is back", async () => {
  const { clock, database, faults, snapshot } = stage();
  await snapshot.start();
  database.isUp = false;
  await clock.advance(CURRENT_MS_MAX);
  assert.equal(snapshot.isCurrent, true);
  await clock.advance(500);
  assert.equal(snapshot.isCurrent, false);
  assert.ok(faults.length > 0);
  database.isUp = true;
  await clock.advance(500);
  assert.equal(snapshot.isCurrent, true);
  await snapshot.stop();
});

test("a change that could not be applied is applied later, and the snapshot is not current until then", async () => {
  const { clock, changed, database, versions, snapshot } = stage();
  await snapshot.start();
  changed.length = 0;
  database.refusesToApply = true;
  versions.keys += 1;
  await clock.advance(2_000);
  assert.deepEqual([changed, snapshot.isCurrent], [[], false]);
  database.refusesToApply = false;
  await clock.advance(500);
  assert.deepEqual([changed, snapshot.isCurrent], [["keys"], true]);
  await snapshot.stop();
});

test("on a database of one process the snapshot is always current, and nothing is compared", async () => {
  const { clock } = stage();
  const store = { shared: null } as unknown as Store;
  const listeners = new Proxy({}, { get: () => assert.fail }) as never;
  const snapshot = new ConfigSnapshot({ store, clock, observer: {} as never }, listeners);
  await snapshot.start();
  await clock.advance(60_000);
  assert.equal(snapshot.isCurrent, true);
  await snapshot.stop();
});
