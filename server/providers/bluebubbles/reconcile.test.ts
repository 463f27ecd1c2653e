/** Tests of attempts whose response got lost: sent messages are found, unsent ones are proved, none is sent twice. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Fault } from "../../../test/support/mac/faults.ts";
import { type Stage, stageMac } from "../../../test/support/mac-outbound.ts";
import { ASK_EVERY_MS, reconciled, reference, restOfFiles } from "../../../test/support/mac-sends.ts";
import { until } from "../../../test/support/wait.ts";
import type { Outbound, Outcome } from "../provider.ts";

const TO = "+15551230001";
const SENT: readonly Fault[] = ["answerLost", "answerTimesOut", "rowNotFound", "sentAndHangs", "gatewayTimeout"];
const NOT_SENT: readonly Fault[] = ["commandTimesOut", "hangs", "serverError"];

test("a response lost after the message was sent: unknown, then found by its text, and sent once", async (t) => {
  for (const fault of SENT) {
    const stage = await stageMac(t);
    stage.fake.knows(TO);
    reference(await stage.send(stage.message({ text: "Before" })));
    stage.fake.fault(fault);
    const message = stage.message({ text: "Where am I?" });
    const outcome = await stage.send(message);
    assert.equal(outcome.outcome, "unknown", fault);
    const found = await reconciled(stage, message);
    assert.equal(reference(found), stage.fake.sent[1]?.guid, fault);
    assert.equal(stage.fake.sent.length, 2, fault);
    assert.equal(stage.process.polled.at(-1), stage.fake.sent[1]?.guid, fault);
    assert.deepEqual(await stage.reconcile(message), found, fault);
  }
});

test("a message that was never sent is proved absent, but not before the Mac can no longer send it", async (t) => {
  for (const fault of NOT_SENT) {
    const stage = await stageMac(t);
    stage.fake.knows(TO);
    reference(await stage.send(stage.message({ text: "Before" })));
    const startedAt = stage.clock.now();
    stage.fake.fault(fault);
    const message = stage.message({ text: "Never" });
    assert.equal((await stage.send(message)).outcome, "unknown", fault);
    assert.equal(await reconciled(stage, message), "absent", fault);
    assert.ok(stage.clock.now() - startedAt >= 190_000, fault);
    reference(await stage.send({ ...message, attempt: 2 }));
    assert.equal(stage.fake.sent.length, 2, fault);
  }
});

test("while the Mac has not responded nothing is queried, and its late response counts", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  reference(await stage.send(stage.message()));
  const lift = stage.fake.fault("answersHeld");
  const message = stage.message({ text: "Slow" });
  const sending = stage.process.sender.send(message, new AbortController().signal);
  await stage.clock.advance(1_000);
  await until(() => stage.fake.sent.length === 2);
  const asked = stage.fake.requests.length;
  assert.deepEqual(await stage.reconcile(message), { outcome: "unknown", reason: "the Mac has not responded yet" });
  assert.equal(stage.fake.requests.length, asked);
  lift();
  const outcome = await stage.driven(sending);
  assert.deepEqual(await stage.reconcile(message), outcome);
  assert.equal(reference(outcome), stage.fake.sent[1]?.guid);
});

test("a process that dies at any moment of an attempt sends nothing twice and loses nothing", async (t) => {
  const moments: { name: string; fault: Fault; wait: (stage: Stage) => boolean; isSent: boolean }[] = [
    { name: "sent, not answered", fault: "answersHeld", wait: ({ fake }) => fake.sent.length === 1, isSent: true },
    {
      name: "posted, not sent",
      fault: "hangs",
      wait: ({ fake }) => fake.requests.some((line) => line.endsWith("/message/text")),
      isSent: false,
    },
  ];
  for (const { name, fault, wait, isSent } of moments) {
    const stage = await stageMac(t);
    stage.fake.knows(TO);
    await stage.driven(stage.process.mac.health.ready());
    await stage.driven(stage.process.mac.chatGuids.findThread(TO, "imessage"));
    stage.fake.fault(fault);
    const message = stage.message({ text: "Am I there?" });
    void stage.process.sender.send(message, new AbortController().signal);
    await until(async () => {
      await stage.clock.advance(250);
      await stage.fake.idle();
      return wait(stage);
    });
    stage.fake.lift(fault);
    await stage.restart({ dies: true });
    const outcome = await reconciled(stage, message);
    if (isSent) assert.equal(reference(outcome), stage.fake.sent[0]?.guid, name);
    else assert.equal(outcome, "absent", name);
    assert.equal(stage.fake.sent.length, isSent ? 1 : 0, name);
  }
});

test("an attempt that died before it was recorded is absent at once", async (t) => {
  const stage = await stageMac(t);
  const message = stage.message();
  assert.equal(await stage.reconcile(message), "absent");
  assert.equal(stage.fake.requests.length, 0);
  reference(await stage.send(message));
  assert.equal(await stage.reconcile({ ...message, attempt: 2 }), "absent");
});

test("an attempt is found by its note however old, and one without a note was never posted", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  const [message, other] = [stage.message({ text: "Old" }), stage.message({ text: "Never" })];
  stage.disk.losesOutcomes = true;
  reference(await stage.send(message));
  await stage.restart({ dies: true });
  stage.disk.losesOutcomes = false;
  await stage.clock.advance(7_200_000);
  reference(await stage.send(stage.message({ text: "New" })));
  assert.equal(reference(await stage.reconcile(message)), stage.fake.sent[0]?.guid);
  assert.equal(await stage.reconcile(other), "absent");
  assert.deepEqual(stage.attempts.noted.map(({ messageId }) => messageId).includes(other.messageId), false);
});

test("after a long outage earlier messages are still on record, even if another message has an equal text", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  const [taken, never] = [stage.message({ text: "Yes" }), stage.message({ text: "Yes" })];
  stage.disk.losesOutcomes = true;
  reference(await stage.send(taken));
  await stage.clock.advance(86_400_000);
  await stage.restart();
  stage.disk.losesOutcomes = false;
  assert.equal(await stage.reconcile(never), "absent");
  assert.equal(reference(await stage.reconcile(taken)), stage.fake.sent[0]?.guid);
});

test("each of several equal texts whose responses got lost is found as its own row", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  reference(await stage.send(stage.message({ text: "Yes" })));
  stage.fake.fault("answerLost", { times: 2 });
  const messages = [stage.message({ text: "Yes" }), stage.message({ text: "Yes" }), stage.message({ text: "Yes" })];
  stage.disk.losesOutcomes = true;
  const outcomes = await stage.sendAll(messages);
  assert.deepEqual(outcomes.map(({ outcome }) => outcome).sort(), ["accepted", "unknown", "unknown"]);
  const found: string[] = [];
  for (const message of messages) found.push(reference(await reconciled(stage, message)));
  assert.deepEqual(
    found.sort(),
    stage.fake.sent
      .slice(1)
      .map(({ guid }) => guid)
      .sort(),
  );
  // Nobody committed what was found: the next process finds it again.
  await stage.restart();
  const again: string[] = [];
  for (const message of messages) again.push(reference(await reconciled(stage, message)));
  assert.deepEqual(again.sort(), found);
});

test("a row of another recipient, with another text, or of a contact is never taken for ours", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  stage.fake.knows("+15551230002");
  reference(await stage.send(stage.message({ to: "+15551230002", text: "Mine" })));
  stage.fake.fault("commandTimesOut");
  const message = stage.message({ text: "Mine" });
  assert.equal((await stage.send(message)).outcome, "unknown");
  stage.fake.phone(TO).writes("Mine");
  reference(await stage.send(stage.message({ text: "Mine too" })));
  assert.equal(await reconciled(stage, message), "absent");
});

test("a matching row with an earlier date, on a Mac with a wrong clock, leaves the outcome unknown", async (t) => {
  const stage = await stageMac(t);
  const guid = stage.fake.knows(TO);
  stage.fake.phone(TO).writes("Hi");
  stage.fake.fault("answerLost");
  const message = stage.message({ text: "Off" });
  assert.equal((await stage.send(message)).outcome, "unknown");
  const row = stage.fake.messages.find(({ text }) => text === "Off");
  assert.equal(row?.chat.guid, guid);
  if (row !== undefined) row.dateCreated -= 120_000;
  const outcome = await reconciled(stage, message);
  assert.ok(outcome !== "absent" && outcome.outcome === "unknown");
});

test("a message with files whose response got lost is found by its text, or by having files and no text", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  const bytes = new Uint8Array([1, 2, 3]);
  const attachments = [{ mimeType: "image/png", filename: "a.png", bytes, isAudioMessage: false }];
  for (const text of ["Look", ""]) {
    stage.fake.fault("answerLost");
    const message = stage.message({ text, attachments });
    assert.equal((await stage.send(message)).outcome, "unknown");
    const outcome = await reconciled(stage, { ...message, attachments: [] });
    assert.equal(reference(outcome), stage.fake.sent.at(-1)?.guid);
  }
});

test("a first message whose response got lost is found in the chat that it began, and its files follow", async (t) => {
  const stage = await stageMac(t);
  stage.fake.fault("answerLost");
  const plain = stage.message({ text: "First" });
  assert.equal((await stage.send(plain)).outcome, "unknown");
  assert.equal(reference(await reconciled(stage, plain)), stage.fake.sent[0]?.guid);
  stage.fake.fault("answerLost");
  const bytes = new Uint8Array([1]);
  const attachments = [{ mimeType: "image/png", filename: "a.png", bytes, isAudioMessage: false }];
  const rich = stage.message({ to: "+15551230002", text: "With a file", attachments });
  assert.equal((await stage.send(rich)).outcome, "unknown");
  const half = await reconciled(stage, { ...rich, attachments: [] });
  assert.equal(restOfFiles(half).outcome, "deferred");
  reference(await stage.send({ ...rich, attempt: 2 }));
  assert.deepEqual(
    stage.fake.sent.map(({ text }) => text),
    ["First", "With a file", null],
  );
});

test("a first message to a group whose response got lost is found by the group's participants", async (t) => {
  const stage = await stageMac(t);
  const participants = [TO, "+15551230002"];
  const line = { customerId: "cust_1", from: "+15550000001", channel: "imessage", contact: null } as const;
  const group = { ...line, chatId: "chat_1", reference: null, participants } as const;
  stage.fake.fault("answerLost");
  const message = stage.message({ to: "chat_1", group, text: "All of you" });
  assert.equal((await stage.send(message)).outcome, "unknown");
  assert.equal(reference(await reconciled(stage, message)), stage.fake.sent[0]?.guid);
  const [reported] = stage.process.signals;
  assert.ok(reported?.kind === "group" && reported.group.reference === stage.fake.chats[0]?.guid);
});

test("a found row has its error: not reachable", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  stage.fake.fault("answerLost");
  const message = stage.message({ text: "Fails" });
  assert.equal((await stage.send(message)).outcome, "unknown");
  const row = stage.fake.messages.find(({ text }) => text === "Fails");
  assert.ok(row !== undefined);
  row.error = 22;
  const outcome = await reconciled(stage, message);
  assert.ok(outcome !== "absent" && outcome.outcome === "rejected" && outcome.notReachable === true);
});

test("a Mac that does not respond leaves the outcome unknown", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  stage.fake.fault("answerLost");
  const message = stage.message();
  assert.equal((await stage.send(message)).outcome, "unknown");
  stage.fake.fault("unreachable");
  const outcome = await reconciled(stage, message);
  assert.ok(outcome !== "absent" && outcome.outcome === "unknown");
  assert.doesNotMatch(outcome.reason, /password|127\.0/);
});

test("a Mac that sleeps for an hour in the middle of 100 sends: each message is sent once, and each outcome is known", async (t) => {
  const stage = await stageMac(t, { helperWaits: true });
  stage.fake.knows(TO);
  const waiting = Array.from({ length: 100 }, (_, at) => stage.message({ text: `number ${at}` }));
  const unknown: Outbound[] = [];
  const accepted = new Map<string, string>();
  const conclude = (message: Outbound, outcome: Outcome | "absent") => {
    if (outcome === "absent" || outcome.outcome === "deferred")
      waiting.push({ ...message, attempt: message.attempt + 1 });
    else if (outcome.outcome === "unknown") unknown.push(message);
    else accepted.set(message.text, reference(outcome));
  };
  const sendMany = async (count: number) => {
    const batch = waiting.splice(0, count).map((message) => ({ ...message, attemptedAt: stage.clock.now() }));
    const outcomes = await stage.sendAll(batch);
    for (const [at, message] of batch.entries()) conclude(message, outcomes[at] ?? "absent");
  };
  const ask = async () => {
    for (const message of unknown.splice(0)) conclude(message, await stage.reconcile(message));
  };
  for (let at = 0; at < 5; at += 1) await sendMany(8);
  const sleeping = Promise.all([sendMany(8)]);
  stage.fake.fault("asleep");
  await sleeping;
  await sendMany(8);
  await stage.clock.advance(3_600_000);
  await ask();
  stage.fake.lift("asleep");
  await stage.driven(stage.process.mac.health.ready());
  for (let round = 0; round < 60 && (waiting.length > 0 || unknown.length > 0); round += 1) {
    await sendMany(8);
    await stage.clock.advance(ASK_EVERY_MS);
    await ask();
  }
  assert.equal(accepted.size, 100);
  const texts = stage.fake.sent.map(({ text }) => text);
  assert.deepEqual([texts.length, new Set(texts).size], [100, 100]);
  for (const { text, guid } of stage.fake.sent) assert.equal(accepted.get(text ?? ""), guid);
});

test("a message found after the engine stopped asking is reported with a receipt: it was sent after all", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  await stage.driven(stage.process.mac.health.ready());
  await stage.driven(stage.process.mac.chatGuids.findThread(TO, "imessage"));
  stage.fake.fault("asleep");
  const message = stage.message({ text: "Good night" });
  assert.equal((await stage.send(message)).outcome, "unknown");
  await stage.clock.advance(3_600_000);
  stage.fake.lift("asleep");
  await stage.restart();
  await stage.driven(stage.process.mac.health.ready());
  await stage.driven(
    until(async () => {
      await stage.fake.idle();
      return stage.process.signals.length > 0;
    }),
  );
  const [sent] = stage.fake.sent;
  const [signal] = stage.process.signals;
  const note = { reference: sent?.guid, text: signal?.note?.text };
  assert.match(note.text ?? "", /^{"sentAt":\d+}$/);
  const { messageId } = message;
  assert.deepEqual(stage.process.signals, [
    { kind: "receipt", receipt: "sent", reference: sent?.guid, messageId, channel: "imessage", note },
  ]);
  assert.deepEqual(stage.process.polled, [sent?.guid]);
  assert.equal(stage.fake.sent.length, 1);
});

test("a Mac that just woke up is given its time before a message counts as not sent", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  await stage.driven(stage.process.mac.health.ready());
  await stage.driven(stage.process.mac.chatGuids.findThread(TO, "imessage"));
  stage.fake.fault("hangs");
  const message = stage.message({ text: "Hello?" });
  const sending = stage.send(message);
  stage.fake.fault("asleep");
  assert.equal((await sending).outcome, "unknown");
  await stage.clock.advance(600_000);
  stage.fake.lift("asleep");
  await stage.driven(stage.process.mac.health.ready());
  const early = await stage.reconcile(message);
  assert.ok(early !== "absent" && early.outcome === "unknown", JSON.stringify(early));
  await stage.clock.advance(190_000);
  assert.equal(await stage.reconcile(message), "absent");
});
