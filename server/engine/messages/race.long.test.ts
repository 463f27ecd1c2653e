/** Two concurrent changes of a message, in a thousand orders each: one wins, and the events name it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { checkSendAttempts, type EngineStage, engineStage, seeded, turns } from "../../../test/support/engine.ts";
import { receipt, UNKNOWN } from "../../../test/support/provider.ts";
import { ApiError } from "../../core/error.ts";
import type { MessageId } from "../../core/id.ts";
import type { Signal } from "../../providers/provider.ts";
import { apply } from "../apply.ts";
import { deleteMessage, retryMessage } from "./actions.ts";
import { cancelSchedule, updateMessage } from "./schedule.ts";

const ROUNDS = 1_000;
/** Most turns of the event loop by which a write, or an action, is delayed. */
const WRITE_DELAY_MAX = 3;
const START_DELAY_MAX = 18;

/** How often each end came about. */
type Ends = Map<string, number>;

/**
 * Runs `round` a thousand times, each with its own messages and recipient. Fails if one of `ends` occurred in less than
 * 1 % of the rounds, because then nothing raced.
 */
async function race(
  t: Parameters<typeof engineStage>[0],
  ends: readonly string[],
  round: (stage: EngineStage, to: string, start: () => Promise<void>) => Promise<string>,
): Promise<void> {
  const stage = await engineStage(t);
  const draw = seeded(Number(process.env.TB_RACE_SEED ?? 1));
  const found: Ends = new Map();
  stage.life.delay = () => draw(WRITE_DELAY_MAX + 1);
  for (let index = 0; index < ROUNDS; index += 1) {
    const to = `+1555${String(2_000_000 + index)}`;
    const end = await round(stage, to, () => turns(draw(START_DELAY_MAX + 1)));
    found.set(end, (found.get(end) ?? 0) + 1);
  }
  t.diagnostic(JSON.stringify(Object.fromEntries(found)));
  assert.deepEqual(
    [...found.keys()].filter((end) => !ends.includes(end)),
    [],
  );
  for (const end of ends) assert.ok((found.get(end) ?? 0) >= ROUNDS / 100, `${end} came about too seldom`);
}

/** The result of an action. */
type Ended<Value> = { value: Value } | { refused: string };

function ended<Value>(action: Promise<Value>): Promise<Ended<Value>> {
  return action.then(
    (value) => ({ value }),
    (error: unknown) => {
      if (error instanceof ApiError) return { refused: error.code };
      throw error;
    },
  );
}

/** Runs the loop while each action starts after a random delay, and waits for all of them. */
async function atOnce<Value>(
  stage: EngineStage,
  start: () => Promise<void>,
  ...actions: (() => Promise<Value>)[]
): Promise<Ended<Value>[]> {
  stage.life.dispatch.lanes.wake([stage.instance.id]);
  const answers = await Promise.all(actions.map((action) => ended(start().then(action))));
  await stage.run();
  return answers;
}

/** Reports a receipt after a random delay, and again if it was refused, as a provider must. */
async function reportAtOnce(stage: EngineStage, start: () => Promise<void>, signal: Signal): Promise<void> {
  const report = () => apply(stage.life.deps, stage.instance.id, signal);
  const [answer] = await atOnce(stage, start, report);
  if (answer !== undefined && "refused" in answer) await stage.report(signal);
}

/** The events of a message in one text, after checks that hold for either winner. */
async function eventTypesOf(stage: EngineStage, id: MessageId): Promise<string> {
  const message = await stage.message(id);
  checkSendAttempts(message, stage.provider.handed);
  assert.equal(message.claimedUntil, null, "nobody is left holding it");
  return (await stage.eventTypes(id)).join(" ");
}

const handedOf = (stage: EngineStage, id: MessageId) =>
  stage.provider.handed.filter(({ messageId }) => messageId === id).length;

test("a receipt concurrent with the end of fallbackAfterSeconds: the message is delivered or falls back, never both", async (t) => {
  const ends = ["queued sent delivered", "queued sent fallback sent"];
  await race(t, ends, async (stage, to, start) => {
    const id = await stage.send({ to, routing: { fallbackAfterSeconds: 10 } });
    await stage.run();
    const reference = (await stage.message(id)).providerMessageId ?? "";
    stage.clock.shift(10_000);
    await reportAtOnce(stage, start, receipt("delivered", { reference, messageId: id }));
    const emitted = await eventTypesOf(stage, id);
    const message = await stage.message(id);
    const gaveUp = emitted.includes("fallback");
    assert.deepEqual(
      [message.status, message.channel, handedOf(stage, id)],
      gaveUp ? ["sent", "sms", 2] : ["delivered", "imessage", 1],
    );
    const noted = message.timeline.filter(({ reason }) => reason?.includes("given up") ?? false);
    assert.equal(noted.length, gaveUp ? 1 : 0, "a receipt that lost is noted");
    return emitted;
  });
});

test("a scheduled message that is cancelled as it comes due is cancelled or sent, never both", async (t) => {
  const ends = ["scheduled schedule_cancelled", "scheduled queued sent"];
  await race(t, ends, async (stage, to, start) => {
    const id = await stage.send({ to, scheduledAt: new Date(stage.clock.now() + 1_000).toISOString() });
    stage.clock.shift(1_000);
    const [answer = { refused: "" }] = await atOnce(stage, start, () =>
      cancelSchedule(stage.life.deps, stage.customer.id, id),
    );
    const emitted = await eventTypesOf(stage, id);
    const cancelled = emitted.endsWith("cancelled");
    assert.deepEqual([handedOf(stage, id), "value" in answer], cancelled ? [0, true] : [1, false]);
    if ("refused" in answer) assert.equal(answer.refused, "NOT_SCHEDULED");
    return emitted;
  });
});

test("a scheduled message that gets another time is not sent at the old time, or the change is refused", async (t) => {
  await race(t, ["scheduled scheduled", "scheduled queued sent"], async (stage, to, start) => {
    const id = await stage.send({ to, scheduledAt: new Date(stage.clock.now() + 1_000).toISOString() });
    stage.clock.shift(1_000);
    const scheduledAt = new Date(stage.clock.now() + 86_400_000 * 20).toISOString();
    const [answer = { refused: "" }] = await atOnce(stage, start, () =>
      updateMessage(stage.life.deps, stage.customer.id, id, { scheduledAt }),
    );
    const emitted = await eventTypesOf(stage, id);
    const moved = emitted === "scheduled scheduled";
    assert.deepEqual([handedOf(stage, id), "value" in answer], moved ? [0, true] : [1, false]);
    if ("refused" in answer) assert.equal(answer.refused, "INVALID_STATUS");
    const { dueAt, claimedUntil } = await stage.message(id);
    if (moved) assert.deepEqual([dueAt, claimedUntil], [Date.parse(scheduledAt), null]);
    return emitted;
  });
});

test("a scheduled message whose text changes as it comes due is sent with the new text, or the change is refused", async (t) => {
  await race(t, ["scheduled scheduled queued sent", "scheduled queued sent"], async (stage, to, start) => {
    const id = await stage.send({ to, scheduledAt: new Date(stage.clock.now() + 1_000).toISOString() });
    stage.clock.shift(1_000);
    const [answer = { refused: "" }] = await atOnce(stage, start, () =>
      updateMessage(stage.life.deps, stage.customer.id, id, { content: { text: "Changed" } }),
    );
    await stage.run();
    const sent = stage.provider.handed.filter(({ messageId }) => messageId === id).map(({ text }) => text);
    assert.deepEqual(sent, ["refused" in answer ? "Hello" : "Changed"]);
    return eventTypesOf(stage, id);
  });
});

test("deleting a message as it comes due prevents its sending, is refused during it, or follows it", async (t) => {
  const ends = [
    "scheduled schedule_cancelled deleted: 0",
    "scheduled queued sent, INVALID_STATUS: 1",
    "scheduled queued sent deleted: 1",
  ];
  await race(t, ends, async (stage, to, start) => {
    const id = await stage.send({ to, scheduledAt: new Date(stage.clock.now() + 1_000).toISOString() });
    stage.clock.shift(1_000);
    const [answer = { refused: "" }] = await atOnce(stage, start, () =>
      deleteMessage(stage.life.deps, stage.customer.id, id),
    );
    const emitted = await eventTypesOf(stage, id);
    const { text } = await stage.message(id);
    assert.equal(text, emitted.endsWith("deleted") ? null : "Hello");
    const last = stage.provider.handed.findLast(({ messageId }) => messageId === id);
    if (last !== undefined) assert.equal(last.text, "Hello");
    return `${emitted}${"refused" in answer ? `, ${answer.refused}` : ""}: ${handedOf(stage, id)}`;
  });
});

test("two concurrent retries are one retry", async (t) => {
  await race(t, ["queued sent failed queued sent"], async (stage, to, start) => {
    const id = await stage.send({ to, routing: { fallback: false } });
    await stage.run();
    const reference = (await stage.message(id)).providerMessageId ?? "";
    await stage.report(receipt("failed", { reference, messageId: id }));
    const retry = () =>
      retryMessage(stage.life.deps, {
        customerId: stage.customer.id,
        id,
        mayDuplicate: false,
        idempotencyKey: null,
      });
    const answers = await atOnce(stage, start, retry, retry);
    assert.equal(answers.filter((answer) => "value" in answer).length, 1);
    assert.equal(handedOf(stage, id), 2);
    return eventTypesOf(stage, id);
  });
});

test("a receipt concurrent with reconciliation emits each event once, and sends nothing again", async (t) => {
  await race(t, ["queued sent delivered"], async (stage, to, start) => {
    stage.provider.sendNext.push(UNKNOWN);
    const id = await stage.send({ to });
    await stage.run();
    const reference = `reconciled-${id}`;
    stage.provider.onSettle = () => ({ outcome: "accepted", reference });
    stage.clock.shift(2_000);
    await reportAtOnce(stage, start, receipt("delivered", { reference, messageId: id }));
    assert.deepEqual([handedOf(stage, id), (await stage.message(id)).status], [1, "delivered"]);
    return eventTypesOf(stage, id);
  });
});
