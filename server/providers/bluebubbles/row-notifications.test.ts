/** Tests of notifications: only the Mac's own row counts, one query runs at a time, and the number of lookups is limited. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ANNA, BEN, type MacProviderStage, stageMacProvider } from "../../../test/support/mac-provider.ts";
import { startRelay } from "../../../test/support/mac-relay.ts";
import { until } from "../../../test/support/wait.ts";
import { listOf, recordOf, textOf } from "../../core/loose-json.ts";

const MINUTE = 60_000;
const QUERY = "POST /api/v1/message/query";

function queries(stage: MacProviderStage): number {
  return stage.mac.requests.filter((request) => request === QUERY).length;
}

function textsOf(stage: MacProviderStage): (string | null)[] {
  return stage.of("inbound").map(({ text }) => text);
}

/** Number of messages that a query names. */
function guidsIn(body: Record<string, unknown> | null): number {
  const [condition] = listOf(body?.where, recordOf);
  return listOf(recordOf(condition?.args)?.guids, textOf).length;
}

/** Passes a request to the hook without HTTP. */
async function deliver(
  { provider, hookUrl }: Pick<MacProviderStage, "provider" | "hookUrl">,
  event: object,
): Promise<void> {
  const body = Buffer.from(JSON.stringify(event));
  await provider.receive?.({ method: "POST", path: "/mac", url: hookUrl, headers: {}, body });
}

/** Lets enough time pass that backfill no longer reads the earlier rows. */
async function passesBy(stage: MacProviderStage): Promise<void> {
  await stage.pass(20 * MINUTE);
  stage.mac.phone(BEN).writes("newer");
  await stage.pass(2 * MINUTE);
}

async function names(stage: MacProviderStage, guids: readonly string[], type = "new-message"): Promise<void> {
  for (const guid of guids) assert.equal(await stage.post({ type, data: { guid } }), 200);
}

describe("a message named by an event", () => {
  it("is looked up together with all others named since the last query, one query at a time", async (t) => {
    const stage = await stageMacProvider(t);
    const lose = stage.mac.fault("eventsLost");
    const guids = Array.from({ length: 50 }, (_, index) => stage.mac.phone(ANNA).writes(`row ${index}`));
    const before = queries(stage);
    const release = stage.mac.fault("answersHeld");
    for (const guid of guids.toReversed()) {
      await stage.post({ type: "new-message", data: { guid } });
      assert.equal(queries(stage), before + 1);
    }
    assert.deepEqual(textsOf(stage), []);
    release();
    await stage.idle();
    assert.equal(queries(stage), before + 2);
    // First the message of the first query, then the others by date.
    assert.deepEqual(textsOf(stage), ["row 49", ...guids.slice(0, -1).map((_, index) => `row ${index}`)]);
    lose();
  });

  it("is looked up again if an event names it during its lookup, because it may have changed", async (t) => {
    const stage = await stageMacProvider(t);
    stage.mac.fault("eventsLost");
    const anna = stage.mac.phone(ANNA);
    const guid = anna.writes("Helo");
    const release = stage.mac.fault("answersHeld");
    await names(stage, [guid]);
    await stage.pass(10);
    anna.edits(guid, "Hello");
    await names(stage, [guid]);
    release();
    await stage.idle();
    assert.deepEqual([textsOf(stage), stage.of("revision").map(({ text }) => text)], [["Helo"], ["Hello"]]);
  });

  it("costs no Private API call", async (t) => {
    const stage = await stageMacProvider(t);
    await stage.pass(MINUTE);
    const before = stage.mac.helperCalls.length;
    stage.mac.fault("eventsLost");
    await names(stage, [stage.mac.phone(ANNA).writes("Hi"), "MADE-UP"]);
    assert.deepEqual(textsOf(stage), ["Hi"]);
    assert.equal(stage.mac.helperCalls.length, before);
  });

  it("is looked up again, at growing intervals, while the Mac does not respond", async (t) => {
    const stage = await stageMacProvider(t, { starts: false });
    let isCut = false;
    let asked = 0;
    const relay = await startRelay(t, stage.mac.url, ({ path }) => {
      if (!isCut || !path.includes("/message/query")) return null;
      asked += 1;
      return "cut";
    });
    stage.url = relay.url;
    await stage.start();
    // Backfill no longer reads the edited message. Only the event leads to it.
    const guid = stage.mac.phone(ANNA).writes("Helo");
    await stage.pass(15 * MINUTE);
    isCut = true;
    stage.mac.phone(ANNA).edits(guid, "Hello");
    await stage.pass(10 * MINUTE);
    assert.deepEqual(stage.of("revision"), []);
    assert.ok(asked > 40 && asked < 140, `${asked} times`);
    isCut = false;
    await stage.pass(20_000);
    assert.deepEqual(
      stage.of("revision").map(({ text }) => text),
      ["Hello"],
    );
  });

  it("is left to backfill if BlueBubbles keeps failing at it, while others are looked up", async (t) => {
    const stage = await stageMacProvider(t, { starts: false });
    let broken = "none";
    const relay = await startRelay(t, stage.mac.url, ({ path, body }) => {
      if (!path.includes("/message/query") || !JSON.stringify(body).includes(broken)) return null;
      const error = { type: "Server Error", message: "An unhandled error has occurred!" };
      return { status: 500, body: JSON.stringify({ status: 500, error }) };
    });
    stage.url = relay.url;
    await stage.start();
    stage.mac.fault("eventsLost");
    broken = stage.mac.phone(ANNA).writes("broken");
    await names(stage, [broken]);
    await stage.pass(2 * MINUTE);
    assert.deepEqual(textsOf(stage), ["broken"], "catching up found it");
    assert.equal(stage.faults.length, 1);
    await names(stage, [stage.mac.phone(BEN).writes("whole")]);
    assert.deepEqual(textsOf(stage), ["broken", "whole"]);
  });

  it("is neither lost nor delayed by a broken message that was named together with it", async (t) => {
    const stage = await stageMacProvider(t, { starts: false });
    let broken = "none";
    let asked = 0;
    const relay = await startRelay(t, stage.mac.url, ({ path, body }) => {
      if (!path.includes("/message/query") || !JSON.stringify(body?.where ?? "").includes(broken)) return null;
      asked += 1;
      const error = { type: "Server Error", message: "An unhandled error has occurred!" };
      return { status: 500, body: JSON.stringify({ status: 500, error }) };
    });
    stage.url = relay.url;
    await stage.start();
    const guids = ["one", "two", "three"].map((text) => stage.mac.phone(ANNA).writes(text));
    const held = stage.mac.phone(BEN).writes("broken");
    await passesBy(stage);
    stage.mac.fault("eventsLost");
    broken = held;
    for (const guid of guids) stage.mac.phone(ANNA).edits(guid, "edited");
    const release = stage.mac.fault("answersHeld");
    await names(stage, ["MADE-UP", guids[0] ?? "", broken, ...guids.slice(1)]);
    release();
    await stage.pass(10_000);
    assert.equal(stage.of("revision").length, 3);
    const late = stage.mac.phone(BEN).writes("later");
    await names(stage, [late]);
    await stage.pass(15_000);
    assert.equal(textsOf(stage).at(-1), "later");
    await stage.pass(10 * MINUTE);
    assert.ok(asked >= 8 && asked <= 10, `${asked} times`);
  });

  it("is looked up with fewer others while the Mac cannot return so many at once", async (t) => {
    const stage = await stageMacProvider(t, { starts: false });
    const relay = await startRelay(t, stage.mac.url, ({ path, body }) =>
      path.includes("/message/query") && guidsIn(body) > 100 ? "cut" : null,
    );
    stage.url = relay.url;
    await stage.start();
    const guids = Array.from({ length: 400 }, (_, index) => stage.mac.phone(ANNA).writes(`row ${index}`));
    await passesBy(stage);
    stage.mac.fault("eventsLost");
    for (const [index, guid] of guids.entries()) stage.mac.phone(ANNA).edits(guid, `edited ${index}`);
    const release = stage.mac.fault("answersHeld");
    await names(stage, ["MADE-UP"]);
    for (const guid of guids) await deliver(stage, { type: "updated-message", data: { guid } });
    release();
    await stage.pass(MINUTE);
    assert.deepEqual(
      stage.of("revision").map(({ text }) => text),
      guids.map((_, index) => `edited ${index}`),
    );
  });

  it("is one of at most 5,000 pending lookups, and only a text of a guid's length counts", async (t) => {
    const stage = await stageMacProvider(t);
    stage.mac.fault("eventsLost");
    const release = stage.mac.fault("answersHeld");
    for (const guid of [7, null, "", "x".repeat(101), { guid: "G" }, ["G"]]) {
      const before = queries(stage);
      await stage.post({ type: "new-message", data: { guid } });
      assert.equal(queries(stage), before);
    }
    await names(stage, ["FIRST"]);
    // Besides the message that is being looked up.
    for (let index = 0; index < 5_500; index += 1) {
      await deliver(stage, { type: "new-message", data: { guid: `MADE-UP-${index}` } });
    }
    const before = queries(stage);
    release();
    await stage.idle();
    assert.equal(queries(stage), before + 10);
    assert.deepEqual(stage.signals, []);
  });
});

describe("events without a row", () => {
  const typing = (guid: string) => ({ type: "typing-indicator", data: { display: true, guid } });

  it("report typing only in a conversation that the Mac has", async (t) => {
    const stage = await stageMacProvider(t);
    stage.mac.knows(ANNA);
    await stage.post(typing(`iMessage;-;${BEN}`));
    assert.deepEqual(stage.signals, []);
    await stage.post(typing(`iMessage;-;${ANNA}`));
    assert.deepEqual(
      stage.of("typing").map(({ from }) => from),
      [ANNA],
    );
  });

  it("report a call at once, also during a lookup about typing", async (t) => {
    const stage = await stageMacProvider(t);
    stage.mac.knows(ANNA);
    const release = stage.mac.fault("answersHeld");
    await stage.post(typing(`iMessage;-;${ANNA}`));
    await stage.post({ type: "incoming-facetime", data: JSON.stringify({ caller: BEN, timestamp: 1 }) });
    assert.deepEqual(
      stage.signals.map(({ kind }) => kind),
      ["call"],
    );
    release();
  });

  it("drop typing if the Mac takes too long to return the conversation", async (t) => {
    const stage = await stageMacProvider(t);
    stage.mac.knows(ANNA);
    const release = stage.mac.fault("answersHeld");
    await stage.post(typing(`iMessage;-;${ANNA}`));
    await stage.pass(20_000);
    release();
    await stage.pass(1_000);
    assert.deepEqual(stage.of("typing"), []);
    await stage.post(typing(`iMessage;-;${ANNA}`));
    assert.equal(stage.of("typing").length, 1);
  });

  it("are not reported after the connection has ended", async (t) => {
    const stage = await stageMacProvider(t);
    stage.mac.knows(ANNA);
    const { provider, hookUrl } = stage;
    const post = (event: object) => deliver({ provider, hookUrl }, event);
    await post(typing(`iMessage;-;${ANNA}`));
    await stage.stop();
    const reported = stage.signals.length;
    await post({ type: "ft-call-status-changed", data: { uuid: "CALL", status_id: 4, address: ANNA } });
    await post({ type: "new-message", data: { guid: stage.mac.phone(ANNA).writes("Hi") } });
    await stage.idle();
    assert.equal(stage.signals.length, reported);
    assert.equal(stage.clock.pending, 0);
  });

  it("do not count as a sign of life from Apple: typing and calls hide no Mac that sends nothing", async (t) => {
    const stage = await stageMacProvider(t);
    stage.mac.knows(ANNA);
    stage.mac.fault("greenButDead");
    for (let index = 0; index < 6; index += 1) await stage.send(`Hello ${index}`);
    for (let minutes = 0; minutes < 70; minutes += 10) {
      await stage.post(typing(`iMessage;-;${ANNA}`));
      await stage.post({ type: "ft-call-status-changed", data: { uuid: "CALL", status_id: 4, address: ANNA } });
      await stage.pass(10 * MINUTE);
    }
    assert.ok(stage.of("typing").length > 0 && stage.of("call").length > 0);
    assert.match((await stage.provider.health()).message ?? "", /nothing came back from Apple/);
    stage.mac.phone(ANNA).writes("Hi");
    await stage.idle();
    assert.equal((await stage.provider.health()).status, "healthy");
  });

  it("are limited to ten per second from all posters together", async (t) => {
    const stage = await stageMacProvider(t);
    const body = (index: number) => ({
      type: "ft-call-status-changed",
      data: { uuid: `CALL-${index}`, status_id: 4, address: `+1555020${index}`, is_outgoing: false },
    });
    const ring = async (from: number, reported: number) => {
      const url = `${stage.hookUrl}/mac`;
      const calls = Array.from({ length: 700 }, (_, index) =>
        fetch(url, { method: "POST", body: JSON.stringify(body(from + index)) }),
      );
      for (const response of await Promise.all(calls)) await response.arrayBuffer();
      await until(() => stage.of("call").length >= reported, { what: `${reported} calls` });
      await stage.idle();
      assert.equal(stage.of("call").length, reported);
    };
    await ring(1_000, 600);
    await stage.pass(MINUTE);
    await ring(2_000, 1_200);
  });

  it("report no call with an id longer than any address", async (t) => {
    const stage = await stageMacProvider(t);
    const long = `${"x".repeat(400)}@example.com`;
    await stage.post({ type: "incoming-facetime", data: JSON.stringify({ caller: long, timestamp: 1 }) });
    await stage.post({ type: "ft-call-status-changed", data: { uuid: "C", status_id: 4, address: long } });
    await stage.post({ type: "ft-call-status-changed", data: { uuid: long, status_id: 4, address: ANNA } });
    await stage.pass(2 * MINUTE);
    assert.deepEqual(stage.signals, []);
    assert.deepEqual(await stage.memory.list("call/"), []);
  });
});
