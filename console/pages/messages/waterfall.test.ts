import assert from "node:assert/strict";
import test from "node:test";
import type { Message } from "../../../sdk/wire.ts";
import { stepsOf, totalMs } from "./waterfall.ts";

const at = (ms: number) => new Date(1_700_000_000_000 + ms).toISOString();

function message(status: Message["status"], ...timeline: Message["timeline"]): Pick<Message, "status" | "timeline"> {
  return { status, timeline };
}

test("steps of a finished message fill the whole, one after the other", () => {
  const done = message(
    "delivered",
    { status: "queued", at: at(0), channel: "imessage" },
    { status: "sent", at: at(250), channel: "imessage" },
    { status: "delivered", at: at(1_000), channel: "imessage" },
  );
  const steps = stepsOf(done, Date.parse(at(99_000)));
  assert.ok(steps.every(({ lastedMs, length }) => length === (lastedMs ?? 0) / totalMs(steps)));
  assert.deepEqual(
    steps.map(({ lastedMs, start, length }) => ({ lastedMs, start, length })),
    [
      { lastedMs: 250, start: 0, length: 0.25 },
      { lastedMs: 750, start: 0.25, length: 0.75 },
      { lastedMs: null, start: 1, length: 0 },
    ],
  );
  assert.equal(totalMs(steps), 1_000);
});

test("the last step of a message that is under way lasts until now", () => {
  const steps = stepsOf(message("queued", { status: "queued", at: at(0), channel: "sms" }), Date.parse(at(3_000)));
  assert.equal(steps[0]?.lastedMs, 3_000);
  assert.equal(steps[0]?.length, 1);
  assert.equal(totalMs(steps), 3_000);
});

test("a step by another channel begins a hop", () => {
  const steps = stepsOf(
    message(
      "sent",
      { status: "queued", at: at(0), channel: "imessage" },
      { status: "queued", at: at(10), channel: "sms" },
      { status: "sent", at: at(20), channel: "sms" },
    ),
    0,
  );
  assert.deepEqual(
    steps.map(({ isNewHop }) => isNewHop),
    [false, true, false],
  );
});
