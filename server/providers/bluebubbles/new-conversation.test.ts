/** Tests of first messages: conversations and groups that begin with them, and every way in which that can fail. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { stageMac } from "../../../test/support/mac-outbound.ts";
import { file, groupOf, posts, reference, restOfFiles } from "../../../test/support/mac-sends.ts";
import { outcomeOfRest } from "../provider.ts";

const TO = "+15551230001";

test("a first message begins the conversation if Apple reports that the recipient is reachable", async (t) => {
  const stage = await stageMac(t);
  const outcome = await stage.send(stage.message({ text: "Hello", effect: "love" }));
  const [sent] = stage.fake.sent;
  assert.equal(reference(outcome), sent?.guid);
  assert.equal(sent?.effectId, "com.apple.messages.effect.CKHeartEffect");
  assert.deepEqual(posts(stage), ["POST /api/v1/chat/new"]);
  reference(await stage.send(stage.message({ text: "Again" })));
  assert.equal(posts(stage).at(-1), "POST /api/v1/message/text");
});

test("a recipient without iMessage gets nothing there: rejected as not reachable, so that the message falls back", async (t) => {
  const stage = await stageMac(t);
  stage.fake.phone(TO).isOnIMessage = false;
  const outcome = await stage.send(stage.message());
  assert.ok(outcome.outcome === "rejected" && outcome.notReachable === true);
  assert.equal(outcome.code, "NOT_ON_IMESSAGE");
  assert.doesNotMatch(outcome.reason, /5551230001/);
  assert.deepEqual([stage.fake.sent.length, posts(stage).length], [0, 0]);
});

test("a single negative answer of Apple is checked again", async (t) => {
  const stage = await stageMac(t);
  stage.fake.fault("availabilityFalse");
  reference(await stage.send(stage.message()));
});

test("beyond the hourly limit a first message waits, and existing conversations continue", async (t) => {
  const stage = await stageMac(t, { newChatsPerHour: 2 });
  reference(await stage.send(stage.message({ to: "+15551230001" })));
  reference(await stage.send(stage.message({ to: "+15551230002" })));
  await stage.restart();
  const third = await stage.send(stage.message({ to: "+15551230003" }));
  assert.ok(third.outcome === "deferred" && third.isDown !== true);
  assert.ok((third.retryAfterMs ?? 0) > 3_500_000 && (third.retryAfterMs ?? 0) <= 3_600_000);
  reference(await stage.send(stage.message({ to: "+15551230001" })));
  await stage.clock.advance(3_600_000);
  reference(await stage.send(stage.message({ to: "+15551230003" })));
});

test("a conversation that was not begun does not count towards the limit", async (t) => {
  const stage = await stageMac(t, { newChatsPerHour: 1 });
  stage.fake.knows("+15551230002");
  reference(await stage.send(stage.message({ to: "+15551230002" })));
  const lift = stage.fake.fault("helperGone");
  const message = stage.message();
  const outcome = await stage.send(message);
  assert.ok(outcome.outcome === "deferred" && outcome.isDown === true);
  lift();
  await stage.driven(stage.process.mac.health.ready());
  reference(await stage.send({ ...message, attempt: 2 }));
  assert.equal((await stage.send(stage.message({ to: "+15551230003" }))).outcome, "deferred");
});

test("a conversation aborted before it began does not count either", async (t) => {
  const stage = await stageMac(t, { newChatsPerHour: 1 });
  await stage.driven(stage.process.mac.health.ready());
  await stage.clock.advance(1_000);
  const abort = new AbortController();
  const message = stage.message();
  const sending = stage.process.sender.send(message, abort.signal);
  await stage.fake.idle();
  assert.equal(stage.process.mac.rateLimiter.waiting, 1);
  abort.abort();
  assert.equal((await sending).outcome, "deferred");
  assert.deepEqual(posts(stage), []);
  reference(await stage.send({ ...message, attempt: 2 }));
});

test("a chat that Messages no longer knows is begun again, without a second message", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  stage.fake.fault("chatNotInRegistry");
  reference(await stage.send(stage.message()));
  assert.equal(stage.fake.sent.length, 1);
  assert.deepEqual(posts(stage), ["POST /api/v1/message/text", "POST /api/v1/chat/new"]);
});

test("a first message that fails has its error in the response of the new chat", async (t) => {
  const stage = await stageMac(t);
  stage.fake.fault("errorAtOnce");
  const outcome = await stage.send(stage.message());
  assert.ok(outcome.outcome === "rejected" && outcome.code === "22");
});

test("a group is created with its first message: it is named, its guid is reported, and the next message uses it", async (t) => {
  const stage = await stageMac(t);
  const group = groupOf([TO, "+15551230002"], null);
  const abort = new AbortController().signal;
  const { customerId, from, participants } = group;
  const made = await stage.process.commands.createGroup({ customerId, from, participants, name: "Trip" }, abort);
  assert.deepEqual(made, { done: true, reference: null });
  await stage.restart();
  reference(await stage.send(stage.message({ to: "chat_1", group, text: "Hi all" })));
  await stage.driven(stage.process.mac.rateLimiter.acquire());
  await stage.fake.idle();
  const [chat] = stage.fake.chats;
  assert.deepEqual([chat?.displayName, chat?.style], ["Trip", 43]);
  const [reported] = stage.process.signals;
  assert.ok(reported?.kind === "group");
  assert.deepEqual(reported.group, { reference: chat?.guid, name: "Trip", participants: group.participants });
  reference(await stage.send(stage.message({ to: "chat_1", group, text: "Again" })));
  assert.deepEqual([stage.fake.chats.length, stage.fake.sent.length], [1, 2]);
});

test("a first message with files: the text begins the conversation, the files follow, and the reference is that of the files", async (t) => {
  const stage = await stageMac(t);
  const outcome = await stage.send(stage.message({ text: "Look", attachments: [file()] }));
  assert.deepEqual(
    stage.fake.sent.map(({ text, attachments }) => [text, attachments.length]),
    [
      ["Look", 0],
      [null, 1],
    ],
  );
  assert.equal(reference(outcome), stage.fake.sent[1]?.guid);
  assert.deepEqual(outcome.outcome === "accepted" && outcome.part, {
    reference: stage.fake.sent[0]?.guid,
    what: "the text",
  });
  assert.deepEqual(
    stage.process.polled,
    stage.fake.sent.map(({ guid }) => guid),
  );
});

test("a message whose text was sent and whose files were not continues with the files, whatever happened in between", async (t) => {
  for (const dies of [false, true]) {
    const stage = await stageMac(t);
    const message = stage.message({ text: "Look", attachments: [file()] });
    const upload = stage.process.mac.client.upload.bind(stage.process.mac.client);
    stage.process.mac.client.upload = async (path, given, limits) => {
      if (path === "/attachment/upload") return { kind: "unreachable", reason: "ECONNREFUSED" };
      return upload(path, given, limits);
    };
    const first = restOfFiles(await stage.send(message));
    assert.ok(first.outcome === "deferred" && first.isDown === true);
    assert.equal(stage.fake.sent.length, 1);
    await stage.restart({ dies });
    // Longer than ended attempts are kept.
    await stage.clock.advance(3_600_000);
    await stage.restart();
    reference(await stage.send({ ...message, attempt: 2 }));
    assert.deepEqual(
      stage.fake.sent.map(({ text }) => text),
      ["Look", null],
    );
  }
});

test("a text whose conversation is gone is not sent again because of its files", async (t) => {
  const stage = await stageMac(t);
  const message = stage.message({ text: "Look", attachments: [file()] });
  stage.process.mac.client.upload = async () => ({ kind: "unreachable", reason: "ECONNREFUSED" });
  assert.equal(restOfFiles(await stage.send(message)).outcome, "deferred");
  (stage.fake.chats as unknown[]).length = 0;
  await stage.restart();
  assert.equal(restOfFiles(await stage.send({ ...message, attempt: 2 })).outcome, "deferred");
  assert.equal(stage.fake.sent.length, 1);
});

for (const fault of ["fileErrorAtOnce", "fileHangs", "fileAnswerLost"] as const) {
  test(`a text is sent once, whatever happens to its files: ${fault}`, async (t) => {
    const stage = await stageMac(t);
    stage.fake.fault(fault);
    const message = stage.message({ text: "Look", attachments: [file()] });
    stage.disk.losesOutcomes = true;
    const rest = restOfFiles(await stage.send(message));
    assert.equal(rest.outcome, fault === "fileErrorAtOnce" ? "rejected" : "unknown");
    // The note of the text survives the process.
    await stage.restart({ dies: true });
    stage.disk.losesOutcomes = false;
    let outcome = await stage.reconcile(message);
    for (
      let asked = 0;
      asked < 20 && outcome !== "absent" && outcomeOfRest(outcome).outcome === "unknown";
      asked += 1
    ) {
      await stage.clock.advance(15_000);
      outcome = await stage.reconcile(message);
    }
    if (fault === "fileErrorAtOnce") assert.equal(restOfFiles(outcome).outcome, "rejected");
    if (fault === "fileAnswerLost") assert.equal(reference(outcome), stage.fake.sent[1]?.guid);
    if (fault === "fileHangs") assert.equal(restOfFiles(outcome).outcome, "deferred");
    const isSent = fault === "fileAnswerLost";
    if (!isSent) reference(await stage.send({ ...message, attempt: 2 }));
    assert.deepEqual(
      stage.fake.sent.map(({ text }) => text),
      ["Look", null],
    );
  });
}

test("a process that no longer knows of the sent text, and is given it, sends the files alone", async (t) => {
  const stage = await stageMac(t);
  stage.fake.fault("fileErrorAtOnce");
  const message = stage.message({ text: "Look", attachments: [file()] });
  const outcome = await stage.send(message);
  assert.ok(outcome.outcome === "partly");
  await stage.restart({ dies: true });
  const open = stage.attempts.noted.filter(({ reference }) => reference === null);
  assert.deepEqual(open, []);
  reference(await stage.send({ ...message, attempt: 2, sentPart: outcome.part }));
  assert.deepEqual(
    stage.fake.sent.map(({ text }) => text),
    ["Look", null],
  );
});

test("a text that turns out not to have been sent before its files: everything is rejected, and the files are not posted", async (t) => {
  const stage = await stageMac(t);
  const upload = stage.process.mac.client.upload.bind(stage.process.mac.client);
  stage.process.mac.client.upload = async (path, given, limits) => {
    for (const row of stage.fake.messages) row.error = 22;
    return upload(path, given, limits);
  };
  const outcome = await stage.send(stage.message({ text: "Look", attachments: [file()] }));
  assert.ok(outcome.outcome === "rejected" && outcome.notReachable === true, JSON.stringify(outcome));
  assert.deepEqual(posts(stage), ["POST /api/v1/chat/new", "POST /api/v1/attachment/upload"]);
});

test("files alone cannot begin a conversation: rejected, and nothing is sent", async (t) => {
  const stage = await stageMac(t);
  const outcome = await stage.send(stage.message({ text: "", attachments: [file()] }));
  assert.ok(outcome.outcome === "rejected" && outcome.code === "NEW_CHAT_NEEDS_TEXT");
  assert.equal(stage.fake.sent.length, 0);
});
