import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { promisify } from "node:util";
import type { Channel } from "../../../sdk/wire.ts";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { providerContext } from "../../../test/support/provider.ts";
import { ID, message, stage } from "../../../test/support/sandbox-provider.ts";
import type { Memory, Outbound, Outcome } from "../provider.ts";
import { createSandbox } from "./sandbox.ts";
import { entryKey } from "./signal-journal.ts";

type Row = [to: string, channel: Channel, outcome: string, reported: string[]];

/** Behaviour per number: the outcome, then receipts with their time after the attempt began. */
const ROWS: Row[] = [
  ["0100", "imessage", "accepted", ["delivered@5"]],
  ["0100", "sms", "accepted", ["delivered@5"]],
  ["0101", "imessage", "accepted", ["delivered@5", "read@205"]],
  ["0101", "sms", "accepted", ["delivered@5"]],
  ["0102", "imessage", "not reachable", []],
  ["0102", "sms", "accepted", ["delivered@5"]],
  ["0103", "imessage", "accepted", ["sent@5"]],
  ["0103", "sms", "accepted", ["delivered@5"]],
  ["0104", "imessage", "not reachable", []],
  ["0104", "sms", "SANDBOX_REFUSED", []],
  ["0105", "imessage", "not reachable", []],
  ["0105", "sms", "not reachable", []],
  ["0106", "imessage", "deferred", []],
  ["0108", "imessage", "accepted", ["read@5", "read@10", "delivered@15", "delivered@20"]],
  ["0108", "sms", "accepted", ["delivered@5", "delivered@10"]],
  ["0109", "imessage", "accepted", ["delivered@10000"]],
  ["0117", "imessage", "accepted", ["delivered@5"]],
  ["ada@example.com", "imessage", "accepted", ["delivered@5"]],
  ["ada@example.com", "sms", "not reachable", []],
];

function wordOf(outcome: Outcome): string {
  if (outcome.outcome !== "rejected") return outcome.outcome;
  return outcome.notReachable ? "not reachable" : outcome.code;
}

const outcomeOf = (outcome: Outcome | "absent" | undefined) =>
  typeof outcome === "object" ? outcome.outcome : outcome;

/** A memory that refuses every write. */
const readOnly = (entries: ReadonlyMap<string, string>): Memory => ({
  list: async (prefix) =>
    [...entries].filter(([key]) => key.startsWith(prefix)).map(([key, value]) => ({ key, value })),
  put: () => Promise.reject(new Error("the database is out of reach")),
  delete: () => Promise.reject(new Error("the database is out of reach")),
});

for (const [to, channel, outcome, receipts] of ROWS) {
  test(`${to} over ${channel} is ${outcome}, then ${receipts.join(", ") || "nothing"}`, async () => {
    const { clock, send, reported, entries } = await stage();
    assert.equal(wordOf(await send(message(to, channel))), outcome);
    await clock.advance(3_000_000);
    assert.deepEqual(reported, receipts);
    assert.equal(entries.size, 0);
    assert.equal(clock.pending, 0);
  });
}

test("0106 defers two attempts, leaving the delay to the engine, and accepts the third", async () => {
  const { send } = await stage();
  for (const attempt of [1, 2]) {
    const outcome = await send(message("0106", "sms", attempt));
    assert.ok(outcome.outcome === "deferred" && outcome.retryAfterMs === null);
  }
  assert.equal((await send(message("0106", "sms", 3))).outcome, "accepted");
});

test("0107 accepts the message with an unknown outcome; its receipts wait for reconciliation", async () => {
  const { clock, sandbox, send, reported, entries } = await stage();
  assert.equal((await send(message("0107"))).outcome, "unknown");
  await clock.advance(60_000);
  assert.deepEqual(reported, []);
  assert.deepEqual(await sandbox.reconcile?.(message("0107")), {
    outcome: "accepted",
    reference: `sbx_${ID.slice(4)}_imessage`,
  });
  await clock.advance(3_000_000);
  assert.deepEqual(reported, ["delivered@60005"]);
  assert.equal(entries.size, 0);
});

test("a lost response without reconciliation is followed by its receipts after ten minutes", async () => {
  const { clock, send, reported, entries } = await stage();
  await send(message("0107"));
  await clock.advance(700_000);
  assert.deepEqual(reported, ["delivered@600005"]);
  assert.equal(entries.size, 0);
});

test("a lookup whose outcome could not be stored is made again, and a successor reports the receipts within its time", async () => {
  const { clock, sandbox, send, reported, writes, entries } = await stage();
  await send(message("0107"));
  writes.failing = 1;
  assert.equal(outcomeOf(await sandbox.reconcile?.(message("0107"))), "unknown", "the message is not sent yet");
  await clock.advance(1_000);
  assert.deepEqual(reported, []);
  assert.equal(outcomeOf(await sandbox.reconcile?.(message("0107"))), "accepted");
  await sandbox.stop();
  const successor = await stage(entries);
  await successor.clock.advance(2_000);
  assert.deepEqual(successor.reported, ["delivered@1005"]);
  assert.equal(entries.size, 0);
});

test("a lookup never writes beside its outcome: the entry with its new begin is committed with it", async () => {
  const entries = new Map<string, string>();
  const { send } = await stage(entries);
  await send(message("0107"));
  const provider = createSandbox(providerContext({ clock: new SimulatedClock(7_000), memory: readOnly(entries) }));
  await provider.start(async () => "applied");
  const outcome = await provider.reconcile?.(message("0107"));
  assert.ok(outcome !== undefined && outcome !== "absent" && outcome.outcome === "accepted");
  const { key, value } = outcome.memory?.entries[0] ?? {};
  assert.equal(key, entryKey(ID, "imessage"));
  assert.equal(JSON.parse(value ?? "{}").beginsAt, 7_000);
  await provider.stop();
});

test("a failing message of 0116 is accepted, then fails with the phone's own code; a retry is a new attempt", async () => {
  const { clock, send, reported, signals, writes } = await stage();
  let failing: Outbound | null = null;
  for (let index = 100; index < 200; index += 1) {
    const candidate: Outbound = { ...message("0116"), messageId: `msg_01890000-0000-7000-8000-000000000${index}` };
    assert.equal((await send(candidate)).outcome, "accepted");
    await clock.advance(100);
    if (reported.at(-1)?.startsWith("failed")) failing ??= candidate;
  }
  assert.ok(failing !== null);
  const failures = reported.filter((word) => word.startsWith("failed")).length;
  assert.ok(failures > 10 && failures < 50, `${failures} of 100`);
  assert.equal((await send(failing)).outcome, "accepted");
  await clock.advance(100);
  assert.equal(writes.puts, 101);
  assert.deepEqual(signals.at(-1), {
    kind: "receipt",
    reference: `sbx_${failing.messageId.slice(4)}_imessage`,
    messageId: failing.messageId,
    channel: "imessage",
    receipt: "failed",
    code: "SANDBOX_FAILED",
    reason: "the recipient's phone lost the message (simulated loss)",
    forget: entryKey(failing.messageId, "imessage"),
  });
});

test("an attempt costs one write before its response and one after its last receipt, however many receipts there are", async () => {
  for (const to of ["0100", "0101", "0108", "0109"]) {
    const { clock, send, writes, entries } = await stage();
    await send(message(to));
    assert.deepEqual([writes.puts, writes.deletes, entries.size], [1, 0, 1]);
    await clock.advance(10_000);
    assert.deepEqual([writes.puts, writes.deletes, entries.size], [1, 1, 0]);
  }
});

test("a message over both channels is two attempts with a reference each", async () => {
  const { send } = await stage();
  const [imessage, sms] = [await send(message("0100")), await send(message("0100", "sms"))];
  assert.deepEqual(imessage, { outcome: "accepted", reference: `sbx_${ID.slice(4)}_imessage` });
  assert.deepEqual(sms, { outcome: "accepted", reference: `sbx_${ID.slice(4)}_sms` });
});

test("a phone reports nothing until the outcome is stored, and accepts a message once however often it is stored", async () => {
  const { clock, sandbox, send, reported, writes } = await stage();
  writes.failing = 1;
  assert.equal((await send(message("0100"))).outcome, "unknown");
  await clock.advance(1_000);
  assert.deepEqual(reported, []);
  writes.failing = 1;
  assert.partialDeepStrictEqual(await sandbox.reconcile?.(message("0100")), { outcome: "unknown" });
  await clock.advance(1_000);
  assert.deepEqual(reported, []);
  assert.equal((await send(message("0100", "imessage", 2))).outcome, "accepted");
  await clock.advance(1_000);
  assert.equal(reported.length, 1);
});

test("an entry stored despite an error is found by reconciliation, and its receipts are reported", async () => {
  const { clock, sandbox, send, reported, writes, entries } = await stage();
  writes.failing = 1;
  assert.equal((await send(message("0100"))).outcome, "unknown");
  entries.set(entryKey(ID, "imessage"), '{"beginsAt":0,"steps":[{"receipt":"delivered","afterMs":5}]}');
  assert.ok((await sandbox.reconcile?.(message("0100"))) !== "absent");
  await clock.advance(1_000);
  assert.equal(reported.length, 1);
  assert.equal(entries.size, 0);
});

test("a last receipt that could not be reported is retried, and its entry is kept until then", async () => {
  const { clock, send, reported, writes, entries } = await stage();
  await send(message("0100"));
  writes.failing = 3;
  await clock.advance(100);
  assert.deepEqual([reported, entries.size], [[], 1]);
  await clock.advance(60_000);
  assert.equal(reported.length, 1);
  assert.equal(entries.size, 0);
  assert.equal(clock.pending, 0);
});

test("an attempt aborted before the phone accepted it provably was not sent", async () => {
  const { clock, sandbox, entries } = await stage();
  const abort = new AbortController();
  const sending = sandbox.send(message("0109"), abort.signal);
  await clock.advance(4_000);
  abort.abort();
  assert.equal((await sending).outcome, "deferred");
  assert.equal((await sandbox.send(message("0109"), abort.signal)).outcome, "deferred");
  assert.equal(entries.size, 0);
  assert.equal(clock.pending, 0);
});

test("attempts leave no listener on the abort signal", async () => {
  const { send } = await stage();
  const { signal } = new AbortController();
  assert.equal((await send(message("0109"), signal)).outcome, "accepted");
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

test("receipts that could not be reported are retried after 50 ms, doubling; the next one keeps its own time", async () => {
  const { clock, send, reported, refusing } = await stage();
  refusing.signals = 2;
  await send(message("0101"));
  await clock.advance(10_000);
  assert.deepEqual(reported, ["delivered@155", "read@355"]);
});

test("a retry that arrives while the last receipt is being reported is deferred, and not lost with it", async () => {
  const { clock, send, reported, writes, entries } = await stage();
  await send(message("0100"));
  writes.failing = 1;
  await clock.advance(10);
  assert.deepEqual((await send(message("0100"))).outcome, "deferred");
  await clock.advance(100);
  assert.equal(reported.length, 1);
  assert.equal((await send(message("0100"))).outcome, "accepted");
  await clock.advance(100);
  assert.equal(reported.length, 2);
  assert.equal(entries.size, 0);
});

test("entries of another version still prove that a message was accepted, and foreign keys are left alone", async () => {
  const entries = new Map([
    [entryKey(ID, "sms"), "what is this"],
    [entryKey(ID, "imessage"), '{"beginsAt":0,"steps":[]}'],
    ["owed/nonsense", "{}"],
    ["another/key", "kept"],
  ]);
  const { clock, reported } = await stage(entries);
  await clock.advance(1_000);
  assert.deepEqual(
    reported.map((word) => word.split("@")[0]),
    ["sent", "sent"],
  );
  assert.deepEqual([...entries.keys()], ["owed/nonsense", "another/key"]);
});

test("a restart with many pending signals reports four a millisecond, not all at once", async () => {
  const entries = new Map<string, string>();
  for (let index = 1_000; index < 3_000; index += 1) {
    const key = entryKey(`msg_01890000-0000-7000-8000-00000000${index}`, "sms");
    entries.set(key, '{"beginsAt":0,"steps":[{"receipt":"delivered","afterMs":5}]}');
  }
  const { clock, reported } = await stage(entries);
  await clock.advance(104);
  assert.equal(reported.length, 400);
  await clock.advance(1_000);
  assert.equal(reported.length, 2_000);
  assert.equal(entries.size, 0);
});

test("a stopped sandbox is unhealthy, and keeps no process alive although signals are pending", async () => {
  const script = `
    const { createSandbox } = await import(${JSON.stringify(new URL("./sandbox.ts", import.meta.url).href)});
    const { systemClock } = await import(${JSON.stringify(new URL("../../clock.ts", import.meta.url).href)});
    const memory = { list: async () => [], put: async () => {}, delete: async () => {} };
    const context = { config: {}, instanceId: "inst_test", memory, clock: systemClock(), eventReceived() {} };
    const sandbox = createSandbox(context);
    await sandbox.start(async () => {});
    const signal = new AbortController().signal;
    const message = { messageId: "msg_1", from: "+15005550006", text: "Hello", attempt: 1, channel: "imessage" };
    await sandbox.send({ ...message, to: "+15005550107" }, signal);
    const slow = sandbox.send({ ...message, messageId: "msg_2", to: "+15005550109" }, signal);
    await sandbox.stop();
    console.log((await slow).outcome, (await sandbox.health()).status);
  `;
  const args = ["--input-type=module", "--eval", script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 });
  assert.equal(stdout.trim(), "deferred unhealthy");
});
