/** Tests of hints: only the Mac's own answer counts, it is asked in one question at a time, and nothing piles up. */

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

/** How many messages a query asks for by name. */
function guidsIn(body: Record<string, unknown> | null): number {
  const [condition] = listOf(body?.where, recordOf);
  return listOf(recordOf(condition?.args)?.guids, textOf).length;
}

/** Gives the hook what is posted to it, without the way there. */
async function deliver(
  { provider, hookUrl }: Pick<MacProviderStage, "provider" | "hookUrl">,
  event: object,
): Promise<void> {
  const body = Buffer.from(JSON.stringify(event));
  await provider.receive?.({ method: "POST", path: "/mac", url: hookUrl, headers: {}, body });
}

/** Lets so much come and pass that catching up no longer looks at what was there before. */
async function passesBy(stage: MacProviderStage): Promise<void> {
  await stage.pass(20 * MINUTE);
  stage.mac.phone(BEN).writes("newer");
  await stage.pass(2 * MINUTE);
}

async function names(stage: MacProviderStage, guids: readonly string[], type = "new-message"): Promise<void> {
  for (const guid of guids) assert.equal(await stage.post({ type, data: { guid } }), 200);
}

describe("a message that is named", () => {
  it("is asked for with all the others that were named since the last question, and one question is under way", async (t) => {
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
    // The one that was asked for first, then the others in the order in which they came to be.
    assert.deepEqual(textsOf(stage), ["row 49", ...guids.slice(0, -1).map((_, index) => `row ${index}`)]);
    lose();
  });

  it("is asked for again when it is named while it is being asked for: it may have changed since", async (t) => {
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

  it("costs no call of the Private API", async (t) => {
    const stage = await stageMacProvider(t);
    await stage.pass(MINUTE);
    const before = stage.mac.helperCalls.length;
    stage.mac.fault("eventsLost");
    await names(stage, [stage.mac.phone(ANNA).writes("Hi"), "MADE-UP"]);
    assert.deepEqual(textsOf(stage), ["Hi"]);
    assert.equal(stage.mac.helperCalls.length, before);
  });

  it("is asked for again, ever more rarely, by a Mac that does not answer", async (t) => {
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
    // An edit of a message that catching up no longer looks at: only what names it leads there.
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

  it("is left to catching up where the Mac keeps breaking at it, and others are asked for", async (t) => {
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

  it("is not lost with one that the Mac breaks at, nor kept waiting by it, though they were named together", async (t) => {
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

  it("is asked for with fewer others where the Mac cannot answer so many at once", async (t) => {
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

  it("is one of five thousand that wait at most, and no other text than a guid is taken for one", async (t) => {
    const stage = await stageMacProvider(t);
    stage.mac.fault("eventsLost");
    const release = stage.mac.fault("answersHeld");
    for (const guid of [7, null, "", "x".repeat(101), { guid: "G" }, ["G"]]) {
      const before = queries(stage);
      await stage.post({ type: "new-message", data: { guid } });
      assert.equal(queries(stage), before);
    }
    await names(stage, ["FIRST"]);
    // Beyond the one that is being asked for.
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

describe("what happens besides messages", () => {
  const typing = (guid: string) => ({ type: "typing-indicator", data: { display: true, guid } });

  it("is typing only in a conversation that the Mac has", async (t) => {
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

  it("is a call at once, whatever the Mac is still asked about somebody who types", async (t) => {
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

  it("is no typing any more where the Mac took too long to say who it is with", async (t) => {
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

  it("is stage no more once the connection has ended", async (t) => {
    const stage = await stageMacProvider(t);
    stage.mac.knows(ANNA);
    const { provider, hookUrl } = stage;
    const post = (event: object) => deliver({ provider, hookUrl }, event);
    await post(typing(`iMessage;-;${ANNA}`));
    await stage.stop();
    const told = stage.signals.length;
    await post({ type: "ft-call-status-changed", data: { uuid: "CALL", status_id: 4, address: ANNA } });
    await post({ type: "new-message", data: { guid: stage.mac.phone(ANNA).writes("Hi") } });
    await stage.idle();
    assert.equal(stage.signals.length, told);
    assert.equal(stage.clock.pending, 0);
  });

  it("is no sign that Messages reaches anybody: typing and calls hide no Mac that is green and dead", async (t) => {
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

  it("is told ten times a second at most, whoever tells of it", async (t) => {
    const stage = await stageMacProvider(t);
    const body = (index: number) => ({
      type: "ft-call-status-changed",
      data: { uuid: `CALL-${index}`, status_id: 4, address: `+1555020${index}`, is_outgoing: false },
    });
    const ring = async (from: number, told: number) => {
      const url = `${stage.hookUrl}/mac`;
      const calls = Array.from({ length: 700 }, (_, index) =>
        fetch(url, { method: "POST", body: JSON.stringify(body(from + index)) }),
      );
      for (const response of await Promise.all(calls)) await response.arrayBuffer();
      await until(() => stage.of("call").length >= told, { what: `${told} calls` });
      await stage.idle();
      assert.equal(stage.of("call").length, told);
    };
    await ring(1_000, 600);
    await stage.pass(MINUTE);
    await ring(2_000, 1_200);
  });

  it("is no call by a name that is longer than any address", async (t) => {
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
