import assert from "node:assert/strict";
import { test } from "node:test";
import type { Health } from "../../sdk/wire.ts";
import { startEdge } from "../../test/support/edge.ts";
import { openContext } from "../../test/support/sending.ts";
import { healthRoutes } from "../api/health.ts";
import { createMetrics } from "../metrics.ts";
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
