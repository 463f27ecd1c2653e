/** Tests of the backfill: it finds rows that no event reported, skips old rows, and leaves no gaps. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ANNA, BEN, type MacProviderStage, stageMacProvider } from "../../../test/support/mac-provider.ts";
import { startRelay } from "../../../test/support/mac-relay.ts";
import { until } from "../../../test/support/wait.ts";
import { recordOf } from "../../core/loose-json.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

function textsOf(stage: MacProviderStage): (string | null)[] {
  return stage.of("inbound").map(({ text }) => text);
}

/** Stored cursor of the backfill. */
function progressOf(stage: MacProviderStage): Record<string, unknown> {
  return recordOf(JSON.parse(stage.memory.entries.get("catch-up") ?? "null")) ?? {};
}

it("reports within a minute, in order, the rows that no event reported", async (t) => {
  const stage = await stageMacProvider(t);
  stage.mac.fault("eventsLost");
  const anna = stage.mac.phone(ANNA);
  for (const text of ["one", "two", "three"]) anna.writes(text);
  await stage.pass(MINUTE);
  assert.deepEqual(textsOf(stage), ["one", "two", "three"]);
  const guid = await stage.send("Hello");
  anna.delivers(guid);
  anna.edits(stage.of("inbound")[0]?.reference ?? "", "one and a half");
  await stage.pass(MINUTE);
  assert.equal(stage.receiptsOf(guid).at(-1), "delivered");
  assert.equal(stage.of("revision")[0]?.text, "one and a half");
});

it("begins at once when BlueBubbles reports that it has started", async (t) => {
  const stage = await stageMacProvider(t);
  const lift = stage.mac.fault("eventsLost");
  stage.mac.phone(ANNA).writes("while it was down");
  lift();
  assert.equal(await stage.post({ type: "hello-world", data: null }), 200);
  assert.deepEqual(textsOf(stage), ["while it was down"]);
});

it("reports no row from before the instance was created, whatever event names it", async (t) => {
  const stage = await stageMacProvider(t, { starts: false });
  const anna = stage.mac.phone(ANNA);
  const old = anna.writes("long ago", { isSilent: true });
  await stage.pass(1);
  await stage.start();
  anna.edits(old, "long ago, in other words");
  await stage.pass(2 * HOUR);
  anna.writes("now");
  await stage.idle();
  assert.deepEqual(textsOf(stage), ["now"]);
  assert.deepEqual(stage.of("revision"), []);
});

it("reports the rows that arrived while the service was away, however long that was", async (t) => {
  const stage = await stageMacProvider(t);
  const anna = stage.mac.phone(ANNA);
  anna.writes("before");
  await stage.pass(2 * MINUTE);
  await stage.stop();
  anna.writes("on the first day", { isSilent: true });
  await stage.clock.advance(2 * DAY);
  anna.writes("on the third", { isSilent: true });
  await stage.start();
  await stage.idle();
  // After an absence the service may report rows twice. The engine recognises them by their reference.
  assert.deepEqual([...new Set(textsOf(stage))], ["before", "on the first day", "on the third"]);
});

it("reports a message that iCloud delivered late, unless it is more than a day old", async (t) => {
  const stage = await stageMacProvider(t);
  await stage.stop();
  await stage.clock.advance(3 * DAY);
  await stage.start();
  stage.mac.fault("eventsLost");
  const anna = stage.mac.phone(ANNA);
  const now = stage.clock.real();
  anna.writes("an hour late", { at: now - HOUR });
  anna.writes("two days late", { at: now - 2 * DAY });
  await stage.pass(11 * MINUTE);
  assert.deepEqual(textsOf(stage), ["an hour late"]);
});

it("reads more rows than one response holds, and reports each once", async (t) => {
  const stage = await stageMacProvider(t);
  stage.mac.fault("eventsLost");
  for (let index = 0; index < 2_100; index += 1) stage.mac.phone(index % 2 === 0 ? ANNA : BEN).writes(`row ${index}`);
  await stage.pass(MINUTE);
  await until(() => stage.signals.length >= 2_100, { what: "2,100 messages" });
  assert.equal(new Set(textsOf(stage)).size, 2_100);
  await stage.pass(5 * MINUTE);
  assert.equal(textsOf(stage).length, 2_100);
});

it("never moves the cursor past a row that is not on disk, not even in memory", async (t) => {
  const stage = await stageMacProvider(t);
  await stage.pass(MINUTE);
  stage.mac.fault("eventsLost");
  stage.mac.phone(ANNA).writes("stuck");
  await stage.pass(1_000);
  const before = stage.clock.real();
  stage.mac.phone(BEN).writes("goes through");
  stage.onSignal = (signal) => {
    if (signal.kind === "inbound" && signal.from === ANNA) throw new Error("the disk is full");
    return "applied";
  };
  await stage.pass(HOUR);
  assert.deepEqual(textsOf(stage), ["goes through"]);
  assert.ok(Number(progressOf(stage).rowsAt) < before - 1_000);
  await stage.stop();
  stage.onSignal = () => "applied";
  await stage.start();
  await stage.idle();
  assert.deepEqual([...new Set(textsOf(stage))], ["goes through", "stuck"]);
  await stage.pass(MINUTE);
  assert.ok(Number(progressOf(stage).rowsAt) >= before);
});

it("finds read receipts of last week's messages", async (t) => {
  const stage = await stageMacProvider(t);
  const guid = await stage.send("Hello");
  stage.mac.phone(ANNA).delivers(guid);
  await stage.pass(1_000);
  stage.mac.fault("eventsLost");
  await stage.stop();
  await stage.clock.advance(3 * DAY);
  stage.mac.phone(ANNA).reads(guid);
  await stage.start();
  await stage.idle();
  assert.deepEqual(stage.receiptsOf(guid).slice(-1), ["read"]);
});

it("continues when the Mac is reachable again, and reads everything missed", async (t) => {
  const stage = await stageMacProvider(t);
  stage.mac.fault("unreachable");
  await stage.pass(5 * MINUTE);
  stage.mac.phone(ANNA).writes("meanwhile");
  stage.mac.lift("unreachable");
  await stage.pass(MINUTE);
  assert.deepEqual(textsOf(stage), ["meanwhile"]);
});

it("ignores dates in the future for its cursor", async (t) => {
  const stage = await stageMacProvider(t);
  stage.mac.fault("eventsLost");
  stage.mac.phone(ANNA).writes("from the future", { at: stage.clock.real() + 30 * DAY });
  await stage.pass(MINUTE);
  stage.mac.phone(ANNA).writes("now");
  await stage.pass(MINUTE);
  assert.deepEqual(textsOf(stage), ["from the future", "now"]);
});

it("stops at once, whatever request is in flight", async (t) => {
  const stage = await stageMacProvider(t);
  stage.mac.fault("asleep");
  await stage.clock.advance(MINUTE);
  await stage.stop();
  stage.mac.forgetHeld();
});

it("uses smaller pages while the Mac cannot return large ones", async (t) => {
  const stage = await stageMacProvider(t, { starts: false });
  let most = 100;
  const relay = await startRelay(t, stage.mac.url, ({ path, body }) =>
    path.includes("/message/query") && Number(body?.limit) > most ? "cut" : null,
  );
  stage.url = relay.url;
  await stage.start();
  stage.mac.fault("eventsLost");
  for (let index = 0; index < 450; index += 1) stage.mac.phone(index % 2 === 0 ? ANNA : BEN).writes(`row ${index}`);
  await stage.pass(5 * MINUTE);
  await until(() => stage.signals.length >= 450, { what: "450 messages" });
  assert.equal(new Set(textsOf(stage)).size, 450);
  most = 1_000;
  await stage.pass(30 * MINUTE);
  assert.equal(textsOf(stage).length, 450);
});

it("skips none of many rows with the same date", async (t) => {
  const stage = await stageMacProvider(t);
  stage.mac.fault("eventsLost");
  const at = stage.clock.real();
  for (let index = 0; index < 1_500; index += 1) stage.mac.phone(ANNA).writes(`row ${index}`, { at });
  await stage.pass(MINUTE);
  await until(() => stage.signals.length >= 1_500, { what: "1,500 messages" });
  assert.equal(new Set(textsOf(stage)).size, 1_500);
});

it("finds receipts and late rows while one contact's row cannot be reported", async (t) => {
  const stage = await stageMacProvider(t);
  const guid = await stage.send("Hello");
  stage.mac.phone(ANNA).delivers(guid);
  await stage.pass(MINUTE);
  stage.mac.fault("eventsLost");
  stage.mac.phone(ANNA).writes("stuck");
  stage.onSignal = (signal) => {
    if (signal.kind === "inbound" && signal.from === ANNA) throw new Error("it cannot be told");
    return "applied";
  };
  await stage.pass(2 * HOUR);
  stage.mac.phone(ANNA).reads(guid);
  stage.mac.phone(BEN).writes("late", { at: stage.clock.real() - HOUR });
  await stage.pass(20 * MINUTE);
  assert.equal(stage.receiptsOf(guid).at(-1), "read");
  assert.ok(textsOf(stage).includes("late"));
});

it("reports rows that a Mac with a slow clock dates before the instance was created", async (t) => {
  const stage = await stageMacProvider(t, { starts: false });
  const relay = await startRelay(t, stage.mac.url, ({ path }) => {
    if (!path.includes("/server/info")) return null;
    const data = { os_version: "15.5.0", server_version: "1.9.9", private_api: true, helper_connected: true };
    return { status: 200, body: JSON.stringify({ status: 200, data: { ...data, macos_time_sync: -1_200 } }) };
  });
  stage.url = relay.url;
  await stage.start();
  const anna = stage.mac.phone(ANNA);
  anna.writes("old", { at: stage.clock.real() - 30 * MINUTE });
  anna.writes("pushed", { at: stage.clock.real() - 20 * MINUTE });
  await stage.pass(1_000);
  stage.mac.fault("eventsLost");
  anna.writes("found", { at: stage.clock.real() - 20 * MINUTE });
  await stage.pass(MINUTE);
  assert.deepEqual(textsOf(stage), ["pushed", "found"]);
});

it("waits only a limited time for a row that the Mac cannot return whole", async (t) => {
  const stage = await stageMacProvider(t, { starts: false });
  const anna = stage.mac.phone(ANNA);
  let broken = "none";
  const relay = await startRelay(t, stage.mac.url, ({ path }) => {
    if (!path.includes(`/message/${broken}`)) return null;
    const error = { type: "Server Error", message: "An unhandled error has occurred!" };
    return { status: 500, body: JSON.stringify({ status: 500, error }) };
  });
  stage.url = relay.url;
  await stage.start();
  stage.mac.fault("eventsLost");
  broken = anna.writes("");
  anna.writes("after it");
  await stage.pass(15 * MINUTE);
  assert.ok(textsOf(stage).includes("after it"));
});

it("misses no row when rows are deleted while it reads", async (t) => {
  const stage = await stageMacProvider(t, { starts: false });
  let queries = 0;
  const relay = await startRelay(t, stage.mac.url, ({ body }) => {
    if (Number(body?.limit) > 1 && stage.mac.messages.length > 0) queries += 1;
    // A conversation that was already read is deleted while the next page is requested.
    if (queries === 2) (stage.mac.messages as unknown[]).splice(0, 600);
    return null;
  });
  stage.url = relay.url;
  await stage.start();
  stage.mac.fault("eventsLost");
  for (let index = 0; index < 2_500; index += 1) {
    stage.mac.phone(ANNA).writes(`row ${index}`, { at: stage.clock.real() + index });
  }
  await stage.pass(MINUTE);
  await until(() => stage.signals.length >= 2_500, { what: "2,500 messages" });
  assert.equal(new Set(textsOf(stage)).size, 2_500);
});

describe("a row at which BlueBubbles responds with 500", () => {
  const BROKEN = "+15550100009";

  /** Rows a minute apart. Those selected by `breaks` come from another contact. */
  function writes(stage: MacProviderStage, count: number, breaks: (index: number) => boolean): string[] {
    const from = stage.clock.real() - count * MINUTE;
    return Array.from({ length: count }, (_, index) => {
      const phone = stage.mac.phone(breaks(index) ? BROKEN : ANNA);
      const guid = phone.writes(`row ${index}`, { at: from + index * MINUTE, isSilent: true });
      if (breaks(index)) stage.mac.breaksAt(guid);
      return guid;
    });
  }

  /** A Mac that writes rows for `minutes` while the service is away. */
  async function away(stage: MacProviderStage, minutes: number, write: () => void): Promise<void> {
    await stage.pass(MINUTE);
    await stage.stop();
    await stage.clock.advance(minutes * MINUTE);
    write();
    await stage.start();
    await stage.pass(MINUTE);
  }

  it("blocks no other row, and is logged once, without a name", async (t) => {
    const stage = await stageMacProvider(t);
    await away(stage, 400, () => void writes(stage, 300, (index) => index === 137));
    const expected = Array.from({ length: 300 }, (_, index) => `row ${index}`).filter((text) => text !== "row 137");
    assert.deepEqual(textsOf(stage), expected);
    assert.ok(Number(progressOf(stage).rowsAt) >= stage.clock.real() - 5 * MINUTE);
    await stage.pass(HOUR);
    assert.deepEqual(textsOf(stage), expected);
    assert.deepEqual(
      stage.faults.map((fault) => String(fault)),
      ["Error: BlueBubbles fails to read one row of its messages; the row is skipped"],
    );
  });

  it("is skipped if it is the first, one of several in a row, or one of many with the same date", async (t) => {
    const stage = await stageMacProvider(t);
    const broken = (index: number) => index === 0 || (index >= 40 && index < 70) || index === 90;
    await away(stage, 400, () => {
      writes(stage, 120, broken);
      const at = stage.clock.real();
      for (let index = 0; index < 60; index += 1) {
        const guid = stage.mac.phone(index % 7 === 3 ? BROKEN : BEN).writes(`same ${index}`, { at, isSilent: true });
        if (index % 7 === 3) stage.mac.breaksAt(guid);
      }
    });
    const rows = Array.from({ length: 120 }, (_, index) => index).filter((index) => !broken(index));
    const same = Array.from({ length: 60 }, (_, index) => index).filter((index) => index % 7 !== 3);
    assert.deepEqual(
      textsOf(stage).toSorted(),
      [...rows.map((index) => `row ${index}`), ...same.map((index) => `same ${index}`)].toSorted(),
    );
  });

  it("is reported when the Mac can return it again within ten minutes", async (t) => {
    const stage = await stageMacProvider(t);
    stage.mac.fault("eventsLost");
    const guid = stage.mac.phone(ANNA).writes("broken");
    stage.mac.breaksAt(guid);
    await stage.pass(1_000);
    stage.mac.phone(BEN).writes("after it");
    await stage.pass(5 * MINUTE);
    assert.deepEqual(textsOf(stage), ["after it"]);
    stage.mac.breaksAt(guid, false);
    await stage.pass(MINUTE);
    assert.deepEqual(textsOf(stage), ["after it", "broken"]);
  });

  it("is not skipped while it is the last row, and other passes continue", async (t) => {
    const stage = await stageMacProvider(t);
    const sent = await stage.send("Hello");
    stage.mac.fault("eventsLost");
    await stage.pass(5_000);
    const guid = stage.mac.phone(BEN).writes("last");
    stage.mac.breaksAt(guid);
    await stage.pass(HOUR);
    stage.mac.phone(ANNA).delivers(sent);
    stage.mac.phone(ANNA).reads(sent);
    await stage.pass(6 * MINUTE);
    assert.equal(stage.receiptsOf(sent).at(-1), "read");
    assert.equal(stage.faults.length, 1);
    stage.mac.breaksAt(guid, false);
    await stage.pass(MINUTE);
    assert.deepEqual(textsOf(stage), ["last"]);
  });

  it("is not assumed when the Mac fails at every request: nothing is skipped", async (t) => {
    const stage = await stageMacProvider(t, { starts: false });
    // Fails for an hour, and at every second request after it.
    let queries = 0;
    let isDown = false;
    const relay = await startRelay(t, stage.mac.url, ({ path }) => {
      if (!path.includes("/message/query")) return null;
      queries += 1;
      if (!isDown && queries % 2 === 0) return null;
      const error = { type: "Server Error", message: "SQLITE_BUSY: database is locked" };
      return { status: 500, body: JSON.stringify({ status: 500, error }) };
    });
    stage.url = relay.url;
    await stage.start();
    isDown = true;
    await away(stage, 400, () => void writes(stage, 300, () => false));
    await stage.pass(HOUR);
    assert.deepEqual(textsOf(stage), []);
    isDown = false;
    await stage.pass(5 * MINUTE);
    assert.deepEqual([...new Set(textsOf(stage))].length, 300);
  });
});
