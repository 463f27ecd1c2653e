/** Tests of sending through a Mac: the posted requests, the recorded rows, and the cases in which nothing is posted. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Fault } from "../../../test/support/mac/faults.ts";
import { stageMac } from "../../../test/support/mac-outbound.ts";
import { file, groupOf, posts, reference } from "../../../test/support/mac-sends.ts";
import type { MessageId } from "../../core/id.ts";
import type { Outbound } from "../provider.ts";

const TO = "+15551230001";

test("a text is sent once, by the Private API, and its reference is the guid in the response", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  const outcome = await stage.send(stage.message({ to: TO, text: "Hi there" }));
  const [sent] = stage.fake.sent;
  assert.deepEqual(outcome, { outcome: "accepted", reference: sent?.guid });
  assert.deepEqual([stage.fake.sent.length, sent?.text, sent?.to, sent?.service], [1, "Hi there", [TO], "iMessage"]);
  assert.equal(sent?.tempGuid, "msg_0001-1");
  assert.deepEqual(posts(stage), ["POST /api/v1/message/text"]);
  assert.equal(stage.fake.appleScripts, 0);
  assert.deepEqual(stage.process.polled, [sent?.guid]);
});

test("the chat's guid is looked up once, also if macOS 26 calls it `any`", async (t) => {
  for (const macOs of [15, 26] as const) {
    const stage = await stageMac(t, { release: { macOs } });
    const guid = stage.fake.knows(TO);
    assert.equal(guid.startsWith("any"), macOs === 26);
    for (let at = 0; at < 3; at += 1) reference(await stage.send(stage.message()));
    assert.deepEqual(
      stage.fake.sent.map(({ chatGuid }) => chatGuid),
      [guid, guid, guid],
    );
    const asked = stage.fake.requests.filter((line) => line.startsWith("GET /api/v1/chat/"));
    assert.ok(asked.length <= 2, asked.join());
  }
});

test("effect, reply and mentions reach the phone", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  reference(await stage.send(stage.message({ text: "Boom", effect: "slam", replyTo: "GUID-1" })));
  const mentions = [{ address: "+15551230002", start: 3, length: 3 }];
  reference(await stage.send(stage.message({ text: "Hi Ann, hi", mentions })));
  const [first, second] = stage.fake.sent;
  assert.deepEqual([first?.effectId, first?.replyTo], ["com.apple.MobileSMS.expressivesend.impact", "GUID-1"]);
  assert.deepEqual([second?.text, second?.mentions], ["Hi Ann, hi", ["+15551230002"]]);
  assert.equal(posts(stage).at(-1), "POST /api/v1/message/multipart");
});

test("text and files are one message with one guid, in their order", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  const attachments = [file(), file({ filename: "../dog\n.jpg", mimeType: "image/jpeg" })];
  const outcome = await stage.send(stage.message({ text: "Look", attachments }));
  assert.equal(stage.fake.sent.length, 1);
  const [sent] = stage.fake.sent;
  assert.equal(reference(outcome), sent?.guid);
  assert.equal(sent?.text, "Look");
  assert.deepEqual(
    sent?.attachments.map(({ transferName }) => transferName),
    ["cat.png", "_dog_.jpg"],
  );
  assert.deepEqual(sent?.attachments[0]?.bytes, file().bytes);
  reference(await stage.send(stage.message({ text: "", attachments: [file()] })));
  assert.deepEqual([stage.fake.sent[1]?.text, stage.fake.sent[1]?.attachments.length], [null, 1]);
});

test("a voice message is sent by itself, marked as a voice message", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  const voice = file({ filename: "note.caf", mimeType: "audio/x-caf", isAudioMessage: true });
  reference(await stage.send(stage.message({ text: "", attachments: [voice] })));
  const [sent] = stage.fake.sent;
  assert.deepEqual([sent?.isAudioMessage, sent?.attachments[0]?.transferName], [true, "note.caf"]);
  assert.deepEqual(posts(stage), ["POST /api/v1/message/attachment"]);
  assert.equal(stage.fake.appleScripts, 0);
});

const DOWN: readonly { fault: Fault | null; password?: string; says: RegExp }[] = [
  { fault: "helperGone", says: /helper/i },
  { fault: "privateApiOff", says: /Private API is off/ },
  { fault: "unreachable", says: /cannot be reached/ },
  { fault: "asleep", says: /awake/ },
  { fault: null, password: "not it", says: /password/ },
];

test("while the Mac cannot send, messages wait, the instance is down, and nothing is posted", async (t) => {
  for (const { fault, password, says } of DOWN) {
    const stage = await stageMac(t, password === undefined ? {} : { instancePassword: password });
    stage.fake.knows(TO);
    if (fault !== null) stage.fake.fault(fault);
    const message = stage.message();
    const outcome = await stage.send(message);
    assert.ok(outcome.outcome === "deferred" && outcome.isDown === true, `${fault} ${JSON.stringify(outcome)}`);
    assert.match(outcome.reason, says);
    assert.equal(stage.process.mac.health.isUp, false);
    assert.deepEqual([stage.fake.sent.length, posts(stage).length], [0, 0]);
    assert.equal(stage.process.changes.count, 1);
    if (password === undefined) stage.fake.lift(fault ?? "asleep");
    else stage.fake.password = password;
    await stage.clock.advance(30_000);
    await stage.driven(stage.process.mac.health.ready());
    assert.equal(stage.process.mac.health.isUp, true);
    reference(await stage.send({ ...message, attempt: 2 }));
    assert.equal(stage.fake.sent.length, 1);
  }
});

test("a helper that disconnects between check and send: not sent, and down", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  reference(await stage.send(stage.message()));
  stage.fake.fault("helperGone");
  const outcome = await stage.send(stage.message());
  assert.ok(outcome.outcome === "deferred" && outcome.isDown === true);
  assert.equal(stage.process.mac.health.isUp, false);
  assert.equal(stage.fake.sent.length, 1);
});

test("a row that fails at once is found without its guid, and is not reachable", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  reference(await stage.send(stage.message({ text: "Same" })));
  stage.fake.fault("errorAtOnce");
  const message = stage.message({ text: "Same" });
  stage.disk.losesOutcomes = true;
  const outcome = await stage.send(message);
  assert.ok(outcome.outcome === "rejected" && outcome.notReachable === true && outcome.code === "22");
  assert.deepEqual(await stage.reconcile(message), outcome);
  assert.deepEqual(stage.process.polled.length, 1);
  await stage.restart();
  assert.deepEqual(await stage.reconcile(message), outcome);
});

test("SMS is sent through the Mac, into an SMS chat or a new one", async (t) => {
  const stage = await stageMac(t);
  reference(await stage.send(stage.message({ channel: "sms", text: "One" })));
  reference(await stage.send(stage.message({ channel: "sms", text: "Two" })));
  assert.deepEqual(
    stage.fake.sent.map(({ service, chatGuid }) => `${service} ${chatGuid}`),
    [`SMS SMS;-;${TO}`, `SMS SMS;-;${TO}`],
  );
  assert.deepEqual(posts(stage), ["POST /api/v1/chat/new", "POST /api/v1/message/text"]);
});

test("SMS through a Mac that does not forward it is rejected with what to set up, and is not unreachable", async (t) => {
  const stage = await stageMac(t);
  stage.fake.fault("smsNotForwarded");
  const outcome = await stage.send(stage.message({ channel: "sms" }));
  assert.ok(outcome.outcome === "rejected" && outcome.notReachable === undefined);
  assert.match(outcome.reason, /Text Message Forwarding/);
  assert.equal(posts(stage).length, 0);
});

test("a message to an existing group is sent by the group's guid", async (t) => {
  const stage = await stageMac(t);
  const made = stage.fake.phone(TO).makesGroup("Friends", ["+15551230002"]);
  const group = groupOf([TO, "+15551230002"], made.guid);
  reference(await stage.send(stage.message({ to: "chat_1", group })));
  assert.deepEqual(stage.fake.sent[0]?.to, [TO, "+15551230002"]);
  assert.deepEqual(stage.process.signals, []);
});

test("a group that Messages does not know is retried, and then rejected", async (t) => {
  const stage = await stageMac(t);
  const message = stage.message({ to: "chat_1", group: groupOf([TO], "iMessage;+;chat404") });
  assert.equal((await stage.send(message)).outcome, "deferred");
  assert.equal((await stage.send({ ...message, attempt: 2 })).outcome, "deferred");
  assert.equal((await stage.send({ ...message, attempt: 3 })).outcome, "rejected");
});

test("the Private API gets at most 5 calls a second, and all messages are sent", async (t) => {
  const stage = await stageMac(t, { helperWaits: true });
  stage.fake.knows(TO);
  const messages = Array.from({ length: 20 }, (_, at) => stage.message({ text: `number ${at}` }));
  const outcomes = await stage.sendAll(messages);
  assert.equal(new Set(outcomes.map(reference)).size, 20);
  assert.equal(stage.fake.sent.length, 20);
  assert.ok(stage.fake.busiestSecond <= 5, String(stage.fake.busiestSecond));
});

test("equal texts sent at once have the guids of their responses, whatever the webhooks say", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  stage.fake.fault("tempGuidsSwapped");
  const messages: Outbound[] = Array.from({ length: 4 }, () => stage.message({ text: "the same" }));
  const outcomes = await stage.sendAll(messages);
  for (const [index, outcome] of outcomes.entries()) {
    const sent = stage.fake.sent.find(({ guid }) => guid === reference(outcome));
    assert.equal(sent?.tempGuid, `${messages[index]?.messageId}-1`);
  }
});

test("a response with the row of another message binds nothing: unknown, then found as its own row", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  const { client } = stage.process.mac;
  const post = client.post.bind(client);
  let first: Awaited<ReturnType<typeof post>> | null = null;
  // The helper responds with the guid that the chat sent last, as far as it knows.
  client.post = async (...given) => {
    const answer = await post(...given);
    first ??= answer;
    return first;
  };
  reference(await stage.send(stage.message({ text: "One" })));
  const second = stage.message({ text: "Two" });
  assert.equal((await stage.send(second)).outcome, "unknown");
  assert.equal(reference(await stage.reconcile(second)), stage.fake.sent[1]?.guid);
});

test("a message aborted while it waits for the rate limiter was not posted", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  reference(await stage.send(stage.message()));
  void stage.process.mac.rateLimiter.acquire().catch(() => {});
  const abort = new AbortController();
  const sending = stage.process.sender.send(stage.message(), abort.signal);
  await stage.fake.idle();
  abort.abort();
  assert.equal((await sending).outcome, "deferred");
  assert.equal(stage.fake.sent.length, 1);
});

test("if the attempt cannot be recorded, nothing is posted", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  stage.disk.isFull = true;
  const message = stage.message();
  await assert.rejects(stage.send(message), /disk is full/);
  assert.equal(posts(stage).length, 0);
  stage.disk.isFull = false;
  await stage.restart();
  assert.equal(await stage.reconcile(message), "absent");
});

test("a Mac that does not respond gets a limited number of messages", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  reference(await stage.send(stage.message()));
  stage.fake.fault("hangs", { times: 100 });
  for (let at = 0; at < 24; at += 1) void stage.process.sender.send(stage.message(), new AbortController().signal);
  const outcome = await stage.send(stage.message());
  assert.ok(outcome.outcome === "deferred");
  assert.match(outcome.reason, /24 messages/);
});

test("the record of an attempt does not contain the text", async (t) => {
  const stage = await stageMac(t);
  reference(await stage.send(stage.message({ messageId: "msg_x" as MessageId, text: "a secret of mine" })));
  assert.doesNotMatch(JSON.stringify([...stage.entries]), /secret/);
});

test("a recipient at whose conversation BlueBubbles fails delays no other", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  reference(await stage.send(stage.message()));
  stage.fake.fault("serverError");
  const outcome = await stage.send(stage.message({ to: "+15551230009" }));
  assert.ok(outcome.outcome === "deferred" && outcome.isDown !== true, JSON.stringify(outcome));
  assert.equal(stage.process.mac.health.isUp, true);
  reference(await stage.send(stage.message()));
});
