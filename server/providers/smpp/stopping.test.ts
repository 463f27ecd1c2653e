/** stop() at each moment, under simulated time: known results are reported, and it ends in time. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { SimulatedClock } from "../../../test/support/clock.ts";
import {
  Disk,
  type InstanceOptions,
  startInstance,
  type TestInstance,
  TO,
} from "../../../test/support/smsc/instance.ts";
import { NO_TLVS } from "../../../test/support/smsc/pdus.ts";
import { type Caller, politeBut, type Script, scriptedSmsc } from "../../../test/support/smsc/scripted.ts";
import { taken } from "../../../test/support/smsc/session.ts";
import { until } from "../../../test/support/wait.ts";
import type { Outcome } from "../provider.ts";
import type { SubmitSm } from "./pdu.ts";

const LONG = "0123456789".repeat(40);
/** A service that was told to end has waited 25 of its 29.5 seconds for sends when it stops its instances. */
const AFTER_A_CUT_MS = 4_000;

/** An instance under simulated time, bound to an SMSC that reacts to each submit_sm as a test says. */
async function stage(
  t: TestContext,
  submit: (pdu: SubmitSm, caller: Caller) => void,
  more: Pick<InstanceOptions, "disk" | "config"> = {},
) {
  const clock = new SimulatedClock();
  const script = politeBut({ submit_sm: submit as Script });
  const smsc = await scriptedSmsc(t, { script });
  const instance = await startInstance(t, smsc.port, { ...more, clock });
  return { clock, smsc, instance };
}

/** Begins a send. */
function begin(instance: TestInstance, text: string) {
  const abort = new AbortController();
  const message = instance.message(`${TO}00`, text);
  const sending: Promise<Outcome> = instance.provider.send(message, abort.signal);
  return { abort, message, sending };
}

/** Runs the stop to its end, and returns how long it took by the clock. */
async function stopped(clock: SimulatedClock, instance: TestInstance): Promise<number> {
  const began = clock.real();
  let isOver = false;
  const stopping = instance.provider.stop().then(() => (isOver = true));
  await until(
    async () => {
      for (let turns = 0; turns < 20 && !isOver; turns += 1) await setImmediate();
      if (!isOver) await clock.advance(100);
      return isOver;
    },
    { what: "the end of the stop" },
  );
  await stopping;
  return clock.real() - began;
}

const MOMENTS: Record<string, (pdu: SubmitSm, caller: Caller) => void> = {
  "before the first part is answered": () => {},
  "between two parts": ({ sequence }, caller) => {
    if (caller.of("submit_sm").length === 1) caller.send(taken(sequence, "1"));
  },
  "while a part is put off": ({ sequence }, caller) => {
    const isFirst = caller.of("submit_sm").length === 1;
    if (isFirst) caller.send(taken(sequence, "1"));
    else caller.send({ command: "submit_sm_resp", status: 0x14, sequence, messageId: "", tlvs: NO_TLVS });
  },
};

for (const [moment, submit] of Object.entries(MOMENTS)) {
  test(`stop() after aborted sends leaves the service time to end, with a peer that hangs: ${moment}`, async (t) => {
    const { clock, smsc, instance } = await stage(t, submit);
    const { abort, sending } = begin(instance, LONG);
    await until(() => smsc.of("submit_sm").length >= (moment.startsWith("before") ? 1 : 3));
    abort.abort();
    assert.equal((await sending).outcome, "unknown");
    smsc.script = () => {};
    smsc.last().socket.pause();
    const tookMs = await stopped(clock, instance);
    assert.ok(tookMs <= AFTER_A_CUT_MS, `it took ${tookMs} ms`);
    assert.equal(clock.pending, 0);
  });
}

test("stop() after aborted sends leaves the service time to end, with a peer that is gone between two parts", async (t) => {
  const { clock, smsc, instance } = await stage(t, MOMENTS["between two parts"] ?? assert.fail(), {
    config: { throughputPerSecond: 1 },
  });
  const { abort, sending } = begin(instance, LONG);
  await until(() => smsc.of("submit_sm").length === 1);
  for (let turns = 0; turns < 20; turns += 1) await setImmediate();
  smsc.script = (_, caller) => void caller.socket.destroy();
  smsc.last().socket.destroy();
  await until(() => instance.provider.isUp === false);
  abort.abort();
  assert.equal((await sending).outcome, "unknown");
  const tookMs = await stopped(clock, instance);
  assert.ok(tookMs <= AFTER_A_CUT_MS, `it took ${tookMs} ms`);
  assert.equal(clock.pending, 0);
});

test("stop() gives sends with a waiting caller five seconds, and lets a message in parts go out whole before", async (t) => {
  for (const text of ["Hello", LONG]) {
    const late = (pdu: SubmitSm, caller: Caller) => {
      clock.after(2_000, () => caller.send(taken(pdu.sequence, `${caller.of("submit_sm").length}`)));
    };
    const { clock, smsc, instance } = await stage(t, (pdu, caller) => late(pdu, caller));
    const { sending } = begin(instance, text);
    await until(() => smsc.of("submit_sm").length === 1);
    const tookMs = await stopped(clock, instance);
    assert.equal((await sending).outcome, "accepted");
    assert.ok(tookMs < 5_000, `it took ${tookMs} ms`);
  }
});

/** Each write takes at least as long as the SMSC takes to answer an unbind. */
class SlowDisk extends Disk {
  override async put(key: string, value: string): Promise<void> {
    for (let turns = 0; turns < 200; turns += 1) await setImmediate();
    await super.put(key, value);
  }
}

for (const text of ["Hello", LONG]) {
  test(`a message that the SMSC accepts during stop() is reported as sent, though it was aborted and the disk is slow (${text.length})`, async (t) => {
    const held: [SubmitSm, Caller][] = [];
    const hold = (pdu: SubmitSm, caller: Caller) => void held.push([pdu, caller]);
    const { clock, smsc, instance } = await stage(t, hold, { disk: new SlowDisk() });
    const { abort, message, sending } = begin(instance, text);
    const answer = async (count: number) => {
      await until(() => held.length === count);
      for (const [{ sequence }, caller] of held.splice(0)) caller.send(taken(sequence, ""));
    };
    if (text === LONG) await answer(1);
    await until(() => held.length > 0);
    abort.abort();
    assert.equal((await sending).outcome, "unknown");
    const stopping = stopped(clock, instance);
    await answer(text === LONG ? 2 : 1);
    await stopping;
    assert.deepEqual(
      instance.receipts.map(({ receipt, messageId }) => [receipt, messageId]),
      [["sent", message.messageId]],
    );
    assert.equal(smsc.of("submit_sm").length, text === LONG ? 3 : 1);
  });
}

test("stop() while the SMSC unbinds still receives open responses", async (t) => {
  const held: [SubmitSm, Caller][] = [];
  const { clock, smsc, instance } = await stage(t, (pdu, caller) => void held.push([pdu, caller]));
  const { sending } = begin(instance, "Hello");
  await until(() => held.length === 1);
  const [[{ sequence }, caller] = assert.fail()] = held;
  caller.send({ command: "unbind", sequence: 1 });
  await until(() => smsc.of("unbind_resp").length === 1);
  const stopping = stopped(clock, instance);
  caller.send(taken(sequence, "last"));
  await stopping;
  const outcome = await sending;
  assert.deepEqual([outcome.outcome, "reference" in outcome && outcome.reference], ["accepted", "last"]);
});

test("stop() leaves no timer and no socket, also if the session has just ended and its peer does not close", async (t) => {
  const { clock, smsc, instance } = await stage(t, () => {});
  const caller = smsc.last();
  caller.socket.pause();
  caller.socket.write(Buffer.from([0, 0, 0, 1]));
  await until(() => instance.provider.isUp === false);
  await stopped(clock, instance);
  assert.equal(clock.pending, 0);
});
