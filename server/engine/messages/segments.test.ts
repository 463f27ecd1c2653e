/**
 * Segments and encoding of a message are those of its text as an SMS, once its channel is SMS; the provider's report
 * takes precedence.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SendMessage } from "../../../sdk/wire.ts";
import { carriersOn } from "../../../test/support/carriers.ts";
import { type EngineStage, engineStage } from "../../../test/support/engine.ts";
import { deferred, NOT_REACHABLE, ScriptedProvider, UNKNOWN } from "../../../test/support/provider.ts";
import type { MessageId } from "../../core/id.ts";

const SMS: SendMessage["routing"] = { preference: ["sms"] };
const LONG = `${"a".repeat(160)}€`;
const TYPOGRAPHIC = `“${"a".repeat(80)}”`;

async function measured(stage: EngineStage, id: MessageId) {
  const { segments, encoding } = await stage.message(id);
  return { segments, encoding };
}

const NONE = { segments: null, encoding: null };

describe("segments and encoding in the record", () => {
  test("are set at acceptance if the first channel is SMS", async (t) => {
    const stage = await engineStage(t);
    const id = await stage.send({ content: { text: LONG }, routing: SMS });
    assert.deepEqual(await measured(stage, id), { segments: 2, encoding: "GSM-7" });
    const scheduledAt = new Date(stage.clock.now() + 60_000).toISOString();
    const later = await stage.send({ content: { text: "ą".repeat(71) }, routing: SMS, scheduledAt });
    assert.deepEqual(await measured(stage, later), { segments: 2, encoding: "UCS-2" });
    await stage.run();
    assert.deepEqual(await measured(stage, id), { segments: 2, encoding: "GSM-7" });
  });

  test("are null on iMessage, whatever its provider reports, and are set by the fallback to SMS", async (t) => {
    const stage = await engineStage(t);
    stage.provider.sendNext.push({ outcome: "accepted", reference: "r-1", segments: 9, encoding: "UCS-2" });
    const blue = await stage.send({ content: { text: LONG } });
    await stage.run();
    assert.deepEqual(await measured(stage, blue), NONE);
    stage.provider.sendNext.push(NOT_REACHABLE, deferred(1_000));
    const id = await stage.send({ content: { text: LONG } });
    await stage.run();
    assert.equal((await stage.message(id)).channel, "sms");
    assert.deepEqual(await measured(stage, id), { segments: 2, encoding: "GSM-7" });
  });

  test("are those that the provider reports, also through reconciliation", async (t) => {
    const stage = await engineStage(t);
    stage.provider.sendNext.push({ outcome: "accepted", reference: "r-1", segments: 1, encoding: "Latin-1" });
    const id = await stage.send({ content: { text: "ç".repeat(80) }, routing: SMS });
    assert.deepEqual(await measured(stage, id), { segments: 2, encoding: "UCS-2" });
    await stage.run();
    assert.deepEqual(await measured(stage, id), { segments: 1, encoding: "Latin-1" });
    stage.provider.sendNext.push(UNKNOWN);
    stage.provider.settleNext.push({ outcome: "accepted", reference: "r-2", segments: 3 });
    const asked = await stage.send({ content: { text: LONG }, routing: SMS });
    await stage.run();
    await stage.pass(15_000);
    assert.deepEqual(await measured(stage, asked), { segments: 3, encoding: "GSM-7" });
  });

  test("are null for an SMS without a text", async (t) => {
    const { stage, add, setRoutes } = await carriersOn(t);
    const { id: instanceId } = await add(new ScriptedProvider({ channels: ["sms"] }), "twilio");
    await setRoutes([{ prefix: "+", instanceId }]);
    const id = await stage.send({ content: { mediaUrls: ["https://example.com/a.png"] }, routing: SMS });
    assert.deepEqual(await measured(stage, id), NONE);
  });

  test("stay the same at an automatic retry", async (t) => {
    const stage = await engineStage(t);
    stage.provider.sendNext.push(deferred(1_000));
    const id = await stage.send({ content: { text: LONG }, routing: SMS });
    await stage.run();
    await stage.pass(1_000);
    assert.deepEqual(await measured(stage, id), { segments: 2, encoding: "GSM-7" });
    assert.equal((await stage.message(id)).status, "sent");
  });
});

describe("TB_SMART_ENCODING", () => {
  test("on: SMS sends and measures a GSM-7 look-alike of the text; the record keeps the given text", async (t) => {
    const stage = await engineStage(t, { settings: { smartEncoding: true } });
    const id = await stage.send({ content: { text: TYPOGRAPHIC }, routing: SMS });
    assert.deepEqual(await measured(stage, id), { segments: 1, encoding: "GSM-7" });
    await stage.run();
    assert.equal(stage.provider.handed[0]?.text, `"${"a".repeat(80)}"`);
    assert.equal((await stage.message(id)).text, TYPOGRAPHIC);
    assert.deepEqual(
      (await stage.events(id)).map(({ data }) => data.text),
      [TYPOGRAPHIC, TYPOGRAPHIC],
    );
  });

  test("on: iMessage sends the given text, and the fallback to SMS sends its look-alike", async (t) => {
    const stage = await engineStage(t, { settings: { smartEncoding: true } });
    stage.provider.sendNext.push(NOT_REACHABLE);
    const id = await stage.send({ content: { text: TYPOGRAPHIC } });
    await stage.run();
    assert.deepEqual(
      stage.provider.handed.map(({ text }) => text[0]),
      ["“", '"'],
    );
    assert.deepEqual(await measured(stage, id), { segments: 1, encoding: "GSM-7" });
  });

  test("on: reconciliation passes the text that was sent", async (t) => {
    const stage = await engineStage(t, { settings: { smartEncoding: true } });
    stage.provider.sendNext.push(UNKNOWN);
    await stage.send({ content: { text: TYPOGRAPHIC }, routing: SMS });
    await stage.run();
    await stage.pass(15_000);
    assert.equal(stage.provider.asked[0]?.text[0], '"');
  });

  test("off: SMS sends the given text", async (t) => {
    const stage = await engineStage(t);
    const id = await stage.send({ content: { text: TYPOGRAPHIC }, routing: SMS });
    assert.deepEqual(await measured(stage, id), { segments: 2, encoding: "UCS-2" });
    await stage.run();
    assert.equal(stage.provider.handed[0]?.text, TYPOGRAPHIC);
  });
});
