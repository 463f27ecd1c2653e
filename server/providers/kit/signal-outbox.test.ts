import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import type { Applied, Signal } from "../provider.ts";
import { SignalOutbox } from "./signal-outbox.ts";

const SIGNAL: Signal = { kind: "receipt", reference: "1", channel: "sms", receipt: "delivered" };

function stage(answer: () => Promise<Applied>) {
  const clock = new SimulatedClock(0);
  const outbox = new SignalOutbox(clock);
  const triedAt: number[] = [];
  outbox.begin(() => {
    triedAt.push(clock.real());
    return answer();
  });
  return { clock, outbox, triedAt };
}

const refuse = () => Promise.reject(new Error("the disk is full"));

test("a report before begin throws, and a report afterwards returns what the engine did", async () => {
  const { outbox, clock } = stage(async () => "unknown");
  await assert.rejects(new SignalOutbox(clock).report(SIGNAL), /not started/);
  assert.equal(await outbox.report(SIGNAL), "unknown");
  assert.equal(outbox.lastAcceptedAt, Number.NEGATIVE_INFINITY);
});

test("retries wait twice as long each time, up to 10 s, until the engine accepts the signal", async () => {
  let isFull = true;
  const { clock, outbox, triedAt } = stage(() => (isFull ? refuse() : Promise.resolve("applied")));
  const done = outbox.reportWithRetries(SIGNAL);
  await clock.advance(33_000);
  isFull = false;
  await clock.advance(10_000);
  assert.equal(await done, "applied");
  assert.deepEqual(triedAt, [0, 50, 150, 350, 750, 1_550, 3_150, 6_350, 12_750, 22_750, 32_750, 42_750]);
  assert.equal(clock.pending, 0);
});

test("a report with a limit throws the last error when the limit has passed", async () => {
  const { clock, outbox, triedAt } = stage(refuse);
  const rejected = assert.rejects(outbox.reportWithRetries(SIGNAL, 10_000), /the disk is full/);
  await clock.advance(10_000);
  await rejected;
  assert.deepEqual([triedAt.at(0), triedAt.at(-1)], [0, 10_000]);
});

test("end cancels retries and pauses, and a first report is still made", async () => {
  const { clock, outbox, triedAt } = stage(refuse);
  const rejected = assert.rejects(outbox.reportWithRetries(SIGNAL));
  const paused = outbox.pause(1_000);
  await clock.advance(0);
  outbox.end();
  await Promise.all([rejected, paused, outbox.pause(1_000)]);
  assert.equal(triedAt.length, 2);
  await assert.rejects(outbox.reportWithRetries(SIGNAL), /the disk is full/);
  assert.equal(triedAt.length, 3);
  assert.equal(clock.pending, 0);
});

test("stop waits for reports in flight, and refuses further ones", async () => {
  const { promise, resolve } = Promise.withResolvers<Applied>();
  const { outbox, triedAt } = stage(() => promise);
  const report = outbox.report(SIGNAL);
  let isStopped = false;
  const stopped = outbox.stop().then(() => {
    isStopped = true;
  });
  await assert.rejects(outbox.report(SIGNAL), /stopped/);
  assert.equal(isStopped, false);
  resolve("applied");
  await stopped;
  assert.deepEqual([await report, triedAt.length], ["applied", 1]);
});
