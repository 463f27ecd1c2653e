/** Opt-outs and sending, from a contact's keyword to the refusal, on the whole engine in simulated time. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Channel, SetOptOutSettings } from "../../../sdk/wire.ts";
import { carriersOn } from "../../../test/support/carriers.ts";
import { type EngineStage, engineStage } from "../../../test/support/engine.ts";
import { inbound, ScriptedProvider } from "../../../test/support/provider.ts";
import { ApiError } from "../../core/error.ts";
import type { GroupSnapshot } from "../../core/group.ts";
import type { MessageId } from "../../core/id.ts";
import type { FileFetcher } from "../../outgoing/fetch.ts";
import { setQuietHours } from "../routing/quiet-hours.ts";
import { setOptOutSettings } from "./set-opt-outs.ts";

const HOUR_MS = 3_600_000;
const PEER = "+15550100001";

/** Reports a message `text` of the contact. */
async function write(
  stage: EngineStage,
  text: string,
  group: GroupSnapshot | null = null,
  channel: Channel = "imessage",
  from = PEER,
): Promise<void> {
  writes += 1;
  await stage.report(inbound({ reference: `in-${writes}`, from, to: stage.number.address, channel, text, group }));
}
let writes = 0;

const isRefused = (error: unknown) => error instanceof ApiError && error.code === "RECIPIENT_OPTED_OUT";

test("STOP ends messages from the number that received it, and START allows them again", async (t) => {
  const stage = await engineStage(t);
  await stage.send();
  await stage.run();
  await write(stage, "stop");
  await assert.rejects(stage.send(), isRefused);
  await stage.send({ to: "+15550100002" });
  await stage.restart();
  await assert.rejects(stage.send(), isRefused, "a new process knows as well");
  await write(stage, "Start");
  const id = await stage.send();
  await stage.run();
  assert.equal((await stage.message(id)).status, "sent");
});

test("STOP and START from one form of a phone hold for its other form, and for a landline that may be its phone", async (t) => {
  const stage = await engineStage(t);
  const pairs: [string, string][] = [
    ["+5215512345678", "+525512345678"],
    ["+5511933334444", "+551133334444"],
  ];
  for (const [written, other] of pairs) {
    await write(stage, "STOP", null, "sms", written);
    await assert.rejects(stage.send({ to: other }), isRefused, other);
    await write(stage, "START", null, "sms", other);
    await stage.send({ to: other });
  }
});

test("a scheduled message is sent if the contact wrote START before it is due", async (t) => {
  const stage = await engineStage(t);
  const id = await stage.send({ scheduledAt: new Date(stage.clock.now() + HOUR_MS).toISOString() });
  await write(stage, "STOP");
  await write(stage, "START");
  await stage.pass(HOUR_MS);
  assert.equal((await stage.message(id)).status, "sent");
});

test("STOP that arrives while the files of a message are fetched prevents the send attempt", async (t) => {
  const bytes = Buffer.from("GIF89a\0\0");
  let fetched = () => {};
  const fetch: FileFetcher["fetch"] = () =>
    new Promise((resolve) => {
      fetched = () => resolve({ bytes, release() {} });
    });
  const stage = await engineStage(t, { deps: { fetcher: { fetch, hold: () => () => {} } } });
  const id = await stage.send({ content: { mediaUrls: ["https://example.com/a.gif"] } });
  await stage.run();
  await write(stage, "STOP");
  fetched();
  await stage.run();
  const { status, errorCode } = await stage.message(id);
  assert.deepEqual([status, errorCode, stage.provider.handed.length], ["failed", "RECIPIENT_OPTED_OUT", 0]);
});

test("a keyword in a message to a group opts nobody out", async (t) => {
  const stage = await engineStage(t);
  await write(stage, "STOP", { reference: "g-1", name: null, participants: [PEER, "+15550100002"] });
  await stage.send();
});

const CONFIRMATION = "You get no more messages.";
const HELP = "Bistro Ada, +1 500 555 0001";

/** A stage whose customer has these settings. */
async function answering(stage: EngineStage, settings: SetOptOutSettings): Promise<EngineStage> {
  await setOptOutSettings(stage.life.deps, stage.customer.id, settings);
  return stage;
}

/** The texts that the provider got. */
const texts = ({ provider }: EngineStage) => provider.handed.map(({ text }) => text);

test("a new opt-out by a word is confirmed once, on its channel, whatever the opt-out and quiet hours say", async (t) => {
  const stage = await answering(await engineStage(t), { confirmation: CONFIRMATION });
  const always = { start: "00:00", end: "23:59", timeZone: "UTC" };
  await setQuietHours(stage.life.deps, stage.customer.id, always, new AbortController().signal);
  await write(stage, "STOP");
  await write(stage, "stop");
  await write(stage, "STOP", { reference: "g-1", name: null, participants: [PEER, "+15550100002"] });
  assert.deepEqual(texts(stage), [CONFIRMATION]);
  const [{ messageId, channel, from, to } = assert.fail()] = stage.provider.handed;
  assert.deepEqual([channel, from, to], ["imessage", stage.number.address, PEER]);
  const { origin, status, chatId } = await stage.message(messageId);
  assert.deepEqual([origin, status, chatId === null], ["service", "sent", false]);
  const events = await stage.events(messageId);
  assert.deepEqual(
    events.map(({ type, data }) => [type, data.origin]),
    [
      ["message.queued", "service"],
      ["message.sent", "service"],
    ],
  );
  await write(stage, "START");
  await write(stage, "STOP");
  assert.deepEqual(texts(stage), [CONFIRMATION, CONFIRMATION]);
});

test("a confirmation that no provider takes within five minutes fails with EXPIRED", async (t) => {
  const stage = await answering(await engineStage(t), { confirmation: CONFIRMATION });
  stage.provider.onSend = () => ({ outcome: "deferred", retryAfterMs: 60_000, reason: "busy" });
  await write(stage, "STOP");
  const [{ messageId } = assert.fail()] = stage.provider.handed;
  await stage.pass(299_999);
  assert.equal((await stage.message(messageId)).status, "queued");
  await stage.pass(1);
  const { status, errorCode, errorMessage } = await stage.message(messageId as MessageId);
  assert.deepEqual(
    [status, errorCode, errorMessage],
    ["failed", "EXPIRED", "No provider could send it within five minutes."],
  );
});

test("HELP, INFO and AIDE are answered once an hour, also to who opted out", async (t) => {
  const stage = await answering(await engineStage(t), { help: HELP });
  await write(stage, "STOP");
  for (const text of ["Help", "info", "AIDE", "help me"]) await write(stage, text);
  assert.deepEqual(texts(stage), [HELP]);
  await stage.restart();
  await stage.pass(HOUR_MS - 1);
  await write(stage, "HELP");
  assert.deepEqual(texts(stage), [HELP]);
  await stage.pass(1);
  await write(stage, "HELP");
  assert.deepEqual(texts(stage), [HELP, HELP]);
});

test("nothing is answered where the provider answers by itself, nor without a text for it", async (t) => {
  const provider = new ScriptedProvider({ answersKeywords: true });
  const stage = await answering(await engineStage(t, { provider }), { confirmation: CONFIRMATION, help: HELP });
  for (const text of ["STOP", "HELP"]) await write(stage, text);
  assert.deepEqual(texts(stage), []);
  await assert.rejects(stage.send(), isRefused, "the opt-out holds");
  const silent = await engineStage(t);
  for (const text of ["STOP", "HELP"]) await write(silent, text);
  assert.deepEqual(texts(silent), []);
});

test("a word that comes by RCS is answered by SMS, where the number has SMS", async (t) => {
  for (const [channels, answers] of [
    [
      ["imessage", "sms"],
      [CONFIRMATION, HELP],
    ],
    [["sms"], [CONFIRMATION, HELP]],
    [["imessage"], []],
  ] as const) {
    const provider = new ScriptedProvider({ channels });
    const stage = await answering(await engineStage(t, { provider }), { confirmation: CONFIRMATION, help: HELP });
    await write(stage, "STOP", null, "rcs");
    await write(stage, "HELP", null, "rcs");
    assert.deepEqual(texts(stage), answers, channels.join());
    assert.ok(provider.handed.every(({ channel }) => channel === "sms"));
    await assert.rejects(stage.send(), isRefused, "the opt-out holds");
    assert.equal(
      (await stage.deps.store.db.selectFrom("messages").selectAll().where("status", "=", "failed").execute()).length,
      0,
    );
  }
});

test("a word that comes by RCS is answered by SMS over the route, where the number's own instance has none", async (t) => {
  const carriers = await carriersOn(t);
  const carrier = await carriers.add();
  await carriers.setRoutes([{ prefix: "+1", instanceId: carrier.id }]);
  const stage = await answering(carriers.stage, { confirmation: CONFIRMATION });
  await write(stage, "STOP", null, "rcs");
  await stage.run();
  assert.deepEqual(
    carrier.provider.handed.map(({ channel, text }) => [channel, text]),
    [["sms", CONFIRMATION]],
  );
  assert.deepEqual(texts(stage), []);
});

test("HELP from both forms of a phone is answered once an hour", async (t) => {
  const stage = await answering(await engineStage(t), { help: HELP });
  for (const from of ["+22995123456", "+2290195123456"]) await write(stage, "HELP", null, "imessage", from);
  assert.deepEqual(texts(stage), [HELP]);
});
