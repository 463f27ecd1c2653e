import assert from "node:assert/strict";
import { test } from "node:test";
import { readText, type TextSettings } from "./text.ts";

const PLAIN: TextSettings = { defaultAlphabet: "gsm", ia5AsGsm: false };

function read(dataCoding: number, octets: readonly number[], settings: Partial<TextSettings> = {}) {
  return readText({ dataCoding, octets: Uint8Array.from(octets) }, { ...PLAIN, ...settings });
}

test("octets are decoded with the alphabet of their data_coding", () => {
  const cases: [number, number[], string][] = [
    [0, [0x00, 0x1b, 0x65, 0x41], "@€A"],
    [1, [0x40, 0x41], "@A"],
    [3, [0xe7, 0x41], "çA"],
    [6, [0xbf], "П"],
    [7, [0xe0], "א"],
    [8, [0xd8, 0x3d, 0xdc, 0x4b], "👋"],
    [10, [0xa4, 0xa2], "あ"],
    [14, [0xb0, 0xa1], "가"],
    [0x11, [0x00], "@"],
    [0x19, [0x00, 0x41], "A"],
    [0xc8, [0x00], "@"],
    [0xe0, [0x00, 0x41], "A"],
    [0xf0, [0x00], "@"],
    [0x0f, [0x41], "A"],
  ];
  for (const [dataCoding, octets, text] of cases) {
    assert.deepEqual(read(dataCoding, octets), { text }, `0x${dataCoding.toString(16)}`);
  }
});

test("IA5 is decoded as GSM 03.38 if ia5AsGsm is set", () => {
  assert.deepEqual(read(1, [0x00, 0x02], { ia5AsGsm: true }), { text: "@$" });
});

test("binary octets stay octets", () => {
  for (const dataCoding of [2, 4, 9, 0x14, 0xf4, 0xf5]) {
    assert.deepEqual(read(dataCoding, [1, 2]), { binary: Uint8Array.of(1, 2) });
  }
});

test("an odd octet, and half a character, damage only themselves", () => {
  assert.deepEqual(read(8, [0, 0x41, 0x42]), { text: "A\ufffd" });
  assert.deepEqual(read(8, [0xd8, 0x3d, 0, 0x41]), { text: "\ufffdA" });
});

test("data_coding 0 is the alphabet of defaultAlphabet, and the other values keep theirs", () => {
  const octets = [0x40, 0xe7, 0x24];
  assert.deepEqual(read(0, octets), { text: "¡\ufffd¤" });
  assert.deepEqual(read(0, octets, { defaultAlphabet: "latin1" }), { text: "@ç$" });
  assert.deepEqual(read(0, octets, { defaultAlphabet: "ascii" }), { text: "@\ufffd$" });
  for (const dataCoding of [0x10, 0xf0]) {
    assert.deepEqual(read(dataCoding, [0x00, 0x40], { defaultAlphabet: "latin1" }), { text: "@¡" });
  }
});

test("a byte order mark says the order of octets in UCS-2, and is no character", () => {
  assert.deepEqual(read(8, [0xfe, 0xff, 0, 0x41]), { text: "A" });
  assert.deepEqual(read(8, [0xff, 0xfe, 0x41, 0]), { text: "A" });
  const parts = [0xff, 0xfe, 0x3d, 0xd8, 0xff, 0xfe, 0x4b, 0xdc];
  assert.deepEqual(read(8, [...parts]), { text: "👋" }, "also at the beginning of the next part");
});

test("NULs at the end are left out, except in septets, where they are a character", () => {
  for (const [dataCoding, octets] of [
    [1, [0x41, 0]],
    [3, [0x41, 0, 0]],
    [6, [0x41, 0]],
    [8, [0, 0x41, 0]],
    [8, [0, 0x41, 0, 0]],
    [8, [0xff, 0xfe, 0x41, 0, 0]],
  ] as const) {
    assert.deepEqual(read(dataCoding, octets), { text: "A" }, String(octets));
  }
  assert.deepEqual(read(0, [0x41, 0], { defaultAlphabet: "latin1" }), { text: "A" });
  assert.deepEqual(read(0, [0x41, 0]), { text: "A@" });
});

test("septets are decoded with the national tables of their header", () => {
  const septets = Uint8Array.of(0x07, 0x1b, 0x73, 0x40);
  const texts = [
    [{ locking: 1, single: 1 }, "ışİ"],
    [{ locking: null, single: 1 }, "ìş¡"],
    [{ locking: 3, single: null }, "ísÍ"],
    [{ locking: 5, single: 5 }, "\ufffd\ufffd\ufffd"],
  ] as const;
  for (const [shifts, text] of texts) {
    assert.deepEqual(readText({ dataCoding: 0, octets: septets, shifts }, PLAIN), { text });
  }
});
