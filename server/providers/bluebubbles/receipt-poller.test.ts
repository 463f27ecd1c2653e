/** Tests of polling for receipts: failures without an event, restarts, and messages that the service does not know. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { ANNA, stageMacProvider } from "../../../test/support/mac-provider.ts";
import { startRelay } from "../../../test/support/mac-relay.ts";
import { outboundMessage } from "../../../test/support/outbound.ts";
import type { MessageId } from "../../core/id.ts";
import { listOf, recordOf, textOf } from "../../core/loose-json.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

it("finds a delivery within seconds although no event reports it", async (t) => {
  const stage = await stageMacProvider(t);
  stage.mac.fault("eventsLost");
  const guid = await stage.send("Hello");
  await stage.pass(4_000);
  assert.deepEqual(stage.receiptsOf(guid), ["sent"]);
  stage.mac.phone(ANNA).delivers(guid);
  await stage.pass(12_000);
  assert.deepEqual(stage.receiptsOf(guid), ["sent", "delivered"]);
});

it("resumes after a restart, and forgets messages that have ended", async (t) => {
  const stage = await stageMacProvider(t);
  stage.mac.fault("eventsLost");
  const guid = await stage.send("Hello");
  const other = await stage.send("Hello again");
  assert.equal(stage.memory.attempts.noted.length, 2);
  await stage.stop();
  stage.mac.phone(ANNA).delivers(guid);
  await stage.start();
  await stage.pass(2_000);
  assert.equal(stage.receiptsOf(guid).at(-1), "delivered");
  assert.deepEqual(
    stage.memory.attempts.noted.map(({ reference }) => reference),
    [other],
  );
  await stage.stop();
  await stage.clock.advance(25 * HOUR);
  await stage.start();
  await stage.pass(2_000);
  assert.deepEqual(stage.memory.attempts.noted, []);
});

it("reports a failure on the channel that the message was sent on", async (t) => {
  const stage = await stageMacProvider(t);
  stage.mac.knows(ANNA, "SMS");
  const guid = await stage.send("by text", ANNA, { channel: "sms" });
  await stage.pass(4_000);
  assert.deepEqual(
    stage.of("receipt").map(({ reference, channel }) => [reference, channel]),
    [[guid, "sms"]],
  );
});

it("holds back a receipt that arrives before the response to its send, and reports it once the message is known", async (t) => {
  const stage = await stageMacProvider(t);
  stage.known = new Set();
  const guid = await stage.send("Hello");
  stage.mac.phone(ANNA).delivers(guid);
  await stage.pass(2_000);
  assert.deepEqual(stage.receiptsOf(guid), []);
  stage.known.add(guid);
  await stage.pass(20_000);
  assert.equal(stage.receiptsOf(guid).at(-1), "delivered");
});

it("stops polling for a message that somebody typed on the Mac", async (t) => {
  const stage = await stageMacProvider(t);
  stage.known = new Set();
  let asked = 0;
  stage.onSignal = (signal) => {
    if (signal.kind === "receipt") asked += 1;
    return "applied";
  };
  const guid = stage.mac.writesByHand(ANNA, "by hand");
  await stage.pass(5 * MINUTE);
  const tries = asked;
  assert.ok(tries >= 2 && tries <= 7, `${tries} tries`);
  await stage.post({ type: "updated-message", data: { guid } });
  await stage.pass(5 * MINUTE);
  assert.equal(asked, tries);
});

it("reports an unknown receipt again once its message turns out to be ours", async (t) => {
  const stage = await stageMacProvider(t);
  stage.known = new Set();
  const guid = await stage.send("Hello");
  stage.mac.phone(ANNA).delivers(guid);
  await stage.pass(5 * MINUTE);
  stage.known.add(guid);
  // The attempt was reconciled late: polling begins only now.
  stage.mac.phone(ANNA).reads(guid);
  await stage.pass(MINUTE);
  assert.equal(stage.receiptsOf(guid).at(-1), "read");
});

it("finds receipts of other messages while BlueBubbles fails at one of them", async (t) => {
  const stage = await stageMacProvider(t);
  stage.mac.fault("eventsLost");
  const guids: string[] = [];
  for (let index = 0; index < 5; index += 1) guids.push(await stage.send(`Hello ${index}`));
  const [broken = "", ...others] = guids;
  await stage.pass(MINUTE);
  stage.mac.breaksAt(broken);
  for (const guid of others) stage.mac.phone(ANNA).delivers(guid);
  // Backfill reads receipts every five minutes; polling finds these before.
  await stage.pass(4 * MINUTE + 20_000);
  assert.deepEqual(
    others.map((guid) => stage.receiptsOf(guid).at(-1)),
    others.map(() => "delivered"),
  );
  stage.mac.breaksAt(broken, false);
  stage.mac.phone(ANNA).delivers(broken);
  await stage.pass(11 * MINUTE);
  assert.equal(stage.receiptsOf(broken).at(-1), "delivered");
});

it("polls for fewer messages at once while the Mac cannot return so many", async (t) => {
  const stage = await stageMacProvider(t, { starts: false });
  const sizes: number[] = [];
  const relay = await startRelay(t, stage.mac.url, ({ path, body }) => {
    const [condition] = listOf(body?.where, recordOf);
    const asked = listOf(recordOf(condition?.args)?.guids, textOf).length;
    if (!path.includes("/message/query") || asked === 0) return null;
    sizes.push(asked);
    return asked > 60 ? "cut" : null;
  });
  stage.url = relay.url;
  for (let index = 0; index < 200; index += 1) {
    const text = `Hello ${index}`;
    const message = outboundMessage({ messageId: `msg_${index}` as MessageId, to: ANNA, text });
    const note = () => JSON.stringify({ sentAt: stage.clock.real() });
    const reference = stage.mac.writesByHand(ANNA, text);
    stage.memory.attempts.conclude(message, { outcome: "accepted", reference, note });
  }
  stage.mac.fault("eventsLost");
  await stage.clock.advance(HOUR);
  await stage.start();
  await stage.pass(30_000);
  assert.ok(sizes[0] === 200 && sizes.length < 20, sizes.join());
  assert.equal(stage.of("receipt").length, 200);
});
