import assert from "node:assert/strict";
import test from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { dataSm, deliverSm, NO_TLVS, submitSm } from "../../../test/support/smsc/pdus.ts";
import { bindResp, type Caller, politeBut, type Script, scriptedSmsc } from "../../../test/support/smsc/scripted.ts";
import {
  boundSession,
  RESPONSE_TIMEOUT_MS,
  settingsFor,
  startSession,
  submit,
  taken,
  turnsOfTheLoop,
} from "../../../test/support/smsc/session.ts";
import { until } from "../../../test/support/wait.ts";
import { encodePdu } from "./codec.ts";
import type { Pdu, SubmitSm } from "./pdu.ts";
import { Session, type SessionSettings } from "./session.ts";

test("SMPP 3.4, 4.1: a session binds with its settings, as interface version 0x34", async (t) => {
  for (const kind of ["transceiver", "transmitter", "receiver"] as const) {
    const { session, smsc } = await startSession(t, undefined, kind);
    await until(() => session.isBound);
    assert.deepEqual(smsc.last().received, [
      {
        command: `bind_${kind}`,
        sequence: 1,
        systemId: "esme",
        password: "secret",
        systemType: "VMA",
        interfaceVersion: 0x34,
        serves: { ton: 1, npi: 1, address: "" },
      },
    ]);
  }
});

test("a refused bind gives the reason in words, and the connection is closed even if the SMSC leaves it open", async (t) => {
  const refusals: [Script, string][] = [
    [
      (pdu, caller) => refuseBind(pdu, caller, 0x0e),
      "the SMSC refuses the bind: invalid password (ESME_RINVPASWD 0x0E)",
    ],
    [
      ({ sequence }, caller) => caller.send({ command: "generic_nack", status: 0x03, sequence }),
      "the SMSC refuses the bind: the SMSC does not know this command (ESME_RINVCMDID 0x03)",
    ],
    [
      ({ sequence }, caller) => caller.send({ command: "generic_nack", status: 0, sequence }),
      "the SMSC does not accept the bind",
    ],
    [(_pdu, caller) => caller.socket.end(), "the SMSC closed the connection without an answer to the bind"],
  ];
  for (const [script, reason] of refusals) {
    const { session, smsc, ended } = await startSession(t, script);
    await until(() => ended.length > 0);
    assert.deepEqual(ended, [reason]);
    assert.equal(session.isBound, false);
    await until(() => smsc.last().isClosed);
  }
});

test("a bind without a response in time ends the session, and a response of another command does not count", async (t) => {
  const wrong: Script = ({ sequence }, caller) =>
    caller.send({ command: "bind_receiver_resp", status: 0, sequence, systemId: "", tlvs: NO_TLVS });
  for (const script of [() => {}, wrong]) {
    const { session, smsc, clock, ended } = await startSession(t, script);
    await until(() => smsc.callers[0]?.received.length === 1);
    await turnsOfTheLoop();
    assert.equal(session.isBound, false);
    await clock.advance(RESPONSE_TIMEOUT_MS);
    assert.deepEqual(ended, ["the SMSC did not answer the bind within 10 seconds"]);
    await until(() => smsc.last().isClosed);
  }
});

test("a closed port, an invalid port and a host without an address are explained in words", async () => {
  const cases: [Partial<SessionSettings>, RegExp][] = [
    [{ port: 1 }, /^nothing listens on this port of the host, or a firewall refuses \(ECONNREFUSED\)$/],
    [{ port: 70_000 }, /ERR_SOCKET_BAD_PORT/],
    [{ host: "nowhere.invalid" }, /ENOTFOUND|EAI_AGAIN/],
  ];
  for (const [more, expected] of cases) {
    const ended: string[] = [];
    const events = {
      stateChanged() {},
      ended: (reason: string) => ended.push(reason),
      deliver: async () => 0,
      fault() {},
    };
    const session = new Session("transceiver", settingsFor(1, more), events, new SimulatedClock());
    session.start();
    await until(() => ended.length > 0);
    assert.match(ended[0] ?? "", expected);
    await session.leave(1_000);
  }
});

test("a password that cannot be encoded ends the bind with the field's name, and never its value", async (t) => {
  const smsc = await scriptedSmsc(t);
  const ended: string[] = [];
  const events = {
    stateChanged() {},
    ended: (reason: string) => ended.push(reason),
    deliver: async () => 0,
    fault() {},
  };
  const password = `${"geheim".repeat(20)}`;
  new Session("transceiver", settingsFor(smsc.port, { password }), events, new SimulatedClock()).start();
  await until(() => ended.length > 0);
  assert.deepEqual(ended, ["the bind cannot be written: password has 120 octets, 64 are allowed"]);
});

test("responses are matched by their sequence number, in any order", async (t) => {
  const held: Pdu[] = [];
  const stage = await boundSession(t, politeBut({ submit_sm: (pdu) => held.push(pdu) }));
  const asked = [submit(stage), submit(stage), submit(stage)];
  await until(() => held.length === 3);
  for (const { sequence } of held.toReversed()) stage.smsc.last().send(taken(sequence, `m${sequence}`));
  const ids = (await Promise.all(asked)).map(({ answer }) => answer?.command === "submit_sm_resp" && answer.messageId);
  assert.deepEqual(
    ids,
    held.map(({ sequence }) => `m${sequence}`),
  );
  assert.equal(stage.session.strays, 0);
});

test("requests of the SMSC are answered: its enquire_link, and one that no SMSC should send", async (t) => {
  const stage = await boundSession(t);
  const caller = stage.smsc.last();
  caller.send({ command: "enquire_link", sequence: 77 });
  caller.send({ command: "alert_notification", sequence: 78, source: NOBODY, esme: NOBODY, tlvs: NO_TLVS });
  caller.send({ command: "outbind", sequence: 79, systemId: "SMSC", password: "x" });
  caller.send(submitSm({ sequence: 0xffff_fff0 }));
  await until(() => caller.received.length === 3);
  assert.deepEqual(caller.received.slice(1), [
    { command: "enquire_link_resp", status: 0, sequence: 77 },
    { command: "generic_nack", status: 0x03, sequence: 0xffff_fff0 },
  ]);
});

test("a deliver_sm and a data_sm are answered with their sequence number once they are handled, with the resulting status", async (t) => {
  const stage = await boundSession(t);
  const caller = stage.smsc.last();
  const gates: ((status: number) => void)[] = [];
  stage.deliver = () => new Promise((resolve) => gates.push(resolve));
  caller.send(deliverSm({ sequence: 5 }));
  caller.send(dataSm({ sequence: 0x8000_0001 }));
  await until(() => gates.length === 2);
  await turnsOfTheLoop();
  assert.equal(caller.received.length, 1);
  gates[1]?.(0x65);
  gates[0]?.(0);
  await until(() => caller.received.length === 3);
  assert.deepEqual(caller.received.slice(1), [
    { command: "data_sm_resp", status: 0x65, sequence: 0x8000_0001, messageId: "", tlvs: NO_TLVS },
    { command: "deliver_sm_resp", status: 0, sequence: 5, messageId: "", tlvs: NO_TLVS },
  ]);
  assert.deepEqual(stage.delivered, [deliverSm({ sequence: 5 }), dataSm({ sequence: 0x8000_0001 })]);
});

test("a deliver_sm whose handler fails is answered with ESME_RX_T_APPN, so that it comes again", async (t) => {
  const stage = await boundSession(t);
  const caller = stage.smsc.last();
  stage.deliver = () => Promise.reject(new Error("the disk is full"));
  caller.send(deliverSm({ sequence: 5 }));
  await until(() => caller.of("deliver_sm_resp").length === 1);
  assert.equal(caller.of("deliver_sm_resp")[0]?.status, 0x64);
  assert.deepEqual(stage.faults, ["the disk is full"]);
});

test("an unbind is answered, nothing more is submitted, and responses on their way are still received", async (t) => {
  const stage = await boundSession(t, politeBut({ submit_sm() {} }));
  const caller = stage.smsc.last();
  const asked = submit(stage);
  const { sequence } = await firstSubmit(caller);
  caller.send({ command: "unbind", sequence: 90 });
  await until(() => caller.of("unbind_resp").length === 1);
  assert.equal(stage.session.isBound, false);
  assert.deepEqual(caller.of("unbind_resp"), [{ command: "unbind_resp", status: 0, sequence: 90 }]);
  caller.socket.end(encodePdu(taken(sequence)));
  assert.deepEqual(await asked, { answer: taken(sequence) });
  await until(() => stage.ended.length > 0);
  assert.deepEqual(stage.ended, ["the SMSC unbound"]);
});

test("if the SMSC unbinds and does not close, the session closes", async (t) => {
  const stage = await boundSession(t);
  const caller = stage.smsc.last();
  caller.socket.allowHalfOpen = true;
  caller.send({ command: "unbind", sequence: 90 });
  await until(() => caller.of("unbind_resp").length === 1);
  await stage.clock.advance(5_000);
  await until(() => caller.isClosed || stage.ended.length > 0);
  assert.deepEqual(stage.ended, ["the SMSC unbound"]);
});

test("leave() waits for open requests in both directions, then unbinds, then closes", async (t) => {
  const stage = await boundSession(t, politeBut({ submit_sm() {} }));
  const caller = stage.smsc.last();
  let dealtWith = (_status: number) => {};
  stage.deliver = () => new Promise((resolve) => (dealtWith = resolve));
  const asked = submit(stage);
  const { sequence } = await firstSubmit(caller);
  caller.send(deliverSm({ sequence: 4 }));
  await until(() => stage.delivered.length === 1);
  const left = stage.session.leave(5_000);
  assert.equal(stage.session.isBound, false);
  caller.send(taken(sequence));
  assert.equal((await asked).answer?.status, 0);
  await turnsOfTheLoop();
  assert.equal(caller.of("unbind").length, 0);
  dealtWith(0);
  await left;
  await until(() => caller.isClosed);
  assert.deepEqual(
    caller.received.slice(-2).map(({ command }) => command),
    ["deliver_sm_resp", "unbind"],
  );
  assert.equal(stage.clock.pending, 0);
});

test("leave() ends even if the SMSC answers nothing, and open submits get no response", async (t) => {
  const stage = await boundSession(t, politeBut({ submit_sm() {}, unbind() {} }));
  const asked = submit(stage);
  await until(() => stage.smsc.last().of("submit_sm").length === 1);
  const left = stage.session.leave(5_000);
  await stage.clock.advance(5_000);
  await until(() => stage.smsc.last().of("unbind").length === 1);
  await stage.clock.advance(2_000);
  await left;
  assert.deepEqual(await asked, { answer: null, reason: "the session ended before the answer came: we left" });
});

const NOBODY = { ton: 0, npi: 0, address: "" };

function refuseBind(pdu: Pdu, caller: Caller, status: number): void {
  if (pdu.command === "bind_transceiver") caller.send(bindResp(pdu, status));
}

/** The first submit_sm that reached the SMSC. */
async function firstSubmit(caller: Caller): Promise<SubmitSm> {
  await until(() => caller.of("submit_sm").length > 0);
  const [submitted] = caller.of("submit_sm");
  assert.ok(submitted);
  return submitted;
}
