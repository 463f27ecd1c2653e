/** Replays: what they send again, that they go on by themselves, and how they end. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeliveryList, EventType, Replay } from "../../sdk/wire.ts";
import type { Delivery as Row } from "../../server/core/delivery.ts";
import { readDue } from "../support/due.ts";
import { begin, change, last, makePages, missed, pathOf, rowsOf, SINCE, tryAll } from "../support/replays.ts";
import { create, emitEvent, log, serveWebhooks, URL_A } from "../support/webhooks.ts";

const eventIds = ({ deliveries }: DeliveryList) => deliveries.map(({ eventId }) => eventId);

test("replay sends the events of a period to one endpoint again, in new deliveries", async (t) => {
  const api = await serveWebhooks(t);
  const { id } = await create(api, { url: URL_A, events: ["message.sent", "message.read"] });
  await create(api, { url: "https://b.example.com/", events: ["*"] });
  const early = await emitEvent(api);
  const since = new Date(api.clock.now() + 1).toISOString();
  const sent = await emitEvent(api);
  const read = await emitEvent(api, { type: "message.read" });
  await emitEvent(api, { type: "message.failed" });
  const until = new Date(api.clock.now()).toISOString();
  const late = await emitEvent(api);
  await api.data(200, "POST", `/v1/webhooks/${id}/test`);
  const replayed = async (body: { since: string; until?: string; types?: EventType[] }) => {
    const before = new Set((await log(api, `?webhookId=${id}`)).deliveries.map((one) => one.id));
    const begun = await begin(api, id, { body });
    assert.equal(begun.status, "running");
    await makePages(api);
    const after = (await log(api, `?webhookId=${id}`)).deliveries.filter((one) => !before.has(one.id));
    assert.equal(after.length, begun.deliveries);
    for (const { status, url } of after) assert.deepEqual([status, url], ["pending", URL_A]);
    const { startedAt, endedAt, ...shown } = (await last(api, id)) as Replay;
    assert.ok(endedAt !== null && endedAt >= startedAt);
    const period = { since: new Date(body.since).toISOString(), until: body.until ?? null, types: body.types ?? null };
    const counts = { deliveries: after.length, made: after.length, succeeded: 0, failed: 0 };
    assert.deepEqual(shown, { id: begun.id, status: "done", ...period, only: null, ...counts });
    return new Set(after.map(({ eventId }) => eventId));
  };
  assert.equal(await last(api, id), null);
  await api.clock.advance(1_000);
  assert.deepEqual(await replayed({ since }), new Set([sent, read, late]));
  assert.equal(api.woken.deliveries.at(-1), id);
  assert.deepEqual(await replayed({ since, until }), new Set([sent, read]));
  assert.deepEqual(await replayed({ since, types: ["message.read", "message.failed"] }), new Set([read]));
  assert.deepEqual(await replayed({ since: "2020-01-01T00:00:00+02:00" }), new Set([early, sent, read, late]));
  assert.deepEqual(await replayed({ since: "2030-01-01T00:00:00Z" }), new Set());
});

test("replay finds events by their record time, even after the sandbox's clock was moved", async (t) => {
  const api = await serveWebhooks(t);
  await emitEvent(api);
  api.clock.shift(40 * 86_400_000);
  const since = new Date(api.clock.now()).toISOString();
  const shifted = await emitEvent(api);
  const { id } = await create(api, { url: URL_A, events: ["*"] });
  await begin(api, id, { body: { since } });
  await makePages(api);
  assert.deepEqual(eventIds(await log(api)), [shifted]);
});

test("a replay of many events goes on after a restart, makes each delivery once, and a repeat of its request begins no other", async (t) => {
  const api = await serveWebhooks(t);
  const { id } = await create(api, { url: URL_A, events: ["message.sent"] });
  const events = await missed(api, id, 1_203);
  const later = async () => {
    // Other deliveries of the endpoint go first: those of a page have to be tried before the next one is made.
    await tryAll(api);
    await makePages(api);
  };
  const begun = await begin(api, id, { idempotencyKey: "r" });
  assert.equal(begun.deliveries, 1_203);
  assert.equal((await rowsOf(api)).length, 0, "none before the answer");
  await emitEvent(api, { type: "message.read" });
  const made: number[] = [];
  for (let page = 0; page < 4; page += 1) {
    await later();
    made.push((await last(api, id))?.made ?? 0);
  }
  assert.deepEqual(made, [500, 1_000, 1_203, 1_203]);
  assert.deepEqual(new Set((await rowsOf(api)).map((row) => row.event_id)), new Set(events));
  assert.equal((await rowsOf(api)).length, 1_203);
  assert.deepEqual(
    await api.data(200, "POST", pathOf(id), { body: { since: SINCE }, idempotencyKey: "r" }),
    begun,
    "the first answer",
  );
  const second = await begin(api, id);
  assert.notEqual(second.id, begun.id);
  for (let page = 0; page < 4; page += 1) await later();
  assert.equal((await rowsOf(api)).length, 2_406);
});

test("a replay of what failed takes up the deliveries that there are, and makes those that the endpoint missed while it was paused", async (t) => {
  const api = await serveWebhooks(t);
  const before = await emitEvent(api);
  await api.clock.advance(1);
  const { id } = await create(api, { url: URL_A, events: ["message.sent"] });
  const now = api.clock.now();
  const tried = { attemptCount: 3, retryCount: 3 };
  const ways: Record<string, Partial<Row> | null> = {
    succeeded: { ...tried, status: "succeeded", dueAt: null },
    untried: null,
    retried: { ...tried, dueAt: now + 7_200_000 },
    exhausted: { attemptCount: 8, retryCount: 7, status: "exhausted", dueAt: null },
    cancelled: { status: "cancelled", dueAt: null },
  };
  const events: Record<string, string> = {};
  for (const [way, set] of Object.entries(ways)) {
    events[way] = await emitEvent(api);
    const [delivery] = (await log(api, `?eventId=${events[way]}`)).deliveries;
    if (set !== null && delivery !== undefined) await change(api, delivery, set);
  }
  const untaken = await rowsOf(api);
  // Pausing cancels what waits: the untried one is made by an event after it.
  const [paused = ""] = await missed(api, id, 1);
  const untried = await emitEvent(api);
  const other = await emitEvent(api, { type: "message.read" });
  const standing = new Map((await rowsOf(api)).map((row) => [row.event_id, row.id]));
  const begun = await begin(api, id, { body: { only: "failed" } });
  const taken = [events.untried, events.retried, events.exhausted, events.cancelled].map(String);
  assert.equal(begun.deliveries, taken.length + 1);
  await makePages(api);
  const rows = await rowsOf(api);
  const byEvent = new Map(rows.map((row) => [String(row.event_id), row]));
  assert.equal(rows.length, untaken.length + 2, "one for the missed event, and one of the event after it");
  for (const event of taken) {
    const row = byEvent.get(event);
    assert.equal(row?.id, standing.get(row?.event_id as never), "the same delivery");
    const { status, due_at, retry_count, replay_id } = row ?? {};
    assert.deepEqual([status, due_at, retry_count, replay_id], ["pending", api.clock.now(), 0, begun.id]);
  }
  assert.equal(byEvent.get(paused)?.replay_id, begun.id);
  for (const event of [events.succeeded, untried]) assert.equal(byEvent.get(String(event))?.replay_id, null);
  for (const event of [before, other]) assert.equal(byEvent.get(event), undefined);
  const done = await last(api, id);
  assert.deepEqual([done?.status, done?.only, done?.made], ["done", "failed", taken.length + 1]);
  await change(api, { id: String(byEvent.get(paused)?.id) }, { status: "succeeded", dueAt: null });
  await change(api, { id: String(byEvent.get(taken[0] ?? "")?.id) }, { status: "exhausted", dueAt: null });
  const ended = await last(api, id);
  assert.deepEqual([ended?.succeeded, ended?.failed], [1, 1]);
});

test("a second replay of the same failures takes up the deliveries of the first", async (t) => {
  const api = await serveWebhooks(t);
  const { id } = await create(api, { url: URL_A, events: ["*"] });
  await missed(api, id, 2);
  for (let round = 0; round < 2; round += 1) {
    const begun = await begin(api, id, { body: { only: "failed" } });
    assert.equal(begun.deliveries, 2);
    await makePages(api);
    const rows = await rowsOf(api);
    assert.deepEqual(
      rows.map((row) => [row.replay_id, row.status]),
      [begun.id, begun.id].map((one) => [one, "pending"]),
    );
    for (const row of rows)
      await change(api, row, { status: "exhausted", attemptCount: 8, retryCount: 7, dueAt: null });
  }
});

test("an endpoint has one replay at a time, which DELETE stops with what was not tried", async (t) => {
  const api = await serveWebhooks(t);
  const { id } = await create(api, { url: URL_A, events: ["*"] });
  await api.refused("NOT_FOUND", "DELETE", pathOf(id));
  await missed(api, id, 700);
  const begun = await begin(api, id);
  await makePages(api);
  await api.refused("REPLAY_RUNNING", "POST", pathOf(id), { body: { since: SINCE } });
  const [tried, read] = (await rowsOf(api)).map((row) => row.id);
  await change(api, { id: String(tried) }, { attemptCount: 1, retryCount: 1, dueAt: api.clock.now() - 1 });
  await change(api, { id: String(read) }, { dueAt: api.clock.now() - 1 });
  const inHand = await readDue(api.deps.store, [id], api.clock.now(), 2);
  assert.deepEqual(
    inHand.map(({ delivery }) => delivery.id),
    [tried, read],
  );
  const stopped = await api.data<Replay>(200, "DELETE", pathOf(id));
  assert.deepEqual([stopped.id, stopped.status, stopped.made, stopped.failed], [begun.id, "stopped", 500, 499]);
  assert.ok(stopped.endedAt !== null);
  const pending = (await rowsOf(api)).filter((row) => row.status === "pending").map((row) => row.id);
  assert.deepEqual(new Set(pending), new Set([tried]));
  await api.refused("NOT_FOUND", "DELETE", pathOf(id));
  await makePages(api);
  assert.equal((await rowsOf(api)).length, 500, "no further page");
  assert.equal((await begin(api, id)).deliveries, 700);
});

test("pausing an endpoint stops its replay, and deleting it removes the replay", async (t) => {
  const api = await serveWebhooks(t);
  const { id } = await create(api, { url: URL_A, events: ["*"] });
  await missed(api, id, 3);
  await begin(api, id);
  await api.data(200, "PATCH", `/v1/webhooks/${id}`, { body: { active: false } });
  assert.equal((await last(api, id))?.status, "stopped");
  await api.data(200, "PATCH", `/v1/webhooks/${id}`, { body: { active: true } });
  await makePages(api);
  assert.equal((await rowsOf(api)).length, 0);
  await begin(api, id);
  await api.data(200, "DELETE", `/v1/webhooks/${id}`);
  await makePages(api);
  assert.equal((await rowsOf(api)).length, 0);
  assert.deepEqual(await api.deps.store.db.selectFrom("replays").selectAll().execute(), []);
  await api.refused("WEBHOOK_NOT_FOUND", "GET", pathOf(id));
});

test("a page that was read before the endpoint was paused makes nothing", async (t) => {
  const api = await serveWebhooks(t);
  const { id } = await create(api, { url: URL_A, events: ["*"] });
  await missed(api, id, 3);
  await begin(api, id);
  const { store } = api.deps;
  const commit = store.commit.bind(store);
  store.commit = async (transaction) => {
    store.commit = commit;
    await api.data(200, "PATCH", `/v1/webhooks/${id}`, { body: { active: false } });
    await api.data(200, "PATCH", `/v1/webhooks/${id}`, { body: { active: true } });
    return commit(transaction);
  };
  await makePages(api);
  assert.equal((await rowsOf(api)).length, 0);
});

test("an invalid replay is refused with its field; a replay to a paused endpoint with INVALID_STATUS", async (t) => {
  const api = await serveWebhooks(t);
  const { id } = await create(api, { url: URL_A, events: ["*"] });
  const path = pathOf(id);
  const since = "2026-01-01T00:00:00Z";
  const rows: [body: object, at: string][] = [
    [{}, "since"],
    [{ since: "yesterday" }, "since"],
    [{ since: "2026-02-30T00:00:00Z" }, "since"],
    [{ since, until: since }, "until"],
    [{ since, types: [] }, "types"],
    [{ since, types: ["*"] }, "types[0]"],
    [{ since, only: "succeeded" }, "only"],
  ];
  for (const [body, at] of rows) assert.deepEqual(await api.refused("VALIDATION_ERROR", "POST", path, { body }), [at]);
  await api.data(200, "PATCH", `/v1/webhooks/${id}`, { body: { active: false } });
  await api.refused("INVALID_STATUS", "POST", path, { body: { since } });
});
