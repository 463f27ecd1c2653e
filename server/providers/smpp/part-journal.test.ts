import assert from "node:assert/strict";
import { test } from "node:test";
import { Disk } from "../../../test/support/smsc/instance.ts";
import type { ReceiptSignal } from "../provider.ts";
import { type JournalPart, PartJournal } from "./part-journal.ts";

const DAY = 86_400_000;
const DELIVERED = { state: "delivered", word: "DELIVRD", code: null } as const;
const FAILED = { state: "failed", word: "UNDELIV", code: "045" } as const;

function stage(disk = new Disk()) {
  const reported: ReceiptSignal[] = [];
  const journal = new PartJournal(disk, async (signal) => {
    reported.push(signal);
    if (signal.forget !== undefined) disk.entries.delete(signal.forget);
    return "applied";
  });
  const found = (id: string) => journal.findById(id) ?? assert.fail(`${id} is not found`);
  return { disk, reported, journal, found };
}

const parts = (...states: JournalPart["state"][]): JournalPart[] =>
  states.map((state, at) => ({ id: state === "missing" ? null : String(at + 1), userReference: at + 1, state }));

const entry = (list: JournalPart[], at = 0) => ({ messageId: "msg_1", reference: "1", at, parts: list }) as const;

test("the next process finds the entries, with the receipts so far", async () => {
  const first = stage();
  await first.journal.record(entry(parts("open", "open")));
  await first.journal.applyReceipt(first.found("1"), DELIVERED);
  first.disk.entries.set("sent/junk", '{"parts":[{}]}');
  const next = stage(first.disk);
  await next.journal.load(DAY);
  assert.equal(next.journal.findByUserReference(2)?.part.id, "2");
  await next.journal.applyReceipt(next.found("2"), DELIVERED);
  assert.deepEqual(
    next.reported.map(({ receipt, messageId, reference }) => [receipt, messageId, reference]),
    [["delivered", "msg_1", "1"]],
  );
  assert.equal(first.disk.entries.size, 0);
});

test("entries older than seven days are deleted, at a start and later", async () => {
  const first = stage();
  await first.journal.record(entry(parts("open", "open")));
  const next = stage(first.disk);
  await next.journal.load(7 * DAY);
  assert.deepEqual([next.journal.findById("1"), first.disk.entries.size], [null, 0]);
  const running = stage();
  await running.journal.record(entry(parts("open", "open")));
  await running.journal.sweep(7 * DAY - 1);
  assert.notEqual(running.journal.findById("1"), null);
  await running.journal.sweep(7 * DAY);
  assert.deepEqual([running.journal.findById("1"), running.disk.entries.size], [null, 0]);
});

test("a message with a part that was never sent is never delivered, and failed if a part failed", async () => {
  const { journal, found, reported, disk } = stage();
  await journal.record(entry(parts("open", "missing", "open")));
  await journal.applyReceipt(found("1"), DELIVERED);
  await journal.applyReceipt(found("3"), { state: "underway", word: "ENROUTE", code: null });
  assert.deepEqual(reported, []);
  await journal.applyReceipt(found("3"), FAILED);
  assert.deepEqual(
    reported.map(({ receipt, code }) => [receipt, code]),
    [["failed", "045"]],
  );
  assert.equal(disk.entries.size, 1, "it is kept until it is old: what is missing has no end");
});

test("a receipt that could not be reported is reported when it comes again", async () => {
  const disk = new Disk();
  let fails = true;
  const reported: string[] = [];
  const journal = new PartJournal(disk, async ({ receipt }) => {
    if (fails) throw new Error("the store is busy");
    reported.push(receipt);
    return "applied";
  });
  await journal.record(entry(parts("open", "open")));
  const found = (id: string) => journal.findById(id) ?? assert.fail();
  await assert.rejects(journal.applyReceipt(found("1"), FAILED));
  await assert.rejects(journal.applyReceipt(found("2"), DELIVERED));
  fails = false;
  await journal.applyReceipt(found("2"), DELIVERED);
  assert.deepEqual(reported, ["failed"]);
  assert.equal(journal.hasEnded("1"), true);
  journal.reassignId("1");
  assert.equal(journal.hasEnded("1"), false, "the id is another message's now");
});

test("however many entries wait, half of all user references stay free, and the newest are found", async () => {
  const { journal } = stage();
  for (let at = 0; at < 70_000; at += 1) {
    const part = { id: null, userReference: (at % 0xffff) + 1, state: "open" } as const;
    await journal.record({ messageId: `msg_${at}`, reference: `tb:${at}`, at, parts: [part] });
  }
  let taken = 0;
  for (let number = 1; number <= 0xffff; number += 1) if (journal.findByUserReference(number) !== null) taken += 1;
  assert.equal(taken, 32_768);
  assert.equal(journal.findByUserReference((69_999 % 0xffff) + 1)?.entry.reference, "tb:69999");
});

test("an id that the SMSC uses again belongs to the newer message", async () => {
  const { journal, found } = stage();
  await journal.record(entry(parts("open", "open")));
  journal.reassignId("1");
  assert.equal(journal.findById("1"), null);
  assert.equal(found("2").entry.messageId, "msg_1");
});

test("a message that failed in part stays failed when a receipt comes again after a restart, until the part arrives", async () => {
  const first = stage();
  await first.journal.record(entry(parts("open", "open")));
  await first.journal.applyReceipt(first.found("2"), FAILED);
  await first.journal.applyReceipt(first.found("1"), DELIVERED);
  const next = stage(first.disk);
  await next.journal.load(DAY);
  await next.journal.applyReceipt(next.found("1"), DELIVERED);
  assert.deepEqual(new Set(next.reported.map(({ receipt }) => receipt)), new Set(["failed"]));
  await next.journal.applyReceipt(next.found("2"), DELIVERED);
  assert.deepEqual([next.reported.at(-1)?.receipt, next.disk.entries.size], ["delivered", 0]);
});
