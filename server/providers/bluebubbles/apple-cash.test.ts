/** Tests of Apple Cash payments: archives and records made here, valid and hostile ones. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { isAppleCash, readAppleCash } from "./apple-cash.ts";
import { readArchive } from "./keyed-archive.ts";
import { readFields } from "./protobuf.ts";

const BUNDLE = "com.apple.PassbookUIService.PeerPaymentMessagesExtension";
const PAYMENT = 1;

type Tree = string | Address | { [key: string]: Tree };

/** An address, which an archive keeps as an object of its own. */
class Address {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An archive as the Mac gives it: every value an object of its own, named by its place. */
function archive(tree: Tree): unknown[] {
  const objects: unknown[] = ["$null"];
  const put = (value: Tree): { UID: number } => {
    const place = objects.push(null) - 1;
    objects[place] = encoded(value);
    return { UID: place };
  };
  const encoded = (value: Tree): unknown => {
    if (typeof value === "string") return value;
    if (value instanceof Address) return { "NS.base": { UID: 0 }, "NS.relative": put(value.text) };
    return { "NS.keys": Object.keys(value).map(put), "NS.objects": Object.values(value).map(put) };
  };
  const root = put(tree);
  return [{ $version: 100_000, $archiver: "NSKeyedArchiver", $top: { root }, $objects: objects }];
}

function varint(value: bigint): number[] {
  const rest = BigInt.asUintN(64, value) >> 7n;
  const low = Number(BigInt.asUintN(64, value) & 0x7fn);
  return rest === 0n ? [low] : [low | 0x80, ...varint(rest)];
}

type Value = bigint | string | Uint8Array;

/** A record: numbers as varints, texts and bytes with their length. */
function record(...fields: [number: number, value: Value][]): Uint8Array {
  return Uint8Array.from(
    fields.flatMap(([number, value]) => {
      const tag = (wire: number) => varint(BigInt(number * 8 + wire));
      if (typeof value === "bigint") return [...tag(0), ...varint(value)];
      const bytes = typeof value === "string" ? Buffer.from(value) : value;
      return [...tag(2), ...varint(BigInt(bytes.length)), ...bytes];
    }),
  );
}

/** ±mantissa · 10^exponent, as an NSDecimal is written. */
function decimal(mantissa: number, exponent: number, isNegative = false): Uint8Array {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt32LE(mantissa);
  return record([2, BigInt(exponent)], [3, 2n], [4, isNegative ? 1n : 0n], [7, bytes]);
}

function balloon({
  ldtext = "",
  subcaption = "",
  bytes,
}: {
  ldtext?: string;
  subcaption?: string;
  bytes?: Uint8Array;
}) {
  const base64 = bytes === undefined ? "FAKEDATA" : Buffer.from(bytes).toString("base64");
  return archive({
    ldtext,
    an: "Apple\u00a0Cash",
    layoutClass: "MSMessageTemplateLayout",
    URL: new Address(`data:application/vnd.apple.pkppm;base64,${base64}`),
    userInfo: { "image-title": "", caption: "Apple\u00a0Cash", subcaption },
  });
}

function payment(...fields: [number: number, value: Value][]) {
  return readAppleCash(balloon({ bytes: record([1, 1n], ...fields) }), null);
}

describe("an Apple Cash message", () => {
  it("is recognised by its extension, with or without a plug-in's prefix", () => {
    assert.ok(isAppleCash(BUNDLE));
    assert.ok(isAppleCash(`com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:${BUNDLE}`));
    for (const other of [null, "", `x${BUNDLE}`, `${BUNDLE}.other`, "com.apple.messages.URLBalloonProvider"]) {
      assert.ok(!isAppleCash(other), String(other));
    }
  });

  it("has the content of its record, to the cent", () => {
    const exact: [mantissa: number, exponent: number, cents: number | null][] = [
      [265, 0, 26_500],
      [2500, -2, 2_500],
      [25, 1, 25_000],
      [1, -2, 1],
      [1, -3, null],
      [2_500_000, -5, 2_500],
      [99_999_999, -2, 99_999_999],
      [100_000_000, -2, null],
      [0, 0, null],
    ];
    for (const [mantissa, exponent, cents] of exact) {
      const read = payment([3, 1n], [4, "USD"], [19, decimal(mantissa, exponent)]);
      assert.deepEqual([read.kind, read.amountCents], ["payment", cents], `${mantissa}e${exponent}`);
    }
    assert.equal(payment([3, 1n], [19, decimal(5, 0, true)]).amountCents, null);
  });

  it("has the transaction's id, or else the payment's", () => {
    assert.equal(payment([3, 1n], [9, "PAY-1"], [10, "TX-1"]).transactionId, "TX-1");
    assert.equal(payment([3, 1n], [9, "PAY-1"]).transactionId, "PAY-1");
    assert.equal(payment([3, 1n]).transactionId, null);
  });

  it("distinguishes requests and recurring payments from payments, by record and by text", () => {
    assert.equal(payment([3, 2n], [19, decimal(5, 0)]).kind, "request");
    assert.equal(payment([3, 3n], [19, decimal(5, 0)]).kind, "recurring");
    assert.equal(readAppleCash(balloon({ subcaption: "$25\u00a0Request" }), null).kind, "request");
    const weekly = balloon({ ldtext: "Sending you $1 weekly starting Nov 18, 2023" });
    assert.equal(readAppleCash(weekly, null).kind, "recurring");
    // The record is exact: the text beside it does not count.
    const bytes = record([3, BigInt(PAYMENT)], [19, decimal(5, 0)]);
    assert.equal(readAppleCash(balloon({ subcaption: "as you requested", bytes }), null).kind, "payment");
  });

  it("is read from its text if it has no valid record", () => {
    const read = readAppleCash(
      balloon({ ldtext: "Sent $265 with Apple\u00a0Pay.", subcaption: "$265\u00a0Payment" }),
      "",
    );
    assert.deepEqual(read, {
      kind: "payment",
      amountCents: 26_500,
      transactionId: null,
      text: "Sent $265 with Apple Pay.",
    });
    assert.equal(readAppleCash(balloon({ subcaption: "$265\u00a0Payment" }), null).text, "$265 Payment");
    assert.equal(readAppleCash(null, "Sent $1,234.5 with Apple Cash.").amountCents, 123_450);
  });

  it("has no amount if its text is ambiguous", () => {
    const doubtful = ["", "Sent €25 with Apple Pay.", "CA$25 Payment", "$1.234,56 Payment", "$ Payment", "$0 Payment"];
    for (const text of [...doubtful, "$25 of $50", "$12,34 Payment", "$1.2345", "$9999999999"]) {
      assert.equal(readAppleCash(balloon({ ldtext: text }), null).amountCents, null, text);
    }
    assert.equal(readAppleCash(balloon({ ldtext: "Sent $25", subcaption: "$30 Payment" }), null).amountCents, null);
  });

  it("has no amount in another currency, whatever its text says", () => {
    const bytes = record([3, 1n], [4, "EUR"], [19, decimal(5, 0)]);
    assert.equal(readAppleCash(balloon({ ldtext: "Sent $5", bytes }), null).amountCents, null);
  });

  it("is read from its text if the record's amount is invalid", () => {
    const bytes = record([3, 1n], [4, "USD"], [19, record([7, new Uint8Array(17)])]);
    assert.equal(readAppleCash(balloon({ ldtext: "Sent $5 with Apple Cash.", bytes }), null).amountCents, 500);
  });
});

describe("an archive", () => {
  it("is read to an end, even with circular, missing or endless references", () => {
    const circle = { "NS.keys": [{ UID: 2 }], "NS.objects": [{ UID: 1 }] };
    const top = { root: { UID: 1 } };
    const inner = readArchive({ $top: top, $objects: ["$null", circle, "again"] });
    assert.ok(inner?.has("again"));
    const wide = { "NS.keys": Array(5_000).fill({ UID: 2 }), "NS.objects": Array(5_000).fill({ UID: 1 }) };
    assert.ok(readArchive([{ $top: top, $objects: ["$null", wide, "key"] }]) !== null);
    for (const uid of [-1, 0, 1.5, 2 ** 40, Number.NaN, "1", null]) {
      assert.equal(readArchive({ $top: { root: { UID: uid } }, $objects: ["$null", circle] }), null, String(uid));
    }
  });

  it("reads texts that are objects, and addresses in objects", () => {
    const objects = ["$null", { "NS.keys": [{ UID: 2 }], "NS.objects": [{ UID: 3 }] }, "URL", { "NS.string": "x:y" }];
    assert.equal(readArchive({ $top: { root: { UID: 1 } }, $objects: objects })?.get("URL"), "x:y");
  });

  it("with any content is read without an exception", () => {
    const uid = fc.record({ UID: fc.oneof(fc.integer({ min: -2, max: 12 }), fc.anything()) });
    const object = fc.oneof(
      fc.string(),
      fc.anything(),
      fc.record({ "NS.keys": fc.array(uid), "NS.objects": fc.array(uid) }, { requiredKeys: [] }),
      fc.record({ "NS.relative": uid }),
    );
    const hostile = fc.record({ $top: fc.record({ root: uid }), $objects: fc.array(object, { maxLength: 12 }) });
    fc.assert(
      fc.property(fc.oneof(fc.anything(), hostile, fc.array(hostile, { maxLength: 2 })), fc.string(), (value, text) => {
        const { amountCents } = readAppleCash(value, text);
        assert.ok(amountCents === null || (Number.isInteger(amountCents) && amountCents > 0));
      }),
    );
  });
});

describe("a record on the wire", () => {
  it("is read back as it was written", () => {
    const number = fc.integer({ min: 1, max: 2 ** 29 - 1 });
    const value = fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.uint8Array({ maxLength: 40 }));
    fc.assert(
      fc.property(fc.array(fc.tuple(number, value), { maxLength: 20 }), (fields) => {
        const read = readFields(record(...fields));
        const last = new Map(fields);
        assert.deepEqual(
          [...(read ?? [])].map(([at, found]) => [at, found instanceof Uint8Array ? [...found] : found]),
          [...last].map(([at, wanted]) => [at, wanted instanceof Uint8Array ? [...wanted] : wanted]),
        );
      }),
    );
  });

  it("is null if it is cut off at any byte", () => {
    const whole = record([3, 1n], [4, "USD"], [19, decimal(26_500, -2)]);
    const cut = (length: number) => readFields(whole.subarray(0, length));
    // Between two fields it is a shorter record.
    const ends = [0, 2, 7, whole.length];
    for (let length = 0; length <= whole.length; length += 1) {
      assert.equal(cut(length) !== null, ends.includes(length), `${length} of ${whole.length} bytes`);
    }
  });

  it("with any bytes is read without an exception, and without an invalid amount", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        readFields(bytes);
        const { amountCents } = readAppleCash(balloon({ bytes }), null);
        assert.ok(amountCents === null || (Number.isInteger(amountCents) && amountCents > 0));
      }),
    );
  });
});
