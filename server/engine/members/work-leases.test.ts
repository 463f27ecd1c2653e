/** Instances follow their leases: a start that fails is repeated, and a provider that runs is left alone. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { AttemptsKept, attemptsIn } from "../../../test/support/attempts.ts";
import { ScriptedProvider } from "../../../test/support/provider.ts";
import { openContext } from "../../../test/support/sending.ts";
import type { EngineDeps } from "../engine-deps.ts";
import { Connections } from "../instances/connections.ts";
import { WorkLeases } from "./work-leases.ts";

test("an instance whose start failed is connected by a later beat of the same lease", async (t) => {
  const made = await openContext(t);
  const provider = new ScriptedProvider();
  let starts = 0;
  let isAway = true;
  provider.start = async () => {
    starts += 1;
    if (isAway) throw new Error("the database is away");
  };
  const connections = new Connections(() => provider, {
    apply: async () => "applied",
    attempts: () => attemptsIn(new AttemptsKept()),
  });
  const membership: EngineDeps["membership"] = {
    ...made.deps.membership,
    servesSince: () => 0,
    epochOf: () => ({ lease: "account", epoch: 1 }),
  };
  const faults: string[] = [];
  const observer = { ...made.deps.observer, fault: (where: string) => void faults.push(where) };
  const deps: EngineDeps = { ...made.deps, connections, membership, observer };
  const leases = new WorkLeases(deps, {
    dispatch: { isHandling: () => false, wake: () => {} },
    deliver: { lanesChanged: () => {}, shardsInUse: () => new Set() },
  });
  await leases.leases();
  await leases.follow();
  assert.equal(connections.isRunning(made.instance.id), false);
  assert.deepEqual(faults, [`provider.start:${made.instance.id}`]);
  isAway = false;
  await leases.follow();
  assert.equal(connections.isRunning(made.instance.id), true);
  await leases.follow();
  assert.equal(starts, 2, "an instance that runs is not started again");
});
