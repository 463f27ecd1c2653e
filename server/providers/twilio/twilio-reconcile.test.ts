/** The provider against a small Twilio on loopback: unknown outcomes, and receipts that have to be polled. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { resourceOf } from "../../../test/support/twilio/fake-message.ts";
import { fastClock } from "../../../test/support/twilio/fast-clock.ts";
import { accepted, message, NEVER, receipts, reportedReceipts, TO } from "../../../test/support/twilio/sending.ts";
import { twilioStage } from "../../../test/support/twilio/stage.ts";
import { until } from "../../../test/support/wait.ts";
import type { Outcome } from "../provider.ts";

/** The limit of a request to Twilio, in milliseconds. */
const REQUEST_MS = 30_000;

test("a lost response is unknown, and reconciled by the list: accepted once, and its callbacks count", async (t) => {
  for (const answer of ["lost", "error", "nameless", "garbage"] as const) {
    const stage = await twilioStage(t);
    stage.fake.behaviours.set(TO, { answer, callbacks: false });
    const sent = message();
    assert.equal((await stage.provider.send(sent, NEVER)).outcome, "unknown", answer);
    const reconciled = await stage.provider.reconcile?.(sent);
    assert.ok(reconciled !== "absent" && reconciled?.outcome === "accepted", answer);
    assert.equal(reconciled.reference, stage.fake.taken({ to: TO })[0]?.sid);
    assert.deepEqual(await stage.provider.reconcile?.(sent), { outcome: "accepted", reference: reconciled.reference });
    assert.equal(stage.fake.taken({ to: TO }).length, 1);
  }
});

test("a lost response is reconciled by the callback alone, also in the next process", async (t) => {
  const stage = await twilioStage(t);
  stage.fake.behaviours.set(TO, { answer: "lost", statuses: ["sending"] });
  const sent = message();
  assert.equal((await stage.provider.send(sent, NEVER)).outcome, "unknown");
  await until(() => stage.fake.called.some(({ status }) => status === 204));
  assert.deepEqual(receipts(stage), []);
  stage.fake.messages.length = 0;
  await stage.restart();
  const asked = stage.fake.asked.length;
  const reconciled = await stage.provider.reconcile?.(sent);
  assert.ok(reconciled !== "absent" && reconciled?.outcome === "accepted");
  const lists = stage.fake.asked.slice(asked).filter(({ path }) => path.endsWith("/Messages.json"));
  assert.deepEqual(lists, []);
});

test("a delivered message is not taken for a lost one with the same text", async (t) => {
  const stage = await twilioStage(t);
  const attemptedAt = Date.now() - 61_000;
  const first = message({ attemptedAt });
  await accepted(stage.provider.send(first, NEVER));
  await reportedReceipts(stage, 2);
  stage.fake.behaviours.set(TO, { answer: "lost", takes: false });
  const second = message({ attemptedAt: attemptedAt + 1 });
  assert.equal((await stage.provider.send(second, NEVER)).outcome, "unknown");
  // The reference of the delivered message is known after a restart, too.
  await stage.restart();
  assert.equal(await stage.provider.reconcile?.(second), "absent");
  assert.equal(await stage.provider.reconcile?.(message({ text: "Other", attemptedAt })), "absent");
});

test("two messages lost at once never match the same message at Twilio", async (t) => {
  const stage = await twilioStage(t);
  const attemptedAt = Date.now() - 61_000;
  stage.fake.now = () => attemptedAt;
  stage.fake.behaviours.set(TO, { answer: "lost", callbacks: false });
  const [a, b] = [message({ attemptedAt }), message({ attemptedAt })];
  await stage.provider.send(a, NEVER);
  stage.fake.behaviours.set(TO, { answer: "lost", takes: false });
  await stage.provider.send(b, NEVER);
  const reconciled = await Promise.all([stage.provider.reconcile?.(a), stage.provider.reconcile?.(b)]);
  const outcomes = reconciled.map((one) => (one === "absent" ? one : one?.outcome));
  assert.deepEqual(outcomes, ["accepted", "absent"]);
});

test("while another message to the recipient is in flight, or a list cannot be read, the outcome stays unknown", async (t) => {
  const stage = await twilioStage(t);
  const lost = message({ attemptedAt: Date.now() - 61_000 });
  stage.fake.behaviours.set(TO, { slowMs: 50 });
  const sending = stage.provider.send(message(), NEVER);
  const meanwhile = await stage.provider.reconcile?.(lost);
  assert.ok(meanwhile !== "absent" && meanwhile?.outcome === "unknown");
  await accepted(sending);
  stage.fake.everything = { status: 503, body: "" };
  const unread = await stage.provider.reconcile?.(lost);
  assert.ok(unread !== "absent" && unread?.outcome === "unknown");
  stage.fake.everything = { status: 200, body: '{"messages":[{"sid":null}],"next_page_uri":null}' };
  const odd = await stage.provider.reconcile?.(lost);
  assert.ok(odd !== "absent" && odd?.outcome === "unknown");
  stage.fake.everything = null;
  assert.equal(await stage.provider.reconcile?.(lost), "absent");
});

test("a message that is sent while the list is read is not taken for a lost one with the same text", async (t) => {
  const stage = await twilioStage(t);
  const lost = message({ attemptedAt: Date.now() - 61_000 });
  await accepted(stage.provider.send(message(), NEVER));
  const [known] = stage.fake.taken({ to: TO });
  assert.ok(known !== undefined);
  const next: Promise<Outcome>[] = [];
  // Twilio has the next message, and has not responded to it.
  stage.fake.onList = () => {
    next.push(stage.provider.send(message(), NEVER));
    const listed = resourceOf({ ...known, sid: `SM${"f".repeat(32)}` }, stage.fake.accountSid);
    return { status: 200, body: JSON.stringify({ messages: [listed], next_page_uri: null }) };
  };
  const outcome = await stage.provider.reconcile?.(lost);
  assert.ok(outcome !== "absent" && outcome?.outcome === "unknown", JSON.stringify(outcome));
  assert.equal(next.length, 1);
  await Promise.all(next);
});

test("a list is read to its end, page by page, and an endless one proves nothing", async (t) => {
  const stage = await twilioStage(t);
  stage.fake.pageSizeMax = 3;
  const attemptedAt = Date.now() - 61_000;
  stage.fake.behaviours.set(TO, { answer: "lost", callbacks: false });
  const lost = message({ attemptedAt, text: "the one" });
  await stage.provider.send(lost, NEVER);
  stage.fake.behaviours.set(TO, { statuses: [] });
  for (let count = 0; count < 7; count += 1) await accepted(stage.provider.send(message({ text: `${count}` }), NEVER));
  const reconciled = await stage.provider.reconcile?.(lost);
  assert.ok(reconciled !== "absent" && reconciled?.outcome === "accepted");
  assert.equal(stage.fake.messages.find(({ sid }) => sid === reconciled.reference)?.body, "the one");
  stage.fake.pageSizeMax = 0;
  const endless = await stage.provider.reconcile?.(message({ attemptedAt }));
  assert.ok(endless !== "absent" && endless?.outcome === "unknown");
});

test("a message without a callback is polled, also by the next process", async (t) => {
  const stage = await twilioStage(t, { clock: fastClock(200, REQUEST_MS) });
  stage.fake.behaviours.set(TO, { callbacks: false });
  await accepted(stage.provider.send(message(), NEVER));
  assert.deepEqual(await reportedReceipts(stage, 1), ["delivered"]);
  stage.fake.behaviours.set(TO, { callbacks: false, statuses: ["sent"] });
  const reference = await accepted(stage.provider.send(message(), NEVER));
  await reportedReceipts(stage, 2);
  stage.hook.to = null;
  await stage.provider.stop();
  for (const one of stage.fake.messages) if (one.sid === reference) one.status = "undelivered";
  await stage.restart();
  await until(() => receipts(stage).at(-1)?.receipt === "failed");
  assert.equal(receipts(stage).at(-1)?.reference, reference);
});

test("a message that was deleted at Twilio or here is not polled any more", async (t) => {
  const stage = await twilioStage(t, { clock: fastClock(200, REQUEST_MS) });
  stage.fake.behaviours.set(TO, { callbacks: false, statuses: ["sent"] });
  stage.listen = async () => "unknown";
  await accepted(stage.provider.send(message(), NEVER));
  await reportedReceipts(stage, 1);
  await accepted(stage.provider.send(message({ to: "+15550100002" }), NEVER));
  for (const one of stage.fake.messages) one.isDeleted = one.to !== TO;
  await until(() => stage.attempts.noted.length === 0);
});

test("a callback that cannot be stored is a 500, and its status is polled", async (t) => {
  const stage = await twilioStage(t, { clock: fastClock(20) });
  let isBusy = true;
  stage.listen = async () => {
    if (isBusy) throw new Error("the store is busy");
    return "applied";
  };
  stage.fake.behaviours.set(TO, { statuses: ["delivered"] });
  await accepted(stage.provider.send(message(), NEVER));
  await until(() => stage.fake.called.some(({ status }) => status === 500));
  isBusy = false;
  assert.deepEqual(await reportedReceipts(stage, 1), ["delivered"]);
});

test("a late status of an earlier attempt says nothing about the present one", async (t) => {
  const stage = await twilioStage(t);
  const first = message();
  const failed = { status: "undelivered", errorCode: 30008 };
  stage.fake.behaviours.set(TO, { statuses: [failed] });
  await accepted(stage.provider.send(first, NEVER));
  await reportedReceipts(stage, 1);
  stage.fake.behaviours.set(TO, { statuses: [] });
  const reference = await accepted(stage.provider.send({ ...first, attemptedAt: first.attemptedAt + 5 }, NEVER));
  const [old] = stage.fake.taken({ to: TO });
  assert.ok(old !== undefined);
  const again = await stage.fake.call(old.statusCallback ?? "", {
    ...stage.fake.callback(old),
    MessageStatus: "delivered",
  });
  assert.equal(again.status, 204);
  assert.equal(receipts(stage).length, 1);
  const [, fresh] = stage.fake.taken({ to: TO });
  assert.equal(fresh?.sid, reference);
  await stage.fake.call(fresh?.statusCallback ?? "", stage.fake.callback({ ...(fresh ?? old), status: "delivered" }));
  assert.deepEqual(
    receipts(stage).map(({ receipt }) => receipt),
    ["failed", "delivered"],
  );
});
