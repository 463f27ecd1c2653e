/** Messages held after a restore: only a receipt, a lookup that finds them, or a person ends the hold. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type EngineStage, engineStage, type StageOptions } from "../../../test/support/engine.ts";
import { receipt, SETTLE_AFTER_MS, UNKNOWN } from "../../../test/support/provider.ts";
import { STAYS } from "../../../test/support/stays.ts";
import type { MessageId } from "../../core/id.ts";
import type { Outcome, ReceiptSignal } from "../../providers/provider.ts";
import type { Operation, Transaction } from "../../store/store.ts";
import { QuarantineMonitor } from "../quarantine.ts";
import { decideHeld, holdRestored, listHeld, RESTORED_BACKUP } from "./held.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Notes that the database was restored from a backup of this moment, and holds its messages, as the next start does. */
async function restored({ deps, clock, life }: EngineStage, takenAt = clock.real()): Promise<void> {
  const value = JSON.stringify({ takenAt, restoredAt: clock.real(), heldAt: null });
  await deps.store.commit([{ op: "put", table: "settings", record: { name: RESTORED_BACKUP, value } }]);
  await holdRestored(life.deps);
}

/** A stage with a message that was queued at the backup. */
async function heldMessage(
  t: Parameters<typeof engineStage>[0],
  options: StageOptions = {},
): Promise<{ stage: EngineStage; id: MessageId }> {
  const stage = await engineStage(t, options);
  const id = await stage.send();
  await restored(stage);
  await stage.run();
  return { stage, id };
}

async function held({ deps }: EngineStage): Promise<MessageId[]> {
  return (await listHeld(deps.store.db, null, 100)).map(({ id }) => id);
}

test("a message that was queued at the backup is not sent, but asked about as an attempt of which no record is left", async (t) => {
  const { stage, id } = await heldMessage(t);
  await stage.pass(SETTLE_AFTER_MS);
  assert.deepEqual(
    stage.provider.asked.map(({ messageId, unrecorded }) => [messageId, unrecorded]),
    [[id, true]],
  );
  assert.equal(stage.provider.handed.length, 0);
  assert.deepEqual(await held(stage), [id]);
});

const NO_PROOF: [name: string, answer: Outcome | "absent"][] = [
  ["absent", "absent"],
  ["rejected", { outcome: "rejected", code: "1", reason: "refused" }],
  ["deferred", { outcome: "deferred", retryAfterMs: 1, reason: "later" }],
  [
    "partly sent",
    { outcome: "partly", part: { reference: "p", what: "the text" }, rest: { outcome: "unknown", reason: "?" } },
  ],
];
for (const [name, answer] of NO_PROOF) {
  test(`a lookup that finds a held message ${name} neither sends nor ends it, for days`, async (t) => {
    const { stage, id } = await heldMessage(t);
    stage.provider.onSettle = () => answer;
    for (let passed = 0; passed < 4 * DAY_MS; passed += 6 * HOUR_MS) await stage.pass(6 * HOUR_MS);
    assert.ok(stage.provider.asked.length > 10);
    assert.equal(stage.provider.handed.length, 0);
    assert.deepEqual([(await stage.message(id)).status, await held(stage)], ["pending", [id]]);
    assert.deepEqual(await stage.eventTypes(id), ["queued"]);
  });
}

test("a lookup that finds a held message makes it sent, and it does not fall back", async (t) => {
  const { stage, id } = await heldMessage(t, { settings: { fallbackAfterMs: 60_000 } });
  stage.provider.settleNext.push(stage.provider.accepted());
  await stage.pass(SETTLE_AFTER_MS);
  assert.equal((await stage.message(id)).status, "sent");
  await stage.pass(HOUR_MS);
  assert.deepEqual([await stage.eventTypes(id), await held(stage)], [["queued", "sent"], []]);
  assert.equal(stage.provider.handed.length, 0);
});

test("a receipt ends a hold; one that says the message failed makes it fail, without a fallback", async (t) => {
  for (const [kind, types] of [
    ["delivered", ["queued", "sent", "delivered"]],
    ["failed", ["queued", "failed"]],
  ] as const) {
    const { stage, id } = await heldMessage(t);
    await stage.report({ ...(receipt(kind) as ReceiptSignal), messageId: id });
    assert.deepEqual([await stage.eventTypes(id), await held(stage)], [types, []]);
    assert.equal(stage.provider.handed.length, 0);
  }
});

test("an attempt that was in progress at the backup is held, and asked about with its own time", async (t) => {
  const stage = await engineStage(t);
  stage.provider.sendNext.push(UNKNOWN);
  const id = await stage.send();
  await stage.run();
  const [attempted] = stage.provider.handed;
  await restored(stage);
  await stage.run();
  stage.provider.onSettle = () => "absent";
  await stage.pass(HOUR_MS);
  await stage.pass(HOUR_MS);
  assert.equal(stage.provider.asked.at(-1)?.attemptedAt, attempted?.attemptedAt);
  assert.deepEqual([stage.provider.handed.length, await held(stage)], [1, [id]]);
});

test("a sent message whose fallback time comes after a restore stays sent", async (t) => {
  const stage = await engineStage(t, { settings: { fallbackAfterMs: 60_000 } });
  const id = await stage.send();
  await stage.run();
  assert.notEqual((await stage.message(id)).dueAt, null);
  await restored(stage);
  await stage.pass(HOUR_MS);
  assert.deepEqual([await stage.eventTypes(id), stage.provider.handed.length], [["queued", "sent"], 1]);
});

test("a message that came after the restore is sent as ever, also to the recipient of a held one", async (t) => {
  const { stage } = await heldMessage(t);
  const id = await stage.send();
  await stage.pass(60_001);
  await stage.pass(1_000);
  assert.equal((await stage.message(id)).status, "sent");
});

test("released messages are sent once more in the order of acceptance; those that are not held are named", async (t) => {
  const { stage, ids } = await severalHeld(t);
  const some = await decideHeld(stage.life.deps, "release", [ids[0] ?? "", "msg_none"], STAYS);
  assert.deepEqual(some, { decided: [ids[0]], notHeld: ["msg_none"], hasMore: false });
  await stage.run();
  const all = await decideHeld(stage.life.deps, "release", null, STAYS);
  assert.deepEqual(all, { decided: ids.slice(1), notHeld: [], hasMore: false });
  await stage.run();
  assert.deepEqual(
    stage.provider.handed.map(({ messageId, unrecorded }) => [messageId, unrecorded]),
    ids.map((id) => [id, undefined]),
  );
  for (const id of ids) assert.deepEqual(await stage.eventTypes(id), ["queued", "sent"]);
  assert.deepEqual((await decideHeld(stage.life.deps, "release", ids, STAYS)).notHeld, ids);
});

test("a release of all finds held messages behind more unknown ones than a page has", async (t) => {
  const { stage, ids } = await severalHeld(t);
  const record = await stage.message(ids[0] ?? assert.fail());
  // Ids that begin like this one are older than every other.
  const older = Array.from({ length: 1_000 }, (_, index) => `msg_0${String(index).padStart(35, "0")}` as MessageId);
  const insert = (id: MessageId): Operation => ({
    op: "insert",
    table: "messages",
    record: { ...record, id, timeline: [] },
  });
  await stage.deps.store.commit(older.map(insert));
  const { decided, hasMore } = await decideHeld(stage.life.deps, "release", null, STAYS);
  assert.deepEqual({ decided, hasMore }, { decided: ids, hasMore: false });
});

for (const isParked of [true, false]) {
  const when = isParked ? "before a claim found it damaged" : "before anybody read it";
  test(`a message that could not be read at the restore, ${when}, is held once it can be read, and is not sent`, async (t) => {
    const stage = await engineStage(t, { faults: ["quarantine"] });
    const { deps, life } = stage;
    const id = await stage.send();
    const { timeline } = await stage.message(id);
    const rewrite = async (set: object) => {
      const { version } = await deps.store.db.selectFrom("messages").select("version").executeTakeFirstOrThrow();
      assert.equal((await deps.store.commit([{ op: "update", table: "messages", id, version, set }])).result, "ok");
    };
    await rewrite({ timeline: "damaged" });
    if (isParked) await stage.run();
    // The backup began before the message was accepted.
    await restored(stage, stage.clock.real() - 1_000);
    const monitor = new QuarantineMonitor(life.deps);
    await monitor.check();
    await rewrite({ timeline });
    await monitor.check();
    await stage.run();
    assert.deepEqual([stage.provider.handed.length, await held(stage)], [0, [id]]);
  });
}

/** Several held messages to one recipient. */
async function severalHeld(t: Parameters<typeof engineStage>[0]) {
  const stage = await engineStage(t);
  stage.provider.isUp = false;
  const ids = [await stage.send(), await stage.send(), await stage.send()];
  await restored(stage);
  stage.provider.isUp = true;
  await stage.run();
  return { stage, ids };
}

test("an outcome of a released message that is unknown is asked about, and ends after five minutes as ever", async (t) => {
  const { stage, id } = await heldMessage(t);
  stage.provider.sendNext.push(UNKNOWN);
  await decideHeld(stage.life.deps, "release", [id], STAYS);
  await stage.run();
  assert.deepEqual(await held(stage), []);
  for (let passed = 0; passed < 400_000; passed += 15_000) await stage.pass(15_000);
  assert.equal((await stage.message(id)).errorCode, "OUTCOME_UNKNOWN");
});

test("discarded messages fail as perhaps sent, and are never sent", async (t) => {
  const { stage, id } = await heldMessage(t);
  assert.deepEqual((await decideHeld(stage.life.deps, "discard", null, STAYS)).decided, [id]);
  await stage.pass(HOUR_MS);
  const { data } = (await stage.events(id)).at(-1) ?? assert.fail();
  assert.deepEqual([data.status, data.errorCode, data.mayHaveBeenSent], ["failed", "OUTCOME_UNKNOWN", true]);
  assert.equal(stage.provider.handed.length, 0);
});

test("holding is done once: what came after it is not held by a later start", async (t) => {
  const { stage } = await heldMessage(t);
  await decideHeld(stage.life.deps, "discard", null, STAYS);
  stage.provider.sendNext.push({ outcome: "deferred", retryAfterMs: HOUR_MS, reason: "busy" });
  const id = await stage.send();
  await stage.pass(60_001);
  await holdRestored(stage.life.deps);
  assert.equal((await stage.message(id)).status, "queued");
});

test("a start that dies while it holds messages goes on at the next one, and sends none of them", async (t) => {
  for (const written of [0, 1, 2, 3, 4]) {
    const stage = await engineStage(t);
    stage.provider.isUp = false;
    const ids = [await stage.send(), await stage.send(), await stage.send()];
    stage.life.dieAt(stage.life.writes + written, "after");
    void restored(stage);
    await stage.clock.advance(0);
    await stage.restart();
    await holdRestored(stage.life.deps);
    stage.provider.isUp = true;
    await stage.pass(HOUR_MS);
    assert.deepEqual([(await held(stage)).toSorted(), stage.provider.handed.length], [ids.toSorted(), 0], `${written}`);
  }
});

test("a process that still holds when another one has held all holds nothing that the other accepted since", async (t) => {
  const stage = await engineStage(t);
  const { deps, life, provider } = stage;
  provider.isUp = false;
  const first = await stage.send();
  const record = await stage.message(first);
  // More than one page: the slower process reads the next one when the other has begun to serve.
  const older = Array.from({ length: 200 }, (_, index) => `msg_0${String(index).padStart(35, "0")}` as MessageId);
  await deps.store.commit(
    older.map((id): Operation => ({ op: "insert", table: "messages", record: { ...record, id, timeline: [] } })),
  );
  const later: MessageId[] = [];
  const { commit } = deps.store;
  const slower = { ...life.deps, store: Object.create(life.deps.store) };
  slower.store.commit = async (transaction: Transaction) => {
    slower.store.commit = (each: Transaction) => commit.call(deps.store, each);
    await holdRestored(life.deps);
    later.push(await stage.send());
    return slower.store.commit(transaction);
  };
  const value = JSON.stringify({ takenAt: stage.clock.real(), restoredAt: stage.clock.real(), heldAt: null });
  await deps.store.commit([{ op: "put", table: "settings", record: { name: RESTORED_BACKUP, value } }]);
  await holdRestored(slower);
  assert.deepEqual(await Promise.all(later.map(async (id) => (await stage.message(id)).status)), ["queued"]);
  assert.equal((await listHeld(deps.store.db, null, 1_000)).length, 201);
});
