/** Tests of the signals for a Mac's rows and events, over real HTTP and sockets on loopback. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ANNA, BEN, OWN, stageMacProvider } from "../../../test/support/mac-provider.ts";

const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47]);

for (const ingest of ["webhook", "socket"] as const) {
  describe(`ingest by ${ingest}`, () => {
    it("reports a contact's message with all its content", async (t) => {
      const stage = await stageMacProvider(t, { ingest });
      const anna = stage.mac.phone(ANNA);
      const first = anna.writes("Hi");
      const files = [{ name: "a.png", mimeType: "image/png", bytes: PNG }];
      const effectId = "com.apple.messages.effect.CKConfettiEffect";
      const second = anna.writes("Look", { attachments: files, replyTo: first, effectId, subject: "Photo" });
      await stage.idle();
      const [, { attachments, ...reported }] = stage.of("inbound") as [unknown, { attachments: unknown[] }];
      assert.deepEqual(reported, {
        kind: "inbound",
        reference: second,
        from: ANNA,
        to: OWN,
        channel: "imessage",
        group: null,
        text: "Photo\nLook",
        grows: true,
        replyTo: first,
        payment: null,
        effect: "confetti",
      });
      const [file] = stage.mac.messages.at(-1)?.attachments ?? [];
      assert.deepEqual(attachments, [
        { reference: file?.guid, mimeType: "image/png", filename: "a.png", totalBytes: PNG.length, data: null },
      ]);
    });

    it("counts what the Mac sends as events, and nothing that the service finds by asking the Mac", async (t) => {
      const stage = await stageMacProvider(t, { ingest });
      const anna = stage.mac.phone(ANNA);
      const before = stage.events;
      const lift = stage.mac.fault("eventsLost");
      anna.writes("found by asking");
      await stage.pass(120_000);
      assert.deepEqual([stage.of("inbound").length, stage.events], [1, before]);
      lift();
      anna.writes("sent");
      await stage.idle();
      assert.equal(stage.of("inbound").length, 2);
      assert.ok(stage.events > before);
    });

    it("notices at its next event that a Mac which was down can send, while the clock stands still", async (t) => {
      const stage = await stageMacProvider(t, { ingest });
      const lift = stage.mac.fault("helperGone");
      await stage.pass(300_000);
      lift();
      await stage.idle();
      assert.equal(stage.provider.isUp, false);
      const before = stage.clock.real();
      stage.mac.phone(ANNA).writes("Are you there?");
      await stage.idle();
      assert.deepEqual([stage.provider.isUp, stage.clock.real()], [true, before]);
    });

    it("reports an SMS as an SMS, and RCS as RCS", async (t) => {
      const stage = await stageMacProvider(t, { ingest });
      stage.mac.phone(ANNA).writes("by text", { service: "SMS" });
      stage.mac.phone(ANNA).writes("richer", { service: "RCS" });
      await stage.idle();
      assert.deepEqual(
        stage.of("inbound").map(({ channel, text }) => [channel, text]),
        [
          ["sms", "by text"],
          ["rcs", "richer"],
        ],
      );
    });

    it("counts in its health each message that came to no number of the instance", async (t) => {
      const stage = await stageMacProvider(t, { ingest, numbers: [] });
      const anna = stage.mac.phone(ANNA);
      const first = anna.writes("Hi");
      anna.writes("Anybody?");
      anna.reacts(first, "love");
      await stage.pass(60_000);
      assert.deepEqual(stage.signals, []);
      const { status, warnings = [] } = await stage.provider.health();
      assert.equal(status, "degraded");
      assert.ok(
        warnings.some((warning) => /^2 messages of contacts came to an address/.test(warning)),
        warnings.join(),
      );
    });

    it("gives a row without a handle the channel of its chat's last row, else of its service", async (t) => {
      const stage = await stageMacProvider(t, { ingest, release: { macOs: 26 } });
      const [anna, ben] = [stage.mac.phone(ANNA), stage.mac.phone(BEN)];
      anna.writes("richer", { service: "RCS" });
      anna.writes("who?", { service: "SMS", hasNoHandle: true });
      ben.writes("first", { service: "SMS", hasNoHandle: true });
      await stage.idle();
      const channels = stage.of("inbound").map(({ from, channel, text }) => [from, text, channel]);
      assert.deepEqual(channels.toSorted(), [
        [ANNA, "richer", "rcs"],
        [ANNA, "who?", "rcs"],
        [BEN, "first", "sms"],
      ]);
    });

    it("reports a receipt of ours without a handle on the channel of its service", async (t) => {
      const stage = await stageMacProvider(t, { ingest, release: { macOs: 26 } });
      const guid = await stage.send("Hi", ANNA);
      stage.mac.phone(ANNA).writes("by text", { service: "SMS" });
      stage.mac.phone(ANNA).delivers(guid);
      await stage.idle();
      const row = stage.mac.messages.find((one) => one.guid === guid) ?? assert.fail();
      row.handle = null;
      stage.mac.phone(ANNA).reads(guid);
      await stage.pass(1_000);
      assert.deepEqual(
        stage
          .of("receipt")
          .flatMap(({ reference, receipt, channel }) => (reference === guid ? [[receipt, channel]] : [])),
        [
          ["sent", "imessage"],
          ["delivered", "imessage"],
          ["read", "imessage"],
        ],
      );
    });

    it("reports each receipt of our messages once, however often it arrives", async (t) => {
      const stage = await stageMacProvider(t, { ingest });
      stage.mac.fault("eventsTwice");
      const guid = await stage.send("Hello");
      await stage.pass(100);
      stage.mac.phone(ANNA).delivers(guid);
      await stage.pass(100);
      stage.mac.phone(ANNA).reads(guid);
      await stage.pass(3_600_000);
      assert.deepEqual(stage.receiptsOf(guid), ["sent", "delivered", "read"]);
    });

    it("finds a failure that no event reports, and names its code", async (t) => {
      const stage = await stageMacProvider(t, { ingest });
      stage.mac.fault("errorLater");
      const guid = await stage.send("Hello");
      await stage.pass(5_000);
      const last = stage.of("receipt").at(-1);
      assert.deepEqual([last?.reference, last?.receipt, last?.code], [guid, "failed", "22"]);
    });

    it("reports reactions with the phone's text, and their removal", async (t) => {
      const stage = await stageMacProvider(t, { ingest });
      const guid = await stage.send("Lunch?");
      const anna = stage.mac.phone(ANNA);
      const loved = anna.reacts(guid, "love");
      const removed = anna.reacts(guid, "-love");
      const bacon = anna.reacts(guid, "🥓");
      const noBacon = anna.reacts(guid, "-🥓");
      await stage.idle();
      const place = { kind: "reaction", from: ANNA, to: OWN, channel: "imessage", target: guid };
      assert.deepEqual(
        stage.of("reaction"),
        [
          { reference: loved, type: "love", content: "Loved “Lunch?”" },
          { reference: removed, type: "remove", content: "Removed a love from “Lunch?”" },
          { reference: bacon, type: "emoji", emoji: "🥓", content: "Reacted 🥓 to “Lunch?”" },
          { reference: noBacon, type: "remove", content: "Removed 🥓 from “Lunch?”" },
        ].map((reaction) => ({ ...place, ...reaction })),
      );
      assert.equal(stage.of("inbound").length, 0);
    });

    it("reports edits and unsends, also after an hour", async (t) => {
      const stage = await stageMacProvider(t, { ingest });
      const anna = stage.mac.phone(ANNA);
      const one = anna.writes("Helo");
      const other = anna.writes("Oops");
      await stage.idle();
      anna.edits(one, "Hello");
      await stage.pass(3_700_000);
      anna.unsends(other);
      await stage.pass(1_000);
      assert.deepEqual(
        stage.of("revision").map(({ reference, text }) => [reference, text]),
        [
          [one, "Hello"],
          [other, null],
        ],
      );
      assert.equal(stage.of("inbound").length, 2);
    });

    it("reports the amount of a payment to the cent, and of a payment request", async (t) => {
      const stage = await stageMacProvider(t, { ingest });
      const anna = stage.mac.phone(ANNA);
      anna.pays(2_550);
      anna.pays(900, { kind: "request" });
      anna.pays(100, { kind: "recurring" });
      anna.pays(26_500, { blob: "garbled" });
      await stage.idle();
      assert.deepEqual(
        stage.of("inbound").map(({ payment }) => payment),
        [
          { amountCents: 2_550, currency: "USD", isRequest: false },
          { amountCents: 900, currency: "USD", isRequest: true },
          null,
          { amountCents: 26_500, currency: "USD", isRequest: false },
        ],
      );
    });

    it("counts an Apple Cash transaction once, also after a restart", async (t) => {
      const stage = await stageMacProvider(t, { ingest });
      const anna = stage.mac.phone(ANNA);
      anna.pays(500, { transaction: "T-1" });
      await stage.idle();
      await stage.stop();
      await stage.start();
      anna.pays(500, { transaction: "T-1" });
      await stage.idle();
      const payments = stage.of("inbound").map(({ reference, payment }) => [reference, payment?.amountCents ?? null]);
      const last = new Map(payments as [string, number | null][]);
      assert.deepEqual([...last.values()], [500, null]);
    });

    it("reports a group's messages with all participants, and changes of the group", async (t) => {
      const stage = await stageMacProvider(t, { ingest });
      const anna = stage.mac.phone(ANNA);
      const group = anna.makesGroup("Trip", [BEN]);
      anna.writes("Hi all", { group });
      await stage.idle();
      const [message] = stage.of("inbound");
      assert.deepEqual(message?.group, { reference: group.guid, name: "Trip", participants: [ANNA, BEN] });
      anna.renames(group, "Tour");
      await stage.idle();
      anna.adds(group, "+15550100003");
      await stage.idle();
      anna.removes(group, BEN);
      await stage.idle();
      anna.changesPhoto(group);
      stage.mac.phone("+15550100003").leaves(group);
      await stage.idle();
      assert.deepEqual(
        stage.of("group").map(({ change, participant, title, actor, group }) => ({
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

    it("reports who types, and when they stop", async (t) => {
      const stage = await stageMacProvider(t, { ingest });
      stage.mac.phone(ANNA).types(true);
      stage.mac.phone(ANNA).types(false);
      await stage.idle();
      assert.deepEqual(
        stage.of("typing").map(({ from, to, typing }) => [from, to, typing]),
        [
          [ANNA, OWN, true],
          [ANNA, OWN, false],
        ],
      );
    });

    it("reports a call from `incoming-facetime` alone, and that it was missed when it stops ringing", async (t) => {
      const stage = await stageMacProvider(t, { ingest });
      stage.mac.phone(ANNA).rings();
      await stage.idle();
      await stage.pass(30_000);
      stage.mac.phone(ANNA).rings();
      await stage.pass(59_000);
      assert.deepEqual(
        stage.of("call").map(({ status, caller }) => [status, caller]),
        [["incoming", ANNA]],
      );
      await stage.stop();
      await stage.start();
      await stage.pass(61_000);
      assert.deepEqual(
        stage.of("call").map(({ status, callUuid }) => [status, callUuid === stage.of("call")[0]?.callUuid]),
        [
          ["incoming", true],
          ["missed", true],
        ],
      );
      assert.deepEqual(await stage.memory.list("call/"), []);
      stage.mac.phone(ANNA).rings();
      await stage.idle();
      assert.notEqual(stage.of("call").at(-1)?.callUuid, stage.of("call")[0]?.callUuid);
    });

    it("reports a call under its own id until its end if the Mac sends every status", async (t) => {
      const stage = await stageMacProvider(t, { ingest, facetimeCalling: true });
      const uuid = stage.mac.phone(ANNA).rings({ isVideo: false });
      stage.mac.phone(ANNA).hangsUp(uuid, { isVideo: false });
      await stage.idle();
      assert.deepEqual(
        stage.of("call").map(({ callUuid, status, isVideo, isOutgoing }) => [callUuid, status, isVideo, isOutgoing]),
        [
          [uuid, "incoming", false, false],
          [uuid, "missed", false, false],
        ],
      );
    });
  });
}

it("stores nothing of a call to nobody", async (t) => {
  const numbers = [OWN, "+15550000002"].map((address, index) => ({
    address,
    customerId: `cust_${index}` as const,
    isDefault: true,
  }));
  const stage = await stageMacProvider(t, { numbers });
  await stage.post({ type: "incoming-facetime", data: JSON.stringify({ caller: "+15550100009", timestamp: 1 }) });
  await stage.pass(120_000);
  assert.deepEqual(stage.of("call"), []);
  assert.deepEqual(
    [...stage.memory.entries.keys()].filter((key) => key.startsWith("call/")),
    [],
  );
});

it("stops at once, also while it looks up which address was called", async (t) => {
  const numbers = [OWN, "+15550000002"].map((address) => ({ address, customerId: "cust_1", isDefault: true }) as const);
  const stage = await stageMacProvider(t, { numbers });
  stage.mac.fault("asleep");
  await stage.post({ type: "incoming-facetime", data: JSON.stringify({ caller: "+15550100009", timestamp: 1 }) });
  await stage.stop();
  stage.mac.forgetHeld();
});

it("notices at `hello-world` that the Mac is back, while the clock stands still", async (t) => {
  const stage = await stageMacProvider(t, { ingest: "webhook" });
  const lift = stage.mac.fault("unreachable");
  await stage.pass(300_000);
  assert.equal(stage.provider.isUp, false);
  const before = stage.clock.real();
  lift();
  await stage.idle();
  assert.deepEqual([stage.provider.isUp, stage.clock.real()], [true, before]);
});

it("notices when its socket is connected again that a Mac which was down can send", async (t) => {
  const stage = await stageMacProvider(t, { ingest: "socket" });
  const lift = stage.mac.fault("helperGone");
  await stage.pass(300_000);
  const checks = () => stage.mac.requests.filter((line) => line.endsWith("/server/info")).length;
  for (const before = checks(); checks() === before; ) await stage.pass(100);
  // The next check is due in half a minute, and a socket that breaks is connected again after a second.
  lift();
  stage.mac.forgetHeld();
  await stage.pass(500);
  assert.deepEqual([stage.provider.isUp, stage.mac.socketCount], [false, 0]);
  await stage.pass(1_000);
  assert.deepEqual([stage.provider.isUp, stage.mac.socketCount], [true, 1]);
});
