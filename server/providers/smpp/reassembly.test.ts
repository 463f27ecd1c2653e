import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { Disk } from "../../../test/support/smsc/instance.ts";
import { type AssembledMessage, Reassembly } from "./reassembly.ts";
import type { Piece } from "./user-data.ts";

const ENDS = { from: "+15550100001", to: "+15550000001" };
const MINUTE = 60_000;

class Stage {
  readonly clock = new SimulatedClock();
  readonly disk: Disk;
  readonly reported: AssembledMessage[] = [];
  session = { isBound: true };
  readonly reassembly: Reassembly;
  report: (message: AssembledMessage) => Promise<void> = async () => {};

  constructor(disk = new Disk()) {
    this.disk = disk;
    this.reassembly = new Reassembly(disk, this.clock, async (message) => {
      await this.report(message);
      this.reported.push(message);
    });
  }

  add(index: number, text: string, piece: Partial<Piece> = {}): Promise<boolean> {
    const octets = new Uint8Array(Buffer.from(text));
    const place: Piece = { how: "udh8", reference: 1, total: 3, index, ...piece };
    const arrival = { session: this.session, arrivedAt: this.clock.real() };
    return this.reassembly.add(ENDS, place, { dataCoding: 0, octets }, arrival);
  }

  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
    await this.reassembly.sweep(this.clock.real());
  }

  texts(): (string | null)[][] {
    return this.reported.map(({ parts }) =>
      parts.map((part) => (part === null ? null : Buffer.from(part.octets).toString())),
    );
  }
}

test("parts in any order are one message, reported once, and each is on disk before its response", async () => {
  const stage = new Stage();
  for (const [index, text] of [
    [3, "c"],
    [1, "a"],
    [1, "a"],
    [2, "b"],
    [2, "b"],
  ] as const) {
    assert.equal(await stage.add(index, text), true);
    assert.match([...stage.disk.entries.values()][0] ?? "", new RegExp(`"index":${index},`));
  }
  assert.deepEqual(stage.texts(), [["a", "b", "c"]]);
  await stage.pass(10 * MINUTE);
  assert.equal(stage.disk.entries.size, 0, "nothing of it is kept");
  assert.equal(stage.reported.length, 1);
});

test("after ten minutes an incomplete message is reported with its parts so far, and null for missing parts", async () => {
  const stage = new Stage();
  await stage.add(1, "a");
  await stage.pass(MINUTE);
  await stage.add(3, "c");
  await stage.pass(9 * MINUTE - 1);
  assert.deepEqual(stage.reported, []);
  await stage.pass(1);
  assert.deepEqual(stage.texts(), [["a", null, "c"]]);
  await stage.add(1, "a");
  assert.equal(stage.reported.length, 1, "a part that was told is nothing new");
  await stage.add(2, "b");
  await stage.pass(10 * MINUTE);
  assert.deepEqual(stage.texts()[1], [null, "b", null], "a part that comes after that is told by itself");
});

test("a different part at a position that is filled belongs to the next message with the same reference", async () => {
  const stage = new Stage();
  await stage.add(1, "a");
  await stage.add(2, "b");
  await stage.add(1, "A");
  assert.deepEqual(stage.texts(), [["a", "b", null]]);
  await stage.add(2, "B");
  await stage.add(3, "C");
  assert.deepEqual(stage.texts()[1], ["A", "B", "C"]);
  await stage.add(1, "1");
  await stage.add(2, "2");
  await stage.add(3, "3");
  assert.deepEqual(stage.texts()[2], ["1", "2", "3"], "and so after a message that is whole");
  assert.equal(new Set(stage.reported.map(({ reference }) => reference)).size, 3);
});

test("the next process continues with the stored parts, and reports complete messages that were not reported", async () => {
  const disk = new Disk();
  const first = new Stage(disk);
  first.report = () => Promise.reject(new Error("the store is busy"));
  await first.add(1, "a");
  await first.add(1, "x", { reference: 2, total: 2 });
  await first.add(2, "y", { reference: 2, total: 2 });
  const next = new Stage(disk);
  disk.entries.set("part/junk", "[]");
  await next.reassembly.load();
  assert.equal(disk.entries.has("part/junk"), false);
  await next.pass(0);
  assert.deepEqual(next.texts(), [["x", "y"]]);
  await next.add(2, "b");
  await next.add(3, "c");
  assert.deepEqual(next.texts()[1], ["a", "b", "c"]);
});

test("a part that could not be stored does not count until it comes again", async () => {
  const stage = new Stage();
  await stage.add(1, "a", { total: 2 });
  stage.disk.fails = true;
  await assert.rejects(stage.add(2, "b", { total: 2 }));
  await assert.rejects(stage.add(1, "n", { reference: 9 }));
  assert.equal(stage.reassembly.size, 1);
  stage.disk.fails = false;
  await stage.add(2, "b", { total: 2 });
  assert.deepEqual(stage.texts(), [["a", "b"]]);
});

test("beyond ten thousand incomplete messages a new one is refused, and the others continue", async () => {
  const stage = new Stage();
  for (let reference = 0; reference < 10_000; reference += 1) {
    assert.equal(await stage.add(1, "a", { how: "udh16", reference }), true);
  }
  assert.equal(await stage.add(1, "a", { how: "sar", reference: 1 }), false);
  assert.equal(await stage.add(2, "b", { how: "udh16", reference: 1 }), true);
});

test("the same text again under the same reference on one session is a second message", async () => {
  const stage = new Stage();
  for (const _ of [1, 2]) for (const [at, text] of ["a", "b", "c"].entries()) await stage.add(at + 1, text);
  assert.deepEqual(stage.texts(), [
    ["a", "b", "c"],
    ["a", "b", "c"],
  ]);
  assert.equal(new Set(stage.reported.map(({ reference }) => reference)).size, 2);
  // In another order, and with parts that come twice.
  for (const [index, text] of [
    [3, "c"],
    [3, "c"],
    [1, "a"],
    [2, "b"],
  ] as const) {
    await stage.add(index, text);
  }
  assert.equal(stage.reported.length, 3);
});

test("parts that the SMSC repeats are no second message: on another session, after a slow response, or only some", async () => {
  const stage = new Stage();
  const all = async () => {
    for (const [at, text] of ["a", "b", "c"].entries()) await stage.add(at + 1, text);
  };
  await all();
  await stage.add(2, "b");
  await stage.pass(10 * MINUTE);
  assert.equal(stage.reported.length, 1, "only some of the parts");
  await all();
  assert.equal(stage.reported.length, 2);
  stage.session = { isBound: true };
  await all();
  assert.equal(stage.reported.length, 2, "another session");
  await stage.pass(MINUTE);
  stage.report = async () => {
    stage.report = async () => {};
    await stage.clock.advance(5_000);
  };
  await all();
  await all();
  assert.equal(stage.reported.length, 3, "the SMSC waited for 5 seconds");
});

test("a new message that begins in the words of the last one is whole, and repeats before another one are dropped", async () => {
  const stage = new Stage();
  for (const texts of ["abc", "abd"]) for (const [at, text] of [...texts].entries()) await stage.add(at + 1, text);
  assert.deepEqual(stage.texts()[1], ["a", "b", "d"]);
  await stage.add(3, "d");
  for (const [at, text] of ["x", "y", "z"].entries()) await stage.add(at + 1, text);
  assert.deepEqual(stage.texts().slice(2), [["x", "y", "z"]]);
  await stage.pass(11 * MINUTE);
  assert.equal(stage.reported.length, 3);
});

test("the next process knows which parts only repeat a message", async () => {
  const disk = new Disk();
  const first = new Stage(disk);
  for (const [at, text] of ["a", "b", "c", "a"].entries()) await first.add((at % 3) + 1, text);
  const next = new Stage(disk);
  await next.reassembly.load();
  await next.add(2, "b");
  await next.pass(11 * MINUTE);
  assert.deepEqual(next.texts(), []);
  assert.equal(disk.entries.size, 0);
});
