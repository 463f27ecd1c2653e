import assert from "node:assert/strict";
import { test } from "node:test";
import { outboundMessage } from "../../../test/support/outbound.ts";
import type { Outbound } from "../provider.ts";
import { readSettings } from "./settings.ts";
import { type Submission, submissionOf, withUserReference } from "./submit-pdus.ts";

const REFERENCE = 0x1234;

function submission(text: string, config: Record<string, unknown> = {}, more: Partial<Outbound> = {}): Submission {
  const made = submissionOf(message(text, more), readSettings(config), REFERENCE);
  assert.ok("submits" in made);
  return made;
}

function message(text: string, more: Partial<Outbound> = {}): Outbound {
  return outboundMessage({
    messageId: "msg_1",
    from: "+15550000001",
    to: "+15550100001",
    channel: "sms",
    text,
    ...more,
  });
}

const hex = (octets: Uint8Array | undefined) => Buffer.from(octets ?? []).toString("hex");

test("a short text is one submit_sm, with the data_coding of its alphabet", () => {
  const cases: [string, Record<string, unknown>, string, number, string][] = [
    ["{a}@", {}, "GSM-7", 0, "1b28611b2900"],
    ["ça", {}, "UCS-2", 8, "00e70061"],
    ["ça", { latin1: true }, "Latin-1", 3, "e761"],
    ["👋", { latin1: true }, "UCS-2", 8, "d83ddc4b"],
  ];
  for (const [text, config, encoding, dataCoding, octets] of cases) {
    const { submits, segments, ...made } = submission(text, config);
    assert.deepEqual([made.encoding, segments, submits.length], [encoding, 1, 1]);
    assert.deepEqual(
      [submits[0]?.dataCoding, submits[0]?.esmClass, hex(submits[0]?.shortMessage)],
      [dataCoding, 0, octets],
    );
    assert.equal(submits[0]?.registeredDelivery, 1);
  }
});

test("the parts of a long text each have a header of 8 or 16 bits, and no character is split", () => {
  const text = `${"a".repeat(152)}€${"b".repeat(10)}`;
  const eight = submission(text).submits;
  assert.deepEqual(
    eight.map(({ shortMessage, esmClass }) => [hex(shortMessage.subarray(0, 6)), shortMessage.length, esmClass]),
    [
      ["050003340201", 6 + 152, 0x40],
      ["050003340202", 6 + 12, 0x40],
    ],
  );
  const sixteen = submission(text, { udhReferenceBits: 16 }).submits;
  assert.deepEqual(
    sixteen.map(({ shortMessage }) => hex(shortMessage.subarray(0, 7))),
    ["06080412340201", "06080412340202"],
  );
});

test("with sar the parts leave room for the header that the SMSC adds", () => {
  const { submits } = submission("a".repeat(161), { longMessages: "sar" });
  assert.deepEqual(
    submits.map(({ shortMessage, esmClass, tlvs }) => [
      shortMessage.length,
      esmClass,
      [...tlvs].map(([tag, value]) => [tag, hex(value)]),
    ]),
    [
      [
        153,
        0,
        [
          [0x020c, "1234"],
          [0x020e, "02"],
          [0x020f, "01"],
        ],
      ],
      [
        8,
        0,
        [
          [0x020c, "1234"],
          [0x020e, "02"],
          [0x020f, "02"],
        ],
      ],
    ],
  );
});

test("with payload a long text is one submit_sm, with the expected number of segments", () => {
  for (const [text, segments, octets] of [
    ["a".repeat(161), 2, 161],
    ["ą".repeat(200), 3, 400],
  ] as const) {
    const made = submission(text, { longMessages: "payload" });
    assert.deepEqual([made.segments, made.submits.length], [segments, 1]);
    assert.equal(made.submits[0]?.shortMessage.length, 0);
    assert.equal(made.submits[0]?.tlvs.get(0x0424)?.length, octets);
  }
  const short = submission("a".repeat(160), { longMessages: "payload" }).submits[0];
  assert.deepEqual([short?.shortMessage.length, short?.tlvs.size], [160, 0]);
  const latin1 = submission("ç".repeat(150), { longMessages: "payload", latin1: true });
  assert.deepEqual([latin1.encoding, latin1.segments], ["Latin-1", 2]);
});

test("sender, service and validity follow the settings", () => {
  const config = {
    sourceAddress: "Tightbeam",
    destinationTon: 2,
    destinationNpi: 8,
    serviceType: "VMA",
    validitySeconds: 93_784,
  };
  const [submit] = submission("Hi", config).submits;
  assert.deepEqual(submit?.source, { ton: 5, npi: 0, address: "Tightbeam" });
  assert.deepEqual(submit?.destination, { ton: 2, npi: 8, address: "15550100001" });
  assert.equal(submit?.serviceType, "VMA");
  assert.equal(submit?.validityPeriod, "000001020304000R");
});

test("user_message_reference is added to the other parameters", () => {
  const [submit] = submission("a".repeat(161), { longMessages: "sar" }).submits;
  assert.ok(submit !== undefined);
  assert.deepEqual([...withUserReference(submit, 0xbeef).tlvs.keys()], [0x020c, 0x020e, 0x020f, 0x0204]);
  assert.equal(hex(withUserReference(submit, 0xbeef).tlvs.get(0x0204)), "beef");
});

test("a message that SMS cannot carry is refused with a code, and nothing of it is dropped silently", () => {
  const file = { mimeType: "image/png", filename: "a.png", bytes: new Uint8Array(1), isAudioMessage: false };
  const code = (text: string, more: Partial<Outbound>) => {
    const made = submissionOf(message(text, more), readSettings({}), REFERENCE);
    return "code" in made ? made.code : null;
  };
  assert.equal(code("Hi", { attachments: [file] }), "MEDIA_NOT_SUPPORTED");
  assert.equal(code("Hi", { to: "anna@example.com" }), "NOT_A_PHONE_NUMBER");
  assert.equal(code("ą".repeat(17_086), {}), "TEXT_TOO_LONG");
  assert.equal(code("ą".repeat(17_085), {}), null);
});
