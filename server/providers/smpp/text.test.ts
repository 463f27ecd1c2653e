import assert from "node:assert/strict";
import { test } from "node:test";
import { readText } from "./text.ts";

const PLAIN = { ia5AsGsm: false };

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
    assert.deepEqual(readText(dataCoding, Uint8Array.from(octets), PLAIN), { text }, `0x${dataCoding.toString(16)}`);
  }
});

test("IA5 is decoded as GSM 03.38 if ia5AsGsm is set", () => {
  assert.deepEqual(readText(1, Uint8Array.of(0x00, 0x02), { ia5AsGsm: true }), { text: "@$" });
});

test("binary octets stay octets", () => {
  for (const dataCoding of [2, 4, 9, 0x14, 0xf4, 0xf5]) {
    assert.deepEqual(readText(dataCoding, Uint8Array.of(1, 2), PLAIN), { binary: Uint8Array.of(1, 2) });
  }
});

test("an odd octet, and half a character, damage only themselves", () => {
  assert.deepEqual(readText(8, Uint8Array.of(0, 0x41, 0), PLAIN), { text: "A\ufffd" });
  assert.deepEqual(readText(8, Uint8Array.of(0xd8, 0x3d, 0, 0x41), PLAIN), { text: "\ufffdA" });
});
