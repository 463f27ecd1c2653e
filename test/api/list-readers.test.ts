/** A list may delay other lists of its customer, and nothing else. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { type TestContext as NodeTest, test } from "node:test";
import { listReader } from "../../server/api/list-reader.ts";
import { messageRoutes } from "../../server/api/messages.ts";
import { CLIENT_GONE } from "../../server/api/pipeline/client-gone.ts";
import { route } from "../../server/api/route.ts";
import { createHealth } from "../../server/app/health.ts";
import { createMetrics } from "../../server/metrics.ts";
import { FIRST_PAGE } from "../../server/store/list-windows.ts";
import { listMessages } from "../../server/store/message-lists.ts";
import type { Ports } from "../../server/store/sqlite/store.ts";
import { AUTH, startEdge } from "../support/edge.ts";
import { openContext, send, TO } from "../support/sending.ts";
import { served } from "../support/served.ts";
import { until } from "../support/wait.ts";

/** Ports whose reader of lists delays its work until it is released. */
function held() {
  let goOn = () => {};
  const open = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const asked: string[] = [];
  const through = (ports: Ports): Ports => ({
    ...ports,
    lists: ports.lists.map((read) => async (query) => {
      asked.push(query.sql);
      await open;
      return read(query);
    }),
  });
  return { through, asked, goOn };
}

const noInquiries = { ask: async () => assert.fail("nobody is asked") } as never;

test("a long list read delays no health check, key check or single record", async (t: NodeTest) => {
  const lists = held();
  const api = await served(t, (deps) => messageRoutes(deps, noInquiries), { through: lists.through });
  const message = await send(api, { to: TO });
  const listed = api.data<{ messages: object[] }>(200, "GET", "/v1/messages");
  await until(() => lists.asked.length > 0, { what: "the list to be read" });
  const metrics = createMetrics();
  t.after(() => metrics.stop());
  const health = createHealth({ deps: api.deps, metrics, authenticate: () => null, state: () => "ready" });
  const checks = await health.checks();
  assert.deepEqual(checks.database, { status: "ok" });
  assert.equal(health.notReady(), null);
  assert.match(await health.metrics.render(), /oldest_due/);
  // Another customer's key is not cached yet, so it is looked up.
  const { key } = await api.addTenant("Other");
  await api.refused("NOT_FOUND", "GET", `/v1/messages/${message.id}`, { key });
  assert.equal((await api.data<{ id: string }>(200, "GET", `/v1/messages/${message.id}`)).id, message.id);
  assert.equal(lists.asked.length, 1, "the list is held all the while");
  lists.goOn();
  assert.equal((await listed).messages.length, 1);
});

test("a list read whose client has gone starts no further statement", async (t: NodeTest) => {
  const lists = held();
  const made = await openContext(t, { through: lists.through });
  const client = new AbortController();
  const call = { caller: { customerId: made.customer.id }, gone: () => client.signal };
  const db = listReader(made.deps, call as never);
  const listing = listMessages(db, made.customer.id, { direction: "inbound" }, FIRST_PAGE, 50);
  await until(() => lists.asked.length === 1, { what: "the first statement of the list" });
  client.abort(CLIENT_GONE);
  lists.goOn();
  await assert.rejects(listing, CLIENT_GONE);
  assert.equal(lists.asked.length, 1);
});

test("an aborted list read is counted as such, and is no error in the log", async (t: NodeTest) => {
  const client = new AbortController();
  const leaving = route({
    method: "GET",
    path: "/v1/leaving",
    scope: "messages",
    async handle({ gone }) {
      client.abort();
      await once(gone(), "abort");
      gone().throwIfAborted();
      return { data: null };
    },
  });
  const { port, counted, lines } = await startEdge(t, { routes: [leaving] });
  const asked = fetch(`http://127.0.0.1:${port}/v1/leaving`, {
    headers: { authorization: AUTH.slice("Authorization: ".length) },
    signal: client.signal,
  });
  await assert.rejects(asked);
  await until(() => counted.length > 0, { what: "the request to be counted" });
  assert.deepEqual(
    counted.map(({ status }) => status),
    [499],
  );
  assert.deepEqual(
    lines.filter(({ event }) => event === "request failed"),
    [],
  );
});
