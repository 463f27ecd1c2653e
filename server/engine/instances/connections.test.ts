/** Instances are up while they run, report nothing else, and their circuit breaker is not open. */

import assert from "node:assert/strict";
import { type TestContext as NodeTest, test } from "node:test";
import { AttemptsKept, attemptsIn } from "../../../test/support/attempts.ts";
import { engineStage } from "../../../test/support/engine.ts";
import { inbound, receipt, ScriptedProvider } from "../../../test/support/provider.ts";
import { openContext } from "../../../test/support/sending.ts";
import { until } from "../../../test/support/wait.ts";
import type { MessageId } from "../../core/id.ts";
import { keywordOf } from "../../core/opt-out.ts";
import type { Applied, ProviderContext, Signal } from "../../providers/provider.ts";
import { apply } from "../apply.ts";
import { setOptOutSettings } from "../contacts/set-opt-outs.ts";
import type { EngineDeps } from "../engine-deps.ts";
import { type InstanceReport, type Membership, soleMember } from "../members/membership.ts";
import { Connections } from "./connections.ts";

const PORTS: ConstructorParameters<typeof Connections>[1] = {
  apply: async () => "applied",
  attempts: () => attemptsIn(new AttemptsKept()),
};

/** Connections whose instances share one scripted provider, and the lanes that they woke. */
async function connected(t: NodeTest) {
  const made = await openContext(t);
  const provider = new ScriptedProvider();
  let changed = () => {};
  let eventReceived = () => {};
  const connections = new Connections((_, given) => {
    ({ changed, eventReceived } = given);
    return provider;
  }, PORTS);
  const woken: string[] = [];
  const wake: EngineDeps["wake"] = {
    ...made.deps.wake,
    messages: (lanes) => void woken.push(...lanes),
    pausedLanes: () => void woken.push("outages"),
  };
  const { clock, instance } = made;
  const deps: EngineDeps = { ...made.deps, connections, wake };
  const isUp = () => connections.isUp(deps, instance.id);
  const peer = { changed: () => changed(), eventReceived: () => eventReceived() };
  return { connections, deps, clock, instance, provider, woken, isUp, ...peer };
}

test("an instance is up while it runs and its provider is up, and each change wakes its lane", async (t) => {
  const { connections, deps, instance, provider, woken, isUp, changed } = await connected(t);
  assert.equal(isUp(), false, "it does not run yet");
  await connections.connect(deps, instance);
  assert.equal(isUp(), true);
  assert.deepEqual(woken.splice(0), [instance.id, "outages"]);
  provider.isUp = false;
  changed();
  assert.equal(isUp(), false);
  assert.deepEqual(woken.splice(0), [instance.id, "outages"]);
  provider.isUp = true;
  assert.equal(isUp(), true);
  await connections.disconnect(deps, instance.id);
  assert.equal(isUp(), false);
  assert.deepEqual(woken.splice(0), [instance.id, "outages"]);
});

test("an instance that reports itself down gets no message for 1 to 60 s, or until it reports that it is up", async (t) => {
  const { connections, deps, clock, instance, provider, woken, isUp, changed } = await connected(t);
  await connections.connect(deps, instance);
  woken.length = 0;
  for (const [wished, restMs] of [
    [0, 1_000],
    [7_000, 7_000],
    [3_600_000, 60_000],
  ] as const) {
    connections.reportDown(deps, instance.id, provider, wished);
    assert.deepEqual(woken, [], "what it was given is not back in its place yet");
    clock.shift(restMs - 1);
    assert.equal(isUp(), false);
    clock.shift(1);
    assert.equal(isUp(), true);
  }
  connections.reportDown(deps, instance.id, provider, 60_000);
  changed();
  assert.equal(isUp(), true);
  connections.reportDown(deps, instance.id, provider, 60_000);
  await connections.connect(deps, instance);
  assert.equal(isUp(), true, "with other settings it is another one");
});

test("the last event of an instance is known while it runs, after it was connected again, and while it does not run", async (t) => {
  const { connections, deps, clock, instance, eventReceived } = await connected(t);
  const last = () => connections.lastEventAt(deps, instance.id);
  await connections.connect(deps, instance);
  assert.equal(await last(), null);
  eventReceived();
  clock.shift(1_000);
  eventReceived();
  const at = clock.now();
  assert.equal(await last(), at);
  await connections.connect(deps, instance);
  assert.equal(await last(), at);
  clock.shift(1_000);
  eventReceived();
  await connections.disconnect(deps, instance.id);
  assert.equal(await last(), at + 1_000);
});

test("the last event of an instance of another process is the one that its owner reports, or the stored one", async (t) => {
  const { connections: before, deps, clock, instance, eventReceived } = await connected(t);
  await before.connect(deps, instance);
  eventReceived();
  const stored = clock.now();
  await before.disconnect(deps, instance.id);
  let report: InstanceReport | null = { isUp: true, lastEventAt: stored + 5_000 };
  const membership: Membership = { ...soleMember(), isAlone: false, owns: () => false, reportOf: () => report };
  const connections = new Connections(() => new ScriptedProvider(), { ...PORTS, membership });
  const last = () => connections.lastEventAt(deps, instance.id);
  assert.equal(await last(), stored + 5_000);
  // An owner that is about to connect the instance, and none.
  for (report of [{ isUp: false, lastEventAt: null }, null]) assert.equal(await last(), stored);
});

test("a provider that fails to start is stopped, so that nothing of it runs beside its successor", async (t) => {
  const { connections, deps, instance, provider } = await connected(t);
  let stops = 0;
  provider.start = () => Promise.reject(new Error("the disk is full"));
  provider.stop = async () => {
    stops += 1;
  };
  await connections.connect(deps, instance);
  assert.equal(stops, 1);
  assert.equal((await connections.health(deps, instance.id)).status, "unhealthy");
});

test("a successor is made once the memory of the outcomes of the former provider is stored, and none is stored later", async (t) => {
  const made = await openContext(t);
  const { instance } = made;
  const providers: ScriptedProvider[] = [];
  const connections = new Connections(() => {
    const provider = new ScriptedProvider();
    providers.push(provider);
    return provider;
  }, PORTS);
  const deps: EngineDeps = { ...made.deps, connections };
  await connections.connect(deps, instance);
  const [former] = providers;
  assert.ok(former !== undefined);
  const commit = Promise.withResolvers<string>();
  const stored = connections.storeMemory(instance.id, former, () => commit.promise);
  const refused = connections.storeMemory(instance.id, former, () => Promise.reject(new Error("the lease has ended")));
  const connecting = connections.connect(deps, instance);
  await until(() => connections.of(instance.id) === null, { what: "the former provider being stopped" });
  const late = () => assert.fail("the successor may have read the memory");
  assert.equal(connections.storeMemory(instance.id, former, late), null);
  await new Promise(setImmediate);
  assert.equal(providers.length, 1);
  commit.resolve("stored");
  assert.equal(await stored, "stored");
  await assert.rejects(async () => refused, /the lease has ended/);
  await connecting;
  assert.equal(providers.length, 2);
});

test("all instances stop at once, and a slow one delays no other", async (t) => {
  const made = await openContext(t);
  const stopping = new Set<ScriptedProvider>();
  let met = 0;
  const connections = new Connections(() => {
    const provider = new ScriptedProvider();
    provider.stop = async () => {
      stopping.add(provider);
      await until(() => stopping.size === 2, { what: "the other one being stopped" });
      met += 1;
    };
    return provider;
  }, PORTS);
  const deps: EngineDeps = { ...made.deps, connections };
  for (const id of ["inst_1", "inst_2"] as const) await connections.connect(deps, { ...made.instance, id });
  await connections.stop(deps);
  assert.deepEqual([met, connections.providers.size], [2, 0]);
});

test("after a pause an instance admits one probe message, another after a minute, and all once it has accepted one", async (t) => {
  const { connections, deps, clock, instance, provider } = await connected(t);
  const admits = (...ids: MessageId[]) => ids.map((id) => connections.admits(deps, instance.id, id));
  await connections.connect(deps, instance);
  assert.deepEqual(admits("msg_1", "msg_2"), [true, true], "its breaker is closed");
  connections.reportDown(deps, instance.id, provider, 1_000);
  assert.deepEqual(admits("msg_1"), [false], "while it rests");
  clock.shift(1_000);
  assert.deepEqual(admits("msg_1", "msg_2", "msg_1"), [true, false, true], "the same one, whoever asks again");
  clock.shift(59_999);
  assert.deepEqual(admits("msg_2"), [false]);
  clock.shift(1);
  assert.deepEqual(admits("msg_2", "msg_1"), [true, false]);
  connections.reportDown(deps, instance.id, provider, 1_000);
  clock.shift(1_000);
  assert.deepEqual(admits("msg_1", "msg_2"), [true, false], "it said so again: whoever comes first tries it then");
  connections.reportUp(deps, instance.id, new ScriptedProvider());
  assert.deepEqual(admits("msg_2"), [false], "what the connection before it took says nothing of this one");
  connections.reportUp(deps, instance.id, provider);
  assert.deepEqual(admits("msg_1", "msg_3"), [true, true]);
});

/** A scripted provider that can report signals. */
class ReportingProvider extends ScriptedProvider {
  report: (signal: Signal) => Promise<Applied> = async () => "unknown";

  override async start(report = this.report): Promise<void> {
    this.report = report;
  }
}

test("a provider writes only under the lease that it was connected with, and reports as long as its process owns the instance", async (t) => {
  const made = await openContext(t);
  const provider = new ReportingProvider();
  let [epoch, isOwner] = [1, true];
  let mayWrite = () => false;
  const membership = {
    ...made.deps.membership,
    owns: () => isOwner,
    epochOf: () => ({ lease: "account", epoch }),
  };
  const connections = new Connections(
    (_, given) => {
      ({ mayWrite } = given);
      return provider;
    },
    { ...PORTS, membership },
  );
  const deps: EngineDeps = { ...made.deps, connections };
  await connections.connect(deps, made.instance);
  const report = () => provider.report(receipt("delivered"));
  assert.equal(mayWrite(), true);
  assert.equal(await report(), "applied");
  // Another process owned the instance in between, and may have sent what this provider has in hand.
  isOwner = false;
  assert.equal(mayWrite(), false);
  await assert.rejects(report(), /another process runs/);
  [epoch, isOwner] = [3, true];
  assert.equal(mayWrite(), false);
  assert.equal(await report(), "applied");
  await connections.connect(deps, made.instance);
  assert.equal(mayWrite(), true);
  assert.equal(await report(), "applied");
});

test("a provider finds the addresses of what its own instance sent, every number of the service, and its opt-out words", async (t) => {
  const contexts: ProviderContext[] = [];
  const create = (_: string, given: ProviderContext) => {
    contexts.push(given);
    return new ScriptedProvider();
  };
  const stage = await engineStage(t, { create });
  const { deps } = stage.life;
  await stage.send();
  await stage.run();
  await apply(deps, stage.instance.id, inbound({ reference: "in-1" }));
  await deps.connections.connect(deps, stage.instance);
  const [context] = contexts;
  const { address: from } = stage.number;
  assert.deepEqual(await context?.findSent("ref-1"), { from, to: "+15550100001" });
  assert.equal(await context?.findSent("ref-2"), null);
  assert.equal(await context?.findSent("in-1"), null, "a contact wrote it");
  assert.deepEqual([await context?.isNumber(from), await context?.isNumber("+15550000077")], [true, false]);
  await setOptOutSettings(deps, stage.customer.id, { keywords: ["Basta"], resume: ["Zurück"] });
  const intents = async (address: string) => {
    const words = await context?.optOutWordsAt(address);
    return ["basta", "STOP", "zurück", "START"].map((text) => keywordOf(text, words)?.intent ?? null);
  };
  assert.deepEqual(await intents(from), ["stop", "stop", "start", null]);
  assert.deepEqual(await intents("+15550000077"), [null, "stop", null, "start"], "a number of nobody");
});
