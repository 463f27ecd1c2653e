/** Texts that somebody writes in Messages on the Mac, beside sends of the service: every row has one record, and every record one row. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { stageMacService } from "../support/mac-stage.ts";

const ANNA = "+15005551001";
const BEN = "+15005551002";
const MINUTE_MS = 60_000;
const picture = (name: string, linksAfterMs: number) => ({
  name,
  mimeType: "image/png",
  bytes: Buffer.from(`the bytes of ${name}`),
  linksAfterMs,
});

for (const ingest of ["webhook", "socket"] as const) {
  test(`each row of the Mac is one message, written by hand or sent, also with one text and a lost response (${ingest})`, async (t) => {
    const stage = await stageMacService(t, { ingest, habit: "delivers" });
    stage.mac.knows(ANNA);
    const first = stage.mac.writesByHand(ANNA, "Hello");
    stage.mac.fault("answerLost");
    const id = await stage.send(ANNA);
    const second = stage.mac.writesByHand(ANNA, "Hello");
    stage.mac.fault("eventsTwice");
    await stage.reached(id, "delivered");
    await stage.pass(8 * MINUTE_MS, 5_000);

    const { messages } = await stage.ok("GET", "/v1/messages?limit=100");
    const rows = stage.mac.messages.filter(({ isFromMe }) => isFromMe).map(({ guid }) => guid);
    assert.equal(rows.length, 3);
    assert.deepEqual(messages.map((one: { providerMessageId: string }) => one.providerMessageId).sort(), rows.sort());
    const byHand = messages.filter(({ origin }: { origin: string }) => origin === "device");
    assert.equal(byHand.length, 2);
    assert.ok(
      [first, second].some((guid) =>
        byHand.some((one: { providerMessageId: string }) => one.providerMessageId === guid),
      ),
    );
    for (const one of byHand) assert.deepEqual([one.status, one.direction, one.to], ["sent", "outbound", ANNA]);
    const sent = (await stage.events("message.sent")).filter(({ data }) => data.origin === "device");
    assert.equal(sent.length, 2);
    assert.equal((await stage.events("message.delivered")).length, 1);
  });
}

for (const ingest of ["webhook", "socket"] as const) {
  test(`files written by hand, alone, to one and to a group, are in one record each, however late and often the Mac tells of them (${ingest})`, async (t) => {
    const stage = await stageMacService(t, { ingest, habit: "delivers" });
    stage.mac.knows(ANNA);
    const group = stage.mac.phone(ANNA).makesGroup("Trip", [BEN]);
    stage.mac.fault("eventsTwice");
    const pushes = stage.mac.fault("eventsReversed");
    const rows = [
      { guid: stage.mac.writesByHand(ANNA, null, [picture("late.png", 3 * MINUTE_MS)]), names: ["late.png"] },
      {
        guid: stage.mac.writesByHand(group, "Look", [picture("one.png", 0), picture("two.png", 2_000)]),
        names: ["one.png", "two.png"],
      },
      { guid: stage.mac.writesByHand(group, null, [picture("alone.png", 20_000)]), names: ["alone.png"] },
      { guid: stage.mac.writesByHand(group, "Only words"), names: [] },
    ];
    pushes();
    await stage.pass(12 * MINUTE_MS, 5_000);
    for (const row of stage.mac.messages) stage.mac.phone(ANNA).reads(row.guid);
    await stage.pass(5 * MINUTE_MS, 5_000);

    const { messages } = await stage.ok("GET", "/v1/messages?limit=100");
    assert.equal(messages.length, rows.length);
    const { chats } = await stage.ok("GET", "/v1/chats");
    assert.deepEqual(
      chats
        .map(({ isGroup, participants }: { isGroup: boolean; participants: string[] }) => [
          isGroup,
          participants.toSorted(),
        ])
        .sort(),
      [
        [false, [ANNA]],
        [true, [ANNA, BEN]],
      ],
    );
    const ofGroup = chats.find(({ isGroup }: { isGroup: boolean }) => isGroup);
    for (const [index, { guid, names }] of rows.entries()) {
      const found = messages.find((one: { providerMessageId: string }) => one.providerMessageId === guid);
      assert.deepEqual([found?.origin, found?.status, found?.direction], ["device", "sent", "outbound"], names.join());
      if (index > 0) assert.equal(found.chatId, ofGroup.id);
      assert.deepEqual(found.attachments.map(({ filename }: { filename: string }) => filename).sort(), names);
      for (const { downloadUrl, filename } of found.attachments) {
        assert.equal(await (await fetch(downloadUrl)).text(), `the bytes of ${filename}`);
      }
    }
    assert.equal((await stage.events("message.sent")).length, rows.length);
    assert.equal((await stage.events("message.delivered")).length, 0);
  });
}
