/** Tests of lanes and of what is held back: order, repetition, bounds and ends, on a clock that stands still. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { SimulatedClock } from "../../../test/support/clock.ts";
import type { Applied, ReceiptSignal } from "../provider.ts";
import { Held } from "./held.ts";
import { Lanes, NotYet } from "./lanes.ts";
import { type MacMessage, parseMessage } from "./records.ts";

const DAY = 86_400_000;

function row(guid: string, address: string | null = "+15550100001", text = guid): MacMessage {
  const parsed = parseMessage({ guid, text, handle: { address } });
  assert.ok(parsed !== null);
  return parsed;
}

/** Lanes that tell as the test says: what was told, in order, and what was a fault. */
function lanesOf(tells: (row: MacMessage, failures: number) => void) {
  const clock = new SimulatedClock();
  const told: string[] = [];
  const faults: unknown[] = [];
  const tell = async (given: MacMessage, _source: unknown, failures: number) => {
    tells(given, failures);
    told.push(given.text ?? "");
  };
  return { clock, told, faults, lanes: new Lanes(clock, tell, (error) => void faults.push(error)) };
}

describe("a lane", () => {
  it("waits for a row that failed, and tells all in the order they came, others meanwhile", async () => {
    let fails = true;
    const { clock, told, lanes } = lanesOf((given) => {
      if (fails && given.guid === "1") throw new Error("the disk is full");
    });
    assert.deepEqual(await Promise.all([lanes.push(row("1"), "hook"), lanes.push(row("2"), "hook")]), [false, false]);
    assert.equal(await lanes.push(row("3"), "hook"), false);
    assert.equal(await lanes.push(row("other", "+15550100002"), "hook"), true);
    fails = false;
    await clock.advance(1_000);
    assert.deepEqual(told, ["other", "1", "2", "3"]);
  });

  it("holds a row once, as it was read last", async () => {
    let fails = true;
    const { clock, told, lanes } = lanesOf(() => {
      if (fails) throw new Error("the disk is full");
    });
    for (const text of ["old", "newer", "newest"]) await lanes.push(row("1", "+15550100001", text), "query");
    fails = false;
    await clock.advance(60_000);
    assert.deepEqual(told, ["newest"]);
  });

  it("tries again ever more rarely, says once why, and keeps quiet about a Mac that is not ready", async () => {
    let tries = 0;
    const { clock, faults, lanes } = lanesOf((given) => {
      tries += 1;
      throw given.guid === "1" ? new Error("the disk is full") : new NotYet("no text yet");
    });
    await lanes.push(row("1"), "hook");
    await clock.advance(3_600_000);
    assert.ok(tries > 60 && tries < 80, `${tries} tries`);
    await lanes.push(row("2", "+15550100002"), "hook");
    assert.equal(faults.length, 1);
  });

  it("gives a row up after a day, so that others get past it", async () => {
    const { clock, told, faults, lanes } = lanesOf((given) => {
      if (given.guid === "1") throw new Error("it cannot be told");
    });
    await lanes.push(row("1"), "hook");
    await lanes.push(row("2"), "hook");
    await clock.advance(DAY - 120_000);
    assert.deepEqual(told, []);
    await clock.advance(180_000);
    assert.deepEqual(told, ["2"]);
    assert.equal(faults.length, 2);
  });

  it("is one of so many that are told at once, since each may ask the Mac", async () => {
    let [open, most] = [0, 0];
    const ends: (() => void)[] = [];
    const tell = async () => {
      open += 1;
      most = Math.max(most, open);
      await new Promise<void>((resolve) => ends.push(resolve));
      open -= 1;
    };
    const lanes = new Lanes(new SimulatedClock(), tell, () => {});
    const pushed = Promise.all(Array.from({ length: 1_000 }, (_, index) => lanes.push(row(`${index}`, null), "hook")));
    let done = false;
    void pushed.then(() => {
      done = true;
    });
    while (!done) {
      for (const end of ends.splice(0)) end();
      await turn();
    }
    assert.ok((await pushed).every((told) => told));
    assert.equal(most, 32);
    const late = Promise.all(Array.from({ length: 40 }, (_, index) => lanes.push(row(`late ${index}`, null), "hook")));
    const stopped = lanes.stop();
    for (const end of ends.splice(0)) end();
    await stopped;
    assert.ok((await late).every((told) => !told));
    assert.equal(open, 0);
  });

  it("takes no more rows than it can hold, nor any after its end", async () => {
    let fails = true;
    const { clock, told, lanes } = lanesOf(() => {
      if (fails) throw new Error("the disk is full");
    });
    for (let index = 0; index < 10_000; index += 1)
      await lanes.push(row(`${index}`, `+1555010${index % 1_000}`), "hook");
    fails = false;
    assert.equal(await lanes.push(row("one more", "+15550200002"), "hook"), false);
    await clock.advance(60_000);
    assert.equal(told.length, 10_000);
    assert.equal(await lanes.push(row("one more", "+15550200002"), "hook"), true);
    await lanes.stop();
    assert.equal(await lanes.push(row("after the end"), "hook"), false);
    assert.equal(told.length, 10_001);
  });
});

describe("a receipt that is held back", () => {
  const receipt = (kind: ReceiptSignal["receipt"], reference = "G"): ReceiptSignal => {
    return { kind: "receipt", reference, channel: "imessage", receipt: kind };
  };

  function heldOf(applies: (told: ReceiptSignal) => Applied) {
    const clock = new SimulatedClock();
    const told: string[] = [];
    const ended: [string, Applied][] = [];
    const held = new Held({
      clock,
      tell: async (given) => {
        told.push(given.receipt);
        return applies(given);
      },
      ended: (given, applied) => void ended.push([given.receipt, applied]),
    });
    return { clock, told, ended, held };
  }

  it("is told again four times, then was nobody's", async () => {
    const { clock, told, ended, held } = heldOf(() => "unknown");
    held.hold(receipt("sent"));
    await clock.advance(DAY);
    assert.equal(told.length, 4);
    assert.deepEqual(ended, [["sent", "unknown"]]);
  });

  it("gives way to a later one of its message, whose tries are not counted anew", async () => {
    const { clock, told, ended, held } = heldOf(() => "unknown");
    held.hold(receipt("sent"));
    await clock.advance(6_000);
    held.hold(receipt("delivered"));
    await clock.advance(DAY);
    assert.deepEqual(told, ["sent", "sent", "delivered", "delivered"]);
    assert.deepEqual(ended, [["delivered", "unknown"]]);
  });

  it("is told at once when its message turns out to be ours", async () => {
    let isKnown = false;
    const { clock, ended, held } = heldOf(() => (isKnown ? "applied" : "unknown"));
    held.hold(receipt("delivered"));
    await clock.advance(1);
    isKnown = true;
    held.release("G");
    await clock.advance(1);
    assert.deepEqual(ended, [["delivered", "applied"]]);
    assert.equal(clock.pending, 0);
  });

  it("does not count a try that could not be kept", async () => {
    let tries = 0;
    const { clock, ended, held } = heldOf(() => {
      tries += 1;
      if (tries < 20) throw new Error("the disk is full");
      return "applied";
    });
    held.hold(receipt("read"));
    await clock.advance(60_000);
    assert.deepEqual(ended, [["read", "applied"]]);
  });

  it("is forgotten when there are a thousand after it, and at the end", async () => {
    const { clock, told, held } = heldOf(() => "unknown");
    for (let index = 0; index < 1_001; index += 1) held.hold(receipt("sent", `G${index}`));
    assert.equal(clock.pending, 1_000);
    held.stop();
    await clock.advance(DAY);
    assert.deepEqual(told, []);
  });
});
