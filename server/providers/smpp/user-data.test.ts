import assert from "node:assert/strict";
import { test } from "node:test";
import { dataSm, deliverSm } from "../../../test/support/smsc/pdus.ts";
import { readUserData } from "./user-data.ts";

const TEXT = Uint8Array.of(72, 105);
const NONE = new Uint8Array();

function read(esmClass: number, shortMessage: Uint8Array, tlvs = new Map<number, Uint8Array>()) {
  const { octets, piece } = readUserData({ ...deliverSm(), esmClass, shortMessage, tlvs });
  return { octets: [...octets], piece };
}

test("a part is recognised by a header of 8 or 16 bits, anywhere in the user data header", () => {
  const headers: [number[], object][] = [
    [[5, 0, 3, 7, 3, 2], { how: "udh8", reference: 7, total: 3, index: 2 }],
    [[6, 8, 4, 1, 7, 3, 2], { how: "udh16", reference: 263, total: 3, index: 2 }],
    [[11, 5, 4, 0x15, 0x81, 0, 0, 0, 3, 7, 3, 2], { how: "udh8", reference: 7, total: 3, index: 2 }],
    [[9, 0x24, 1, 1, 8, 4, 1, 7, 3, 2], { how: "udh16", reference: 263, total: 3, index: 2 }],
  ];
  for (const [header, piece] of headers) {
    assert.deepEqual(read(0x40, Uint8Array.of(...header, ...TEXT)), { octets: [72, 105], piece });
    const tlvs = new Map([[0x0424, Uint8Array.of(...header, ...TEXT)]]);
    assert.deepEqual(read(0x40, NONE, tlvs), { octets: [72, 105], piece }, "in message_payload");
  }
});

test("a part is recognised by its sar parameters", () => {
  const tlvs = new Map([
    [0x020c, Uint8Array.of(1, 7)],
    [0x020e, Uint8Array.of(2)],
    [0x020f, Uint8Array.of(1)],
  ]);
  const piece = { how: "sar", reference: 263, total: 2, index: 1 };
  assert.deepEqual(read(0, TEXT, tlvs), { octets: [72, 105], piece });
});

test("an impossible position, and a broken header, mean a whole message", () => {
  for (const header of [
    [5, 0, 3, 7, 3, 4],
    [5, 0, 3, 7, 3, 0],
    [5, 0, 3, 7, 0, 0],
    [5, 0, 3, 7, 1, 1],
    [0],
    [3, 0, 3, 7],
  ]) {
    assert.deepEqual(read(0x40, Uint8Array.of(...header, ...TEXT)), { octets: [72, 105], piece: null }, String(header));
  }
  assert.deepEqual(read(0x40, Uint8Array.of(9, 72, 105)), { octets: [9, 72, 105], piece: null });
  assert.deepEqual(read(0x40, NONE), { octets: [], piece: null });
  assert.deepEqual(read(0, Uint8Array.of(5, 0, 3, 7, 3, 2)), { octets: [5, 0, 3, 7, 3, 2], piece: null });
});

test("a data_sm carries its octets in message_payload", () => {
  const { octets, piece } = readUserData({ ...dataSm(), tlvs: new Map([[0x0424, TEXT]]) });
  assert.deepEqual([[...octets], piece], [[72, 105], null]);
});

test("the languages of national tables are in the header, beside the place of a part", () => {
  const shiftsOf = (...header: number[]) =>
    readUserData({ ...deliverSm(), esmClass: 0x40, shortMessage: Uint8Array.of(header.length, ...header, ...TEXT) })
      .shifts;
  assert.deepEqual(shiftsOf(0x24, 1, 1), { single: 1, locking: null });
  assert.deepEqual(shiftsOf(0x25, 1, 3), { single: null, locking: 3 });
  assert.deepEqual(shiftsOf(0x25, 1, 1, 0, 3, 7, 2, 1, 0x24, 1, 2), { single: 2, locking: 1 });
  assert.deepEqual(shiftsOf(0x24, 2, 1, 1), null);
  assert.deepEqual(shiftsOf(0, 3, 7, 2, 1), null);
});
