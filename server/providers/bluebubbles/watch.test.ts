/** Tests of following what was sent: failures that nothing tells of, restarts, and messages that are nobody's. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { ANNA, startListening } from "../../../test/support/listening.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

it("finds a delivery within seconds though nothing tells of it", async (t) => {
  const heard = await startListening(t);
  heard.mac.fault("eventsLost");
  const guid = await heard.send("Hello");
  await heard.pass(4_000);
  assert.deepEqual(heard.receiptsOf(guid), ["sent"]);
  heard.mac.phone(ANNA).delivers(guid);
  await heard.pass(12_000);
  assert.deepEqual(heard.receiptsOf(guid), ["sent", "delivered"]);
});

it("goes on after a restart with what was sent before, and forgets what has come to an end", async (t) => {
  const heard = await startListening(t);
  heard.mac.fault("eventsLost");
  const guid = await heard.send("Hello");
  const other = await heard.send("Hello again");
  assert.equal((await heard.memory.list("watch/")).length, 2);
  await heard.stop();
  heard.mac.phone(ANNA).delivers(guid);
  await heard.start();
  await heard.pass(2_000);
  assert.equal(heard.receiptsOf(guid).at(-1), "delivered");
  assert.deepEqual(
    (await heard.memory.list("watch/")).map(({ key }) => key),
    [`watch/${other}`],
  );
  await heard.stop();
  await heard.clock.advance(25 * HOUR);
  await heard.start();
  await heard.pass(2_000);
  assert.deepEqual(await heard.memory.list("watch/"), []);
});

it("tells a failure on the channel that the message went out on", async (t) => {
  const heard = await startListening(t);
  heard.mac.knows(ANNA, "SMS");
  const guid = await heard.send("by text", ANNA, { channel: "sms" });
  await heard.pass(4_000);
  assert.deepEqual(
    heard.of("receipt").map(({ reference, channel }) => [reference, channel]),
    [[guid, "sms"]],
  );
});

it("holds back a receipt that comes before the answer to its send, and tells it when the message is known", async (t) => {
  const heard = await startListening(t);
  heard.known = new Set();
  const guid = await heard.send("Hello");
  heard.mac.phone(ANNA).delivers(guid);
  await heard.pass(2_000);
  assert.deepEqual(heard.receiptsOf(guid), []);
  heard.known.add(guid);
  await heard.pass(20_000);
  assert.equal(heard.receiptsOf(guid).at(-1), "delivered");
});

it("asks no more about a message that somebody typed on the Mac", async (t) => {
  const heard = await startListening(t);
  heard.known = new Set();
  let asked = 0;
  heard.onSignal = (signal) => {
    if (signal.kind === "receipt") asked += 1;
    return "applied";
  };
  heard.mac.knows(ANNA);
  const row = {
    guid: "8D0E8A9C-0000-4000-8000-000000000001",
    isFromMe: true,
    text: "by hand",
    dateCreated: heard.clock.real(),
    handle: { address: ANNA, service: "iMessage" },
    chats: [],
  };
  await heard.post({ type: "new-message", data: row });
  await heard.pass(5 * MINUTE);
  const tries = asked;
  assert.ok(tries >= 2 && tries <= 6, `${tries} tries`);
  await heard.post({ type: "updated-message", data: row });
  await heard.pass(5 * MINUTE);
  assert.equal(asked, tries);
});

it("tells again of what nobody knew once it turns out to be ours", async (t) => {
  const heard = await startListening(t);
  heard.known = new Set();
  const guid = await heard.send("Hello");
  heard.mac.phone(ANNA).delivers(guid);
  await heard.pass(5 * MINUTE);
  heard.known.add(guid);
  // The hand-over was settled late: only now it is followed.
  heard.mac.phone(ANNA).reads(guid);
  await heard.pass(MINUTE);
  assert.equal(heard.receiptsOf(guid).at(-1), "read");
});
