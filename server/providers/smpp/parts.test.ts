/** Messages in several parts, against a message centre with another codec: submits, outcomes and receipts. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Disk, smppStage as stage, startInstance, TO } from "../../../test/support/smsc/instance.ts";
import type { SeenSubmit } from "../../../test/support/smsc/smsc.ts";
import { until } from "../../../test/support/wait.ts";
import { fromGsm } from "../../core/gsm.ts";

/** Three parts, an extension character across each boundary. */
const THREE = `${"a".repeat(152)}€${"b".repeat(151)}{${"c".repeat(20)}`;

/** The text that the recipient's phone would show: the parts joined in order. */
function shown(submits: readonly SeenSubmit[]): string {
  const parts = [...submits].sort((a, b) => a.part - b.part).map(({ octets }) => Buffer.from(octets, "hex"));
  const octets = Buffer.concat(parts);
  switch (submits[0]?.data_coding) {
    case 0:
      return fromGsm(octets);
    case 3:
      return octets.toString("latin1");
    default:
      return octets.swap16().toString("utf16le");
  }
}

const FORMS: [string, string, string, number][] = [
  ["GSM-7 with extension characters at each boundary", THREE, "GSM-7", 3],
  ["emoji at a boundary", `${"ą".repeat(66)}👋${"ę".repeat(80)}👨‍👩‍👧`, "UCS-2", 3],
  ["ten segments", "0123456789".repeat(150), "GSM-7", 10],
  ["Latin-1", "façade".repeat(30), "Latin-1", 2],
];

for (const [way, config] of [
  ["a header of 8 bits", {}],
  ["a header of 16 bits", { udhReferenceBits: 16 }],
  ["sar parameters", { longMessages: "sar" }],
] as const) {
  test(`every form arrives whole by ${way}, in order, one reference for all its parts`, async (t) => {
    const at = await stage(t, { config: { ...config, latin1: true } });
    if (at === null) return;
    const { smsc, instance } = at;
    for (const [what, text, encoding, segments] of FORMS) {
      smsc.submits.length = 0;
      const outcome = await instance.send(`${TO}06`, text);
      assert.ok(outcome.outcome === "accepted", what);
      await until(() => smsc.submits.length >= segments);
      assert.deepEqual([outcome.encoding, outcome.segments, smsc.submits.length], [encoding, segments, segments], what);
      assert.equal(shown(smsc.submits), text, what);
      assert.deepEqual(
        smsc.submits.map(({ part }) => part),
        smsc.submits.map((_, index) => index + 1),
        what,
      );
      assert.ok(
        smsc.submits.every(({ total }) => total === segments),
        what,
      );
      const common = smsc.submits.map(
        (seen) => seen.sar_msg_ref_num ?? seen.short_message.slice(6, "udhReferenceBits" in config ? 10 : 8),
      );
      assert.equal(new Set(common).size, 1, what);
      assert.equal(outcome.reference, smsc.submits[0]?.id, "the name is the first part's id");
    }
  });
}

test("every form arrives whole by payload, in one PDU", async (t) => {
  const at = await stage(t, { config: { longMessages: "payload", latin1: true } });
  if (at === null) return;
  const { smsc, instance } = at;
  for (const [what, text, encoding, segments] of FORMS) {
    smsc.submits.length = 0;
    const outcome = await instance.send(`${TO}00`, text);
    assert.ok(outcome.outcome === "accepted", what);
    await until(() => smsc.submits.length > 0);
    assert.deepEqual([outcome.encoding, outcome.segments, smsc.submits.length], [encoding, segments, 1], what);
    assert.equal(shown(smsc.submits), text, what);
    assert.equal(smsc.submits[0]?.short_message, "");
    assert.equal((await instance.receipt(outcome.reference)).receipt, "delivered");
  }
});

test("a message is delivered when all its parts are, and that is reported once", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { smsc, instance } = at;
  const reference = await instance.accepted(`${TO}00`, THREE);
  assert.equal(instance.disk.size, 1);
  assert.equal((await instance.receipt(reference)).receipt, "delivered");
  await until(() => smsc.seen.filter(({ event }) => event === "taken").length === 3);
  assert.deepEqual(instance.receiptsOf(reference), ["delivered"]);
  assert.equal(instance.disk.size, 0, "nothing of it is kept");
});

test("receipts of parts that come twice, or before the responses, change nothing more", async (t) => {
  for (const kind of ["20", "99", "22"]) {
    const at = await stage(t);
    if (at === null) return;
    const { smsc, instance } = at;
    const reference = await instance.accepted(TO + kind, THREE);
    assert.equal((await instance.receipt(reference)).receipt, "delivered", kind);
    await until(() => smsc.seen.filter(({ event, status }) => event === "taken" && status === 0).length >= 3);
    assert.deepEqual(instance.receiptsOf(reference), ["delivered"], kind);
  }
});

test("a message with one failed part is failed, whatever the others say before and after", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { smsc, instance } = at;
  const reference = await instance.accepted(`${TO}21`, THREE);
  await until(() => smsc.seen.filter(({ event, status }) => event === "taken" && status === 0).length === 3);
  await until(() => instance.disk.size === 1, { what: "the message alone being kept" });
  assert.equal(instance.receiptsOf(reference).includes("delivered"), false);
  const [failed] = instance.receipts;
  assert.deepEqual([failed?.receipt, failed?.code], ["failed", "045"]);
});

test("a restart between the receipts of the parts loses none of them", async (t) => {
  const disk = new Disk();
  const at = await stage(t, { disk }, { "receipt-ms": 0 });
  if (at === null) return;
  const { smsc, instance } = at;
  const reference = await instance.accepted(`${TO}06`, THREE);
  const ids = (await until(() => (smsc.submits.length === 3 ? smsc.submits : null))).map(({ id }) => id);
  await instance.provider.stop();
  const lives = [instance];
  for (const id of ids) {
    const life = await startInstance(t, smsc.port, { disk });
    lives.push(life);
    const before = smsc.seen.filter(({ event }) => event === "taken").length;
    await smsc.deliver(TO, "15550000001", {
      esm_class: 4,
      short_message: Buffer.from(`id:${id} stat:DELIVRD err:000`).toString("hex"),
    });
    await until(() => smsc.seen.filter(({ event }) => event === "taken").length > before);
    await life.provider.stop();
  }
  const reported = lives.flatMap((life) => life.receiptsOf(reference));
  assert.deepEqual(reported, ["delivered"]);
  assert.equal(disk.size, 0);
});

test("a deferred part is retried alone, and no accepted part is sent twice", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { smsc, instance } = at;
  const reference = await instance.accepted(`${TO}13`, THREE);
  await until(() => smsc.submits.length >= 4);
  assert.deepEqual(
    smsc.submits
      .filter(({ status }) => status === 0)
      .map(({ part }) => part)
      .sort(),
    [1, 2, 3],
  );
  assert.equal(smsc.submits.filter(({ status }) => status !== 0).length, 1);
  assert.equal((await instance.receipt(reference)).receipt, "delivered");
});

test("if the first part is refused, the outcome is that nothing was sent", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { smsc, instance } = at;
  assert.equal((await instance.send(`${TO}11`, THREE)).outcome, "rejected");
  assert.equal((await instance.send(`${TO}14`, THREE)).outcome, "deferred");
  await instance.accepted(`${TO}06`);
  await until(() => smsc.submits.at(-1)?.destination_addr.endsWith("06"));
  assert.equal(smsc.submits.length, 3);
});

test("if a later part is refused for good, the outcome is unknown, with the reason", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { smsc, instance } = at;
  const outcome = await instance.send(`${TO}12`, THREE);
  assert.deepEqual(outcome, {
    outcome: "unknown",
    reason:
      "not all of 3 parts were accepted; part 2: the SMSC refuses it: invalid destination address (ESME_RINVDSTADR 0x0B)",
  });
  await until(() => smsc.seen.filter(({ event, status }) => event === "taken" && status === 0).length === 2);
  assert.deepEqual(instance.receipts, [], "two delivered parts are no delivered message");
  assert.equal(smsc.submits.length, 3, "nothing was tried twice");
});

test("after a reconnect between two parts the sender goes on with the rest", async (t) => {
  const at = await stage(t, { config: { throughputPerSecond: 2, windowSize: 4 } });
  if (at === null) return;
  const { smsc, instance } = at;
  const sending = instance.send(`${TO}06`, THREE);
  await until(() => smsc.submits.length === 1);
  await smsc.order({ do: "drop" });
  const outcome = await sending;
  assert.equal(outcome.outcome, "accepted");
  await until(() => smsc.submits.length >= 3);
  assert.deepEqual(
    smsc.submits.map(({ part }) => part),
    [1, 2, 3],
  );
});

test("a long message that outlasts the engine's patience goes on to its end, and is reported as sent", async (t) => {
  const at = await stage(t, { config: { throughputPerSecond: 5 } });
  if (at === null) return;
  const { smsc, instance } = at;
  const message = instance.message(`${TO}06`, "0123456789".repeat(150));
  const abort = new AbortController();
  const sending = instance.provider.send(message, abort.signal);
  await until(() => smsc.submits.length === 2);
  abort.abort();
  assert.equal((await sending).outcome, "unknown");
  const sent = await until(() => instance.receipts[0]);
  await until(() => smsc.submits.length >= 10);
  assert.deepEqual([sent.receipt, sent.messageId, sent.reference], ["sent", message.messageId, smsc.submits[0]?.id]);
  assert.deepEqual(
    smsc.submits.map(({ part }) => part),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  );
});

test("stop() in the middle of a long message lets it go out whole", async (t) => {
  const at = await stage(t, { config: { throughputPerSecond: 5, windowSize: 1 } });
  if (at === null) return;
  const { smsc, instance } = at;
  const sending = instance.send(`${TO}06`, THREE);
  await until(() => smsc.submits.length === 1);
  await instance.provider.stop();
  assert.equal((await sending).outcome, "accepted");
  await until(() => smsc.submits.length >= 3);
  assert.deepEqual(
    smsc.submits.map(({ part }) => part),
    [1, 2, 3],
  );
});
