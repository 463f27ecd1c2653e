/** Property of the row reporter: however events arrive, twice, reversed or not at all, the signals match the rows. */

import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import type { File } from "../../../test/support/mac/phone.ts";
import { ANNA, BEN, type MacProviderStage, stageMacProvider } from "../../../test/support/mac-provider.ts";
import { runsOf } from "../../../test/support/runs.ts";
import type { Signal } from "../provider.ts";

const MINUTE = 60_000;

/** Something that happens on the Mac or around it. `pick` selects the message or contact it happens to. */
type MacEvent = { does: (typeof DOES)[number]; who: string; pick: number };

const DOES = [
  "writes",
  "writes",
  "sends a file",
  "edits",
  "unsends",
  "reacts",
  "pays",
  "sends",
  "delivers",
  "reads",
  "renames",
  "leaves time",
  "eventsLost",
  "webhooksLost",
  "eventsTwice",
  "eventsReversed",
  "restarts",
] as const;

const event: fc.Arbitrary<MacEvent> = fc.record({
  does: fc.constantFrom(...DOES),
  who: fc.constantFrom(ANNA, BEN),
  pick: fc.nat(20),
});

/** A file that Messages links before the row is pushed, up to a minute later, or never. */
function picture(index: number, pick: number): File {
  const linksAfterMs = pick === 20 ? Number.POSITIVE_INFINITY : pick * 3_000;
  return { name: `${index}.png`, mimeType: "image/png", bytes: Buffer.from("png"), linksAfterMs };
}

/** Plays the events. Some of them have nothing to happen to. */
async function play(stage: MacProviderStage, events: readonly MacEvent[]): Promise<void> {
  const { mac } = stage;
  const group = mac.phone(ANNA).makesGroup("Trip", [BEN]);
  const sent: { guid: string; who: string }[] = [];
  for (const [index, { does, who, pick }] of events.entries()) {
    const phone = mac.phone(who);
    const own = mac.messages.filter((row) => row.handle?.address === who && !row.isFromMe && row.text !== null);
    const written = own.filter(({ itemType, associatedMessageType: type }) => itemType === 0 && type === null);
    const target = written[pick % Math.max(1, written.length)];
    const ours = sent.filter((message) => message.who === who);
    const our = ours[pick % Math.max(1, ours.length)];
    // A message always changes later than it was written.
    await stage.pass(10);
    if (does === "writes") phone.writes(`${who} ${index}`, pick % 3 === 0 ? { group } : {});
    else if (does === "sends a file") phone.writes(null, { attachments: [picture(index, pick)] });
    else if (does === "edits") target !== undefined && phone.edits(target.guid, `edited ${index}`);
    else if (does === "unsends") target !== undefined && phone.unsends(target.guid);
    else if (does === "reacts") target !== undefined && phone.reacts(target.guid, pick % 2 === 0 ? "love" : "-love");
    else if (does === "pays") phone.pays(100 + pick);
    else if (does === "sends") sent.push({ guid: await stage.send(`hello ${index}`, who), who });
    else if (does === "delivers") our !== undefined && phone.delivers(our.guid);
    else if (does === "reads") our !== undefined && phone.reads(our.guid);
    else if (does === "renames") phone.renames(group, `Trip ${index}`);
    else if (does === "leaves time") await stage.pass(pick * 7_000);
    else if (does === "restarts") {
      await stage.stop();
      await stage.start();
    } else if (pick % 2 === 0) mac.fault(does);
    else mac.lift(does);
  }
  for (const fault of ["eventsLost", "webhooksLost", "eventsTwice", "eventsReversed"] as const) mac.lift(fault);
  await stage.pass(6 * MINUTE);
}

/** The state of the rows, and the reported state, one line each. */
function saidBy(stage: MacProviderStage): string[] {
  return stage.mac.messages.flatMap((row) => {
    const { guid } = row;
    if (row.itemType === 2) return [`group ${guid} ${row.groupTitle}`];
    if (row.isFromMe) {
      if (row.associatedMessageType !== null) return [];
      const is = row.dateRead !== null ? "read" : row.isDelivered ? "delivered" : "sent";
      return [`receipt ${guid} ${is}`];
    }
    if (row.associatedMessageType !== null) return [`reaction ${guid} ${row.associatedMessageGuid}`];
    if (row.balloonBundleId !== null) return [`inbound ${guid} paid`];
    if (row.dateEdited !== null && row.text === null) return [`inbound ${guid} unsent`];
    if (row.namedFiles.length > 0) return [`inbound ${guid} ${row.attachments.length} files`];
    return [`inbound ${guid} ${row.text} ${row.chat.style === 43 ? row.chat.guid : ""}`];
  });
}

/** The last signal of each reference, as an engine would have it that accepts each reference once. */
function reportedBy(signals: readonly Signal[]): string[] {
  const last = new Map<string, string>();
  for (const signal of signals) {
    switch (signal.kind) {
      case "inbound": {
        const { reference, payment, text, group, attachments } = signal;
        const files = attachments.filter(({ missing }) => missing !== true).length;
        const written = attachments.length > 0 ? `${files} files` : `${text} ${group?.reference ?? ""}`;
        const known = last.get(reference);
        if (known === undefined || (attachments.length > 0 && known.endsWith("files"))) {
          last.set(reference, `inbound ${reference} ${payment === null ? written : "paid"}`);
        }
        break;
      }
      case "revision": {
        const known = last.get(signal.reference);
        const place = known?.split(" ").at(-1) ?? "";
        const line = signal.text === null ? "unsent" : `${signal.text} ${place}`;
        last.set(signal.reference, `inbound ${signal.reference} ${line}`);
        break;
      }
      case "receipt":
        last.set(signal.reference, `receipt ${signal.reference} ${signal.receipt}`);
        break;
      case "reaction":
        last.set(signal.reference, `reaction ${signal.reference} p:0/${signal.target}`);
        break;
      case "group":
        last.set(signal.reference, `group ${signal.reference} ${signal.title}`);
        break;
    }
  }
  return [...last.values()];
}

for (const ingest of ["webhook", "socket"] as const) {
  it(`reports each change of the rows once, however their events arrive by ${ingest}`, async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 14 }), async (events) => {
        const stage = await stageMacProvider(t, { ingest });
        try {
          await play(stage, events);
          assert.deepEqual(reportedBy(stage.signals).toSorted(), saidBy(stage).toSorted());
          if (events.some(({ does }) => does === "restarts")) return;
          const once = stage.signals.map((signal) => JSON.stringify(signal));
          assert.equal(new Set(once).size, once.length);
        } finally {
          await stage.end();
          await stage.mac.stop();
        }
      }),
      { numRuns: runsOf(25, 6) },
    );
  });
}
