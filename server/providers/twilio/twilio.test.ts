/** The provider against a small Twilio on loopback: sends, receipts, files, and an API that misbehaves. */

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { fastClock } from "../../../test/support/twilio/fast-clock.ts";
import {
  accepted,
  FROM,
  message,
  NEVER,
  receipts,
  reportedReceipts,
  TO,
} from "../../../test/support/twilio/sending.ts";
import { twilioStage } from "../../../test/support/twilio/stage.ts";
import { until } from "../../../test/support/wait.ts";
import { STATUSES } from "./status-meaning.ts";

test("a message is accepted with Twilio's sid, and its callbacks become receipts with the sid and our id", async (t) => {
  const stage = await twilioStage(t);
  const sent = message({ text: "x".repeat(200) });
  const outcome = await stage.provider.send(sent, NEVER);
  assert.ok(outcome.outcome === "accepted");
  assert.equal(outcome.segments, 2);
  assert.deepEqual(await reportedReceipts(stage, 2), ["sent", "delivered"]);
  for (const { reference, messageId, channel } of receipts(stage)) {
    assert.deepEqual([reference, messageId, channel], [outcome.reference, sent.messageId, "sms"]);
  }
  const [taken] = stage.fake.taken({ to: TO });
  assert.equal(taken?.statusCallback, `${stage.hook.url}/status/${sent.messageId}/${sent.attemptedAt}`);
  await until(() => stage.fake.called.every(({ status }) => status === 204));
});

test("each of the thirteen statuses follows the table, in any order", async (t) => {
  const stage = await twilioStage(t);
  const words = Object.keys(STATUSES);
  assert.equal(words.length, 13);
  stage.fake.behaviours.set(TO, { statuses: [...words, ...words.toReversed(), "something_new"] });
  await accepted(stage.provider.send(message(), NEVER));
  await until(() => stage.fake.called.filter(({ status }) => status !== null).length === 27);
  assert.deepEqual(await reportedReceipts(stage, 3), ["sent", "delivered", "read"]);
});

test("a failure is reported with its code and reason, a later delivery corrects it, and nothing is reported twice", async (t) => {
  const stage = await twilioStage(t);
  const failed = { status: "undelivered", errorCode: 30005 };
  stage.fake.behaviours.set(TO, { statuses: [failed, "sent", failed, "delivered", failed, "delivered"] });
  await accepted(stage.provider.send(message(), NEVER));
  await until(() => stage.fake.called.filter(({ status }) => status !== null).length === 6);
  assert.deepEqual(await reportedReceipts(stage, 2), ["failed", "delivered"]);
  const [first] = receipts(stage);
  assert.deepEqual([first?.code, first?.reason], ["30005", "The recipient's number is not in use."]);
  stage.fake.behaviours.set("+15550100002", { statuses: ["canceled"] });
  stage.fake.behaviours.set("+15550100003", { statuses: [{ status: "failed", errorCode: 39999 }] });
  await accepted(stage.provider.send(message({ to: "+15550100002" }), NEVER));
  await reportedReceipts(stage, 3);
  await accepted(stage.provider.send(message({ to: "+15550100003" }), NEVER));
  await reportedReceipts(stage, 4);
  const last = receipts(stage).slice(2);
  assert.deepEqual(
    last.map(({ code, reason }) => [code, reason]),
    [
      ["canceled", "Twilio reports the status canceled."],
      ["39999", "error 39999"],
    ],
  );
});

test("a permanent refusal rejects the message; the instance stays up", async (t) => {
  const stage = await twilioStage(t);
  stage.fake.behaviours.set(TO, { refuse: { status: 400, body: { code: 21614, message: "not a mobile" } } });
  const outcome = await stage.provider.send(message(), NEVER);
  const reason = "The recipient's number is not a mobile number.";
  assert.deepEqual(outcome, { outcome: "rejected", code: "21614", reason, notReachable: true });
  assert.equal(stage.provider.isUp, true);
  assert.deepEqual(stage.signals, []);
});

test("a contact's opt-out at Twilio is reported when a message is refused, and when one fails later", async (t) => {
  const stage = await twilioStage(t);
  stage.fake.behaviours.set(TO, { refuse: { status: 400, body: { code: 21610, message: "stopped" } } });
  const late = "+15550100002";
  stage.fake.behaviours.set(late, { statuses: [{ status: "failed", errorCode: 21610 }] });
  let failures = 2;
  stage.listen = async () => {
    failures -= 1;
    if (failures >= 0) throw new Error("the store is busy");
    return "applied";
  };
  assert.equal((await stage.provider.send(message(), NEVER)).outcome, "rejected");
  await until(() => stage.signals.length === 1);
  await accepted(stage.provider.send(message({ to: late }), NEVER));
  await until(() => stage.signals.length === 3);
  const optOut = { kind: "optOut", to: FROM, channel: "sms", request: "stop", keyword: null };
  assert.deepEqual(stage.signals.slice(0, 2), [
    { ...optOut, from: TO },
    { ...optOut, from: late },
  ]);
});

test("without a server a message is provably not sent, and the instance is down until the server is back", async (t) => {
  const stage = await twilioStage(t, { clock: fastClock(20) });
  await stage.provider.health();
  await stage.fake.shut();
  const outcome = await stage.provider.send(message(), NEVER);
  assert.ok(outcome.outcome === "deferred" && outcome.isDown === true, JSON.stringify(outcome));
  assert.equal(stage.provider.isUp, false);
  const health = await stage.provider.health();
  assert.equal(health.status, "unhealthy");
  assert.match(health.message ?? "", /^Twilio cannot be reached: the connection was refused/);
  const { changes } = stage;
  await stage.fake.open();
  await until(() => stage.provider.isUp, { what: "the way up" });
  assert.ok(stage.changes > changes);
  assert.equal((await stage.provider.health()).status, "healthy");
  await accepted(stage.provider.send(message(), NEVER));
});

test("a name that does not exist and a server without TLS are provably not sent", async (t) => {
  const mute = createServer((socket) => socket.on("error", () => {}).end("no TLS here\n"));
  await new Promise<void>((resolve) => void mute.listen(0, "127.0.0.1", resolve));
  t.after(() => mute.close());
  const { port } = mute.address() as { port: number };
  for (const baseUrl of ["https://nobody.invalid", `https://127.0.0.1:${port}`, "http://127.0.0.1:1"]) {
    const stage = await twilioStage(t, { config: { baseUrl } });
    const outcome = await stage.provider.send(message(), NEVER);
    assert.ok(outcome.outcome === "deferred" && outcome.isDown === true, baseUrl);
    assert.equal(stage.provider.isUp, false);
  }
});

test("refused credentials and a suspended account keep the queue waiting, and health says what to do", async (t) => {
  const stage = await twilioStage(t, { clock: fastClock(20), config: { authToken: "wrong" } });
  const outcome = await stage.provider.send(message(), NEVER);
  assert.ok(outcome.outcome === "deferred" && outcome.isDown === true);
  assert.equal(stage.provider.isUp, false);
  assert.match((await stage.provider.health()).message ?? "", /accountSid and authToken/);
  const suspended = await twilioStage(t, { clock: fastClock(20) });
  suspended.fake.accountStatus = "suspended";
  await suspended.restart();
  await until(() => !suspended.provider.isUp);
  assert.match((await suspended.provider.health()).message ?? "", /suspended/);
  suspended.fake.accountStatus = "active";
  await until(() => suspended.provider.isUp);
  assert.equal((await suspended.provider.health()).status, "healthy");
});

test("a signed webhook makes an instance that is down check the API at once, while the clock stands still", async (t) => {
  const clock = new SimulatedClock();
  const stage = await twilioStage(t, { clock });
  await stage.provider.health();
  stage.fake.accountStatus = "suspended";
  await stage.restart();
  await until(() => !stage.provider.isUp);
  stage.fake.accountStatus = "active";
  const call = await stage.fake.write(stage.hook.url, { from: TO, to: FROM, body: "Hi" });
  assert.equal(call.status, 200);
  await until(() => stage.provider.isUp, { what: "the way up" });
});

test("a send without a response makes the instance check the API", async (t) => {
  const stage = await twilioStage(t, { clock: fastClock(20) });
  await stage.provider.health();
  stage.fake.everything = { status: 503, body: "" };
  assert.equal((await stage.provider.send(message(), NEVER)).outcome, "unknown");
  await until(() => !stage.provider.isUp);
  stage.fake.everything = null;
  await until(() => stage.provider.isUp);
});

test("after a rate limit the instance pauses, and its health says so", async (t) => {
  const stage = await twilioStage(t, { clock: fastClock(20) });
  await stage.provider.health();
  const refuse = { status: 429, body: { code: 20429, message: "slow" }, headers: { "retry-after": "10" }, times: 1 };
  stage.fake.behaviours.set(TO, { refuse });
  const first = await stage.provider.send(message(), NEVER);
  const reason = "Twilio limits the rate of requests.";
  assert.deepEqual(first, { outcome: "deferred", retryAfterMs: 10_000, reason, isDown: true });
  assert.equal(stage.provider.isUp, false);
  const asked = stage.fake.asked.length;
  const second = await stage.provider.send(message({ to: "+15550100002" }), NEVER);
  assert.ok(second.outcome === "deferred" && second.isDown === true && (second.retryAfterMs ?? 0) <= 10_000);
  assert.equal((await stage.provider.health()).status, "degraded");
  assert.equal(stage.fake.asked.length, asked);
  const { changes } = stage;
  await until(() => stage.provider.isUp && stage.changes > changes);
  await accepted(stage.provider.send(message(), NEVER));
});

test("a number whose queue is full pauses, and no other does", async (t) => {
  const stage = await twilioStage(t, { clock: fastClock(100) });
  stage.fake.behaviours.set(TO, { refuse: { status: 429, body: { code: 21611, message: "full" }, times: 1 } });
  const first = await stage.provider.send(message(), NEVER);
  assert.ok(first.outcome === "deferred" && first.retryAfterMs === 30_000 && first.isDown === undefined);
  const same = await stage.provider.send(message({ to: "+15550100002" }), NEVER);
  assert.ok(same.outcome === "deferred" && same.isDown === undefined);
  await accepted(stage.provider.send(message({ from: "+15005550007" }), NEVER));
  await until(async () => (await stage.provider.send(message(), NEVER)).outcome === "accepted");
});

test("a request aborted before it is written was not sent; aborted later, its outcome is unknown", async (t) => {
  const stage = await twilioStage(t);
  const early = await stage.provider.send(message(), AbortSignal.abort());
  assert.equal(early.outcome, "deferred");
  stage.fake.behaviours.set(TO, { answer: "never" });
  const abort = new AbortController();
  const sending = stage.provider.send(message(), abort.signal);
  await until(() => stage.fake.taken({ to: TO }).length === 1);
  abort.abort();
  assert.equal((await sending).outcome, "unknown");
  assert.equal(stage.provider.isUp, true);
  assert.equal(stage.fake.taken({ to: TO }).length, 1);
});

test("sends that wait for a connection are not sent if they are aborted", async (t) => {
  const stage = await twilioStage(t);
  await stage.provider.health();
  stage.fake.behaviours.set(TO, { answer: "never", callbacks: false });
  const abort = new AbortController();
  const sendings = Array.from({ length: 40 }, () => stage.provider.send(message(), abort.signal));
  await until(() => stage.fake.taken({ to: TO }).length === 32);
  abort.abort();
  const outcomes = (await Promise.all(sendings)).map(({ outcome }) => outcome);
  assert.equal(outcomes.filter((outcome) => outcome === "unknown").length, 32);
  assert.equal(outcomes.filter((outcome) => outcome === "deferred").length, 8);
  assert.equal(stage.fake.taken({ to: TO }).length, 32);
});

test("if Twilio cannot reach the service, health warns, and files stored here are refused", async (t) => {
  const away = { baseUrl: "https://api.twilio.invalid" };
  const stage = await twilioStage(t, { config: away, hookUrl: "http://127.0.0.1:8080/hooks/inst_1/token" });
  const { warnings = [] } = await stage.provider.health();
  assert.match(warnings[0] ?? "", /^TB_PUBLIC_URL is not a public https:\/\/ address/);
  const file = { mimeType: "image/png", filename: "a.png", bytes: new Uint8Array(1), isAudioMessage: false };
  const sent = message({ attachments: [{ ...file, url: "http://127.0.0.1:8080/v1/attachments/x" }] });
  const outcome = await stage.provider.send(sent, NEVER);
  assert.ok(outcome.outcome === "rejected" && outcome.code === "MEDIA_NOT_PUBLIC");
});

test("error codes that the operator has to fix are in the warnings", async (t) => {
  const stage = await twilioStage(t);
  stage.fake.behaviours.set(TO, { refuse: { status: 400, body: { code: 21606, message: "not yours" } } });
  assert.equal((await stage.provider.send(message(), NEVER)).outcome, "rejected");
  const { status, warnings = [] } = await stage.provider.health();
  assert.equal(status, "degraded");
  assert.match(warnings.join(), /not a number of this account .*\(21606\)/);
});

async function stageWithFile(t: TestContext) {
  const stage = await twilioStage(t);
  const bytes = Buffer.from("picture".repeat(10_000));
  stage.fake.files.set("ME1", bytes);
  const reference = `${stage.fake.url}/2010-04-01/Accounts/${stage.fake.accountSid}/Messages/MM1/Media/ME1`;
  return { stage, bytes, reference, fetch: stage.provider.actions.fetch };
}

test("a file is fetched with credentials from the API only, and from redirect targets without", async (t) => {
  const { stage, bytes, reference, fetch } = await stageWithFile(t);
  assert.deepEqual(await fetch(reference, NEVER), bytes);
  assert.equal(stage.fake.fileHeaders.length, 1);
  assert.equal(stage.fake.fileHeaders[0]?.authorization, undefined);
  const asked = stage.fake.asked.length;
  for (const elsewhere of ["http://127.0.0.1:9/x", "https://evil.example/x", "file:///etc/passwd", "x", ""]) {
    assert.equal(await fetch(elsewhere, NEVER), null);
  }
  assert.equal(stage.fake.asked.length, asked);
  assert.equal(await fetch(reference.replace("ME1", "ME2"), NEVER), null);
  stage.fake.everything = { status: 503, body: "" };
  await assert.rejects(fetch(reference, NEVER), /503/);
  await assert.rejects(fetch(reference, AbortSignal.abort()), /aborted/);
});

test("stop() ends open requests, and nothing is sent or reported after it", async (t) => {
  const stage = await twilioStage(t);
  stage.fake.behaviours.set(TO, { answer: "never", callbacks: false });
  const sending = stage.provider.send(message(), NEVER);
  await until(() => stage.fake.taken({ to: TO }).length === 1);
  await stage.provider.stop();
  assert.equal((await sending).outcome, "unknown");
  const asked = stage.fake.asked.length;
  const late = await stage.provider.send(message(), NEVER);
  assert.ok(late.outcome === "deferred" && late.isDown === true);
  assert.equal(stage.fake.asked.length, asked);
  assert.equal((await stage.provider.health()).status, "unhealthy");
});

test("Twilio answers STOP and HELP itself, unless the settings say that the service does", async (t) => {
  for (const [config, answers] of [
    [{}, true],
    [{ ownConfirmation: false }, true],
    [{ ownConfirmation: true }, false],
  ] as const) {
    const { provider } = await twilioStage(t, { config });
    assert.equal(provider.capabilities.answersKeywords, answers);
  }
});
