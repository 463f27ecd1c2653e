/** Tests of following what was sent: failures that nothing tells of, restarts, and messages that are nobody's. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { ANNA, startListening } from "../../../test/support/listening.ts";
import { startRelay } from "../../../test/support/mac-relay.ts";
import { listOf, recordOf, textOf } from "../../core/loose-json.ts";

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
  const guid = heard.mac.writesByHand(ANNA, "by hand");
  await heard.pass(5 * MINUTE);
  const tries = asked;
  assert.ok(tries >= 2 && tries <= 7, `${tries} tries`);
  await heard.post({ type: "updated-message", data: { guid } });
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

it("finds what became of others while the Mac breaks at one of them", async (t) => {
  const heard = await startListening(t);
  heard.mac.fault("eventsLost");
  const guids: string[] = [];
  for (let index = 0; index < 5; index += 1) guids.push(await heard.send(`Hello ${index}`));
  const [broken = "", ...others] = guids;
  await heard.pass(MINUTE);
  heard.mac.breaksAt(broken);
  for (const guid of others) heard.mac.phone(ANNA).delivers(guid);
  // Catching up asks for receipts every five minutes; these are found before.
  await heard.pass(4 * MINUTE + 20_000);
  assert.deepEqual(
    others.map((guid) => heard.receiptsOf(guid).at(-1)),
    others.map(() => "delivered"),
  );
  heard.mac.breaksAt(broken, false);
  heard.mac.phone(ANNA).delivers(broken);
  await heard.pass(11 * MINUTE);
  assert.equal(heard.receiptsOf(broken).at(-1), "delivered");
});

it("asks for fewer at once where the Mac cannot answer so many", async (t) => {
  const heard = await startListening(t, { starts: false });
  const sizes: number[] = [];
  const relay = await startRelay(t, heard.mac.url, ({ path, body }) => {
    const [condition] = listOf(body?.where, recordOf);
    const asked = listOf(recordOf(condition?.args)?.guids, textOf).length;
    if (!path.includes("/message/query") || asked === 0) return null;
    sizes.push(asked);
    return asked > 60 ? "cut" : null;
  });
  heard.url = relay.url;
  for (let index = 0; index < 200; index += 1) {
    heard.memory.entries.set(
      `watch/${heard.mac.writesByHand(ANNA, `Hello ${index}`)}`,
      `imessage ${heard.clock.real()}`,
    );
  }
  heard.mac.fault("eventsLost");
  await heard.clock.advance(HOUR);
  await heard.start();
  await heard.pass(30_000);
  assert.ok(sizes[0] === 200 && sizes.length < 20, sizes.join());
  assert.equal(heard.of("receipt").length, 200);
});
