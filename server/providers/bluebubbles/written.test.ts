/** Rows that somebody wrote in Messages: reported once, and only when no send of the service may explain them. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { ANNA, type MacProviderStage, stageMacProvider } from "../../../test/support/mac-provider.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const written = (stage: MacProviderStage) => stage.of("written").map(({ reference, text }) => [reference, text]);

it("reports a row of ours that no send explains about a minute after it, once, with its recipient", async (t) => {
  const stage = await stageMacProvider(t);
  stage.known = new Set();
  const guid = stage.mac.writesByHand(ANNA, "By hand");
  await stage.pass(30_000);
  assert.deepEqual(written(stage), []);
  await stage.pass(MINUTE);
  assert.partialDeepStrictEqual(stage.of("written"), [
    { reference: guid, contact: ANNA, group: null, channel: "imessage", text: "By hand" },
  ]);
  await stage.post({ type: "updated-message", data: { guid } });
  await stage.pass(15 * MINUTE);
  assert.equal(written(stage).length, 1);
});

it("does not report the row of a send whose response comes late", async (t) => {
  const stage = await stageMacProvider(t);
  stage.known = new Set();
  const guid = await stage.send("Hello");
  await stage.pass(20_000);
  stage.known.add(guid);
  await stage.pass(15 * MINUTE);
  assert.deepEqual(written(stage), []);
});

it("reports a row again for as long as the engine says that a send attempt may explain it, and then once", async (t) => {
  const stage = await stageMacProvider(t);
  stage.known = new Set();
  let asked = 0;
  let explained = true;
  stage.onSignal = (signal) => {
    if (signal.kind !== "written" || !explained) return "applied";
    asked += 1;
    return "unknown";
  };
  stage.mac.writesByHand(ANNA, "By hand");
  await stage.pass(10 * MINUTE);
  assert.ok(asked > 2, `${asked} times`);
  explained = false;
  const before = asked;
  stage.signals.length = 0;
  await stage.pass(5 * MINUTE);
  assert.deepEqual([asked, written(stage).length], [before, 1]);
});

it("reports what was written while the service was down, after its start", async (t) => {
  const stage = await stageMacProvider(t);
  stage.known = new Set();
  await stage.pass(2 * MINUTE);
  await stage.stop();
  const guid = stage.mac.writesByHand(ANNA, "Meanwhile");
  await stage.pass(5 * MINUTE);
  await stage.start();
  await stage.pass(5 * MINUTE);
  assert.deepEqual(written(stage), [[guid, "Meanwhile"]]);
});

it("reports nothing that was written before the instance was made", async (t) => {
  const stage = await stageMacProvider(t, { starts: false });
  stage.known = new Set();
  const guid = stage.mac.writesByHand(ANNA, "Before");
  await stage.pass(MINUTE);
  await stage.start();
  await stage.post({ type: "updated-message", data: { guid } });
  await stage.pass(5 * MINUTE);
  assert.deepEqual(written(stage), []);
});

it("reports no row that is more than a day old when it changes", async (t) => {
  const stage = await stageMacProvider(t);
  const guid = stage.mac.writesByHand(ANNA, "Old");
  await stage.pass(5 * MINUTE);
  await stage.stop();
  await stage.pass(2 * DAY);
  stage.known = new Set();
  await stage.start();
  await stage.pass(15 * MINUTE);
  stage.signals.length = 0;
  stage.mac.phone(ANNA).reads(guid);
  await stage.post({ type: "updated-message", data: { guid } });
  await stage.pass(5 * MINUTE);
  assert.deepEqual(written(stage), []);
});
