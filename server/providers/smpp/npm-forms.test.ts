/**
 * Every form of message against the server of npm's `smpp`, in both directions: a third codec, and a session that is
 * not ours.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createServer, type PDU, type Session } from "smpp";
import { OWN, startInstance, TO } from "../../../test/support/smsc/instance.ts";
import { listening } from "../../../test/support/smsc/scripted.ts";
import { until } from "../../../test/support/wait.ts";
import { fromGsm, toGsm } from "../../core/gsm.ts";

const FORMS: [string, string, string, number][] = [
  ["extension characters at each boundary", `${"a".repeat(152)}€${"b".repeat(151)}{${"c".repeat(20)}`, "GSM-7", 3],
  ["emoji at a boundary", `${"ą".repeat(66)}👋${"ę".repeat(80)}👨‍👩‍👧`, "UCS-2", 3],
  ["ten segments", "0123456789".repeat(150), "GSM-7", 10],
  ["Latin-1", "façade".repeat(30), "Latin-1", 2],
  ["a short text", "{€} @£", "GSM-7", 1],
];

interface Npm {
  port: number;
  session(): Session;
  submits: PDU[];
}

/** Accepts every message, and sends a receipt for each in the style of npm's `smpp`. */
async function npmSmsc(t: TestContext): Promise<Npm> {
  const sessions: Session[] = [];
  const submits: PDU[] = [];
  const server = createServer({}, (session) => {
    sessions.push(session);
    session.on("error", () => {});
    session.on("pdu", (pdu) => {
      if (pdu.command.endsWith("_resp")) return;
      const message_id = pdu.command === "submit_sm" ? `npm-${pdu.sequence_number}` : undefined;
      session.send(pdu.response({ message_id }));
      if (message_id === undefined) return;
      submits.push(pdu);
      session.deliver_sm({
        source_addr: pdu.destination_addr,
        destination_addr: pdu.source_addr,
        esm_class: 4,
        data_coding: 0,
        short_message: { message: Buffer.from(`id:${message_id} stat:DELIVRD err:000 text:`, "latin1") },
        receipted_message_id: message_id,
        message_state: 2,
      });
    });
  });
  t.after(() => sessions.forEach((session) => void session.destroy()));
  const port = await listening(t, server);
  return { port, submits, session: () => sessions[0] ?? assert.fail("nobody is bound") };
}

/** The text that the phone would show. */
function shown(submits: readonly PDU[], isPayload: boolean): string {
  const octets = Buffer.concat(
    submits.map(({ short_message, message_payload }) => {
      const { message } = (isPayload ? message_payload : short_message) as { message: Buffer | string };
      return Buffer.isBuffer(message) ? message : octetsOf(message, submits[0]?.data_coding);
    }),
  );
  if (submits[0]?.data_coding === 0) return fromGsm(octets);
  return submits[0]?.data_coding === 3 ? octets.toString("latin1") : octets.swap16().toString("utf16le");
}

/** npm's `smpp` has decoded the text already, by its own tables. */
function octetsOf(text: string, dataCoding: unknown): Buffer {
  if (dataCoding === 0) return Buffer.from(toGsm(text) ?? assert.fail("it is not in the alphabet"));
  return dataCoding === 3 ? Buffer.from(text, "latin1") : Buffer.from(text, "utf16le").swap16();
}

for (const longMessages of ["udh", "sar", "payload"] as const) {
  test(`every form is sent by ${longMessages}, and its receipt is understood`, async (t) => {
    const smsc = await npmSmsc(t);
    const instance = await startInstance(t, smsc.port, { config: { longMessages, latin1: true } });
    for (const [what, text, encoding, segments] of FORMS) {
      smsc.submits.length = 0;
      const outcome = await instance.send(`${TO}00`, text);
      assert.ok(outcome.outcome === "accepted", what);
      assert.deepEqual([outcome.encoding, outcome.segments], [encoding, segments], what);
      const isPayload = longMessages === "payload" && segments > 1;
      assert.equal(smsc.submits.length, isPayload ? 1 : segments, what);
      assert.equal(shown(smsc.submits, isPayload), text, what);
      assert.equal((await instance.receipt(outcome.reference)).receipt, "delivered", what);
    }
  });
}

test("every form arrives: text in each alphabet, parts by header and by sar, a payload, octets", async (t) => {
  const smsc = await npmSmsc(t);
  const instance = await startInstance(t, smsc.port);
  const ends = {
    source_addr_ton: 1,
    source_addr: `${TO}07`.slice(1),
    dest_addr_ton: 1,
    destination_addr: OWN.slice(1),
  };
  const statuses: number[] = [];
  const deliver = (fields: Record<string, unknown>) =>
    smsc.session().deliver_sm({ ...ends, ...fields }, ({ command_status }) => statuses.push(command_status));
  const long = "0123456789".repeat(20);
  const [first, second] = [Buffer.from(long.slice(0, 150)), Buffer.from(long.slice(150))];
  const sar = { data_coding: 0, sar_msg_ref_num: 300, sar_total_segments: 2 };
  deliver({ data_coding: 0, short_message: { message: Buffer.from(toGsm("{€} @£") ?? []) } });
  deliver({ data_coding: 8, short_message: { message: Buffer.from("👨‍👩‍👧", "utf16le").swap16() } });
  deliver({ data_coding: 3, short_message: { message: Buffer.from("ça", "latin1") } });
  deliver({
    esm_class: 0x40,
    data_coding: 0,
    short_message: { udh: Buffer.from([5, 0, 3, 9, 2, 2]), message: second },
  });
  deliver({ esm_class: 0x40, data_coding: 0, short_message: { udh: Buffer.from([5, 0, 3, 9, 2, 1]), message: first } });
  deliver({ ...sar, sar_segment_seqnum: 2, short_message: { message: second } });
  deliver({ ...sar, sar_segment_seqnum: 1, short_message: { message: first } });
  deliver({ data_coding: 0, message_payload: { message: Buffer.from(long) } });
  deliver({ data_coding: 4, short_message: { message: Buffer.from([0, 255, 27]) } });
  await until(() => instance.inbound.length === 7);
  await until(() => statuses.length === 9);
  assert.ok(statuses.every((status) => status === 0));
  assert.deepEqual(
    instance.inbound.map(({ text }) => text).sort(),
    [null, long, long, long, "{€} @£", "👨‍👩‍👧", "ça"].sort(),
  );
  const file = instance.inbound.find(({ text }) => text === null)?.attachments[0]?.data;
  assert.deepEqual([...(file ?? [])], [0, 255, 27]);
});
