/** Tests of the cache of chat guids: looked up once, and dropped when the Mac denies them. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type MacOptions, startMac } from "../../../test/support/mac/mac.ts";
import { systemClock } from "../../clock.ts";
import { ChatGuids, identifierOf, isSamePeople } from "./chat-guids.ts";
import { MacClient } from "./client.ts";
import { parseChat } from "./records.ts";

const TO = "+15551230001";

async function stage(t: TestContext, macosMajor: number | null, options: MacOptions = {}) {
  const mac = await startMac(options);
  t.after(() => mac.stop());
  const client = new MacClient({ url: mac.url, password: mac.password, clock: systemClock() });
  t.after(() => client.close());
  return { mac, chats: new ChatGuids({ client, macosMajor: () => macosMajor }) };
}

test("a thread is found under the guid of any macOS, and looked up once", async (t) => {
  for (const macOs of [15, 26] as const) {
    for (const known of [null, macOs]) {
      const { mac, chats } = await stage(t, known, { release: { macOs } });
      const guid = mac.knows(TO);
      assert.deepEqual(await chats.findThread(TO, "imessage"), { kind: "found", guid });
      const asked = mac.requests.length;
      assert.deepEqual(await chats.findThread(TO, "imessage"), { kind: "found", guid });
      assert.equal(mac.requests.length, asked);
      if (known !== null) assert.equal(asked, 1);
    }
  }
});

test("the SMS thread differs from the iMessage thread", async (t) => {
  const { mac, chats } = await stage(t, 15);
  const guid = mac.knows(TO, "SMS");
  assert.deepEqual(await chats.findThread(TO, "imessage"), { kind: "none" });
  assert.deepEqual(await chats.findThread(TO, "sms"), { kind: "found", guid });
});

test("a missing thread is not cached, because it may begin at any time", async (t) => {
  const { mac, chats } = await stage(t, 15);
  assert.deepEqual(await chats.findThread(TO, "imessage"), { kind: "none" });
  const guid = mac.knows(TO);
  assert.deepEqual(await chats.findThread(TO, "imessage"), { kind: "found", guid });
});

test("an unreachable Mac, or another server, proves no thread missing", async (t) => {
  const { mac, chats } = await stage(t, 15);
  mac.password = "another";
  assert.equal((await chats.findThread(TO, "imessage")).kind, "errorResponse");
  mac.fault("unreachable");
  assert.equal((await chats.findThread(TO, "imessage")).kind, "unreachable");
});

test("a guid that the Mac denied is looked up again", async (t) => {
  const { mac, chats } = await stage(t, 15);
  const guid = mac.knows(TO);
  await chats.findThread(TO, "imessage");
  chats.forget(guid);
  const asked = mac.requests.length;
  await chats.findThread(TO, "imessage");
  assert.ok(mac.requests.length > asked);
});

test("a chat named by a row needs no lookup; a group is found by its participants in any order and case", async (t) => {
  const { mac, chats } = await stage(t, 15);
  const thread = parseChat({ guid: "any;-;a@x.example", style: 45, chatIdentifier: "a@x.example" });
  const participants = [{ address: "+1" }, { address: "B@x.example" }];
  const group = parseChat({ guid: "iMessage;+;chat1", style: 43, participants });
  assert.ok(thread !== null && group !== null);
  chats.learn(thread, "imessage");
  chats.learn(group, "imessage");
  assert.deepEqual(await chats.findThread("A@x.example", "imessage"), { kind: "found", guid: "any;-;a@x.example" });
  assert.equal(chats.findGroup(["b@X.example", "+1"]), "iMessage;+;chat1");
  assert.equal(chats.findGroup(["+1"]), null);
  chats.learnGroup(["+1", "+2"], "iMessage;+;chat2");
  assert.equal(chats.findGroup(["+2", "+1", "+2"]), "iMessage;+;chat2");
  assert.equal(mac.requests.length, 0);
});

test("a chat's identifier is the end of its guid", () => {
  assert.equal(identifierOf("iMessage;-;+15551230001"), "+15551230001");
  assert.equal(identifierOf("iMessage;+;chat12"), "chat12");
  assert.equal(identifierOf("odd"), "odd");
  assert.ok(isSamePeople(["a", "B"], ["b", "A", "a"]));
  assert.ok(!isSamePeople(["a"], ["a", "b"]));
});

test("a thread named by a row is cached under the address and service in its guid", async (t) => {
  const { mac, chats } = await stage(t, 15);
  const own = mac.knows(TO);
  for (const guid of ["iMessage;-;+15551230009", `SMS;-;${TO}`]) {
    const chat = parseChat({ guid, style: 45, chatIdentifier: TO });
    assert.ok(chat !== null);
    chats.learn(chat, "imessage");
  }
  assert.deepEqual(await chats.findThread(TO, "imessage"), { kind: "found", guid: own });
});
