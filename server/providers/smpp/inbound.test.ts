/** Messages from contacts, sent by a message centre with another codec: every form, complete, once. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Disk, OWN, smppStage as stage, startInstance } from "../../../test/support/smsc/instance.ts";
import { until } from "../../../test/support/wait.ts";
import { toGsm } from "../../core/gsm.ts";
import type { Applied, OwnAddress } from "../provider.ts";

const ANNA = "15550100001";
const TO = OWN.slice(1);
const hex = (octets: Uint8Array | null) => Buffer.from(octets ?? []).toString("hex");
const gsm = (text: string) => hex(toGsm(text));
const ucs2 = (text: string) => hex(Buffer.from(text, "utf16le").swap16());

const LONG = `${"0123456789".repeat(45)}€`;
const EMOJI = `${"ą".repeat(66)}👋${"ę".repeat(80)}👨‍👩‍👧`;

/** Parts of hexadecimal octets, `digits` of them each. */
function cut(octets: string, digits: number): string[] {
  return octets.match(new RegExp(`.{1,${digits}}`, "g")) ?? [];
}

const byte = (value: number) => value.toString(16).padStart(2, "0");

/** The parts of a message, with a header or with sar parameters. */
function parts(octets: string, how: "udh8" | "udh16" | "sar", reference = 7, digits = 268) {
  const pieces = cut(octets, digits);
  return pieces.map((piece, at) => {
    const place = byte(pieces.length) + byte(at + 1);
    if (how === "udh8") return { esm_class: 0x40, short_message: `050003${byte(reference)}${place}${piece}` };
    if (how === "udh16") return { esm_class: 0x40, short_message: `06080401${byte(reference)}${place}${piece}` };
    return {
      short_message: piece,
      sar_msg_ref_num: `01${byte(reference)}`,
      sar_total_segments: byte(pieces.length),
      sar_segment_seqnum: byte(at + 1),
    };
  });
}

test("a message of one part is reported as text, from any alphabet and field", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { smsc, instance } = at;
  const forms: [Record<string, string | number>, string][] = [
    [{ short_message: gsm("{Hello} @€") }, "{Hello} @€"],
    [{ data_coding: 1, short_message: hex(Buffer.from("Hello @")) }, "Hello @"],
    [{ data_coding: 3, short_message: "e761" }, "ça"],
    [{ data_coding: 8, short_message: ucs2("👨‍👩‍👧 ąę") }, "👨‍👩‍👧 ąę"],
    [{ short_message: "", message_payload: gsm(LONG) }, LONG],
    [{ method: "data_sm", message_payload: gsm("By data_sm") }, "By data_sm"],
  ];
  for (const [fields, text] of forms) {
    await smsc.deliver(ANNA, TO, fields);
    const reported = await until(() => instance.inbound.find((signal) => signal.text === text), { what: text });
    assert.deepEqual(
      [reported.from, reported.to, reported.channel, reported.attachments],
      [`+${ANNA}`, OWN, "sms", []],
    );
  }
  assert.equal(instance.inbound.length, forms.length);
  assert.equal(new Set(instance.inbound.map(({ reference }) => reference)).size, forms.length);
  assert.ok(instance.inbound.every(({ reference }) => reference.startsWith("in:")));
  await until(() => smsc.seen.filter(({ event, status }) => event === "taken" && status === 0).length === forms.length);
});

test("binary octets are reported as a file, all of them", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { smsc, instance } = at;
  await smsc.deliver(ANNA, TO, { data_coding: 4, short_message: "00ff1b80" });
  const [one] = await until(() => (instance.inbound.length === 1 ? instance.inbound : null));
  assert.equal(one?.text, null);
  assert.deepEqual(
    one?.attachments.map(({ mimeType, data, totalBytes }) => [mimeType, hex(data), totalBytes]),
    [["application/octet-stream", "00ff1b80", 4]],
  );
  for (const part of parts("01".repeat(300), "udh8")) await smsc.deliver(ANNA, TO, { data_coding: 2, ...part });
  const [, whole] = await until(() => (instance.inbound.length === 2 ? instance.inbound : null));
  assert.equal(hex(whole?.attachments[0]?.data ?? null), "01".repeat(300));
});

for (const how of ["udh8", "udh16", "sar"] as const) {
  test(`parts by ${how} are joined in any order, each twice, with a character split between them`, async (t) => {
    const at = await stage(t);
    if (at === null) return;
    const { smsc, instance } = at;
    const forms: [number, string, string, number][] = [
      [0, gsm(LONG), LONG, 306],
      // The split is between the escape and its code.
      [0, gsm(`${"a".repeat(152)}€b`), `${"a".repeat(152)}€b`, 306],
      [8, ucs2(EMOJI), EMOJI, 268],
      [8, ucs2("0123456789".repeat(67)), "0123456789".repeat(67), 134],
    ];
    for (const [index, [data_coding, octets, text, digits]] of forms.entries()) {
      const pieces = parts(octets, how, index, digits).reverse();
      for (const piece of pieces) for (const _ of [1, 2]) await smsc.deliver(ANNA, TO, { data_coding, ...piece });
      const reported = await until(() => instance.inbound[index], { what: text.slice(0, 10) });
      assert.equal(reported.text, text);
    }
    assert.equal(instance.inbound.length, forms.length);
  });
}

test("parts of two contacts, two references or two kinds are never mixed", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { smsc, instance } = at;
  const texts = ["A", "B", "C", "D"].map((letter) => letter.repeat(200));
  const streams = [
    { from: ANNA, pieces: parts(gsm(texts[0] ?? ""), "udh8", 1, 306) },
    { from: "15550100002", pieces: parts(gsm(texts[1] ?? ""), "udh8", 1, 306) },
    { from: ANNA, pieces: parts(gsm(texts[2] ?? ""), "udh8", 2, 306) },
    { from: ANNA, pieces: parts(gsm(texts[3] ?? ""), "udh16", 1, 306) },
  ];
  for (const place of [1, 0]) for (const { from, pieces } of streams) await smsc.deliver(from, TO, pieces[place] ?? {});
  await until(() => instance.inbound.length === 4);
  assert.deepEqual(instance.inbound.map(({ text }) => text).sort(), texts);
});

test("a message that the SMSC repeats on another session, because our response was lost, has one reference", async (t) => {
  const at = await stage(t, {}, { "again-ms": 60_000 });
  if (at === null) return;
  const { smsc, instance } = at;
  const pieces = parts(gsm("x".repeat(200)), "udh8", 9, 306);
  // The message is on disk, and the connection breaks before the response is out.
  instance.onSignal = async () => {
    instance.onSignal = () => "applied";
    await smsc.order({ do: "drop" });
    return "applied" as const;
  };
  await smsc.deliver(ANNA, TO, { short_message: gsm("Once") });
  await until(() => instance.inbound.length === 2, { what: "the message being told again" });
  assert.equal(new Set(instance.inbound.map(({ reference }) => reference)).size, 1);
  instance.inbound.length = 0;
  await smsc.deliver(ANNA, TO, pieces[0] ?? {});
  instance.onSignal = async () => {
    instance.onSignal = () => "applied";
    await smsc.order({ do: "drop" });
    return "applied" as const;
  };
  await smsc.deliver(ANNA, TO, pieces[1] ?? {});
  await until(() => smsc.seen.filter(({ event }) => event === "bind").length === 3);
  await until(() => smsc.seen.filter(({ event, status }) => event === "taken" && status === 0).length === 3);
  assert.equal(new Set(instance.inbound.map(({ reference }) => reference)).size, 1);
});

test("the same text twice on one session is two messages", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { smsc, instance } = at;
  for (const _ of [1, 2]) await smsc.deliver(ANNA, TO, { short_message: gsm("OK") });
  await until(() => instance.inbound.length === 2);
  assert.equal(new Set(instance.inbound.map(({ reference }) => reference)).size, 2);
});

test("a crash loses no part, and a crash between the message and its response makes no second message", async (t) => {
  const disk = new Disk();
  const at = await stage(t, { disk }, { "again-ms": 300 });
  if (at === null) return;
  const { smsc, instance } = at;
  const [first, second] = parts(gsm("y".repeat(200)), "udh8", 3, 306);
  await smsc.deliver(ANNA, TO, first ?? {});
  await until(() => disk.entries.size === 1);
  // The process stores both parts and dies with them: none was answered.
  let taken = 0;
  let bury = () => {};
  const burial = new Promise<Applied>((resolve) => {
    bury = () => resolve("applied");
  });
  instance.onSignal = () => {
    taken += 1;
    return burial;
  };
  await smsc.deliver(ANNA, TO, second ?? {});
  await smsc.deliver(ANNA, TO, { short_message: gsm("Alone") });
  await until(() => taken === 2);
  const kept = new Disk();
  for (const [key, value] of disk.entries) kept.entries.set(key, value);
  const next = await startInstance(t, smsc.port, { disk: kept });
  await until(() => next.inbound.length >= 2);
  await until(() => smsc.seen.filter(({ event, status }) => event === "taken" && status === 0).length === 3);
  bury();
  const texts = new Map(next.inbound.map(({ reference, text }) => [reference, text]));
  assert.deepEqual([...texts.values()].sort(), ["Alone", "y".repeat(200)]);
  for (const reference of texts.keys()) {
    assert.ok(
      [...disk.entries.values()].some((value) => value.includes(reference)),
      "it has another name than before",
    );
  }
});

test("while the store accepts nothing, a message stays unanswered for more than 5 s, and is accepted once the store works", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { smsc, instance } = at;
  instance.disk.fails = true;
  await smsc.deliver(ANNA, TO, { short_message: gsm("Alone") });
  for (const part of parts(gsm("z".repeat(200)), "udh8", 3, 306)) await smsc.deliver(ANNA, TO, part);
  await until(() => instance.disk.refused > 6, { limitMs: 60_000, what: "several tries of all three" });
  assert.deepEqual([instance.inbound, smsc.seen.filter(({ event }) => event === "taken")], [[], []]);
  instance.disk.fails = false;
  await until(() => instance.inbound.length === 2, { limitMs: 60_000 });
  await until(() => smsc.seen.filter(({ event, status }) => event === "taken" && status === 0).length === 3);
  assert.deepEqual([...new Set(smsc.seen.flatMap(({ event, status }) => (event === "taken" ? [status] : [])))], [0]);
  assert.deepEqual(instance.inbound.map(({ text }) => text).sort(), ["Alone", "z".repeat(200)]);
});

test("however the SMSC writes addresses, they become our number and E.164", async (t) => {
  const numbers: OwnAddress[] = [
    { address: OWN, customerId: "cust_1", isDefault: false },
    { address: "+15550000002", customerId: "cust_1", isDefault: true },
  ];
  const at = await stage(t, { numbers, config: { sourceAddress: "12345", defaultCountryCode: "1" } });
  if (at === null) return;
  const { smsc, instance } = at;
  const cases: [Record<string, string | number>, string, string][] = [
    [{ source_addr_ton: 2, source_addr: "+15550100001" }, "+15550100001", OWN],
    [{ source_addr_ton: 3, source_addr: "15550100001", dest_addr_ton: 3 }, "+15550100001", OWN],
    [
      { source_addr_ton: 2, source_addr: "5550100001", dest_addr_ton: 2, destination_addr: "5550000001" },
      "+15550100001",
      OWN,
    ],
    [{ source_addr_ton: 5, source_addr_npi: 0, source_addr: "MyBank" }, "MyBank", OWN],
    [{ dest_addr_ton: 3, dest_addr_npi: 0, destination_addr: "12345" }, `+${ANNA}`, "+15550000002"],
    [{ destination_addr: "19990000000" }, `+${ANNA}`, "+19990000000"],
  ];
  for (const [index, [fields, from, to]] of cases.entries()) {
    await smsc.deliver(ANNA, TO, { short_message: gsm(`No ${index}`), ...fields });
    const reported = await until(() => instance.inbound[index]);
    assert.deepEqual([reported.from, reported.to], [from, to], String(index));
  }
});

test("with ia5AsGsm, IA5 is decoded as GSM 03.38", async (t) => {
  const at = await stage(t, { config: { ia5AsGsm: true } });
  if (at === null) return;
  const { smsc, instance } = at;
  await smsc.deliver(ANNA, TO, { data_coding: 1, short_message: gsm("a@b_£") });
  assert.equal((await until(() => instance.inbound[0])).text, "a@b_£");
});

test("an unreadable receipt is logged, and answered so that it does not come again", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { smsc, instance } = at;
  await smsc.deliver(ANNA, TO, { esm_class: 4, short_message: gsm("Delivered, thanks") });
  await until(() => smsc.seen.some(({ event, status }) => event === "taken" && status === 0));
  assert.match(String(instance.faults[0]), /a receipt that names neither/);
  assert.deepEqual([instance.inbound, instance.receipts], [[], []]);
});
