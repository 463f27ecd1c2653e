/** Tests of the row queues: order, retries, patience, limits and stop, on a simulated clock. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { type MacMessage, parseMessage } from "./records.ts";
import { RetryLater, RowQueue, type ShouldGiveUp } from "./row-queue.ts";

const DAY = 86_400_000;

function row(guid: string, address: string | null = "+15550100001", text = guid, isFromMe = false): MacMessage {
  const parsed = parseMessage({ guid, text, handle: { address }, isFromMe });
  assert.ok(parsed !== null);
  return parsed;
}

/** Queues with a handler of the test: handled rows in order, and faults. */
function lanesOf(tells: (row: MacMessage, shouldGiveUp: ShouldGiveUp) => void) {
  const clock = new SimulatedClock();
  const reported: string[] = [];
  const faults: unknown[] = [];
  const report = async (given: MacMessage, shouldGiveUp: ShouldGiveUp) => {
    tells(given, shouldGiveUp);
    reported.push(given.text ?? "");
  };
  return { clock, reported, faults, lanes: new RowQueue(clock, report, (error) => void faults.push(error)) };
}

describe("a queue", () => {
  it("waits for a row that failed and keeps the order, while other queues continue", async () => {
    let fails = true;
    const { clock, reported, lanes } = lanesOf((given) => {
      if (fails && given.guid === "1") throw new Error("the disk is full");
    });
    assert.deepEqual(await Promise.all([lanes.push(row("1")), lanes.push(row("2"))]), [false, false]);
    assert.equal(await lanes.push(row("3")), false);
    assert.equal(await lanes.push(row("other", "+15550100002")), true);
    fails = false;
    await clock.advance(1_000);
    assert.deepEqual(reported, ["other", "1", "2", "3"]);
  });

  it("holds a row once, in its latest version", async () => {
    let fails = true;
    const { clock, reported, lanes } = lanesOf(() => {
      if (fails) throw new Error("the disk is full");
    });
    for (const text of ["old", "newer", "newest"]) await lanes.push(row("1", "+15550100001", text));
    fails = false;
    await clock.advance(60_000);
    assert.deepEqual(reported, ["newest"]);
  });

  it("holds the newest version by the Mac's clock, even if an older one is added after it", async () => {
    let fails = true;
    const { clock, reported, lanes } = lanesOf(() => {
      if (fails) throw new Error("the disk is full");
    });
    await lanes.push(row("first"));
    const edited = (text: string, dateEdited: number | null) => ({ ...row("1"), text, dateCreated: 1_000, dateEdited });
    for (const [text, at] of [
      ["new", 3_000],
      ["stale", null],
      ["staler", 2_000],
    ] as const) {
      assert.equal(await lanes.push(edited(text, at)), false);
    }
    fails = false;
    await clock.advance(60_000);
    assert.deepEqual(reported, ["first", "new"]);
  });

  it("retries at growing intervals, logs the reason once, and logs nothing about an unreachable Mac", async () => {
    let tries = 0;
    const { clock, faults, lanes } = lanesOf((given) => {
      tries += 1;
      throw given.guid === "1" ? new Error("the disk is full") : new RetryLater("unreachable", "the Mac sleeps");
    });
    await lanes.push(row("1"));
    await clock.advance(3_600_000);
    assert.ok(tries > 60 && tries < 80, `${tries} tries`);
    await lanes.push(row("2", "+15550100002"));
    assert.equal(faults.length, 1);
  });

  it("gives a row up after a day, so that the rows behind it are handled", async () => {
    const { clock, reported, faults, lanes } = lanesOf((given) => {
      if (given.guid === "1") throw new Error("it cannot be told");
    });
    await lanes.push(row("1"));
    await lanes.push(row("2"));
    await clock.advance(DAY - 120_000);
    assert.deepEqual(reported, []);
    await clock.advance(180_000);
    assert.deepEqual(reported, ["2"]);
    assert.equal(faults.length, 2);
  });

  it("shares a limit of rows handled at once, since each may query the Mac", async () => {
    let [open, most] = [0, 0];
    const ends: (() => void)[] = [];
    const report = async () => {
      open += 1;
      most = Math.max(most, open);
      await new Promise<void>((resolve) => ends.push(resolve));
      open -= 1;
    };
    const lanes = new RowQueue(new SimulatedClock(), report, () => {});
    const pushed = Promise.all(Array.from({ length: 1_000 }, (_, index) => lanes.push(row(`${index}`, null))));
    let done = false;
    void pushed.then(() => {
      done = true;
    });
    while (!done) {
      for (const end of ends.splice(0)) end();
      await turn();
    }
    assert.ok((await pushed).every((reported) => reported));
    assert.equal(most, 32);
    const late = Promise.all(Array.from({ length: 40 }, (_, index) => lanes.push(row(`late ${index}`, null))));
    const stopped = lanes.stop();
    for (const end of ends.splice(0)) end();
    await stopped;
    assert.ok((await late).every((reported) => !reported));
    assert.equal(open, 0);
  });

  it("takes no more rows than its limit, and none after stop", async () => {
    let fails = true;
    const { clock, reported, lanes } = lanesOf(() => {
      if (fails) throw new Error("the disk is full");
    });
    for (let index = 0; index < 10_000; index += 1) await lanes.push(row(`${index}`, `+1555010${index % 1_000}`));
    fails = false;
    assert.equal(await lanes.push(row("one more", "+15550200002")), false);
    await clock.advance(60_000);
    assert.equal(reported.length, 10_000);
    assert.equal(await lanes.push(row("one more", "+15550200002")), true);
    await lanes.stop();
    assert.equal(await lanes.push(row("after the end")), false);
    assert.equal(reported.length, 10_001);
  });
});

describe("a row that must be retried", () => {
  /** Fails for one reason until that suffices; returns the times of the tries. */
  function failing(why: RetryLater["reason"], fails: (tries: number) => Error | null = () => null) {
    const at: number[] = [];
    const stage = lanesOf((_given, shouldGiveUp) => {
      at.push(stage.clock.real());
      const other = fails(at.length);
      if (other !== null) throw other;
      if (!shouldGiveUp(why)) throw new RetryLater(why, "not yet");
    });
    return { ...stage, at };
  }

  it("is reported as it is after a number of tries that depends on the reason", async () => {
    for (const [why, tries] of [
      ["incomplete", 9],
      ["unknownMessage", 7],
      ["broken", 9],
    ] as const) {
      const { clock, reported, at, lanes } = failing(why);
      void lanes.push(row("1"));
      await clock.advance(3_600_000);
      assert.deepEqual([reported, at.length], [["1"], tries], why);
    }
  });

  it("waits a day for an unreachable Mac", async () => {
    const { clock, reported, lanes } = failing("unreachable");
    void lanes.push(row("1"));
    await clock.advance(DAY - 120_000);
    assert.deepEqual(reported, []);
  });

  it("counts tries per reason", async () => {
    const { clock, reported, at, lanes } = failing("unknownMessage", (tries) =>
      tries <= 20 ? new Error("the disk is full") : null,
    );
    void lanes.push(row("1"));
    await clock.advance(DAY / 2);
    assert.deepEqual([reported, at.length], [["1"], 27]);
  });

  it("blocks no caller if its message may stay unknown, is replaced by a newer version, and is handled at once when known", async () => {
    let isKnown = false;
    const { clock, reported, lanes } = lanesOf(() => {
      if (!isKnown) throw new RetryLater("unknownMessage", "a message of ours is not known yet");
    });
    const own = (text: string) => row("G", "+15550100001", text, true);
    assert.equal(await lanes.push(own("sent")), true);
    await clock.advance(5_000);
    assert.equal(await lanes.push(own("delivered")), true);
    isKnown = true;
    lanes.markKnown("G");
    await clock.advance(1);
    assert.deepEqual(reported, ["delivered"]);
    assert.equal(clock.pending, 0);
    lanes.markKnown("G");
  });

  it("is tried anew once its message is known, also during its last try", async () => {
    const enough: boolean[] = [];
    let ask = () => {};
    const clock = new SimulatedClock();
    const report = async (_row: MacMessage, shouldGiveUp: ShouldGiveUp) => {
      if (enough.length === 6) await new Promise<void>((resolve) => (ask = resolve));
      enough.push(shouldGiveUp("unknownMessage"));
      throw new RetryLater("unknownMessage", "a message of ours is not known yet");
    };
    const lanes = new RowQueue(clock, report, () => {});
    void lanes.push(row("G", null, "sent", true));
    await clock.advance(120_000);
    assert.equal(enough.length, 6);
    lanes.markKnown("G");
    ask();
    await turn();
    assert.deepEqual(enough, Array(7).fill(false));
    await lanes.stop();
  });
});
