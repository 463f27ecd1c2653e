import assert from "node:assert/strict";
import { test } from "node:test";
import { InFlight } from "./in-flight.ts";

test("ended resolves when all work has ended, also work that failed, and returns each result to its caller", async () => {
  const inFlight = new InFlight();
  const first = Promise.withResolvers<number>();
  const second = Promise.withResolvers<number>();
  const results = [inFlight.track(first.promise), inFlight.track(second.promise)];
  assert.equal(inFlight.size, 2);
  let hasEnded = false;
  const ended = inFlight.ended().then(() => {
    hasEnded = true;
  });
  second.reject(new Error("no"));
  await assert.rejects(results[1] ?? assert.fail(), /no/);
  assert.deepEqual([hasEnded, inFlight.size], [false, 1]);
  first.resolve(1);
  await ended;
  assert.deepEqual([await results[0], inFlight.size], [1, 0]);
});
