/** A deliver_sm whose length counts a NUL at the end of its text that is not there. */

import assert from "node:assert/strict";
import test from "node:test";
import { deliverSm, hex, submitSm } from "../../../test/support/smsc/pdus.ts";
import { decodePdu, encodePdu } from "./codec.ts";
import { PduError } from "./octets.ts";
import type { Pdu } from "./pdu.ts";

test("a deliver_sm may count a NUL that is not sent: one octet of septets, two of UCS-2, and none of binary octets", () => {
  for (const [dataCoding, text, unsent, esmClass] of [
    [0, "48656c6c6f", 1, 0],
    [3, "e7", 1, 0],
    [8, "0105", 1, 0],
    [8, "0105", 2, 0],
    [8, "010500", 1, 0],
    [8, "060804000102010105", 1, 0x40],
  ] as const) {
    const counted = Buffer.concat([hex(text), Buffer.alloc(unsent)]);
    const cut = cutBy(deliverSm({ dataCoding, esmClass, shortMessage: counted }), unsent);
    assert.deepEqual(decodePdu(cut), {
      ...deliverSm({ dataCoding, esmClass, shortMessage: new Uint8Array(hex(text)) }),
      hasUnsentEnd: true,
    });
  }
  for (const [dataCoding, text, unsent, esmClass] of [
    [0, "48656c6c6f", 2, 0],
    [0, "48", 1, 0],
    [8, "01050119", 1, 0],
    [8, "01050119", 3, 0],
    [4, "0102", 1, 0],
    [0, "05000307020148", 1, 0x40],
  ] as const) {
    const pdu = deliverSm({ dataCoding, esmClass, shortMessage: new Uint8Array(hex(text)) });
    assert.throws(() => decodePdu(cutBy(pdu, unsent)), isTruncated);
  }
  const submit = submitSm({ shortMessage: hex("4800") });
  assert.throws(() => decodePdu(cutBy(submit, 1)), isTruncated);
});

/** The frame of a PDU without its last octets, with the length that it then has. */
function cutBy(pdu: Pdu, octets: number): Buffer {
  const frame = encodePdu(pdu);
  const cut = Buffer.from(frame.subarray(0, frame.length - octets));
  cut.writeUInt32BE(cut.length, 0);
  return cut;
}

function isTruncated(error: unknown): boolean {
  return error instanceof PduError && error.status === 0x02 && error.field === "short_message";
}
