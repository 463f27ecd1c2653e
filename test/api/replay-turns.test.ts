/** Replays beside other work: pages that others change, new events first, customers in turn, and clients that leave. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { beginReplay } from "../../server/engine/webhooks/replay.ts";
import { ReplayPages } from "../../server/engine/webhooks/replay-pages.ts";
import { commitAll } from "../support/context.ts";
import { begin, change, countRows, last, makePages, missed, pathOf, rowsOf, tryAll } from "../support/replays.ts";
import { create, emitEvent, eventOf, serveWebhooks, URL_A } from "../support/webhooks.ts";

test("a page of which a delivery changes meanwhile is made smaller, and nothing is left out", async (t) => {
  const api = await serveWebhooks(t);
  const { id } = await create(api, { url: URL_A, events: ["*"] });
  for (let event = 0; event < 30; event += 1) await emitEvent(api);
  for (const row of await rowsOf(api))
    await change(api, row, { attemptCount: 1, retryCount: 1, dueAt: api.clock.now() + 60_000 });
  await begin(api, id, { body: { only: "failed" } });
  const { store } = api.deps;
  const commit = store.commit.bind(store);
  let changes = 2;
  store.commit = async (transaction) => {
    const [first] = await rowsOf(api);
    if (changes > 0 && transaction.length > 2) {
      changes -= 1;
      await commit([
        {
          op: "update",
          table: "deliveries",
          id: String(first?.id),
          version: Number(first?.version),
          set: { attemptCount: 2 },
        },
      ]);
    }
    return commit(transaction);
  };
  await makePages(api);
  assert.equal(changes, 0);
  const shown = await last(api, id);
  assert.deepEqual([shown?.status, shown?.made], ["done", 30]);
  assert.ok((await rowsOf(api)).every((row) => row.retry_count === 0));
});

test("new events go first: no page while others are due, and at most 5,000 deliveries of a replay wait", async (t) => {
  const api = await serveWebhooks(t);
  const { id } = await create(api, { url: URL_A, events: ["*"] });
  await missed(api, id, 5_600);
  await begin(api, id);
  const pages = new ReplayPages(api.deps);
  await makePages(api, pages);
  assert.equal((await rowsOf(api)).length, 500, "those of the first page are due");
  const counts = new Set<number>();
  for (let round = 0; round < 13; round += 1) {
    await tryAll(api);
    await makePages(api, pages);
    counts.add(await countRows(api));
  }
  assert.equal(Math.max(...counts), 5_000);
  const some = (await rowsOf(api)).slice(0, 100);
  for (const row of some) await change(api, row, { status: "succeeded", dueAt: null });
  await makePages(api, pages);
  assert.equal(await countRows(api), 5_100);
});

test("customers get their pages in turn, and one that waits holds up no other", async (t) => {
  const api = await serveWebhooks(t);
  const other = await api.addTenant("Other");
  const { id } = await create(api, { url: URL_A, events: ["*"] });
  const further = await create(api, { url: "https://c.example.com/", events: ["*"] });
  await missed(api, id, 1_500);
  const theirs = await api.data<{ id: string }>(201, "POST", "/v1/webhooks", {
    key: other.key,
    body: { url: URL_A, events: ["*"] },
  });
  const events = Array.from({ length: 800 }, () => ({ ...eventOf(api), customerId: other.customer.id }));
  for (let from = 0; from < 800; from += 400)
    await commitAll(
      api.deps,
      events.slice(from, from + 400).map((event) => ({ op: "event", event, callbackUrl: null })),
    );
  await api.data(200, "PATCH", `/v1/webhooks/${theirs.id}`, { key: other.key, body: { active: false } });
  await api.data(200, "PATCH", `/v1/webhooks/${theirs.id}`, { key: other.key, body: { active: true } });
  await api.data(200, "PATCH", `/v1/webhooks/${further.id}`, { body: { active: false } });
  await api.data(200, "PATCH", `/v1/webhooks/${further.id}`, { body: { active: true } });
  for (const endpoint of [id, further.id]) await begin(api, endpoint);
  await begin(api, theirs.id, { key: other.key });
  const pages = new ReplayPages(api.deps);
  const made = async () =>
    Object.fromEntries(
      (await api.deps.store.db.selectFrom("replays").select(["endpoint_id", "made"]).execute()).map((row) => [
        row.endpoint_id,
        row.made,
      ]),
    );
  const turns: string[] = [];
  for (let before = await made(); await pages.run(); ) {
    const now = await made();
    turns.push(...Object.keys(now).filter((one) => now[one] !== before[one]));
    before = now;
  }
  assert.deepEqual(turns.slice(0, 2).toSorted(), [id, theirs.id].toSorted(), "one page of each customer");
  assert.deepEqual(
    new Set(turns),
    new Set([id, further.id, theirs.id]),
    "the further endpoint's, while the first one's are due",
  );
});

test("counting what failed ends with the client, and then no replay has begun", async (t) => {
  const api = await serveWebhooks(t);
  const { deps, customer } = api;
  const { id } = await create(api, { url: URL_A, events: ["*"] });
  await missed(api, id, 1_200);
  const gone = new AbortController();
  const reader = deps.store.lists(customer.id, gone.signal);
  const request = { key: null, customerId: customer.id, route: "replay", body: {} };
  const wish = { endpointId: id, since: 0, until: null, types: null, onlyFailed: true };
  const begun = beginReplay(deps, request, customer.id, wish, reader);
  gone.abort(new Error("the client has gone"));
  await assert.rejects(begun, /gone/);
  assert.equal(await last(api, id), null);
});

test("an estimate that takes more than a second is null, and what failed is counted all the same", async (t) => {
  const api = await serveWebhooks(t);
  const { id } = await create(api, { url: URL_A, events: ["*"] });
  await missed(api, id, 600);
  const monotonic = api.clock.monotonic.bind(api.clock);
  let reads = 0;
  api.clock.monotonic = () => {
    reads += 1;
    return monotonic() + reads * 1_100;
  };
  assert.equal((await begin(api, id)).deliveries, null);
  await api.data(200, "DELETE", pathOf(id));
  assert.equal((await begin(api, id, { body: { only: "failed" } })).deliveries, 600);
});
