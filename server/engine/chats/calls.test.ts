/** FaceTime calls: one row per call, however often and in whatever order it is reported, and matching events. */

import assert from "node:assert/strict";
import { type TestContext as NodeTest, test } from "node:test";
import { CALL_STATUSES, type CallEventData, type CallStatus } from "../../../sdk/wire.ts";
import { commitAll, type TestContext, testContext } from "../../../test/support/context.ts";
import { seeded } from "../../../test/support/engine.ts";
import { runsOf } from "../../../test/support/runs.ts";
import type { Call } from "../../core/call.ts";
import type { CallSignal } from "../../providers/provider.ts";
import { listCalls } from "../../store/calls.ts";
import { FIRST_PAGE } from "../../store/list-windows.ts";
import { apply } from "../apply.ts";

const CALLER = "+15005550114";

async function opened(t: NodeTest): Promise<TestContext> {
  const made = await testContext();
  t.after(made.close);
  return made;
}

function report(made: TestContext, status: CallStatus, more: Partial<CallSignal> = {}): Promise<unknown> {
  const to = made.number.address;
  const signal = {
    callUuid: "CALL-1",
    caller: CALLER,
    to,
    channel: "imessage",
    isVideo: true,
    isOutgoing: false,
  } as const;
  return apply(made.deps, made.instance.id, { kind: "call", ...signal, status, ...more });
}

const callsOf = async ({ deps, customer }: Pick<TestContext, "deps" | "customer">): Promise<Call[]> =>
  (await listCalls(deps.store.db, customer.id, undefined, FIRST_PAGE, 100)).records;

async function eventsOf({ deps }: TestContext): Promise<[type: string, data: CallEventData][]> {
  const rows = await deps.store.db.selectFrom("events").select(["type", "bytes"]).orderBy("position").execute();
  return rows.map(({ type, bytes }) => [type, JSON.parse(bytes).data as CallEventData]);
}

test("a call that rings, is answered and ends is one record with its history, and three events in order", async (t) => {
  const made = await opened(t);
  const startedAt = made.clock.now();
  for (const status of ["incoming", "answered", "disconnected"] as const) {
    await report(made, status);
    await made.clock.advance(1_000);
  }
  const [call, ...others] = await callsOf(made);
  assert.ok(call !== undefined && others.length === 0);
  assert.equal(call.status, "disconnected");
  assert.deepEqual(
    call.history.map(({ status, at }) => [status, at - startedAt]),
    [
      ["incoming", 0],
      ["answered", 1_000],
      ["disconnected", 2_000],
    ],
  );
  assert.deepEqual(
    (await eventsOf(made)).map(([type, { callId, status }]) => [type, callId === call.id, status]),
    [
      ["facetime.incoming", true, "incoming"],
      ["facetime.status_changed", true, "answered"],
      ["facetime.status_changed", true, "disconnected"],
    ],
  );
});

test("a repeated signal, a late signal and any signal after a call's end change nothing", async (t) => {
  const made = await opened(t);
  for (const status of ["incoming", "incoming", "missed", "missed", "incoming", "answered", "failed"] as const) {
    await report(made, status);
  }
  assert.deepEqual(
    (await eventsOf(made)).map(([type]) => type),
    ["facetime.incoming", "facetime.status_changed"],
  );
  const [call] = await callsOf(made);
  assert.equal(call?.status, "missed");
  assert.equal(call?.history.length, 2);
});

test("the same call reference at two instances is two calls, one of each customer", async (t) => {
  const made = await opened(t);
  const other = await made.addTenant("Another customer");
  const instance = { ...made.instance, id: made.deps.newId("inst") };
  const { id } = other.number;
  await commitAll(made.deps, [
    { op: "insert", table: "instances", record: instance },
    { op: "put", table: "numbers", record: { ...other.number, id, instanceId: instance.id } },
  ]);
  await report(made, "incoming");
  await report({ ...made, instance, number: other.number }, "incoming");
  assert.equal((await callsOf(made)).length, 1);
  assert.equal((await callsOf({ ...made, customer: other.customer })).length, 1);
});

test("a call to an unknown number, or to another instance's number, creates no record, and its `forget` key is deleted", async (t) => {
  const made = await opened(t);
  const { deps, instance } = made;
  await commitAll(deps, [{ op: "put", table: "memory", record: { instanceId: instance.id, key: "ring", value: "1" } }]);
  await report(made, "incoming", { to: "+15550009999", forget: "ring" });
  const elsewhere = { ...made.instance, id: deps.newId("inst") };
  await report({ ...made, instance: elsewhere }, "incoming");
  assert.deepEqual(await callsOf(made), []);
  assert.deepEqual(await eventsOf(made), []);
  assert.deepEqual(await deps.store.db.selectFrom("memory").selectAll().execute(), []);
  assert.deepEqual(
    made.observed.faults.map(({ where }) => where),
    ["calls", "calls"],
  );
});

test("the `forget` key of a call signal is deleted with its change, and with a repeat that changes nothing", async (t) => {
  const made = await opened(t);
  const { deps, instance } = made;
  const remember = (key: string) =>
    commitAll(deps, [{ op: "put", table: "memory", record: { instanceId: instance.id, key, value: "1" } }]);
  for (const forget of ["first", "again"]) {
    await remember(forget);
    await report(made, "incoming", { forget });
  }
  assert.deepEqual(await deps.store.db.selectFrom("memory").selectAll().execute(), []);
  assert.equal((await eventsOf(made)).length, 1);
});

test("concurrent signals of a call in many orders give one row, one facetime.incoming, and events equal to its history", async (t) => {
  const made = await opened(t);
  const draw = seeded(Number(process.env.TB_RACE_SEED ?? 1));
  const rounds = runsOf(1_000);
  for (let round = 0; round < rounds; round += 1) {
    const callUuid = `CALL-${round}`;
    const statuses = Array.from({ length: 2 + draw(3) }, () => CALL_STATUSES[draw(CALL_STATUSES.length)] ?? "incoming");
    await Promise.all(statuses.map((status) => report(made, status, { callUuid })));
  }
  const byCall = Map.groupBy(await eventsOf(made), ([, { callUuid }]) => callUuid);
  assert.equal(byCall.size, rounds);
  const rows = await made.deps.store.db.selectFrom("calls").select(["call_uuid", "history", "status"]).execute();
  assert.equal(rows.length, rounds);
  for (const { call_uuid: callUuid, history, status } of rows) {
    const events = byCall.get(callUuid) ?? [];
    const statuses = (JSON.parse(history) as { status: CallStatus }[]).map((entry) => entry.status);
    assert.deepEqual(
      events.map(([, data]) => data.status),
      statuses,
    );
    assert.deepEqual(
      events.filter(([type]) => type === "facetime.incoming").map(([, data]) => data.status),
      ["incoming"],
    );
    assert.equal(statuses.at(-1), status);
  }
});
