/** The instance against a message centre with another codec, in real time: sends, outcomes and receipts. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Disk, OWN, smppStage as stage, startInstance, TO } from "../../../test/support/smsc/instance.ts";
import { deliverSm } from "../../../test/support/smsc/pdus.ts";
import { politeBut, scriptedSmsc } from "../../../test/support/smsc/scripted.ts";
import { hasSmsc, startSmsc } from "../../../test/support/smsc/smsc.ts";
import { until } from "../../../test/support/wait.ts";

test("a message arrives as the other codec decodes it, and its receipt is reported with the carrier's id", async (t) => {
  const at = await stage(t, { config: { systemType: "VMA" } });
  if (at === null) return;
  const { smsc, instance } = at;
  const outcome = await instance.send(`${TO}00`, "{€} @£");
  assert.deepEqual(outcome, { outcome: "accepted", reference: "1000", segments: 1, encoding: "GSM-7" });
  assert.equal((await instance.receipt("1000")).receipt, "delivered");
  const [seen] = smsc.submits;
  assert.equal(seen?.octets, "1b281b651b29200001");
  assert.deepEqual([seen?.source_addr_ton, seen?.source_addr_npi, seen?.source_addr], [1, 1, OWN.slice(1)]);
  assert.deepEqual([seen?.dest_addr_ton, seen?.dest_addr_npi, seen?.destination_addr], [1, 1, `${TO}00`.slice(1)]);
  assert.deepEqual([seen?.data_coding, seen?.esm_class, seen?.registered_delivery], [0, 0, 1]);
  assert.match(seen?.user_message_reference ?? "", /^[0-9a-f]{4}$/);
  const bind = smsc.seen.find(({ event }) => event === "bind");
  assert.deepEqual([bind?.mode, bind?.system_type, bind?.version], ["transceiver", "VMA", 0x34]);
  await until(() => smsc.seen.some(({ event, status }) => event === "taken" && status === 0));
  assert.equal(instance.disk.size, 0, "a plain message needs no memory");
  assert.deepEqual(instance.faults, []);
});

test("every form of receipt is understood: parameters, text, any case, payload, unflagged, other base", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { instance } = at;
  for (const kind of ["23", "24", "25", "26"]) {
    const reference = await instance.accepted(TO + kind);
    assert.equal((await instance.receipt(reference)).receipt, "delivered", kind);
  }
  const hex = await stage(t, { config: { messageIdBase: "hexThenDecimal" } }, { "first-id": 0xabc });
  const reference = await hex?.instance.accepted(`${TO}16`);
  assert.equal(reference, "2748");
  assert.equal((await hex?.instance.receipt("2748"))?.receipt, "delivered");
});

test("a failure is reported with the carrier's code, and an intermediate state is not reported", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { instance } = at;
  for (const [kind, word, code] of [
    ["03", "EXPIRED", "043"],
    ["05", "UNDELIVERABLE", "045"],
    ["08", "REJECTED", "048"],
  ] as const) {
    const receipt = await instance.receipt(await instance.accepted(TO + kind));
    assert.deepEqual([receipt.receipt, receipt.code], ["failed", code]);
    assert.match(receipt.reason ?? "", new RegExp(`${word}, error ${code}`));
  }
  const reference = await instance.accepted(`${TO}01`);
  await instance.receipt(reference);
  assert.deepEqual(instance.receiptsOf(reference), ["delivered"]);
});

test("a receipt that comes before its response waits for it", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { smsc, instance } = at;
  let tries = 0;
  instance.onSignal = (signal) => {
    tries += 1;
    return instance.appliedOf(signal);
  };
  const reference = await instance.accepted(`${TO}99`);
  assert.ok(tries > 0, "the receipt came no earlier than the response");
  assert.equal(smsc.seen.filter(({ event }) => event === "taken").length, 0, "it was answered before it was on disk");
  assert.equal((await instance.receipt(reference)).receipt, "delivered");
});

test("more early receipts than a session may have open block nothing", async (t) => {
  // On a slow machine the SMSC must not repeat them meanwhile.
  const at = await stage(t, { config: { windowSize: 300 } }, { "again-ms": 60_000 });
  if (at === null) return;
  const { instance } = at;
  const references = await Promise.all(Array.from({ length: 300 }, () => instance.accepted(`${TO}99`)));
  const isReported = () => references.every((reference) => instance.receiptsOf(reference).length === 1);
  await until(isReported, { what: "the receipts", limitMs: 60_000 });
  await until(() => instance.disk.size === 0);
});

test("the SMSC's response decides the outcome of the message", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { smsc, instance } = at;
  assert.deepEqual(await instance.send(`${TO}11`), {
    outcome: "rejected",
    code: "ESME_RINVDSTADR",
    reason: "the SMSC refuses it: invalid destination address (ESME_RINVDSTADR 0x0B)",
  });
  const full = await instance.send(`${TO}14`);
  assert.deepEqual([full.outcome, "retryAfterMs" in full && full.retryAfterMs], ["deferred", null]);
  const dropped = await instance.send(`${TO}66`);
  assert.equal(dropped.outcome, "unknown");
  await until(() => instance.provider.isUp === false);
  const down = await instance.send(`${TO}00`);
  assert.ok(down.outcome === "deferred" && down.isDown === true);
  assert.equal(smsc.submits.length, 3, "while it was down nothing went out");
});

test("throttling stops all messages for a while, and then they go on", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { smsc, instance } = at;
  const message = instance.message(`${TO}58`);
  const abort = new AbortController().signal;
  for (const waitMs of [1_000, 2_000]) {
    assert.deepEqual(await instance.provider.send(message, abort), {
      outcome: "deferred",
      retryAfterMs: waitMs,
      reason: "the SMSC refuses it: too many messages at once (ESME_RTHROTTLED 0x58)",
    });
    const health = await instance.provider.health();
    assert.equal(health.status, "degraded");
    assert.match(health.message ?? "", /sent too fast: set throughputPerSecond/);
  }
  const before = smsc.submits.at(-1)?.at ?? 0;
  await instance.accepted(`${TO}00`);
  assert.ok((smsc.submits.at(-1)?.at ?? 0) - before >= 1.9, "it did not wait");
  assert.equal((await instance.provider.send(message, abort)).outcome, "accepted");
});

test("a message without a response is unknown, and a receipt with our user reference proves that it was sent", async (t) => {
  const at = await stage(t, { config: { responseTimeoutSeconds: 1 } });
  if (at === null) return;
  const { instance } = at;
  const lost = await instance.send(`${TO}77`);
  assert.deepEqual(lost, { outcome: "unknown", reason: "the SMSC did not answer within 1 seconds" });
  assert.match((await instance.provider.health()).message ?? "", /The last message got no response/);
  const message = instance.message(`${TO}78`);
  assert.equal((await instance.provider.send(message, new AbortController().signal)).outcome, "unknown");
  const receipt = await until(() => instance.receipts.find(({ messageId }) => messageId === message.messageId));
  assert.equal(receipt.receipt, "delivered");
});

test("if the SMSC gives all messages the same id or none, each gets a reference of our own, and the user reference tells them apart", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { instance } = at;
  for (const kind of ["02", "15"]) {
    const references = await Promise.all([1, 2, 3].map(() => instance.accepted(TO + kind)));
    assert.equal(new Set(references).size, 3);
    for (const reference of references) {
      assert.match(reference, /^tb:/);
      assert.equal((await instance.receipt(reference)).receipt, "delivered");
    }
  }
  await until(() => instance.disk.size === 0, { what: "the memory being empty again" });
});

test("user references differ among all messages in flight", async (t) => {
  const at = await stage(t, { config: { windowSize: 50 } });
  if (at === null) return;
  const { smsc, instance } = at;
  await Promise.all(Array.from({ length: 100 }, () => instance.accepted(`${TO}06`)));
  await until(() => smsc.submits.length === 100);
  assert.equal(new Set(smsc.submits.map((submit) => submit.user_message_reference)).size, 100);
});

test("a refused bind is explained in words, and nothing is sent", async (t) => {
  const at = await stage(t, { config: { password: "wrong" }, waits: false });
  if (at === null) return;
  const { smsc, instance } = at;
  const unwell = await until(async () => {
    const health = await instance.provider.health();
    return /invalid password/.test(health.message ?? "") ? health : null;
  });
  assert.equal(unwell.status, "unhealthy");
  assert.match(
    unwell.message ?? "",
    /^Not connected to 127\.0\.0\.1:\d+ since .*: transceiver: the SMSC refuses the bind: invalid password \(ESME_RINVPASWD 0x0E\)\.$/,
  );
  const outcome = await instance.send(`${TO}00`);
  assert.ok(outcome.outcome === "deferred" && outcome.isDown === true);
  assert.equal(smsc.submits.length, 0);
});

test("a pair sends over one connection and receives over the other", async (t) => {
  const at = await stage(t, { config: { bindMode: "pair" } });
  if (at === null) return;
  const { smsc, instance } = at;
  const reference = await instance.accepted(`${TO}00`);
  assert.equal((await instance.receipt(reference)).receipt, "delivered");
  const modes = smsc.seen.filter(({ event }) => event === "bind").map(({ mode }) => mode);
  assert.deepEqual(modes.sort(), ["receiver", "transmitter"]);
  assert.equal((await instance.provider.health()).status, "healthy");
});

test("after the SMSC was killed and is back, messages are sent again", async (t) => {
  if (!hasSmsc(t)) return;
  const first = await startSmsc();
  t.after(() => first.kill());
  const instance = await startInstance(t, first.port);
  await instance.accepted(`${TO}06`);
  await first.kill();
  await until(() => instance.provider.isUp === false);
  const second = await startSmsc({ port: first.port, "first-id": 2_000 });
  t.after(() => second.kill());
  await until(() => instance.provider.isUp === true);
  assert.equal((await instance.receipt(await instance.accepted(`${TO}00`))).receipt, "delivered");
});

test("a session that the SMSC unbinds is bound again, and stop() unbinds", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { smsc, instance } = at;
  await smsc.order({ do: "alert" });
  await smsc.order({ do: "unbind" });
  await until(() => smsc.seen.filter(({ event }) => event === "bind").length === 2);
  await until(() => instance.provider.isUp === true);
  await instance.provider.stop();
  assert.ok(smsc.seen.some(({ event }) => event === "unbind"));
  assert.equal((await instance.send(`${TO}00`)).outcome, "deferred");
  assert.equal((await instance.provider.health()).status, "unhealthy");
});

test("an aborted send is unknown at once, and reported as sent once the SMSC has accepted it", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { smsc, instance } = at;
  const message = instance.message(`${TO}04`);
  const abort = new AbortController();
  const sending = instance.provider.send(message, abort.signal);
  await until(() => smsc.submits.length === 1);
  abort.abort();
  assert.equal((await sending).outcome, "unknown");
  const sent = await until(() => instance.receipts[0]);
  assert.deepEqual([sent.receipt, sent.messageId, sent.reference], ["sent", message.messageId, smsc.submits[0]?.id]);
});

test("a restart loses no receipt: the SMSC repeats the ones that were not stored", async (t) => {
  const disk = new Disk();
  const at = await stage(t, { disk });
  if (at === null) return;
  const { smsc, instance } = at;
  instance.onSignal = () => Promise.reject(new Error("the store is busy"));
  const references = [await instance.accepted(`${TO}00`), await instance.accepted(`${TO}05`)];
  await until(() => disk.size === 2, { what: "both receipts being kept" });
  await instance.provider.stop();
  const next = await startInstance(t, smsc.port, { disk });
  for (const reference of references) next.references.add(reference);
  for (const reference of references) await next.receipt(reference);
  assert.deepEqual(
    references.map((reference) => next.receiptsOf(reference)),
    [["delivered"], ["failed"]],
  );
  await until(() => disk.size === 0);
});

test("receipts that come over another session of the account find their message, of one part and of several", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { smsc, instance } = at;
  // The message centre sends everything over the newest bind.
  const newer = await startInstance(t, smsc.port);
  const long = "0123456789".repeat(40);
  for (const text of ["Hello", long]) {
    const reference = await instance.accepted(`${TO}00`, text);
    assert.equal((await instance.receipt(reference)).receipt, "delivered");
  }
  assert.deepEqual([newer.receipts, instance.disk.size], [[], 0]);
});

test("two accounts do not share receipts, at one SMSC or with one name", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { smsc, instance } = at;
  const elsewhere = await stage(t, {}, { "first-id": 1_000 });
  assert.ok(elsewhere !== null);
  const reference = await instance.accepted(`${TO}06`);
  const short_message = Buffer.from(`id:${reference} stat:DELIVRD err:000`).toString("hex");
  await elsewhere.smsc.deliver(TO.slice(1), OWN.slice(1), { esm_class: 4, short_message });
  await until(() => elsewhere.instance.disk.size === 1, { what: "the receipt being held" });
  assert.deepEqual([smsc.submits.length, instance.receipts], [1, []]);
});

test("PDUs that arrive during stop() are handled, since a refused one may never come again", async (t) => {
  const smsc = await scriptedSmsc(t);
  const instance = await startInstance(t, smsc.port);
  const reference = await instance.accepted(`${TO}00`);
  const shortMessage = Buffer.from(`id:${reference} stat:DELIVRD err:000`);
  const late = [deliverSm({ sequence: 0 }), deliverSm({ sequence: 1, esmClass: 4, shortMessage })];
  let bye: number | null = null;
  smsc.script = politeBut({
    unbind: ({ sequence }, caller) => {
      bye = sequence;
      for (const pdu of late) caller.send(pdu);
    },
    deliver_sm_resp: (_, caller) => {
      const isLast = caller.of("deliver_sm_resp").length === late.length;
      if (isLast && bye !== null) caller.send({ command: "unbind_resp", status: 0, sequence: bye });
    },
  });
  await instance.provider.stop();
  assert.deepEqual(
    smsc.of("deliver_sm_resp").map(({ status }) => status),
    [0, 0],
  );
  assert.deepEqual([instance.inbound.map(({ text }) => text), instance.receiptsOf(reference)], [["Yo"], ["delivered"]]);
});

test("stop() ends once the outcome of a send that was aborted is on disk", async (t) => {
  const smsc = await scriptedSmsc(t, { script: politeBut({ submit_sm() {} }) });
  const disk = new Disk();
  const write = disk.write.bind(disk);
  disk.write = async (change) => {
    for (let turns = 0; turns < 20; turns += 1) await setImmediate();
    await write(change);
  };
  const instance = await startInstance(t, smsc.port, { disk });
  const abort = new AbortController();
  const sending = instance.provider.send(instance.message(`${TO}00`), abort.signal);
  await until(() => smsc.of("submit_sm").length === 1);
  abort.abort();
  assert.equal((await sending).outcome, "unknown");
  const stopping = instance.provider.stop();
  smsc.last().socket.destroy();
  await stopping;
  assert.equal(disk.size, 1);
});
