import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { memoryIn } from "../../../test/support/twilio/stage.ts";
import type { MessageId } from "../../core/id.ts";
import { SendJournal, type SendRecord } from "./send-journal.ts";

function id(number: number): MessageId {
  return `msg_00000000-0000-7000-8000-${String(number).padStart(12, "0")}`;
}

function stage(entries = new Map<string, string>(), clock = new SimulatedClock(), keptMax = 100) {
  const watched = new Map<SendRecord, boolean>();
  const events = {
    added: (record: SendRecord, isOld: boolean) => void watched.set(record, isOld),
    removed: (record: SendRecord) => void watched.delete(record),
  };
  return { entries, clock, watched, journal: new SendJournal({ memory: memoryIn(entries), clock, events, keptMax }) };
}

test("a recorded attempt is on disk, and the next process knows it and whether it has ended", async () => {
  const first = stage();
  await first.journal.load();
  await first.journal.record(id(1), 5, "SM1");
  await first.journal.end(await first.journal.record(id(2), 5, "SM2"));
  const second = stage(first.entries, first.clock);
  await second.journal.load();
  assert.equal(second.journal.find(id(1), 5)?.sid, "SM1");
  assert.equal(second.journal.findBySid("SM2")?.messageId, id(2));
  assert.equal(second.journal.find(id(1), 6), null);
  assert.deepEqual(
    [...second.watched].map(([{ sid }, isOld]) => [sid, isOld]),
    [["SM1", true]],
  );
});

test("an attempt recorded twice, or twice at once, is one record; attempts of one message are kept apart", async () => {
  const { journal, watched, entries } = stage();
  const [a, b] = await Promise.all([journal.record(id(1), 5, "SM1"), journal.record(id(1), 5, "SM1")]);
  assert.equal(a, b);
  assert.equal(await journal.record(id(1), 5, "SM1"), a);
  await journal.record(id(1), 9, "SM2");
  assert.deepEqual([journal.find(id(1), 5)?.sid, journal.find(id(1), 9)?.sid], ["SM1", "SM2"]);
  assert.deepEqual([watched.size, entries.size], [2, 2]);
});

test("an ended record is kept for 15 minutes, any other for as long as it is polled", async () => {
  const { journal, clock, entries } = stage();
  await journal.load();
  await journal.record(id(1), 5, "SM1");
  const ended = await journal.record(id(2), 5, "SM2");
  await journal.end(ended);
  await clock.advance(14 * 60_000);
  assert.equal(journal.findBySid("SM2"), ended);
  await clock.advance(2 * 60_000);
  assert.equal(journal.findBySid("SM2"), null);
  assert.deepEqual([...entries.keys()], [`sent/${id(1)}/5`]);
  await journal.end(journal.find(id(1), 5) ?? assert.fail());
  assert.equal(entries.size, 0);
  await journal.stop();
  assert.equal(clock.pending, 0);
});

test("beyond the limit the oldest record is deleted, and so is an entry that cannot be read", async () => {
  const entries = new Map([
    ["sent/nonsense", "{}"],
    [`sent/${id(9)}/1`, "not JSON"],
    [`sent/${id(8)}/1`, '{"sid":7,"knownSince":1}'],
  ]);
  const { journal, watched } = stage(entries, new SimulatedClock(), 3);
  await journal.load();
  for (let number = 1; number <= 5; number += 1) await journal.record(id(number), 1, `SM${number}`);
  assert.deepEqual(
    [...watched.keys()].map(({ sid }) => sid),
    ["SM3", "SM4", "SM5"],
  );
  await new Promise(setImmediate);
  assert.deepEqual(
    [...entries.keys()],
    [3, 4, 5].map((number) => `sent/${id(number)}/1`),
  );
  await journal.stop();
});
