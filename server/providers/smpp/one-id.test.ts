/** Carriers that give all parts of a message one id, and send one receipt for all of them. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Disk, type InstanceOptions, startInstance, TO } from "../../../test/support/smsc/instance.ts";
import { deliverSm } from "../../../test/support/smsc/pdus.ts";
import { type Caller, politeBut, type ScriptedSmsc, scriptedSmsc } from "../../../test/support/smsc/scripted.ts";
import { taken } from "../../../test/support/smsc/session.ts";
import { until } from "../../../test/support/wait.ts";

const THREE_PARTS = "0123456789".repeat(40);
const ID = "one-for-all";

/** An SMSC that accepts every part with the same id, and an instance that is bound to it. */
async function stage(t: TestContext, more: InstanceOptions = {}) {
  const smsc = await scriptedSmsc(t, {
    script: politeBut({ submit_sm: ({ sequence }, caller) => caller.send(taken(sequence, ID)) }),
  });
  return { smsc, instance: await startInstance(t, smsc.port, more) };
}

function report(caller: Caller, sequence: number, state: string): void {
  const text = `id:${ID} sub:003 dlvrd:003 submit date:2601010000 done date:2601010000 stat:${state} err:000 text:`;
  caller.send(deliverSm({ sequence, esmClass: 0x04, shortMessage: Buffer.from(text, "latin1") }));
}

function answers({ of }: ScriptedSmsc): number {
  return of("deliver_sm_resp").length;
}

test("parts with the same id count as one: one receipt delivers the message, and no note is left", async (t) => {
  const { smsc, instance } = await stage(t);
  const reference = await instance.accepted(`${TO}01`, THREE_PARTS);
  assert.deepEqual([reference, smsc.of("submit_sm").length, instance.disk.size], [ID, 3, 0]);
  report(smsc.last(), 1, "DELIVRD");
  assert.equal((await instance.receipt(ID)).receipt, "delivered");
  report(smsc.last(), 2, "DELIVRD");
  await until(() => answers(smsc) === 2, { what: "the answer to the repeated receipt" });
  assert.deepEqual([...new Set(instance.receiptsOf(ID))], ["delivered"]);
});

test("one failed receipt of the shared id fails the message", async (t) => {
  const { smsc, instance } = await stage(t);
  await instance.accepted(`${TO}01`, THREE_PARTS);
  report(smsc.last(), 1, "UNDELIV");
  assert.equal((await instance.receipt(ID)).receipt, "failed");
});

test("the receipt of a shared id is recognised after a restart", async (t) => {
  const disk = new Disk();
  const { smsc, instance } = await stage(t, { disk });
  await instance.accepted(`${TO}01`, THREE_PARTS);
  await instance.provider.stop();
  const next = await startInstance(t, smsc.port, { disk });
  next.references.add(ID);
  report(smsc.last(), 1, "DELIVRD");
  assert.equal((await next.receipt(ID)).receipt, "delivered");
});
