/** A request whose client hangs up ends with the page that runs: what is committed stays, and a repeat finds it. */

import assert from "node:assert/strict";
import { type TestContext as NodeTest, test } from "node:test";
import { clockRoutes } from "../../server/api/clock.ts";
import { contactRoutes } from "../../server/api/contacts.ts";
import { heldRoutes } from "../../server/api/held.ts";
import type { ApiRequest, Route } from "../../server/api/route.ts";
import { holdRestored, listHeld, RESTORED_BACKUP } from "../../server/engine/messages/held.ts";
import { commitAll, type TestContext, testKey } from "../support/context.ts";
import { send, TO } from "../support/sending.ts";
import { type Ask, type Served, served } from "../support/served.ts";
import { until } from "../support/wait.ts";
import { create, emitEvent, URL_A, webhookRoutesOf } from "../support/webhooks.ts";

interface Stage {
  api: Served;
  /**
   * Sends a request, and leaves when its first page is held by `gate`. Lets the page go on once the server knows, and resolves when the
   * request has ended.
   */
  leave(gate: Gate, method: string, path: string, ask?: Ask): Promise<void>;
}

async function stageOf(t: NodeTest, routesOf: (deps: TestContext["deps"]) => Route[]): Promise<Stage> {
  const requests: ApiRequest[] = [];
  const noted = (route: Route): Route => {
    if (route.scope === "public") return route;
    const handle = (request: ApiRequest) => {
      requests.push(request);
      return route.handle(request);
    };
    return { ...route, handle };
  };
  const api = await served(t, (deps) => routesOf(deps).map(noted));
  return {
    api,
    async leave(gate, method, path, ask = {}) {
      const client = new AbortController();
      const asked = api.data(200, method, path, { ...ask, signal: client.signal });
      await until(() => gate.pages > 0, { what: "the first page" });
      client.abort();
      await assert.rejects(asked);
      await until(() => requests.at(-1)?.gone().aborted, { what: "the server to know" });
      const ended = api.counted.length;
      gate.open();
      const last = await until(() => api.counted[ended], { what: "the request to end" });
      assert.equal(last.status, 499);
      assert.deepEqual(
        api.lines.filter(({ event }) => event === "request failed"),
        [],
      );
    },
  };
}

/** Counts the pages of a request, and holds them until it is opened. */
class Gate {
  pages = 0;
  readonly #opened = Promise.withResolvers<void>();

  open(): void {
    this.#opened.resolve();
  }

  async pass(): Promise<void> {
    this.pages += 1;
    await this.#opened.promise;
  }
}

test("a reset whose client hangs up removes no further page, and the same idempotency key removes the rest", async (t) => {
  const { api, leave } = await stageOf(t, (deps) => [...clockRoutes(deps), ...contactRoutes(deps)]);
  for (const last4 of ["0100", "0101", "0102", "0103"])
    await api.data(201, "POST", "/v1/contacts", { body: { phoneNumber: `+1500555${last4}` } });
  const left = async () =>
    (await api.data<{ pagination: { total: number } }>(200, "GET", "/v1/contacts")).pagination.total;
  const gate = new Gate();
  const { store } = api.deps;
  const reset = store.reset.bind(store);
  store.reset = async (customerId, _limit, begins) => {
    await gate.pass();
    return await reset(customerId, 1, begins);
  };
  const ask = { body: {}, idempotencyKey: "reset-1" };
  await leave(gate, "POST", "/v1/sandbox/reset", ask);
  assert.deepEqual([gate.pages, await left()], [1, 3]);
  assert.deepEqual(await api.data(200, "POST", "/v1/sandbox/reset", ask), { reset: true });
  assert.equal(await left(), 0);
});

test("a decision about held messages whose client hangs up goes on with no further page, and a repeat decides about the rest", async (t) => {
  const { api, leave } = await stageOf(t, heldRoutes);
  const { deps } = api;
  const { apiKey, key } = testKey(deps, null);
  const takenAt = deps.clock.real();
  const value = JSON.stringify({ takenAt, restoredAt: takenAt, heldAt: null });
  for (let count = 0; count < 201; count += 1) await send(api, { to: TO });
  await commitAll(deps, [
    { op: "insert", table: "keys", record: apiKey },
    { op: "put", table: "settings", record: { name: RESTORED_BACKUP, value } },
  ]);
  await holdRestored(deps);
  const held = async () => (await listHeld(deps.store.db, null, 1_000)).length;
  assert.equal(await held(), 201);
  const gate = new Gate();
  const { store } = deps;
  const commit = store.commit.bind(store);
  store.commit = async (transaction) => {
    await gate.pass();
    return await commit(transaction);
  };
  await leave(gate, "POST", "/v1/admin/held/discard", { key, body: { all: true } });
  assert.equal(await held(), 1);
  const rest = await api.data(200, "POST", "/v1/admin/held/discard", { key, body: { all: true } });
  assert.deepEqual(rest, { count: 1, notHeld: [], hasMore: false });
});

test("pausing an endpoint whose client hangs up ends the request, and the other deliveries are cancelled all the same", async (t) => {
  const { api, leave } = await stageOf(t, webhookRoutesOf);
  const { id } = await create(api, { url: URL_A, events: ["*"] });
  for (let count = 0; count < 3; count += 1) await emitEvent(api);
  const gates = [new Gate(), new Gate()] as const;
  const { store } = api.deps;
  const cancel = store.cancelDeliveries.bind(store);
  store.cancelDeliveries = async (endpointId, limit) => {
    await (gates[0].pages === 0 ? gates[0] : gates[1]).pass();
    return (await cancel(endpointId, 1)) === 0 ? 0 : limit;
  };
  await leave(gates[0], "PATCH", `/v1/webhooks/${id}`, { body: { active: false } });
  const pending = () => store.db.selectFrom("deliveries").select("id").where("status", "=", "pending").execute();
  assert.equal((await pending()).length, 2);
  gates[1].open();
  await until(async () => (await pending()).length === 0, { what: "the other deliveries to be cancelled" });
});
