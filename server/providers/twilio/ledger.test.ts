import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { memoryIn } from "../../../test/support/twilio/stage.ts";
import type { MessageId } from "../../core/id.ts";
import { type HandOver, Ledger } from "./ledger.ts";

function id(number: number): MessageId {
  return `msg_00000000-0000-7000-8000-${String(number).padStart(12, "0")}`;
}

function stage(entries = new Map<string, string>(), clock = new SimulatedClock(), keptMax = 100) {
  const watched = new Map<HandOver, boolean>();
  const events = {
    added: (handOver: HandOver, isOld: boolean) => void watched.set(handOver, isOld),
    removed: (handOver: HandOver) => void watched.delete(handOver),
  };
  return { entries, clock, watched, ledger: new Ledger({ memory: memoryIn(entries), clock, events, keptMax }) };
}

test("a hand-over is on disk once it is noted, and the next process knows it, and whether it has ended", async () => {
  const first = stage();
  await first.ledger.load();
  await first.ledger.note(id(1), 5, "SM1");
  await first.ledger.end(await first.ledger.note(id(2), 5, "SM2"));
  const second = stage(first.entries, first.clock);
  await second.ledger.load();
  assert.equal(second.ledger.find(id(1), 5)?.sid, "SM1");
  assert.equal(second.ledger.withSid("SM2")?.messageId, id(2));
  assert.equal(second.ledger.find(id(1), 6), null);
  assert.deepEqual(
    [...second.watched].map(([{ sid }, isOld]) => [sid, isOld]),
    [["SM1", true]],
  );
});

test("noted twice, or by two at once, it is one; hand-overs of one message are kept apart", async () => {
  const { ledger, watched, entries } = stage();
  const [a, b] = await Promise.all([ledger.note(id(1), 5, "SM1"), ledger.note(id(1), 5, "SM1")]);
  assert.equal(a, b);
  assert.equal(await ledger.note(id(1), 5, "SM1"), a);
  await ledger.note(id(1), 9, "SM2");
  assert.deepEqual([ledger.find(id(1), 5)?.sid, ledger.find(id(1), 9)?.sid], ["SM1", "SM2"]);
  assert.deepEqual([watched.size, entries.size], [2, 2]);
});

test("one that has ended is remembered for a quarter of an hour, one that has not for as long as it is asked about", async () => {
  const { ledger, clock, entries } = stage();
  await ledger.load();
  await ledger.note(id(1), 5, "SM1");
  const ended = await ledger.note(id(2), 5, "SM2");
  await ledger.end(ended);
  await clock.advance(14 * 60_000);
  assert.equal(ledger.withSid("SM2"), ended);
  await clock.advance(2 * 60_000);
  assert.equal(ledger.withSid("SM2"), null);
  assert.deepEqual([...entries.keys()], [`sent/${id(1)}/5`]);
  await ledger.end(ledger.find(id(1), 5) ?? assert.fail());
  assert.equal(entries.size, 0);
  ledger.stop();
  assert.equal(clock.pending, 0);
});

test("beyond its bound the oldest is forgotten, and an entry that cannot be read is deleted", async () => {
  const entries = new Map([
    ["sent/nonsense", "{}"],
    [`sent/${id(9)}/1`, "not JSON"],
    [`sent/${id(8)}/1`, '{"sid":7,"knownSince":1}'],
  ]);
  const { ledger, watched } = stage(entries, new SimulatedClock(), 3);
  await ledger.load();
  for (let number = 1; number <= 5; number += 1) await ledger.note(id(number), 1, `SM${number}`);
  assert.deepEqual(
    [...watched.keys()].map(({ sid }) => sid),
    ["SM3", "SM4", "SM5"],
  );
  await new Promise(setImmediate);
  assert.deepEqual(
    [...entries.keys()],
    [3, 4, 5].map((number) => `sent/${id(number)}/1`),
  );
  ledger.stop();
});
