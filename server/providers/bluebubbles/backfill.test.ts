/** Tests of catching up: what the Mac did not tell is found, what is old is not told, and nothing is passed by. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ANNA, BEN, type Listening, startListening } from "../../../test/support/listening.ts";
import { startRelay } from "../../../test/support/mac-relay.ts";
import { until } from "../../../test/support/wait.ts";
import { recordOf } from "../../core/loose-json.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

function textsOf(heard: Listening): (string | null)[] {
  return heard.of("inbound").map(({ text }) => text);
}

/** How far it got, as it stands in memory. */
function progressOf(heard: Listening): Record<string, unknown> {
  return recordOf(JSON.parse(heard.memory.entries.get("catch-up") ?? "null")) ?? {};
}

it("finds within a minute what the Mac told nobody, in the order it came", async (t) => {
  const heard = await startListening(t);
  heard.mac.fault("eventsLost");
  const anna = heard.mac.phone(ANNA);
  for (const text of ["one", "two", "three"]) anna.writes(text);
  await heard.pass(MINUTE);
  assert.deepEqual(textsOf(heard), ["one", "two", "three"]);
  const guid = await heard.send("Hello");
  anna.delivers(guid);
  anna.edits(heard.of("inbound")[0]?.reference ?? "", "one and a half");
  await heard.pass(MINUTE);
  assert.equal(heard.receiptsOf(guid).at(-1), "delivered");
  assert.equal(heard.of("revision")[0]?.text, "one and a half");
});

it("begins at once when the Mac's server says that it has started", async (t) => {
  const heard = await startListening(t);
  const lift = heard.mac.fault("eventsLost");
  heard.mac.phone(ANNA).writes("while it was down");
  lift();
  assert.equal(await heard.post({ type: "hello-world", data: null }), 200);
  assert.deepEqual(textsOf(heard), ["while it was down"]);
});

it("tells of nothing that was there before the instance was, whatever tells of it", async (t) => {
  const heard = await startListening(t, { starts: false });
  const anna = heard.mac.phone(ANNA);
  const old = anna.writes("long ago", { isSilent: true });
  await heard.pass(1);
  await heard.start();
  anna.edits(old, "long ago, in other words");
  await heard.pass(2 * HOUR);
  anna.writes("now");
  await heard.settled();
  assert.deepEqual(textsOf(heard), ["now"]);
  assert.deepEqual(heard.of("revision"), []);
});

it("tells of what came while this service was away, however long that was", async (t) => {
  const heard = await startListening(t);
  const anna = heard.mac.phone(ANNA);
  anna.writes("before");
  await heard.pass(2 * MINUTE);
  await heard.stop();
  anna.writes("on the first day", { isSilent: true });
  await heard.clock.advance(2 * DAY);
  anna.writes("on the third", { isSilent: true });
  await heard.start();
  await heard.settled();
  // A service that was away tells of what it is not sure to have told: the engine knows it by its name.
  assert.deepEqual([...new Set(textsOf(heard))], ["before", "on the first day", "on the third"]);
});

it("tells of a message that came late from iCloud, unless it is more than a day old", async (t) => {
  const heard = await startListening(t);
  await heard.stop();
  await heard.clock.advance(3 * DAY);
  await heard.start();
  heard.mac.fault("eventsLost");
  const anna = heard.mac.phone(ANNA);
  const now = heard.clock.real();
  anna.writes("an hour late", { at: now - HOUR });
  anna.writes("two days late", { at: now - 2 * DAY });
  await heard.pass(11 * MINUTE);
  assert.deepEqual(textsOf(heard), ["an hour late"]);
});

it("reads more rows than the Mac gives at once, and tells of each once", async (t) => {
  const heard = await startListening(t);
  heard.mac.fault("eventsLost");
  for (let index = 0; index < 2_100; index += 1) heard.mac.phone(index % 2 === 0 ? ANNA : BEN).writes(`row ${index}`);
  await heard.pass(MINUTE);
  await until(() => heard.signals.length >= 2_100, { what: "2,100 messages" });
  assert.equal(new Set(textsOf(heard)).size, 2_100);
  await heard.pass(5 * MINUTE);
  assert.equal(textsOf(heard).length, 2_100);
});

it("does not pass a row that is not on disk, not even in its memory", async (t) => {
  const heard = await startListening(t);
  await heard.pass(MINUTE);
  heard.mac.fault("eventsLost");
  heard.mac.phone(ANNA).writes("stuck");
  await heard.pass(1_000);
  const before = heard.clock.real();
  heard.mac.phone(BEN).writes("goes through");
  heard.onSignal = (signal) => {
    if (signal.kind === "inbound" && signal.from === ANNA) throw new Error("the disk is full");
    return "applied";
  };
  await heard.pass(HOUR);
  assert.deepEqual(textsOf(heard), ["goes through"]);
  assert.ok(Number(progressOf(heard).rowsAt) < before - 1_000);
  await heard.stop();
  heard.onSignal = () => "applied";
  await heard.start();
  await heard.settled();
  assert.deepEqual([...new Set(textsOf(heard))], ["goes through", "stuck"]);
  await heard.pass(MINUTE);
  assert.ok(Number(progressOf(heard).rowsAt) >= before);
});

it("finds reads of last week's messages", async (t) => {
  const heard = await startListening(t);
  const guid = await heard.send("Hello");
  heard.mac.phone(ANNA).delivers(guid);
  await heard.pass(1_000);
  heard.mac.fault("eventsLost");
  await heard.stop();
  await heard.clock.advance(3 * DAY);
  heard.mac.phone(ANNA).reads(guid);
  await heard.start();
  await heard.settled();
  assert.deepEqual(heard.receiptsOf(guid).slice(-1), ["read"]);
});

it("goes on when the Mac can be reached again, and asks it for all of it", async (t) => {
  const heard = await startListening(t);
  heard.mac.fault("unreachable");
  await heard.pass(5 * MINUTE);
  heard.mac.phone(ANNA).writes("meanwhile");
  heard.mac.lift("unreachable");
  await heard.pass(MINUTE);
  assert.deepEqual(textsOf(heard), ["meanwhile"]);
});

it("is not led ahead by a date in the future", async (t) => {
  const heard = await startListening(t);
  heard.mac.fault("eventsLost");
  heard.mac.phone(ANNA).writes("from the future", { at: heard.clock.real() + 30 * DAY });
  await heard.pass(MINUTE);
  heard.mac.phone(ANNA).writes("now");
  await heard.pass(MINUTE);
  assert.deepEqual(textsOf(heard), ["from the future", "now"]);
});

it("ends at once, whatever it is asking", async (t) => {
  const heard = await startListening(t);
  heard.mac.fault("asleep");
  await heard.clock.advance(MINUTE);
  await heard.stop();
  heard.mac.forgetHeld();
});

it("asks for fewer rows at once where the Mac cannot give so many, until it can again", async (t) => {
  const heard = await startListening(t, { starts: false });
  let most = 100;
  const relay = await startRelay(t, heard.mac.url, ({ path, body }) =>
    path.includes("/message/query") && Number(body?.limit) > most ? "cut" : null,
  );
  heard.url = relay.url;
  await heard.start();
  heard.mac.fault("eventsLost");
  for (let index = 0; index < 450; index += 1) heard.mac.phone(index % 2 === 0 ? ANNA : BEN).writes(`row ${index}`);
  await heard.pass(5 * MINUTE);
  await until(() => heard.signals.length >= 450, { what: "450 messages" });
  assert.equal(new Set(textsOf(heard)).size, 450);
  most = 1_000;
  await heard.pass(30 * MINUTE);
  assert.equal(textsOf(heard).length, 450);
});

it("passes no row of many that have the same date", async (t) => {
  const heard = await startListening(t);
  heard.mac.fault("eventsLost");
  const at = heard.clock.real();
  for (let index = 0; index < 1_500; index += 1) heard.mac.phone(ANNA).writes(`row ${index}`, { at });
  await heard.pass(MINUTE);
  await until(() => heard.signals.length >= 1_500, { what: "1,500 messages" });
  assert.equal(new Set(textsOf(heard)).size, 1_500);
});

it("finds receipts and what came late while one contact's row cannot be told", async (t) => {
  const heard = await startListening(t);
  const guid = await heard.send("Hello");
  heard.mac.phone(ANNA).delivers(guid);
  await heard.pass(MINUTE);
  heard.mac.fault("eventsLost");
  heard.mac.phone(ANNA).writes("stuck");
  heard.onSignal = (signal) => {
    if (signal.kind === "inbound" && signal.from === ANNA) throw new Error("it cannot be told");
    return "applied";
  };
  await heard.pass(2 * HOUR);
  heard.mac.phone(ANNA).reads(guid);
  heard.mac.phone(BEN).writes("late", { at: heard.clock.real() - HOUR });
  await heard.pass(20 * MINUTE);
  assert.equal(heard.receiptsOf(guid).at(-1), "read");
  assert.ok(textsOf(heard).includes("late"));
});

it("tells what a Mac whose clock is behind dates before the instance was", async (t) => {
  const heard = await startListening(t, { starts: false });
  const relay = await startRelay(t, heard.mac.url, ({ path }) => {
    if (!path.includes("/server/info")) return null;
    const data = { os_version: "15.5.0", server_version: "1.9.9", private_api: true, helper_connected: true };
    return { status: 200, body: JSON.stringify({ status: 200, data: { ...data, macos_time_sync: -1_200 } }) };
  });
  heard.url = relay.url;
  await heard.start();
  const anna = heard.mac.phone(ANNA);
  anna.writes("old", { at: heard.clock.real() - 30 * MINUTE });
  anna.writes("pushed", { at: heard.clock.real() - 20 * MINUTE });
  await heard.pass(1_000);
  heard.mac.fault("eventsLost");
  anna.writes("found", { at: heard.clock.real() - 20 * MINUTE });
  await heard.pass(MINUTE);
  assert.deepEqual(textsOf(heard), ["pushed", "found"]);
});

it("waits only so long for a row that the Mac cannot give whole", async (t) => {
  const heard = await startListening(t, { starts: false });
  const anna = heard.mac.phone(ANNA);
  let broken = "none";
  const relay = await startRelay(t, heard.mac.url, ({ path }) => {
    if (!path.includes(`/message/${broken}`)) return null;
    const error = { type: "Server Error", message: "An unhandled error has occurred!" };
    return { status: 500, body: JSON.stringify({ status: 500, error }) };
  });
  heard.url = relay.url;
  await heard.start();
  heard.mac.fault("eventsLost");
  broken = anna.writes("");
  anna.writes("after it");
  await heard.pass(15 * MINUTE);
  assert.ok(textsOf(heard).includes("after it"));
});

it("misses none where rows are deleted while it reads", async (t) => {
  const heard = await startListening(t, { starts: false });
  let queries = 0;
  const relay = await startRelay(t, heard.mac.url, ({ body }) => {
    if (Number(body?.limit) > 1 && heard.mac.messages.length > 0) queries += 1;
    // A whole conversation that was read already goes while the next rows are asked for.
    if (queries === 2) (heard.mac.messages as unknown[]).splice(0, 600);
    return null;
  });
  heard.url = relay.url;
  await heard.start();
  heard.mac.fault("eventsLost");
  for (let index = 0; index < 2_500; index += 1) {
    heard.mac.phone(ANNA).writes(`row ${index}`, { at: heard.clock.real() + index });
  }
  await heard.pass(MINUTE);
  await until(() => heard.signals.length >= 2_500, { what: "2,500 messages" });
  assert.equal(new Set(textsOf(heard)).size, 2_500);
});

describe("a row that the Mac breaks at", () => {
  const BROKEN = "+15550100009";

  /** Rows a minute apart, from so long ago; those whose index `breaks` says come from somebody else. */
  function writes(heard: Listening, count: number, breaks: (index: number) => boolean): string[] {
    const from = heard.clock.real() - count * MINUTE;
    return Array.from({ length: count }, (_, index) => {
      const phone = heard.mac.phone(breaks(index) ? BROKEN : ANNA);
      const guid = phone.writes(`row ${index}`, { at: from + index * MINUTE, isSilent: true });
      if (breaks(index)) heard.mac.breaksAt(guid);
      return guid;
    });
  }

  /** A Mac that writes rows while this service is away, for `minutes`. */
  async function away(heard: Listening, minutes: number, write: () => void): Promise<void> {
    await heard.pass(MINUTE);
    await heard.stop();
    await heard.clock.advance(minutes * MINUTE);
    write();
    await heard.start();
    await heard.pass(MINUTE);
  }

  it("keeps no other from being told, and is told of in the log once, without a name", async (t) => {
    const heard = await startListening(t);
    await away(heard, 400, () => void writes(heard, 300, (index) => index === 137));
    const expected = Array.from({ length: 300 }, (_, index) => `row ${index}`).filter((text) => text !== "row 137");
    assert.deepEqual(textsOf(heard), expected);
    assert.ok(Number(progressOf(heard).rowsAt) >= heard.clock.real() - 5 * MINUTE);
    await heard.pass(HOUR);
    assert.deepEqual(textsOf(heard), expected);
    assert.deepEqual(
      heard.faults.map((fault) => String(fault)),
      ["Error: BlueBubbles fails to read one row of its messages; the row is skipped"],
    );
  });

  it("is passed by where it is the first, one of several at a time or of many with the same date", async (t) => {
    const heard = await startListening(t);
    const broken = (index: number) => index === 0 || (index >= 40 && index < 70) || index === 90;
    await away(heard, 400, () => {
      writes(heard, 120, broken);
      const at = heard.clock.real();
      for (let index = 0; index < 60; index += 1) {
        const guid = heard.mac.phone(index % 7 === 3 ? BROKEN : BEN).writes(`same ${index}`, { at, isSilent: true });
        if (index % 7 === 3) heard.mac.breaksAt(guid);
      }
    });
    const rows = Array.from({ length: 120 }, (_, index) => index).filter((index) => !broken(index));
    const same = Array.from({ length: 60 }, (_, index) => index).filter((index) => index % 7 !== 3);
    assert.deepEqual(
      textsOf(heard).toSorted(),
      [...rows.map((index) => `row ${index}`), ...same.map((index) => `same ${index}`)].toSorted(),
    );
  });

  it("is told when the Mac can give it again, where it is one of the last ten minutes", async (t) => {
    const heard = await startListening(t);
    heard.mac.fault("eventsLost");
    const guid = heard.mac.phone(ANNA).writes("broken");
    heard.mac.breaksAt(guid);
    await heard.pass(1_000);
    heard.mac.phone(BEN).writes("after it");
    await heard.pass(5 * MINUTE);
    assert.deepEqual(textsOf(heard), ["after it"]);
    heard.mac.breaksAt(guid, false);
    await heard.pass(MINUTE);
    assert.deepEqual(textsOf(heard), ["after it", "broken"]);
  });

  it("is not passed by while it is the last, whatever else is looked for", async (t) => {
    const heard = await startListening(t);
    const sent = await heard.send("Hello");
    heard.mac.fault("eventsLost");
    await heard.pass(5_000);
    const guid = heard.mac.phone(BEN).writes("last");
    heard.mac.breaksAt(guid);
    await heard.pass(HOUR);
    heard.mac.phone(ANNA).delivers(sent);
    heard.mac.phone(ANNA).reads(sent);
    await heard.pass(6 * MINUTE);
    assert.equal(heard.receiptsOf(sent).at(-1), "read");
    assert.equal(heard.faults.length, 1);
    heard.mac.breaksAt(guid, false);
    await heard.pass(MINUTE);
    assert.deepEqual(textsOf(heard), ["last"]);
  });

  it("is none where the Mac breaks at whatever it is asked: nothing is passed by", async (t) => {
    const heard = await startListening(t, { starts: false });
    // Broken for an hour, and for every other question after it.
    let queries = 0;
    let isDown = false;
    const relay = await startRelay(t, heard.mac.url, ({ path }) => {
      if (!path.includes("/message/query")) return null;
      queries += 1;
      if (!isDown && queries % 2 === 0) return null;
      const error = { type: "Server Error", message: "SQLITE_BUSY: database is locked" };
      return { status: 500, body: JSON.stringify({ status: 500, error }) };
    });
    heard.url = relay.url;
    await heard.start();
    isDown = true;
    await away(heard, 400, () => void writes(heard, 300, () => false));
    await heard.pass(HOUR);
    assert.deepEqual(textsOf(heard), []);
    isDown = false;
    await heard.pass(5 * MINUTE);
    assert.deepEqual([...new Set(textsOf(heard))].length, 300);
  });
});
