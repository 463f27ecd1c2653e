import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { NO_TLVS, submitSm } from "../../../test/support/smsc/pdus.ts";
import {
  bindResp,
  type Caller,
  polite,
  politeBut,
  type Script,
  type ScriptedSmsc,
  scriptedSmsc,
} from "../../../test/support/smsc/scripted.ts";
import { settingsFor, taken, turnsOfTheLoop } from "../../../test/support/smsc/session.ts";
import { until } from "../../../test/support/wait.ts";
import { type LinkSettings, SmscLink, type SubmitResult } from "./link.ts";
import { PduError } from "./octets.ts";
import type { Bind, Pdu, SubmitSm } from "./pdu.ts";

/** A link to a scripted SMSC under simulated time, with everything that it reported. */
interface Stage {
  link: SmscLink;
  smsc: ScriptedSmsc;
  clock: SimulatedClock;
  faults: string[];
  /** The value of `isUp` at each `changed()`. */
  ups: boolean[];
}

async function startLink(
  t: TestContext,
  script: Script = polite,
  more: Partial<LinkSettings> = {},
  mayWrite: () => boolean = () => true,
): Promise<Stage> {
  const smsc = await scriptedSmsc(t, { script });
  const clock = new SimulatedClock();
  const faults: string[] = [];
  const ups: boolean[] = [];
  const settings: LinkSettings = {
    ...settingsFor(smsc.port),
    bindMode: "transceiver",
    windowSize: 10,
    throughputPerSecond: null,
    ...more,
  };
  const events = {
    deliver: async () => 0,
    changed: () => ups.push(link.isUp),
    fault: (error: unknown) => faults.push(error instanceof Error ? error.message : String(error)),
    mayWrite: () => mayWrite(),
  };
  const link = new SmscLink(settings, events, clock, () => 0);
  link.start();
  t.after(async () => {
    let isStopped = false;
    void link.stop(5_000).then(() => (isStopped = true));
    await until(async () => {
      if (!isStopped) await clock.advance(1_000);
      return isStopped;
    });
    assert.equal(clock.pending, 0, "a timer was left");
  });
  return { link, smsc, clock, faults, ups };
}

async function upLink(t: TestContext, script?: Script, more?: Partial<LinkSettings>): Promise<Stage> {
  const stage = await startLink(t, script, more);
  await until(() => stage.link.isUp, { what: "the bind" });
  return stage;
}

function submit({ link }: Pick<Stage, "link">): Promise<SubmitResult> {
  return link.submit(submitSm());
}

/** The texts that the SMSC got, which are numbers here. */
function numbered(count: number): SubmitSm[] {
  return Array.from({ length: count }, (_, at) => submitSm({ shortMessage: new Uint8Array([at]) }));
}

function textsOf(smsc: ScriptedSmsc): (number | undefined)[] {
  return smsc.of("submit_sm").map(({ shortMessage }) => shortMessage[0]);
}

test("a message is accepted with the SMSC's id, or refused with the status of its response or of a generic_nack", async (t) => {
  const stage = await upLink(t);
  assert.deepEqual(await submit(stage), { answer: "ok", messageId: "id-1" });
  stage.smsc.script = ({ sequence }, caller) =>
    caller.send({ command: "submit_sm_resp", status: 0x58, sequence, messageId: "", tlvs: NO_TLVS });
  assert.deepEqual(await submit(stage), { answer: "refused", status: 0x58 });
  stage.smsc.script = ({ sequence }, caller) => caller.send({ command: "generic_nack", status: 0xff, sequence });
  assert.deepEqual(await submit(stage), { answer: "refused", status: 0xff });
  stage.smsc.script = ({ sequence }, caller) => caller.send({ command: "generic_nack", status: 0, sequence });
  assert.equal((await submit(stage)).answer, "unknown");
  const { isDegraded, lastError, bound } = stage.link.state();
  assert.deepEqual([isDegraded, lastError, bound], [false, null, ["transceiver"]]);
});

test("a message that does not fit a PDU throws, and nothing of it is written", async (t) => {
  const stage = await upLink(t);
  await assert.rejects(stage.link.submit(submitSm({ shortMessage: new Uint8Array(255) })), PduError);
  assert.equal(stage.smsc.of("submit_sm").length, 0);
});

test("the unanswered submits never exceed the window, and messages keep their order", async (t) => {
  const held: [Pdu, Caller][] = [];
  const stage = await upLink(t, politeBut({ submit_sm: (pdu, caller) => held.push([pdu, caller]) }), { windowSize: 3 });
  const results = numbered(10).map((pdu) => stage.link.submit(pdu));
  for (let answered = 0; answered < 10; answered += 1) {
    await until(() => held.length === Math.min(10, answered + 3));
    await turnsOfTheLoop();
    assert.equal(held.length, Math.min(10, answered + 3));
    const [pdu, caller] = held[answered] ?? assert.fail();
    caller.send(taken(pdu.sequence, `m${answered}`));
    assert.deepEqual(await results[answered], { answer: "ok", messageId: `m${answered}` });
  }
  assert.deepEqual(textsOf(stage.smsc), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test("no second has more submit_sm than the rate limit, and a queue drains in order at that rate", async (t) => {
  const stage = await upLink(t, polite, { throughputPerSecond: 10 });
  const results = numbered(50).map((pdu) => stage.link.submit(pdu));
  for (let seconds = 1; seconds <= 5; seconds += 1) {
    await stage.clock.advance(999);
    await until(() => stage.smsc.of("submit_sm").length === seconds * 10);
    await turnsOfTheLoop();
    assert.equal(stage.smsc.of("submit_sm").length, seconds * 10);
    assert.equal(stage.link.isAtLimit, seconds < 5);
    await stage.clock.advance(1);
  }
  assert.ok((await Promise.all(results)).every(({ answer }) => answer === "ok"));
  assert.deepEqual(
    textsOf(stage.smsc),
    Array.from({ length: 50 }, (_, at) => at),
  );
});

test("during a pause nothing is written, then the queue goes in order", async (t) => {
  const stage = await upLink(t);
  stage.link.pause(5_000);
  const results = numbered(3).map((pdu) => stage.link.submit(pdu));
  await stage.clock.advance(4_999);
  await turnsOfTheLoop();
  assert.equal(stage.smsc.of("submit_sm").length, 0);
  await stage.clock.advance(1);
  await Promise.all(results);
  assert.deepEqual(textsOf(stage.smsc), [0, 1, 2]);
});

test("a message that could not be written within 20 s is notSent, and is never written later", async (t) => {
  const stage = await upLink(t, politeBut({ submit_sm() {} }), { windowSize: 1, responseTimeoutMs: 60_000 });
  const first = submit(stage);
  const second = submit(stage);
  await stage.clock.advance(5_000);
  const third = submit(stage);
  let isThirdOver = false;
  void third.then(() => (isThirdOver = true));
  await stage.clock.advance(15_000);
  const reason = "the window or the rate limit of the bind left no room";
  assert.deepEqual(await second, { answer: "notSent", reason, isDown: false });
  assert.equal(isThirdOver, false);
  await stage.clock.advance(5_000);
  assert.equal((await third).answer, "notSent");
  const [{ sequence } = assert.fail()] = stage.smsc.of("submit_sm");
  stage.smsc.last().send(taken(sequence));
  assert.equal((await first).answer, "ok");
  await turnsOfTheLoop();
  assert.equal(stage.smsc.of("submit_sm").length, 1);
});

test("when the connection breaks, written messages are unknown, waiting and later ones are notSent", async (t) => {
  const stage = await upLink(t, politeBut({ submit_sm() {} }), { windowSize: 2 });
  const results = numbered(5).map((pdu) => stage.link.submit(pdu));
  await until(() => stage.smsc.of("submit_sm").length === 2);
  stage.smsc.last().socket.destroy();
  const answers = (await Promise.all(results)).map((submitted) => ({ ...submitted, reason: "" }));
  const unknown = { answer: "unknown", reason: "" };
  const notSent = { answer: "notSent", reason: "", isDown: true };
  assert.deepEqual(answers, [unknown, unknown, notSent, notSent, notSent]);
  assert.deepEqual(await submit(stage), {
    answer: "notSent",
    reason: "the SMSC closed the connection",
    isDown: true,
  });
  assert.deepEqual(stage.ups, [true, false]);
});

test("a broken connection is bound again, and messages go on; nothing is written twice", async (t) => {
  const stage = await upLink(t);
  await submit(stage);
  for (let count = 2; count <= 4; count += 1) {
    stage.smsc.last().socket.destroy();
    await until(() => !stage.link.isUp);
    await stage.clock.advance(60_000);
    await until(() => stage.link.isUp);
    assert.equal(stage.smsc.callers.length, count);
    assert.deepEqual(await submit(stage), { answer: "ok", messageId: "id-1" });
  }
  assert.equal(stage.smsc.of("submit_sm").length, 4);
  assert.deepEqual(stage.ups, [true, false, true, false, true, false, true]);
});

test("a refused bind is retried after 1 s, 2 s, 4 s and so on up to 60 s, and its fault is reported once", async (t) => {
  const refuse: Script = (pdu, caller) => caller.send(bindResp(pdu as Bind, 0x0e));
  const { link, smsc, clock, faults, ups } = await startLink(t, refuse);
  for (const [tries, waitMs] of [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000].entries()) {
    await until(() => smsc.callers.length === tries + 1 && link.state().lastError !== null && smsc.last().isClosed);
    await clock.advance(waitMs - 1);
    await turnsOfTheLoop();
    assert.equal(smsc.callers.length, tries + 1);
    await clock.advance(1);
  }
  const words = "transceiver: the SMSC refuses the bind: invalid password (ESME_RINVPASWD 0x0E)";
  assert.equal(link.state().lastError, words);
  assert.deepEqual([faults, ups, link.state().bound], [[words], [], []]);
  smsc.script = polite;
  await until(async () => {
    await clock.advance(1_000);
    return link.isUp;
  });
  assert.deepEqual([link.state().lastError, ups], [null, [true]]);
});

test("jitter shortens the waits by up to a half, so that many links do not reconnect at once", async (t) => {
  const smsc = await scriptedSmsc(t, { script: (pdu, caller) => caller.send(bindResp(pdu as Bind, 0x0d)) });
  const clock = new SimulatedClock();
  const settings: LinkSettings = {
    ...settingsFor(smsc.port),
    bindMode: "transceiver",
    windowSize: 1,
    throughputPerSecond: null,
  };
  const link = new SmscLink(settings, { deliver: async () => 0, changed() {}, fault() {} }, clock, () => 0.5);
  link.start();
  await until(() => link.state().lastError !== null && smsc.last().isClosed && clock.pending === 1);
  assert.equal((clock.nextAt ?? 0) - clock.real(), 750);
  await link.stop(5_000);
});

test("links of different accounts that fail at the same moment wait for different times", async (t) => {
  const smsc = await scriptedSmsc(t, { script: (pdu, caller) => caller.send(bindResp(pdu as Bind, 0x0d)) });
  const waits = new Set<number>();
  for (const systemId of ["a", "b", "c", "d"]) {
    const clock = new SimulatedClock();
    const settings: LinkSettings = {
      ...settingsFor(smsc.port, { systemId }),
      bindMode: "transceiver",
      windowSize: 1,
      throughputPerSecond: null,
    };
    const link = new SmscLink(settings, { deliver: async () => 0, changed() {}, fault() {} }, clock);
    link.start();
    await until(() => link.state().lastError !== null && smsc.last().isClosed && clock.pending === 1);
    const waitMs = (clock.nextAt ?? 0) - clock.real();
    assert.ok(waitMs >= 500 && waitMs <= 1_000, `${waitMs} ms`);
    waits.add(waitMs);
    await link.stop(5_000);
  }
  assert.ok(waits.size > 1);
});

test("the waits are reset after a bind of 10 s, and only after such a bind", async (t) => {
  const stage = await upLink(t);
  const nextWait = async () => {
    stage.smsc.last().socket.destroy();
    await until(() => !stage.link.isUp && stage.clock.pending === 1);
    const waitMs = (stage.clock.nextAt ?? 0) - stage.clock.real();
    await stage.clock.advance(waitMs);
    await until(() => stage.link.isUp);
    return waitMs;
  };
  assert.deepEqual([await nextWait(), await nextWait(), await nextWait()], [1_000, 2_000, 4_000]);
  await stage.clock.advance(10_000);
  assert.equal(await nextWait(), 1_000);
});

test("a pair is a transmitter and a receiver on two connections; without its receiver it is up and degraded", async (t) => {
  const script = politeBut({ bind_receiver: (pdu, caller) => caller.send(bindResp(pdu as Bind, 0x05)) });
  const stage = await upLink(t, script, { bindMode: "pair" });
  const { link, smsc, clock } = stage;
  await until(() => link.state().lastError !== null);
  const degraded = link.state();
  assert.deepEqual([degraded.bound, degraded.isDegraded], [["transmitter"], true]);
  assert.equal(
    degraded.lastError,
    "receiver: the SMSC refuses the bind: already bound: the account has no session left (ESME_RALYBND 0x05)",
  );
  assert.equal((await submit(stage)).answer, "ok");
  smsc.script = polite;
  await clock.advance(1_000);
  await until(() => link.state().bound.length === 2);
  assert.deepEqual([link.state().isDegraded, link.state().lastError, stage.ups], [false, null, [true]]);
  const kinds = smsc.callers.map((caller) => caller.received.map(({ command }) => command)[0]).sort();
  assert.deepEqual(kinds, ["bind_receiver", "bind_receiver", "bind_transmitter"]);
});

test("a pair without its transmitter is down", async (t) => {
  const script = politeBut({ bind_transmitter: (pdu, caller) => caller.send(bindResp(pdu as Bind, 0x0d)) });
  const stage = await startLink(t, script, { bindMode: "pair" });
  await until(() => stage.link.state().bound.length === 1 && stage.link.state().lastError !== null);
  const { bound, isDegraded } = stage.link.state();
  assert.deepEqual([stage.link.isUp, bound, isDegraded], [false, ["receiver"], false]);
  assert.deepEqual({ ...(await submit(stage)), reason: "" }, { answer: "notSent", reason: "", isDown: true });
});

test("before the first bind a message is notSent, down", async (t) => {
  const stage = await startLink(t, () => {});
  assert.deepEqual(await submit(stage), { answer: "notSent", reason: "the SMSC is not bound", isDown: true });
});

test("stop() waits for open responses, returns waiting messages as notSent, unbinds and accepts no more", async (t) => {
  const stage = await upLink(t, politeBut({ submit_sm() {} }), { windowSize: 1, bindMode: "pair" });
  await until(() => stage.link.state().bound.length === 2);
  const written = submit(stage);
  const waiting = submit(stage);
  await until(() => stage.smsc.of("submit_sm").length === 1);
  const stopped = stage.link.stop(5_000);
  assert.deepEqual(await waiting, { answer: "notSent", reason: "the link to the SMSC is being closed", isDown: true });
  assert.equal((await submit(stage)).answer, "notSent");
  const [{ sequence } = assert.fail()] = stage.smsc.of("submit_sm");
  stage.smsc.callers.find((caller) => caller.of("submit_sm").length > 0)?.send(taken(sequence, "last"));
  assert.deepEqual(await written, { answer: "ok", messageId: "last" });
  await stopped;
  await until(() => stage.smsc.callers.every(({ isClosed }) => isClosed));
  assert.equal(stage.smsc.of("unbind").length, 2);
  assert.equal(stage.link.isUp, false);
});

test("stop() ends a link that is connecting, waiting to reconnect or bound to a dead peer", async (t) => {
  const connecting = await startLink(t, () => {});
  await connecting.link.stop(5_000);
  assert.equal(connecting.clock.pending, 0);
  const refused = await startLink(t, (pdu, caller) => caller.send(bindResp(pdu as Bind, 0x0d)));
  await until(() => refused.link.state().lastError !== null && refused.smsc.last().isClosed);
  await refused.link.stop(5_000);
  assert.equal(refused.clock.pending, 0);
  const dead = await upLink(t, politeBut({ submit_sm() {}, unbind() {} }));
  const written = submit(dead);
  await until(() => dead.smsc.of("submit_sm").length === 1);
  const stopped = dead.link.stop(5_000);
  await dead.clock.advance(5_000);
  await until(() => dead.smsc.of("unbind").length === 1);
  await dead.clock.advance(2_000);
  await stopped;
  assert.equal((await written).answer, "unknown");
});

test("`since` is when the link last went up or down", async (t) => {
  const stage = await upLink(t);
  const { since } = stage.link.state();
  await stage.clock.advance(500);
  stage.smsc.last().socket.destroy();
  await until(() => !stage.link.isUp);
  assert.equal(stage.link.state().since, since + 500);
});

test("no message is submitted once another process runs the instance", async (t) => {
  let mayWrite = true;
  const stage = await startLink(t, polite, {}, () => mayWrite);
  await until(() => stage.link.isUp, { what: "the bind" });
  assert.equal((await submit(stage)).answer, "ok");
  mayWrite = false;
  const refused = await submit(stage);
  assert.deepEqual(refused, {
    answer: "notSent",
    reason: "another process runs the instance by now",
    isDown: true,
  });
  assert.equal(stage.smsc.of("submit_sm").length, 1);
});
