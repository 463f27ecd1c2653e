/** Texts that somebody writes in Messages on the Mac, beside sends of the service: every row has one record, and every record one row. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { stageMacService } from "../support/mac-stage.ts";

const ANNA = "+15005551001";
const MINUTE_MS = 60_000;

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
