/** Tests of what a contact's message lacks when the Mac pushes it: files that Messages links later, texts and payloads. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { File } from "../../../test/support/mac/phone.ts";
import { ANNA, BEN, type MacProviderStage, stageMacProvider } from "../../../test/support/mac-provider.ts";
import { wordMap } from "../../core/opt-out.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;
const NEVER = Number.POSITIVE_INFINITY;

function picture(name: string, linksAfterMs: number): File {
  return { name, mimeType: "image/png", bytes: Buffer.from(name), linksAfterMs };
}

/** Texts and files of the messages reported, in order; `?` before a file that is missing. */
function reported({ of }: { of: MacProviderStage["of"] }): string[] {
  return of("inbound").map(({ text, attachments }) => {
    const files = attachments.map(({ filename, missing }) => `${missing === true ? "?" : ""}${filename}`);
    return [text ?? "-", ...files].join(" ");
  });
}

function told(stage: MacProviderStage): string[] {
  return reported({ of: (kind) => stage.of(kind) });
}

for (const ingest of ["webhook", "socket"] as const) {
  describe(`a file that Messages links after the row was pushed by ${ingest}`, () => {
    it("comes with its text, also if it is one of two", async (t) => {
      const stage = await stageMacProvider(t, { ingest });
      const anna = stage.mac.phone(ANNA);
      anna.writes("Look", { attachments: [picture("a.png", 350)] });
      await stage.idle();
      assert.deepEqual(told(stage), []);
      await stage.pass(3_000);
      anna.writes("Two", { attachments: [picture("b.png", 0), picture("c.png", 50)] });
      await stage.pass(3_000);
      assert.deepEqual(told(stage), ["Look a.png", "Two b.png c.png"]);
    });
  });
}

describe("a message that waits for a file", () => {
  it("is reported after ten seconds, and again with the file when it comes within a day, once", async (t) => {
    const stage = await stageMacProvider(t);
    const anna = stage.mac.phone(ANNA);
    anna.writes("Soon", { attachments: [picture("a.png", 20_000)] });
    anna.writes("Late", { attachments: [picture("b.png", 20 * MINUTE)] });
    anna.writes("Never", { attachments: [picture("c.png", NEVER)] });
    await stage.pass(9_000);
    assert.deepEqual(told(stage), []);
    await stage.pass(2_000);
    const missing = ["Soon ?a.png", "Late ?b.png", "Never ?c.png"];
    assert.deepEqual(told(stage), missing);
    await stage.pass(MINUTE);
    assert.deepEqual(told(stage), [...missing, "Soon a.png"]);
    await stage.pass(22 * MINUTE);
    assert.deepEqual(told(stage), [...missing, "Soon a.png", "Late b.png"]);
    const polled = () => [...stage.memory.entries.keys()].filter((key) => key.startsWith("late/")).length;
    assert.equal(polled(), 1);
    await stage.stop();
    await stage.clock.advance(DAY);
    await stage.start();
    await stage.pass(10);
    assert.equal(polled(), 0);
  });

  it("holds up later texts of its conversation, and no other conversation", async (t) => {
    const stage = await stageMacProvider(t);
    const anna = stage.mac.phone(ANNA);
    const group = anna.makesGroup("Trip", [BEN]);
    anna.writes("Look", { attachments: [picture("a.png", NEVER)] });
    anna.writes("after it");
    anna.writes("in the group", { group });
    stage.mac.phone(BEN).writes("from Ben");
    await stage.pass(1_000);
    assert.deepEqual(told(stage).toSorted(), ["from Ben", "in the group"]);
    await stage.pass(10_000);
    assert.deepEqual(told(stage).slice(2), ["Look ?a.png", "after it"]);
  });

  it("holds up no word that opts out, which waits for no file of its own either", async (t) => {
    const stage = await stageMacProvider(t);
    const anna = stage.mac.phone(ANNA);
    anna.writes("Look", { attachments: [picture("a.png", NEVER)] });
    anna.writes("STOP");
    stage.mac.phone(BEN).writes("Stop!", { attachments: [picture("b.png", 2_000)] });
    await stage.idle();
    assert.deepEqual(told(stage).toSorted(), ["STOP", "Stop! ?b.png"]);
    await stage.pass(20_000);
    assert.deepEqual(told(stage).slice(2).toSorted(), ["Look ?a.png", "Stop! b.png"]);
  });

  it("holds up no word that the customer chose", async (t) => {
    const words = { stop: wordMap(["Basta"]), resume: wordMap(["Zurück"]) };
    const stage = await stageMacProvider(t, { words });
    const anna = stage.mac.phone(ANNA);
    anna.writes("Look", { attachments: [picture("a.png", NEVER)] });
    for (const text of ["basta!", "START", "zurück"]) anna.writes(text);
    await stage.idle();
    assert.deepEqual(told(stage), ["basta!", "zurück"]);
    await stage.pass(20_000);
    assert.deepEqual(told(stage).slice(2), ["Look ?a.png", "START"]);
  });

  it("is found again after a restart, before its report and after it", async (t) => {
    const stage = await stageMacProvider(t);
    const anna = stage.mac.phone(ANNA);
    const restart = async () => {
      await stage.stop();
      await stage.start();
    };
    anna.writes("Waiting", { attachments: [picture("a.png", 4_000)] });
    await stage.pass(1_000);
    await restart();
    await stage.pass(5_000);
    assert.deepEqual(told(stage), ["Waiting a.png"]);
    anna.writes("Late", { attachments: [picture("b.png", 30 * MINUTE)] });
    await stage.pass(11_000);
    assert.deepEqual(told(stage).at(-1), "Late ?b.png");
    await stage.pass(15 * MINUTE);
    await restart();
    await stage.pass(25 * MINUTE);
    assert.deepEqual(told(stage).at(-1), "Late b.png");
  });

  it("is handled at once when an event brings the file", async (t) => {
    const stage = await stageMacProvider(t);
    const anna = stage.mac.phone(ANNA);
    const guid = anna.writes("Look", { attachments: [picture("a.png", 6_100)] });
    await stage.pass(6_200);
    assert.deepEqual(told(stage), []);
    await stage.post({ type: "updated-message", data: { guid } });
    assert.deepEqual(told(stage), ["Look a.png"]);
  });
});

it("reports a text, a subject and the payload of a payment that a row gains after its report", async (t) => {
  const stage = await stageMacProvider(t);
  const anna = stage.mac.phone(ANNA);
  const rowOf = (guid: string) => stage.mac.messages.find((row) => row.guid === guid) ?? assert.fail();
  const [text, subject, paid] = [anna.writes(null), anna.writes(null), anna.pays(2_500)];
  const { payloadData } = rowOf(paid);
  rowOf(paid).payloadData = null;
  await stage.pass(11_000);
  assert.deepEqual(told(stage), ["-", "-", "-"]);
  rowOf(text).text = "Hi";
  rowOf(subject).subject = "Re";
  rowOf(paid).payloadData = payloadData;
  await stage.pass(2 * MINUTE);
  const again = stage.of("inbound").slice(3);
  assert.deepEqual(again.map(({ reference }) => reference).toSorted(), [text, subject, paid].toSorted());
  assert.equal(again.find(({ reference }) => reference === paid)?.payment?.amountCents, 2_500);
  assert.equal(again.find(({ reference }) => reference === text)?.text, "Hi");
  assert.equal(again.find(({ reference }) => reference === subject)?.text, "Re");
});
