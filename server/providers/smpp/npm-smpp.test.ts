import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { createServer, type PDU, type Session } from "smpp";
import { TLS_CERTIFICATE, TLS_KEY } from "../../../test/support/certificate.ts";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { submitSm } from "../../../test/support/smsc/pdus.ts";
import { listening } from "../../../test/support/smsc/scripted.ts";
import { ENQUIRE_LINK_MS, settingsFor } from "../../../test/support/smsc/session.ts";
import { until } from "../../../test/support/wait.ts";
import { type LinkSettings, SmscLink } from "./link.ts";
import type { DataSm, DeliverSm } from "./pdu.ts";

/** An SMSC on npm's smpp, with its own codec and session. */
interface NpmSmsc {
  port: number;
  sessions: Session[];
  received: PDU[];
}

async function npmSmsc(t: TestContext, tls: { key?: string; cert?: string } = {}): Promise<NpmSmsc> {
  const smsc: NpmSmsc = { port: 0, sessions: [], received: [] };
  const server = createServer(tls, (session) => {
    smsc.sessions.push(session);
    session.on("error", () => {});
    session.on("pdu", (pdu) => {
      smsc.received.push(pdu);
      if (pdu.command.endsWith("_resp")) return;
      const isRight = !pdu.command.startsWith("bind_") || pdu.password === "secret";
      const message_id = pdu.command === "submit_sm" ? `npm-${pdu.sequence_number}` : undefined;
      session.send(pdu.response(isRight ? { message_id } : { command_status: 0x0e }));
    });
  });
  t.after(() => smsc.sessions.forEach((session) => void session.destroy()));
  smsc.port = await listening(t, server);
  return smsc;
}

function linkTo(t: TestContext, port: number, more: Partial<LinkSettings> = {}) {
  const clock = new SimulatedClock();
  const delivered: (DeliverSm | DataSm)[] = [];
  const settings: LinkSettings = {
    ...settingsFor(port),
    bindMode: "transceiver",
    windowSize: 50,
    throughputPerSecond: null,
    ...more,
  };
  const deliver = async (pdu: DeliverSm | DataSm) => delivered.push(pdu) && 0;
  const link = new SmscLink(settings, { deliver, changed() {}, fault() {} }, clock, () => 0);
  t.after(() => link.stop(5_000));
  link.start();
  return { link, clock, delivered };
}

for (const [way, tls] of [
  ["plain", {}],
  ["TLS", { key: TLS_KEY, cert: TLS_CERTIFICATE }],
] as const) {
  test(`over ${way}, the server of npm's smpp accepts our bind, 500 messages, enquire_link and unbind`, async (t) => {
    const smsc = await npmSmsc(t, tls);
    const { link, clock } = linkTo(t, smsc.port, way === "TLS" ? { tls: true, tlsCa: TLS_CERTIFICATE } : {});
    await until(() => link.isUp);
    const texts = Array.from({ length: 500 }, (_, at) => Buffer.from(`message ${at}`, "latin1"));
    const results = await Promise.all(
      texts.map((text) => link.submit(submitSm({ dataCoding: 4, shortMessage: new Uint8Array(text) }))),
    );
    const submitted = smsc.received.filter(({ command }) => command === "submit_sm");
    assert.deepEqual(
      submitted.map(({ short_message }) => (short_message as { message: Buffer }).message),
      texts,
    );
    assert.deepEqual(
      results,
      submitted.map(({ sequence_number }) => ({ answer: "ok", messageId: `npm-${sequence_number}` })),
    );
    await clock.advance(ENQUIRE_LINK_MS);
    await until(() => smsc.received.some(({ command }) => command === "enquire_link"));
    await link.stop(5_000);
    assert.equal(smsc.received.at(-1)?.command, "unbind");
  });
}

test("requests of the server of npm's smpp get responses with their sequence numbers", async (t) => {
  const smsc = await npmSmsc(t);
  const { link, delivered } = linkTo(t, smsc.port);
  await until(() => link.isUp);
  const [session] = smsc.sessions;
  assert.ok(session);
  const answers: PDU[] = [];
  const short_message = Buffer.from("id:1 stat:DELIVRD", "latin1");
  const receipt = { source_addr: "15550100001", destination_addr: "15550000001", esm_class: 4, data_coding: 0 };
  for (let at = 0; at < 100; at += 1) {
    session.deliver_sm({ ...receipt, short_message, receipted_message_id: `m${at}` }, (answer) => answers.push(answer));
  }
  session.enquire_link((answer) => answers.push(answer));
  await until(() => answers.length === 101);
  assert.ok(answers.every(({ command_status }) => command_status === 0));
  assert.deepEqual(
    delivered.map(({ tlvs }) => Buffer.from(tlvs.get(0x1e) ?? []).toString("latin1")),
    Array.from({ length: 100 }, (_, at) => `m${at}\0`),
  );
  session.unbind((answer) => answers.push(answer));
  await until(() => answers.length === 102);
  session.close();
  await until(() => !link.isUp);
});

test("a wrong password is reported with the status of npm's smpp", async (t) => {
  const smsc = await npmSmsc(t);
  const { link } = linkTo(t, smsc.port, { password: "guess" });
  await until(() => link.state().lastError !== null);
  assert.equal(
    link.state().lastError,
    "transceiver: the SMSC refuses the bind: invalid password (ESME_RINVPASWD 0x0E)",
  );
});
