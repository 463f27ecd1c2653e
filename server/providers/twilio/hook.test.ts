/** Requests to the hook: contacts' messages, opt-outs, and everything that is not from Twilio or not SMS. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { getExpectedTwilioSignature } from "twilio/lib/webhooks/webhooks.js";
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

test("a contact's message is reported with the addresses of its files, at the bare hook and at /inbound", async (t) => {
  const stage = await twilioStage(t);
  const media = [
    { url: `${stage.fake.url}/a`, type: "image/jpeg" },
    { url: `${stage.fake.url}/b`, type: "" },
  ];
  for (const path of ["", "/", "/inbound", "/inbound/", "/inbound?from=console", "#rc=3&rp=5xx"]) {
    const url = `${stage.hook.url}${path}`;
    const fragment = url.indexOf("#");
    const called = await stage.fake.write(fragment < 0 ? url : url.slice(0, fragment), { from: TO, to: FROM, media });
    assert.deepEqual([called.status, called.type, called.body], [200, "text/xml", "<Response/>"], path);
    assert.deepEqual(stage.signals.at(-1), {
      kind: "inbound",
      reference: called.parameters.MessageSid,
      from: TO,
      to: FROM,
      channel: "sms",
      group: null,
      text: null,
      attachments: [
        { reference: media[0]?.url, mimeType: "image/jpeg", filename: null, totalBytes: null, data: null },
        { reference: media[1]?.url, mimeType: null, filename: null, totalBytes: null, data: null },
      ],
      replyTo: null,
      payment: null,
      effect: null,
    });
  }
});

test("a text is reported unchanged, and the response waits until the engine has accepted it", async (t) => {
  const stage = await twilioStage(t);
  const text = "Grüße, 😀 & <b>\n=+%\u0000 \ufffd";
  const held: (() => void)[] = [];
  stage.listen = () => new Promise((resolve) => void held.push(() => resolve("applied")));
  let isAnswered = false;
  const writing = stage.fake.write(stage.hook.url, { from: TO, to: FROM, body: text }).finally(() => {
    isAnswered = true;
  });
  await until(() => held.length === 1);
  assert.equal(isAnswered, false);
  for (const release of held) release();
  assert.equal((await writing).status, 200);
  const [signal] = stage.signals;
  assert.ok(signal?.kind === "inbound");
  assert.equal(signal.text, text);
});

test("Twilio's opt-out is reported after the message that it came with; HELP changes nothing", async (t) => {
  const stage = await twilioStage(t);
  for (const [type, body, request] of [
    ["STOP", "Arret", "stop"],
    ["START", "Start", "start"],
    ["HELP", "Help", null],
    ["", "STOP", null],
  ] as const) {
    stage.signals.length = 0;
    const more = type === "" ? {} : { OptOutType: type };
    await stage.fake.write(stage.hook.url, { from: TO, to: FROM, body, more });
    const kinds = stage.signals.map(({ kind }) => kind);
    assert.deepEqual(kinds, request === null ? ["inbound"] : ["inbound", "optOut"], type);
    if (request === null) continue;
    assert.deepEqual(stage.signals[1], { kind: "optOut", to: FROM, from: TO, channel: "sms", request, keyword: body });
  }
});

test("a message that the engine cannot accept is a 500, so that Twilio sends it again", async (t) => {
  const stage = await twilioStage(t, { clock: fastClock(10) });
  stage.listen = async () => {
    throw new Error("the store is busy");
  };
  const called = await stage.fake.write(stage.hook.url, { from: TO, to: FROM, body: "Hi" });
  assert.equal(called.status, 500);
  assert.deepEqual(stage.signals, []);
});

test("a contact's RCS message comes in as rcs, to the number or, from an RCS sender, to the only customer's", async (t) => {
  const stage = await twilioStage(t, { numbers: [{ address: FROM, customerId: "cust_1", isDefault: true }] });
  const { fake, hook } = stage;
  await fake.write(hook.url, { from: `rcs:${TO}`, to: "rcs:brand_agent", body: "Hi" });
  await fake.write(hook.url, { from: `rcs:${TO}`, to: FROM, body: "STOP", more: { OptOutType: "STOP" } });
  const place = { from: TO, to: FROM, channel: "rcs" };
  assert.partialDeepStrictEqual(stage.signals, [
    { kind: "inbound", text: "Hi", ...place },
    { kind: "inbound", text: "STOP", ...place },
    { kind: "optOut", request: "stop", ...place },
  ]);
  stage.numbers = [...stage.numbers, { address: "+15550000002", customerId: "cust_2", isDefault: true }];
  await fake.write(hook.url, { from: `rcs:${TO}`, to: "rcs:brand_agent", body: "Whose?" });
  assert.equal(stage.signals.length, 3);
  assert.equal(stage.faults.length, 1);
});

test("other channels, calls and all other signed requests are answered and ignored, without a number in the log", async (t) => {
  const stage = await twilioStage(t);
  const { fake, hook } = stage;
  await fake.write(hook.url, { from: `whatsapp:${TO}`, to: `whatsapp:${FROM}`, body: "Hi" });
  await fake.write(hook.url, { from: "rcs:brand", to: FROM, body: "Hi" });
  assert.equal((await fake.call(hook.url, { CallSid: "CA1", From: TO, To: FROM })).status, 200);
  assert.equal((await fake.call(hook.url, {})).status, 200);
  assert.deepEqual(stage.signals, []);
  assert.equal(stage.faults.length, 4);
  assert.ok(stage.faults.every((fault) => !fault.includes(TO) && !fault.includes(FROM)));
  assert.equal((await fake.call(`${hook.url}/elsewhere`, { MessageSid: "SM1" })).status, 404);
  assert.equal(
    (await fake.call(`${hook.url}/status/msg_1/1`, { MessageSid: "SM1", MessageStatus: "sent" })).status,
    404,
  );
  const noStatus = `${hook.url}/status/${message().messageId}/1`;
  assert.equal((await fake.call(noStatus, { MessageSid: "SM1" })).status, 404);
  assert.equal(stage.entries.size, 0);
});

test("only a POST of a form, or of a body whose hash is signed, is processed", async (t) => {
  const stage = await twilioStage(t);
  const { fake, hook } = stage;
  assert.equal((await fetch(hook.url)).status, 405);
  const json = JSON.stringify({ MessageSid: "SM1", From: TO, To: FROM });
  const post = (url: string, signed: string) => {
    const headers = { "content-type": "application/json", "x-twilio-signature": signed };
    return fetch(url, { method: "POST", headers, body: json });
  };
  assert.equal((await post(hook.url, getExpectedTwilioSignature(fake.authToken, hook.url, {}))).status, 403);
  const hash = createHash("sha256").update(json).digest("hex");
  const url = `${hook.url}?bodySHA256=${hash}`;
  assert.equal((await post(url, getExpectedTwilioSignature(fake.authToken, url, {}))).status, 200);
  assert.equal((await post(url, "")).status, 403);
  assert.deepEqual(stage.signals, []);
});

test("a callback with a changed form, another path or another signer is a 403, and changes nothing", async (t) => {
  const stage = await twilioStage(t);
  const { fake, hook } = stage;
  fake.behaviours.set(TO, { statuses: ["sent"] });
  const sent = message();
  await accepted(stage.provider.send(sent, NEVER));
  await reportedReceipts(stage, 1);
  const taken = fake.taken({ to: TO })[0] ?? assert.fail();
  const url = taken.statusCallback ?? "";
  const right = fake.callback({ ...taken, status: "delivered" });
  const signature = getExpectedTwilioSignature(fake.authToken, url, right);
  const before = new Map(stage.entries);
  const { events } = stage;
  const forged: [string, Record<string, string>, string][] = [
    [url, { ...right, MessageStatus: "failed" }, signature],
    [url, { ...right, Extra: "1" }, signature],
    [url, Object.fromEntries(Object.entries(right).slice(1)), signature],
    [`${url}0`, right, signature],
    [`${url}?a=1`, right, signature],
    [hook.url, right, signature],
    [`${hook.url}/status/${message().messageId}/${sent.attemptedAt}`, right, signature],
    [url, right, getExpectedTwilioSignature("other", url, right)],
    [url, right, getExpectedTwilioSignature("", url, right)],
    [url, right, signature.slice(0, -1)],
    [url, right, ""],
  ];
  for (const [index, [to, parameters, signed]] of forged.entries()) {
    assert.equal((await fake.call(to, parameters, signed)).status, 403, String(index));
  }
  assert.equal(receipts(stage).length, 1);
  assert.deepEqual([stage.entries, stage.events], [before, events]);
  assert.equal((await fake.call(url, right, signature)).status, 204);
  assert.equal(stage.events, events + 1, "only a signed request is an event of Twilio");
  assert.deepEqual(
    receipts(stage).map(({ receipt }) => receipt),
    ["sent", "delivered"],
  );
});
