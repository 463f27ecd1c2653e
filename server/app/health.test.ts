import assert from "node:assert/strict";
import { test } from "node:test";
import type { Health } from "../../sdk/wire.ts";
import { AttemptsKept, attemptsIn } from "../../test/support/attempts.ts";
import { failureOf, startEdge } from "../../test/support/edge.ts";
import { ScriptedProvider } from "../../test/support/provider.ts";
import { openContext } from "../../test/support/sending.ts";
import { addInbox } from "../../test/support/webhooks.ts";
import { healthRoutes } from "../api/health.ts";
import { Connections } from "../engine/instances/connections.ts";
import { type Membership, soleMember } from "../engine/members/membership.ts";
import { createMetrics } from "../metrics.ts";
import { StoreUnavailable } from "../store/store.ts";
import { createHealth, type ServiceState } from "./health.ts";

test("/health counts rows in quarantine up to a limit", async (t) => {
  const { deps } = await openContext(t);
  const metrics = createMetrics();
  t.after(() => metrics.stop());
  const health = createHealth({ deps, metrics, authenticate: () => null, state: () => "ready" });
  const add = (table: "messages" | "chats", count: number) => {
    for (let index = 0; index < count; index += 1)
      deps.store.quarantine({ table, id: `${table} ${index}`, customerId: null, reason: "test" });
  };
  add("messages", 1_500);
  add("chats", 2);
  await deps.store.probe();
  assert.match(String((await health.checks()).rows?.message), /\(2 in chats, 1000 or more in messages\)/);
});

test("/health counts the endpoints that are gone, names a hundred of them, and stays ok", async (t) => {
  const { deps, customer } = await openContext(t);
  const metrics = createMetrics();
  t.after(() => metrics.stop());
  const health = createHealth({ deps, metrics, authenticate: () => null, state: () => "ready" });
  const inbox = await addInbox({ deps, customer });
  const add = async (from: number, count: number) => {
    const transaction = Array.from({ length: count }, (_, index) => {
      const record = { ...inbox, id: `wh_${10_000 + from + index}`, kind: "extra", goneSince: 1 } as const;
      return { op: "insert", table: "endpoints", record } as const;
    });
    assert.equal((await deps.store.commit(transaction)).result, "ok");
    const { webhooks } = await health.checks();
    assert.equal(webhooks?.status, "ok");
    return String(webhooks.message);
  };
  assert.equal((await health.checks()).webhooks, undefined);
  assert.equal(await add(0, 2), "2 endpoints answered ten webhooks in a row with 410: wh_10000, wh_10001");
  const many = await add(2, 99);
  assert.match(many, /^101 endpoints .*: wh_10000, .*, wh_10099, …$/);
  assert.match(await add(101, 1_000), /^1000 or more endpoints .*, wh_10099, …$/);
});

test("/health of a process that runs no instance reports how its owner finds it, and whether any process sends", async (t) => {
  const { deps, instance } = await openContext(t);
  const metrics = createMetrics();
  t.after(() => metrics.stop());
  const worker = { id: "member_2", role: "worker", url: "http://worker:8080" } as const;
  const checksWith = async (workers: readonly (typeof worker)[], isUp: boolean | null) => {
    const membership: Membership = {
      ...soleMember(),
      isAlone: false,
      member: { id: "member_1", role: "api" },
      ownerOf: () => workers[0] ?? null,
      reportOf: () => (isUp === null ? null : { isUp, lastEventAt: null }),
      others: () => workers,
    };
    const ports = { apply: async () => "applied" as const, attempts: () => attemptsIn(new AttemptsKept()), membership };
    const connections = new Connections(() => new ScriptedProvider(), ports);
    const own = { ...deps, membership, connections };
    const { checks } = createHealth({ deps: own, metrics, authenticate: () => null, state: () => "ready" });
    return await checks();
  };
  const served = await checksWith([worker], true);
  assert.deepEqual([served[instance.id]?.status, served.workers], ["ok", undefined]);
  const down = await checksWith([worker], false);
  assert.equal(down[instance.id]?.status, "degraded");
  assert.match(String(down[instance.id]?.message), /http:\/\/worker:8080/);
  const unserved = await checksWith([], null);
  for (const check of [unserved.workers, unserved[instance.id]]) {
    assert.equal(check?.status, "degraded");
    assert.match(String(check?.message), /start one with TB_ROLE worker or all/);
  }
});

test("/health is degraded once lanes of webhooks have had no owner for 5 s", async (t) => {
  const { deps } = await openContext(t);
  const metrics = createMetrics();
  t.after(() => metrics.stop());
  let unownedMs = 4_999;
  const membership: Membership = { ...soleMember(), unownedLanesMs: () => unownedMs };
  const own = { ...deps, membership };
  const health = createHealth({ deps: own, metrics, authenticate: () => null, state: () => "ready" });
  assert.equal((await health.checks()).workers, undefined);
  unownedMs = 5_000;
  const { workers } = await health.checks();
  assert.equal(workers?.status, "degraded");
  assert.match(String(workers.message), /no process posts the webhooks of some endpoints/);
});

test("/health is degraded as long as /readyz is 503: while the service starts, and while it stops", async (t) => {
  const { deps } = await openContext(t);
  const metrics = createMetrics();
  t.after(() => metrics.stop());
  let state: ServiceState = "starting";
  const health = createHealth({ deps, metrics, authenticate: () => null, state: () => state });
  const { port } = await startEdge(t, { routes: healthRoutes(health) });
  const ask = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  const seen: unknown[] = [];
  for (const now of ["starting", "ready", "closing"] as const) {
    state = now;
    const { status: readiness } = await ask("/readyz");
    const { status, checks } = (await (await ask("/health")).json()) as Health;
    seen.push([now, readiness, checks.service?.status ?? "ok"]);
    assert.ok(readiness === 200 || status === "degraded");
  }
  assert.deepEqual(seen, [
    ["starting", 503, "degraded"],
    ["ready", 200, "ok"],
    ["closing", 503, "degraded"],
  ]);
});

test("while the database cannot be reached, /readyz and /v1 are 503, and /health names it", async (t) => {
  const { deps } = await openContext(t);
  const metrics = createMetrics();
  t.after(() => metrics.stop());
  Object.defineProperty(deps.store, "isAvailable", { get: () => false });
  const health = createHealth({
    deps,
    metrics,
    authenticate: () => Promise.reject(new StoreUnavailable("gone")),
    state: () => "ready",
  });
  const { port } = await startEdge(t, { routes: healthRoutes(health), hasDatabase: () => deps.store.isAvailable });
  const ask = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  assert.equal((await ask("/readyz")).status, 503);
  assert.equal((await ask("/healthz")).status, 200);
  const authorization = `Bearer ${"tb_".padEnd(40, "a")}`;
  const { checks } = (await (
    await fetch(`http://127.0.0.1:${port}/health`, { headers: { authorization } })
  ).json()) as Health;
  assert.match(String(checks.database?.message), /cannot be reached/);
  const refused = await ask("/v1/messages");
  assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "1"]);
  assert.match(failureOf(refused.status, await refused.text()).error.message, /nothing was done/);
});

test("/health is degraded while due work has waited 5 s for the service itself", async (t) => {
  const { deps } = await openContext(t);
  const metrics = createMetrics();
  t.after(() => metrics.stop());
  const lagMs = { dispatch: 0, deliver: 0 };
  const backPressure = Object.assign(Object.create(deps.backPressure), { lagMs: () => lagMs });
  const health = createHealth({
    deps: { ...deps, backPressure },
    metrics,
    authenticate: () => null,
    state: () => "ready",
  });
  lagMs.dispatch = 4_999;
  assert.equal((await health.checks()).lag, undefined);
  lagMs.deliver = 7_400;
  const { lag } = await health.checks();
  assert.equal(lag?.status, "degraded");
  assert.match(String(lag?.message), /^due deliveries may have waited 7 s/);
});
