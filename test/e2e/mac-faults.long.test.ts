/** The known faults of a Mac, one at a time, over HTTP: each message is sent once, and ends correctly. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Fault } from "../support/mac/faults.ts";
import { type MacStage, stageMacService } from "../support/mac-stage.ts";

const contact = (index: number) => `+1500555${3_000 + index}`;

/** Lets time pass until the message has a status; fails after simulated ten minutes. */
async function reachedInTime(stage: MacStage, id: string, status: string): Promise<void> {
  for (let passedMs = 0; passedMs < 600_000; passedMs += 4_000) {
    const message = await stage.ok("GET", `/v1/messages/${id}`);
    if (message.status === status) return;
    await stage.pass(4_000, 2_000);
  }
  assert.fail(`it is not ${status}: ${JSON.stringify(await stage.ok("GET", `/v1/messages/${id}`))}`);
}

/** Faults of one attempt, by what an operator would see. In all of them the message is delivered in the end. */
const OF_A_HAND_OVER: readonly [Fault, string][] = [
  ["answerLost", "the connection is cut after the message went out"],
  ["answerLate", "the answer comes after the receipt"],
  ["answerTimesOut", "the message goes out, and the helper's answer gets lost"],
  ["commandTimesOut", "the helper never gets the message"],
  ["rowNotFound", "the message goes out, and its row is not found in time"],
  ["sentAndHangs", "the message goes out, and the Mac never answers"],
  ["hangs", "the Mac neither sends nor answers"],
  ["gatewayTimeout", "something before the Mac gives up"],
  ["chatNotInRegistry", "Messages does not know a chat that it has"],
  ["serverError", "the server has an error that it did not foresee"],
];

describe("a fault of one attempt", () => {
  for (const [index, [fault, title]] of OF_A_HAND_OVER.entries()) {
    test(`${title}: the message is sent once, and delivered`, async (t) => {
      const stage = await stageMacService(t, { ingest: index % 2 === 0 ? "webhook" : "socket", habit: "delivers" });
      const { mac } = stage;
      mac.knows(contact(index));
      mac.phone(contact(index)).faults.add(fault);
      // Faults that hit a request before its recipient is known.
      if (fault === "serverError" || fault === "chatNotInRegistry") await once(stage, fault, index);
      const id = await stage.send(contact(index), { content: { text: fault } });
      // The fault hits the first attempt only.
      await until(stage, () => mac.requests.filter((line) => line.endsWith("/message/text")).length > 0);
      await stage.idle();
      mac.phone(contact(index)).faults.delete(fault);
      await reachedInTime(stage, id, "delivered");
      assert.equal(mac.sent.filter(({ text }) => text === fault).length, 1);
      const { providerMessageId } = await stage.ok("GET", `/v1/messages/${id}`);
      assert.equal(providerMessageId, mac.sent.find(({ text }) => text === fault)?.guid);
    });
  }
});

async function once(stage: MacStage, fault: Fault, index: number): Promise<void> {
  // The chat is looked up first: that request must not fail.
  const first = await stage.send(contact(index), { content: { text: "before" } });
  await reachedInTime(stage, first, "delivered");
  stage.mac.fault(fault);
}

async function until(stage: MacStage, condition: () => boolean): Promise<void> {
  for (let tries = 0; !condition() && tries < 1_000; tries += 1) await stage.idle();
  assert.ok(condition());
}

describe("a fault of the Mac's events", () => {
  for (const [fault, title] of [
    ["eventsLost", "nothing is told"],
    ["webhooksLost", "webhooks get lost"],
    ["eventsTwice", "everything is told twice"],
    ["eventsReversed", "everything is told much later, the last first"],
  ] as const) {
    test(`${title}: receipts and what contacts write arrive, once each`, async (t) => {
      const stage = await stageMacService(t, { ingest: "webhook", habit: "delivers" });
      const { mac } = stage;
      mac.knows(contact(1));
      const lift = mac.fault(fault);
      const id = await stage.send(contact(1));
      mac.phone(contact(2)).writes("One");
      mac.phone(contact(2)).writes("Two");
      await reachedInTime(stage, id, "delivered");
      await stage.pass(61_000, 5_000);
      lift();
      await stage.event("message.inbound", ({ text }) => text === "One");
      await stage.event("message.inbound", ({ text }) => text === "Two");
      mac.phone(contact(2)).writes("Three");
      await stage.event("message.inbound", ({ text }) => text === "Three");
      assert.equal((await stage.events("message.inbound")).length, 3);
      assert.equal((await stage.events("message.delivered")).length, 1);
      assert.equal(mac.sent.length, 1);
    });
  }

  test("two equal texts with swapped webhooks each have the guid of their own response", async (t) => {
    const stage = await stageMacService(t, { ingest: "webhook" });
    const { mac } = stage;
    mac.knows(contact(1));
    mac.fault("tempGuidsSwapped");
    const ids = [await stage.send(contact(1)), await stage.send(contact(1))];
    await until(stage, () => mac.sent.length === 2);
    for (const [index, id] of ids.entries()) {
      await reachedInTime(stage, id, "sent");
      const { providerMessageId } = await stage.ok("GET", `/v1/messages/${id}`);
      assert.equal(providerMessageId, mac.sent[index]?.guid);
    }
    mac.phone(contact(1)).delivers(mac.sent[1]?.guid);
    await reachedInTime(stage, ids[1] ?? "", "delivered");
    assert.equal((await stage.ok("GET", `/v1/messages/${ids[0]}`)).status, "sent");
  });
});

describe("another Mac", () => {
  for (const release of [{ macOs: 26 }, { version: "development" }] as const) {
    test(`with release ${JSON.stringify(release)} sends, begins conversations, and reports events`, async (t) => {
      const stage = await stageMacService(t, { ingest: "socket", habit: "delivers", release });
      for (const text of ["First", "Second"]) {
        const id = await stage.send(contact(1), { content: { text } });
        await reachedInTime(stage, id, "delivered");
        assert.equal((await stage.ok("GET", `/v1/messages/${id}`)).channel, "imessage");
      }
      stage.mac.phone(contact(1)).writes("Hi");
      assert.equal((await stage.event("message.inbound")).data.channel, "imessage");
      assert.equal(stage.mac.chats.length, 1);
      assert.deepEqual(
        stage.mac.sent.map(({ text }) => text),
        ["First", "Second"],
      );
    });
  }
});
