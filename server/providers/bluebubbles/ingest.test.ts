/** Tests of what a Mac's rows and events become, over a real loopback: nothing in between is made up. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ANNA, BEN, OWN, startListening } from "../../../test/support/listening.ts";

const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47]);

for (const ingest of ["webhook", "socket"] as const) {
  describe(`a Mac that is heard by ${ingest}`, () => {
    it("tells of a message of a contact, with all that is in it", async (t) => {
      const heard = await startListening(t, { ingest });
      const anna = heard.mac.phone(ANNA);
      const first = anna.writes("Hi");
      const files = [{ name: "a.png", mimeType: "image/png", bytes: PNG }];
      const effectId = "com.apple.messages.effect.CKConfettiEffect";
      const second = anna.writes("Look", { attachments: files, replyTo: first, effectId, subject: "Photo" });
      await heard.settled();
      const [, { attachments, ...told }] = heard.of("inbound") as [unknown, { attachments: unknown[] }];
      assert.deepEqual(told, {
        kind: "inbound",
        reference: second,
        from: ANNA,
        to: OWN,
        channel: "imessage",
        group: null,
        text: "Photo\nLook",
        replyTo: first,
        payment: null,
        effect: "confetti",
      });
      const [file] = heard.mac.messages.at(-1)?.attachments ?? [];
      assert.deepEqual(attachments, [
        { reference: file?.guid, mimeType: "image/png", filename: "a.png", totalBytes: PNG.length, data: null },
      ]);
    });

    it("tells of an SMS as one", async (t) => {
      const heard = await startListening(t, { ingest });
      heard.mac.phone(ANNA).writes("by text", { service: "SMS" });
      await heard.settled();
      assert.deepEqual(
        heard.of("inbound").map(({ channel, text }) => [channel, text]),
        [["sms", "by text"]],
      );
    });

    it("tells what becomes of a message of ours, each step once, whatever comes twice", async (t) => {
      const heard = await startListening(t, { ingest });
      heard.mac.fault("eventsTwice");
      const guid = await heard.send("Hello");
      await heard.pass(100);
      heard.mac.phone(ANNA).delivers(guid);
      await heard.pass(100);
      heard.mac.phone(ANNA).reads(guid);
      await heard.pass(3_600_000);
      assert.deepEqual(heard.receiptsOf(guid), ["sent", "delivered", "read"]);
    });

    it("finds a failure that nothing tells of, and names its code", async (t) => {
      const heard = await startListening(t, { ingest });
      heard.mac.fault("errorLater");
      const guid = await heard.send("Hello");
      await heard.pass(5_000);
      const last = heard.of("receipt").at(-1);
      assert.deepEqual([last?.reference, last?.receipt, last?.code], [guid, "failed", "22"]);
    });

    it("tells of reactions, with the words of the phone, and of their end", async (t) => {
      const heard = await startListening(t, { ingest });
      const guid = await heard.send("Lunch?");
      const anna = heard.mac.phone(ANNA);
      const loved = anna.reacts(guid, "love");
      const removed = anna.reacts(guid, "-love");
      await heard.settled();
      assert.deepEqual(
        heard.of("reaction").map(({ reference, target, type, content }) => ({ reference, target, type, content })),
        [
          { reference: loved, target: guid, type: "love", content: "Loved “Lunch?”" },
          { reference: removed, target: guid, type: "remove", content: "Removed a love from “Lunch?”" },
        ],
      );
      assert.equal(heard.of("inbound").length, 0);
    });

    it("tells of edits and of what is taken back, also when an hour has gone by", async (t) => {
      const heard = await startListening(t, { ingest });
      const anna = heard.mac.phone(ANNA);
      const one = anna.writes("Helo");
      const other = anna.writes("Oops");
      await heard.settled();
      anna.edits(one, "Hello");
      await heard.pass(3_700_000);
      anna.unsends(other);
      await heard.pass(1_000);
      assert.deepEqual(
        heard.of("revision").map(({ reference, text }) => [reference, text]),
        [
          [one, "Hello"],
          [other, null],
        ],
      );
      assert.equal(heard.of("inbound").length, 2);
    });

    it("tells of a payment to the cent, and of a request as one", async (t) => {
      const heard = await startListening(t, { ingest });
      const anna = heard.mac.phone(ANNA);
      anna.pays(2_550);
      anna.pays(900, { kind: "request" });
      anna.pays(100, { kind: "recurring" });
      anna.pays(26_500, { blob: "garbled" });
      await heard.settled();
      assert.deepEqual(
        heard.of("inbound").map(({ payment }) => payment),
        [
          { amountCents: 2_550, currency: "USD", isRequest: false },
          { amountCents: 900, currency: "USD", isRequest: true },
          null,
          { amountCents: 26_500, currency: "USD", isRequest: false },
        ],
      );
    });

    it("counts a transaction of Apple Cash once, also after a restart", async (t) => {
      const heard = await startListening(t, { ingest });
      const anna = heard.mac.phone(ANNA);
      anna.pays(500, { transaction: "T-1" });
      await heard.settled();
      await heard.stop();
      await heard.start();
      anna.pays(500, { transaction: "T-1" });
      await heard.settled();
      const payments = heard.of("inbound").map(({ reference, payment }) => [reference, payment?.amountCents ?? null]);
      const last = new Map(payments as [string, number | null][]);
      assert.deepEqual([...last.values()], [500, null]);
    });

    it("tells of a group's messages with everybody in it, and of what happens to it", async (t) => {
      const heard = await startListening(t, { ingest });
      const anna = heard.mac.phone(ANNA);
      const group = anna.makesGroup("Trip", [BEN]);
      anna.writes("Hi all", { group });
      await heard.settled();
      const [message] = heard.of("inbound");
      assert.deepEqual(message?.group, { reference: group.guid, name: "Trip", participants: [ANNA, BEN] });
      anna.renames(group, "Tour");
      await heard.settled();
      anna.adds(group, "+15550100003");
      await heard.settled();
      anna.removes(group, BEN);
      await heard.settled();
      anna.changesPhoto(group);
      heard.mac.phone("+15550100003").leaves(group);
      await heard.settled();
      assert.deepEqual(
        heard.of("group").map(({ change, participant, title, actor, group }) => ({
          change,
          participant,
          title,
          actor,
          people: group.participants.length,
        })),
        [
          { change: "titleChanged", participant: null, title: "Tour", actor: ANNA, people: 2 },
          { change: "participantAdded", participant: "+15550100003", title: null, actor: ANNA, people: 3 },
          { change: "participantLeft", participant: BEN, title: null, actor: ANNA, people: 2 },
          { change: "photoChanged", participant: null, title: null, actor: ANNA, people: 1 },
          { change: "participantLeft", participant: "+15550100003", title: null, actor: "+15550100003", people: 1 },
        ],
      );
    });

    it("tells who types, and when they stop", async (t) => {
      const heard = await startListening(t, { ingest });
      heard.mac.phone(ANNA).types(true);
      heard.mac.phone(ANNA).types(false);
      await heard.settled();
      assert.deepEqual(
        heard.of("typing").map(({ from, to, typing }) => [from, to, typing]),
        [
          [ANNA, OWN, true],
          [ANNA, OWN, false],
        ],
      );
    });

    it("tells of a call that only comes in once, and that it was missed when it rings no more", async (t) => {
      const heard = await startListening(t, { ingest });
      heard.mac.phone(ANNA).rings();
      await heard.settled();
      await heard.pass(30_000);
      heard.mac.phone(ANNA).rings();
      await heard.pass(59_000);
      assert.deepEqual(
        heard.of("call").map(({ status, caller }) => [status, caller]),
        [["incoming", ANNA]],
      );
      await heard.stop();
      await heard.start();
      await heard.pass(61_000);
      assert.deepEqual(
        heard.of("call").map(({ status, callUuid }) => [status, callUuid === heard.of("call")[0]?.callUuid]),
        [
          ["incoming", true],
          ["missed", true],
        ],
      );
      assert.deepEqual(await heard.memory.list("call/"), []);
      heard.mac.phone(ANNA).rings();
      await heard.settled();
      assert.notEqual(heard.of("call").at(-1)?.callUuid, heard.of("call")[0]?.callUuid);
    });

    it("tells of a call by its own name and to its end where the Mac tells all of it", async (t) => {
      const heard = await startListening(t, { ingest, facetimeCalling: true });
      const uuid = heard.mac.phone(ANNA).rings({ isVideo: false });
      heard.mac.phone(ANNA).hangsUp(uuid, { isVideo: false });
      await heard.settled();
      assert.deepEqual(
        heard.of("call").map(({ callUuid, status, isVideo, isOutgoing }) => [callUuid, status, isVideo, isOutgoing]),
        [
          [uuid, "incoming", false, false],
          [uuid, "missed", false, false],
        ],
      );
    });
  });
}

it("keeps nothing of a call that is for nobody", async (t) => {
  const numbers = [OWN, "+15550000002"].map((address, index) => ({
    address,
    customerId: `cust_${index}` as const,
    isDefault: true,
  }));
  const heard = await startListening(t, { numbers });
  await heard.post({ type: "incoming-facetime", data: JSON.stringify({ caller: "+15550100009", timestamp: 1 }) });
  await heard.pass(120_000);
  assert.deepEqual(heard.of("call"), []);
  assert.deepEqual(
    [...heard.memory.entries.keys()].filter((key) => key.startsWith("call/")),
    [],
  );
});

it("ends at once, also while it looks where a call came in", async (t) => {
  const numbers = [OWN, "+15550000002"].map((address) => ({ address, customerId: "cust_1", isDefault: true }) as const);
  const heard = await startListening(t, { numbers });
  heard.mac.fault("asleep");
  await heard.post({ type: "incoming-facetime", data: JSON.stringify({ caller: "+15550100009", timestamp: 1 }) });
  await heard.stop();
  heard.mac.forgetHeld();
});
