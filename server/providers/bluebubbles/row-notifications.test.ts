/** Tests of hints: only the Mac's own answer counts, it is asked in one question at a time, and nothing piles up. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ANNA, BEN, type Listening, startListening } from "../../../test/support/listening.ts";
import { startRelay } from "../../../test/support/mac-relay.ts";
import { until } from "../../../test/support/wait.ts";
import { listOf, recordOf, textOf } from "../../core/loose-json.ts";

const MINUTE = 60_000;
const QUERY = "POST /api/v1/message/query";

function queries(heard: Listening): number {
  return heard.mac.requests.filter((request) => request === QUERY).length;
}

function textsOf(heard: Listening): (string | null)[] {
  return heard.of("inbound").map(({ text }) => text);
}

/** How many messages a query asks for by name. */
function guidsIn(body: Record<string, unknown> | null): number {
  const [condition] = listOf(body?.where, recordOf);
  return listOf(recordOf(condition?.args)?.guids, textOf).length;
}

/** Gives the hook what is posted to it, without the way there. */
async function deliver({ provider, hookUrl }: Pick<Listening, "provider" | "hookUrl">, event: object): Promise<void> {
  const body = Buffer.from(JSON.stringify(event));
  await provider.receive?.({ method: "POST", path: "/mac", url: hookUrl, headers: {}, body });
}

/** Lets so much come and pass that catching up no longer looks at what was there before. */
async function passesBy(heard: Listening): Promise<void> {
  await heard.pass(20 * MINUTE);
  heard.mac.phone(BEN).writes("newer");
  await heard.pass(2 * MINUTE);
}

async function names(heard: Listening, guids: readonly string[], type = "new-message"): Promise<void> {
  for (const guid of guids) assert.equal(await heard.post({ type, data: { guid } }), 200);
}

describe("a message that is named", () => {
  it("is asked for with all the others that were named since the last question, and one question is under way", async (t) => {
    const heard = await startListening(t);
    const lose = heard.mac.fault("eventsLost");
    const guids = Array.from({ length: 50 }, (_, index) => heard.mac.phone(ANNA).writes(`row ${index}`));
    const before = queries(heard);
    const release = heard.mac.fault("answersHeld");
    for (const guid of guids.toReversed()) {
      await heard.post({ type: "new-message", data: { guid } });
      assert.equal(queries(heard), before + 1);
    }
    assert.deepEqual(textsOf(heard), []);
    release();
    await heard.settled();
    assert.equal(queries(heard), before + 2);
    // The one that was asked for first, then the others in the order in which they came to be.
    assert.deepEqual(textsOf(heard), ["row 49", ...guids.slice(0, -1).map((_, index) => `row ${index}`)]);
    lose();
  });

  it("is asked for again when it is named while it is being asked for: it may have changed since", async (t) => {
    const heard = await startListening(t);
    heard.mac.fault("eventsLost");
    const anna = heard.mac.phone(ANNA);
    const guid = anna.writes("Helo");
    const release = heard.mac.fault("answersHeld");
    await names(heard, [guid]);
    await heard.pass(10);
    anna.edits(guid, "Hello");
    await names(heard, [guid]);
    release();
    await heard.settled();
    assert.deepEqual([textsOf(heard), heard.of("revision").map(({ text }) => text)], [["Helo"], ["Hello"]]);
  });

  it("costs no call of the Private API", async (t) => {
    const heard = await startListening(t);
    await heard.pass(MINUTE);
    const before = heard.mac.helperCalls.length;
    heard.mac.fault("eventsLost");
    await names(heard, [heard.mac.phone(ANNA).writes("Hi"), "MADE-UP"]);
    assert.deepEqual(textsOf(heard), ["Hi"]);
    assert.equal(heard.mac.helperCalls.length, before);
  });

  it("is asked for again, ever more rarely, by a Mac that does not answer", async (t) => {
    const heard = await startListening(t, { starts: false });
    let isCut = false;
    let asked = 0;
    const relay = await startRelay(t, heard.mac.url, ({ path }) => {
      if (!isCut || !path.includes("/message/query")) return null;
      asked += 1;
      return "cut";
    });
    heard.url = relay.url;
    await heard.start();
    // An edit of a message that catching up no longer looks at: only what names it leads there.
    const guid = heard.mac.phone(ANNA).writes("Helo");
    await heard.pass(15 * MINUTE);
    isCut = true;
    heard.mac.phone(ANNA).edits(guid, "Hello");
    await heard.pass(10 * MINUTE);
    assert.deepEqual(heard.of("revision"), []);
    assert.ok(asked > 40 && asked < 140, `${asked} times`);
    isCut = false;
    await heard.pass(20_000);
    assert.deepEqual(
      heard.of("revision").map(({ text }) => text),
      ["Hello"],
    );
  });

  it("is left to catching up where the Mac keeps breaking at it, and others are asked for", async (t) => {
    const heard = await startListening(t, { starts: false });
    let broken = "none";
    const relay = await startRelay(t, heard.mac.url, ({ path, body }) => {
      if (!path.includes("/message/query") || !JSON.stringify(body).includes(broken)) return null;
      const error = { type: "Server Error", message: "An unhandled error has occurred!" };
      return { status: 500, body: JSON.stringify({ status: 500, error }) };
    });
    heard.url = relay.url;
    await heard.start();
    heard.mac.fault("eventsLost");
    broken = heard.mac.phone(ANNA).writes("broken");
    await names(heard, [broken]);
    await heard.pass(2 * MINUTE);
    assert.deepEqual(textsOf(heard), ["broken"], "catching up found it");
    assert.equal(heard.faults.length, 1);
    await names(heard, [heard.mac.phone(BEN).writes("whole")]);
    assert.deepEqual(textsOf(heard), ["broken", "whole"]);
  });

  it("is not lost with one that the Mac breaks at, nor kept waiting by it, though they were named together", async (t) => {
    const heard = await startListening(t, { starts: false });
    let broken = "none";
    let asked = 0;
    const relay = await startRelay(t, heard.mac.url, ({ path, body }) => {
      if (!path.includes("/message/query") || !JSON.stringify(body?.where ?? "").includes(broken)) return null;
      asked += 1;
      const error = { type: "Server Error", message: "An unhandled error has occurred!" };
      return { status: 500, body: JSON.stringify({ status: 500, error }) };
    });
    heard.url = relay.url;
    await heard.start();
    const guids = ["one", "two", "three"].map((text) => heard.mac.phone(ANNA).writes(text));
    const held = heard.mac.phone(BEN).writes("broken");
    await passesBy(heard);
    heard.mac.fault("eventsLost");
    broken = held;
    for (const guid of guids) heard.mac.phone(ANNA).edits(guid, "edited");
    const release = heard.mac.fault("answersHeld");
    await names(heard, ["MADE-UP", guids[0] ?? "", broken, ...guids.slice(1)]);
    release();
    await heard.pass(10_000);
    assert.equal(heard.of("revision").length, 3);
    const late = heard.mac.phone(BEN).writes("later");
    await names(heard, [late]);
    await heard.pass(15_000);
    assert.equal(textsOf(heard).at(-1), "later");
    await heard.pass(10 * MINUTE);
    assert.ok(asked >= 8 && asked <= 10, `${asked} times`);
  });

  it("is asked for with fewer others where the Mac cannot answer so many at once", async (t) => {
    const heard = await startListening(t, { starts: false });
    const relay = await startRelay(t, heard.mac.url, ({ path, body }) =>
      path.includes("/message/query") && guidsIn(body) > 100 ? "cut" : null,
    );
    heard.url = relay.url;
    await heard.start();
    const guids = Array.from({ length: 400 }, (_, index) => heard.mac.phone(ANNA).writes(`row ${index}`));
    await passesBy(heard);
    heard.mac.fault("eventsLost");
    for (const [index, guid] of guids.entries()) heard.mac.phone(ANNA).edits(guid, `edited ${index}`);
    const release = heard.mac.fault("answersHeld");
    await names(heard, ["MADE-UP"]);
    for (const guid of guids) await deliver(heard, { type: "updated-message", data: { guid } });
    release();
    await heard.pass(MINUTE);
    assert.deepEqual(
      heard.of("revision").map(({ text }) => text),
      guids.map((_, index) => `edited ${index}`),
    );
  });

  it("is one of five thousand that wait at most, and no other text than a guid is taken for one", async (t) => {
    const heard = await startListening(t);
    heard.mac.fault("eventsLost");
    const release = heard.mac.fault("answersHeld");
    for (const guid of [7, null, "", "x".repeat(101), { guid: "G" }, ["G"]]) {
      const before = queries(heard);
      await heard.post({ type: "new-message", data: { guid } });
      assert.equal(queries(heard), before);
    }
    await names(heard, ["FIRST"]);
    // Beyond the one that is being asked for.
    for (let index = 0; index < 5_500; index += 1) {
      await deliver(heard, { type: "new-message", data: { guid: `MADE-UP-${index}` } });
    }
    const before = queries(heard);
    release();
    await heard.settled();
    assert.equal(queries(heard), before + 10);
    assert.deepEqual(heard.signals, []);
  });
});

describe("what happens besides messages", () => {
  const typing = (guid: string) => ({ type: "typing-indicator", data: { display: true, guid } });

  it("is typing only in a conversation that the Mac has", async (t) => {
    const heard = await startListening(t);
    heard.mac.knows(ANNA);
    await heard.post(typing(`iMessage;-;${BEN}`));
    assert.deepEqual(heard.signals, []);
    await heard.post(typing(`iMessage;-;${ANNA}`));
    assert.deepEqual(
      heard.of("typing").map(({ from }) => from),
      [ANNA],
    );
  });

  it("is a call at once, whatever the Mac is still asked about somebody who types", async (t) => {
    const heard = await startListening(t);
    heard.mac.knows(ANNA);
    const release = heard.mac.fault("answersHeld");
    await heard.post(typing(`iMessage;-;${ANNA}`));
    await heard.post({ type: "incoming-facetime", data: JSON.stringify({ caller: BEN, timestamp: 1 }) });
    assert.deepEqual(
      heard.signals.map(({ kind }) => kind),
      ["call"],
    );
    release();
  });

  it("is no typing any more where the Mac took too long to say who it is with", async (t) => {
    const heard = await startListening(t);
    heard.mac.knows(ANNA);
    const release = heard.mac.fault("answersHeld");
    await heard.post(typing(`iMessage;-;${ANNA}`));
    await heard.pass(20_000);
    release();
    await heard.pass(1_000);
    assert.deepEqual(heard.of("typing"), []);
    await heard.post(typing(`iMessage;-;${ANNA}`));
    assert.equal(heard.of("typing").length, 1);
  });

  it("is heard no more once the connection has ended", async (t) => {
    const heard = await startListening(t);
    heard.mac.knows(ANNA);
    const { provider, hookUrl } = heard;
    const post = (event: object) => deliver({ provider, hookUrl }, event);
    await post(typing(`iMessage;-;${ANNA}`));
    await heard.stop();
    const told = heard.signals.length;
    await post({ type: "ft-call-status-changed", data: { uuid: "CALL", status_id: 4, address: ANNA } });
    await post({ type: "new-message", data: { guid: heard.mac.phone(ANNA).writes("Hi") } });
    await heard.settled();
    assert.equal(heard.signals.length, told);
    assert.equal(heard.clock.pending, 0);
  });

  it("is no sign that Messages reaches anybody: typing and calls hide no Mac that is green and dead", async (t) => {
    const heard = await startListening(t);
    heard.mac.knows(ANNA);
    heard.mac.fault("greenButDead");
    for (let index = 0; index < 6; index += 1) await heard.send(`Hello ${index}`);
    for (let minutes = 0; minutes < 70; minutes += 10) {
      await heard.post(typing(`iMessage;-;${ANNA}`));
      await heard.post({ type: "ft-call-status-changed", data: { uuid: "CALL", status_id: 4, address: ANNA } });
      await heard.pass(10 * MINUTE);
    }
    assert.ok(heard.of("typing").length > 0 && heard.of("call").length > 0);
    assert.match((await heard.provider.health()).message ?? "", /nothing has been heard of any/);
    heard.mac.phone(ANNA).writes("Hi");
    await heard.settled();
    assert.equal((await heard.provider.health()).status, "healthy");
  });

  it("is told ten times a second at most, whoever tells of it", async (t) => {
    const heard = await startListening(t);
    const body = (index: number) => ({
      type: "ft-call-status-changed",
      data: { uuid: `CALL-${index}`, status_id: 4, address: `+1555020${index}`, is_outgoing: false },
    });
    const ring = async (from: number, told: number) => {
      const url = `${heard.hookUrl}/mac`;
      const calls = Array.from({ length: 700 }, (_, index) =>
        fetch(url, { method: "POST", body: JSON.stringify(body(from + index)) }),
      );
      for (const response of await Promise.all(calls)) await response.arrayBuffer();
      await until(() => heard.of("call").length >= told, { what: `${told} calls` });
      await heard.settled();
      assert.equal(heard.of("call").length, told);
    };
    await ring(1_000, 600);
    await heard.pass(MINUTE);
    await ring(2_000, 1_200);
  });

  it("is no call by a name that is longer than any address", async (t) => {
    const heard = await startListening(t);
    const long = `${"x".repeat(400)}@example.com`;
    await heard.post({ type: "incoming-facetime", data: JSON.stringify({ caller: long, timestamp: 1 }) });
    await heard.post({ type: "ft-call-status-changed", data: { uuid: "C", status_id: 4, address: long } });
    await heard.post({ type: "ft-call-status-changed", data: { uuid: long, status_id: 4, address: ANNA } });
    await heard.pass(2 * MINUTE);
    assert.deepEqual(heard.signals, []);
    assert.deepEqual(await heard.memory.list("call/"), []);
  });
});
