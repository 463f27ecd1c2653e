/** A Mac that sleeps for an hour in the middle of a hundred sends: no message is lost or sent twice. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type MacStage, stageMacService } from "../support/mac-stage.ts";
import { until } from "../support/wait.ts";

const MINUTE_MS = 60_000;
const MESSAGES = 100;
/** Sent before the Mac falls asleep. */
const BEFORE = 40;
/** Final statuses, including the status of an unknown outcome. */
const ENDS = ["delivered", "failed"];

const contact = (index: number) => `+1500555${2_000 + index}`;

// biome-ignore lint/suspicious/noExplicitAny: messages are read field by field.
type Message = any;

async function messagesOf(stage: MacStage, ids: readonly string[]): Promise<Message[]> {
  return await Promise.all(ids.map((id) => stage.ok("GET", `/v1/messages/${id}`)));
}

/** Number of times that each text left the Mac. */
function timesSent(stage: MacStage): Map<string, number> {
  const times = new Map<string, number>();
  for (const { text } of stage.mac.sent) times.set(text ?? "", (times.get(text ?? "") ?? 0) + 1);
  return times;
}

for (const wakes of ["does what it had read before it slept", "forgot what it had read"] as const) {
  test(`a Mac that sleeps for an hour in the middle of 100 sends, and then ${wakes}`, {
    timeout: 180_000,
  }, async (t) => {
    const stage = await stageMacService(t, { ingest: "socket", habit: "delivers" });
    const { mac } = stage;
    for (let index = 0; index < MESSAGES; index += 1) mac.knows(contact(index));
    const ids: string[] = [];
    for (let index = 0; index < MESSAGES; index += 1) {
      ids.push(await stage.send(contact(index), { content: { text: `Message ${index}` } }));
    }
    while (mac.sent.length < BEFORE) await stage.pass(500, 250);
    const wake = mac.fault("asleep");
    const isAsked = () => mac.requests.filter((request) => request.endsWith("/message/text")).length > mac.sent.length;
    await until(
      async () => {
        stage.clock.jump(250);
        return isAsked();
      },
      { what: "attempts that meet the sleeping Mac" },
    );
    const sentBefore = mac.sent.length;
    await stage.pass(60 * MINUTE_MS, 5_000);
    assert.equal(mac.sent.length, sentBefore, "it sent in its sleep");
    const asleep = await messagesOf(stage, ids);
    const waiting = asleep.filter(({ status }) => status === "queued");
    assert.ok(waiting.length >= MESSAGES - sentBefore - 16, "what it was not asked for waits in the queue");
    const unknown = asleep.filter(({ errorCode }) => errorCode === "OUTCOME_UNKNOWN");
    assert.ok(unknown.length > 0, "nothing was under way when it fell asleep");

    if (wakes === "forgot what it had read") mac.forgetHeld();
    wake();
    const isOver = async () => {
      await stage.pass(5_000, 1_000);
      return (await messagesOf(stage, ids)).every(({ status }) => ENDS.includes(status));
    };
    await until(isOver, { limitMs: 120_000, what: "an end of every message" });
    await stage.pass(20 * MINUTE_MS, 15_000);

    for (const [text, times] of timesSent(stage)) assert.equal(times, 1, `${text} went out ${times} times`);
    const sent = timesSent(stage);
    const ended = await messagesOf(stage, ids);
    for (const [index, message] of ended.entries()) {
      const isSent = sent.has(`Message ${index}`);
      if (message.status === "delivered") assert.ok(isSent, `message ${index} is told delivered, and never left`);
      else assert.deepEqual([message.status, message.errorCode], ["failed", "OUTCOME_UNKNOWN"], `message ${index}`);
      if (message.errorCode === "OUTCOME_UNKNOWN") assert.ok(hasEvidence(message), JSON.stringify(message.timeline));
    }
    const lost = ended.filter(({ status }) => status === "failed");
    // Receipts prove in the end which messages the Mac sent. For forgotten ones there is no proof.
    if (wakes === "forgot what it had read") assert.ok(lost.length <= unknown.length);
    else assert.equal(lost.length, 0, `${lost.length} went out, and are still unknown`);
    for (const { providerMessageId } of ended.filter(({ status }) => status === "delivered")) {
      assert.ok(mac.sent.some(({ guid }) => guid === providerMessageId));
    }
  });
}

/** The timeline shows the attempt, the missing response, and what followed. */
function hasEvidence({ timeline }: Message): boolean {
  const statuses = timeline.map(({ status }: Message) => status);
  const reasons = timeline.map(({ reason }: Message) => reason ?? "").join("\n");
  return statuses.includes("pending") && /answer|unknown|asked/i.test(reasons);
}
