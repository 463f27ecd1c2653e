import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { runsOf } from "../../../test/support/runs.ts";
import { ANY, anyPdu, submitSm } from "../../../test/support/smsc/pdus.ts";
import { encodePdu } from "./codec.ts";
import { Frames } from "./frames.ts";
import { FRAME_OCTETS_MAX, PduError } from "./octets.ts";

test("the frames are the same wherever the stream is split", () => {
  const cuts = fc.array(fc.nat(), { maxLength: 12 });
  fc.assert(
    fc.property(fc.array(anyPdu(ANY), { minLength: 1, maxLength: 6 }), cuts, (pdus, places) => {
      const sent = pdus.map(encodePdu);
      const stream = Buffer.concat(sent);
      const at = [...places.map((place) => place % stream.length), stream.length].sort((a, b) => a - b);
      const chunks = at.map((end, index) => stream.subarray(at[index - 1] ?? 0, end));
      assert.deepEqual(framesOf(chunks), sent);
    }),
    { numRuns: runsOf(500) },
  );
});

test("frames that arrive octet by octet come out whole, and none before its last octet", () => {
  const sent = [encodePdu({ command: "enquire_link", sequence: 1 }), encodePdu(submitSm())];
  const frames = new Frames();
  for (const frame of sent) {
    for (const [index, octet] of frame.entries()) {
      frames.push(Buffer.from([octet]));
      assert.deepEqual(frames.next(), index === frame.length - 1 ? frame : null);
    }
  }
});

test("the longest frame comes out, in any pieces", () => {
  const frame = Buffer.alloc(FRAME_OCTETS_MAX, 7);
  frame.writeUInt32BE(FRAME_OCTETS_MAX, 0);
  const chunks = Array.from({ length: FRAME_OCTETS_MAX / 64 }, (_, index) =>
    frame.subarray(index * 64, index * 64 + 64),
  );
  assert.deepEqual(framesOf(chunks), [frame]);
});

test("a length of 0, 15, 2^31 or one too many is an error at the fourth octet, and at every later call", () => {
  for (const length of [0, 15, 2 ** 31, 0xffff_ffff, FRAME_OCTETS_MAX + 1]) {
    const head = Buffer.alloc(4);
    head.writeUInt32BE(length, 0);
    const frames = new Frames();
    frames.push(head.subarray(0, 3));
    assert.equal(frames.next(), null);
    frames.push(head.subarray(3));
    assert.throws(() => frames.next(), PduError, String(length));
    frames.push(encodePdu({ command: "enquire_link", sequence: 1 }));
    assert.throws(() => frames.next(), PduError, String(length));
  }
});

function framesOf(chunks: readonly Buffer[]): Buffer[] {
  const frames = new Frames();
  const out: Buffer[] = [];
  for (const chunk of chunks) {
    frames.push(chunk);
    for (let frame = frames.next(); frame !== null; frame = frames.next()) out.push(frame);
  }
  return out;
}
