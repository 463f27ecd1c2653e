import assert from "node:assert/strict";
import test from "node:test";
import { deliverSm, hex, NO_TLVS } from "../../../test/support/smsc/pdus.ts";
import { bindResp, type Caller, politeBut } from "../../../test/support/smsc/scripted.ts";
import {
  boundSession,
  ENQUIRE_LINK_MS,
  RESPONSE_TIMEOUT_MS,
  startSession,
  submit,
  taken,
} from "../../../test/support/smsc/session.ts";
import { until } from "../../../test/support/wait.ts";
import { encodePdu } from "./codec.ts";
import type { BindResp } from "./pdu.ts";
import { DELIVERIES_OPEN_MAX } from "./session.ts";

test("repeated and unexpected responses are counted and change nothing", async (t) => {
  const stage = await boundSession(
    t,
    politeBut({
      submit_sm({ sequence }, caller) {
        caller.send(taken(sequence + 5));
        caller.send({ command: "enquire_link_resp", status: 0, sequence });
        caller.send({ command: "generic_nack", status: 0x02, sequence: 0 });
        caller.socket.write(hex("00000010 80000021 00000000 00000007"));
        caller.send(taken(sequence));
        caller.send(taken(sequence, "again"));
      },
    }),
  );
  const { answer } = await submit(stage);
  assert.equal(answer?.command === "submit_sm_resp" && answer.messageId, "m");
  await until(() => stage.session.strays === 5);
  assert.equal((await submit(stage)).answer?.status, 0);
});

test("after a submit_sm without a response the session sends an enquire_link, and ends if that gets no response", async (t) => {
  const stage = await boundSession(t, politeBut({ submit_sm() {}, enquire_link() {} }));
  const asked = submit(stage);
  await until(() => stage.smsc.last().of("submit_sm").length === 1);
  await stage.clock.advance(RESPONSE_TIMEOUT_MS);
  assert.deepEqual(await asked, { answer: null, reason: "the SMSC did not answer within 10 seconds" });
  await until(() => stage.smsc.last().of("enquire_link").length === 1);
  await stage.clock.advance(RESPONSE_TIMEOUT_MS);
  assert.deepEqual(stage.ended, ["the SMSC did not answer an enquire_link within 10 seconds"]);
  await until(() => stage.smsc.last().isClosed);
});

test("after a submit_sm without a response the session stays if the SMSC answers the enquire_link", async (t) => {
  const stage = await boundSession(t, politeBut({ submit_sm() {} }));
  const asked = submit(stage);
  await until(() => stage.smsc.last().of("submit_sm").length === 1);
  await stage.clock.advance(RESPONSE_TIMEOUT_MS);
  assert.equal((await asked).answer, null);
  await until(() => stage.smsc.last().of("enquire_link").length === 1);
  await until(() => stage.clock.pending === 1, { what: "the answer to the enquire_link" });
  await stage.clock.advance(RESPONSE_TIMEOUT_MS);
  assert.deepEqual([stage.ended, stage.session.isBound, stage.session.submitsOpen], [[], true, 0]);
});

test("a silent connection gets an enquire_link after each silence, a busy one does not", async (t) => {
  const stage = await boundSession(t);
  const { clock, smsc } = stage;
  const enquired = () => smsc.last().of("enquire_link").length;
  for (const count of [1, 2, 3]) {
    await clock.advance(ENQUIRE_LINK_MS - 1);
    assert.equal(enquired(), count - 1);
    await clock.advance(1);
    await until(() => enquired() === count && clock.pending === 1);
  }
  await clock.advance(ENQUIRE_LINK_MS - 1_000);
  await submit(stage);
  await clock.advance(ENQUIRE_LINK_MS - 1_000);
  assert.equal(enquired(), 3);
});

test("an enquire_link without a response ends the session: open submits get no response", async (t) => {
  const stage = await boundSession(t);
  const caller = stage.smsc.last();
  caller.socket.pause();
  const asked = submit(stage);
  await stage.clock.advance(RESPONSE_TIMEOUT_MS - 1);
  const late = submit(stage);
  await stage.clock.advance(1 + RESPONSE_TIMEOUT_MS);
  assert.equal((await asked).answer, null);
  assert.equal((await late).answer, null);
  assert.deepEqual(stage.ended, ["the SMSC did not answer an enquire_link within 10 seconds"]);
  await stage.clock.advance(2_000);
  await stage.session.leave(1_000);
});

test("unknown commands and unreadable bodies are answered with their error, and the session goes on", async (t) => {
  const stage = await boundSession(t);
  const caller = stage.smsc.last();
  const broken = Buffer.concat([
    encodePdu(deliverSm({ sequence: 7, shortMessage: new Uint8Array() })),
    hex("0424 0009 02"),
  ]);
  broken.writeUInt32BE(broken.length, 0);
  for (const count of [1, 2]) {
    caller.socket.write(hex("00000010 00000021 00000000 00000006"));
    caller.socket.write(broken);
    caller.socket.write(hex("00000012 00000103 00000000 00000008 0001"));
    caller.socket.write(hex("00000011 00000004 00000000 00000009 41"));
    caller.send({ command: "enquire_link", sequence: 10 });
    await until(() => caller.received.length === 1 + 5 * count);
    assert.deepEqual(caller.received.slice(-5), [
      { command: "generic_nack", status: 0x03, sequence: 6 },
      { command: "deliver_sm_resp", status: 0xc0, sequence: 7, messageId: "", tlvs: NO_TLVS },
      { command: "data_sm_resp", status: 0x02, sequence: 8, messageId: "", tlvs: NO_TLVS },
      { command: "generic_nack", status: 0x02, sequence: 9 },
      { command: "enquire_link_resp", status: 0, sequence: 10 },
    ]);
  }
  assert.deepEqual(stage.delivered, []);
  // The same fault is reported once.
  assert.equal(stage.faults.length, 4);
});

test("a PDU of length 0, 15 or 2^31 is refused with ESME_RINVCMDLEN and ends the session, whatever follows", async (t) => {
  for (const length of ["00000000", "0000000f", "80000000"]) {
    const stage = await boundSession(t, politeBut({ submit_sm() {} }));
    const caller = stage.smsc.last();
    const asked = submit(stage);
    await until(() => caller.of("submit_sm").length === 1);
    caller.socket.write(Buffer.concat([hex(length), encodePdu(taken(2)), Buffer.alloc(100_000)]));
    const { answer, ...rest } = await asked;
    assert.equal(answer, null);
    assert.match("reason" in rest ? rest.reason : "", /^the session ended before the answer came: /);
    assert.match(
      stage.ended[0] ?? "",
      /^the SMSC sent something that is not a PDU: command_length is \d+, not from 16 to 69632$/,
    );
    await until(() => caller.isClosed);
    assert.deepEqual(caller.received.at(-1), { command: "generic_nack", status: 0x02, sequence: 0 });
  }
});

test("a connection that breaks within the bind response ends the session with a reason; only the whole response binds it", async (t) => {
  const whole = encodePdu(BIND_RESP).length;
  for (let octets = 0; octets <= whole; octets += 1) {
    const stage = await startSession(t, (pdu, caller) => {
      if (pdu.command === "bind_transceiver") caller.socket.end(encodePdu(bindResp(pdu)).subarray(0, octets));
    });
    await until(() => stage.ended.length > 0);
    assert.deepEqual(stage.turns, octets === whole ? [true] : [], `${octets} octets`);
    const reported =
      octets === whole
        ? "the SMSC closed the connection"
        : "the SMSC closed the connection without an answer to the bind";
    assert.deepEqual(stage.ended, [reported], `${octets} octets`);
    await stage.session.leave(1_000);
    assert.equal(stage.clock.pending, 0);
  }
});

test("a connection that breaks within a submit_sm_resp leaves the result unknown until the last octet", async (t) => {
  const whole = encodePdu(taken(2)).length;
  for (let octets = 0; octets <= whole; octets += 1) {
    const stage = await boundSession(
      t,
      politeBut({
        submit_sm: ({ sequence }, caller) => caller.socket.end(encodePdu(taken(sequence)).subarray(0, octets)),
      }),
    );
    const asked = await submit(stage);
    const cutOff = { answer: null, reason: "the session ended before the answer came: the SMSC closed the connection" };
    assert.deepEqual(asked, octets === whole ? { answer: taken(2) } : cutOff, `${octets} octets`);
    await until(() => stage.ended.length > 0);
    assert.equal(stage.clock.pending, 0);
  }
});

test("a connection that breaks within a deliver_sm reports it only if it is whole", async (t) => {
  const frame = encodePdu(deliverSm({ sequence: 3, tlvs: new Map([[0x0427, new Uint8Array([2])]]) }));
  for (let octets = 0; octets <= frame.length; octets += 1) {
    const stage = await boundSession(t);
    stage.smsc.last().socket.end(frame.subarray(0, octets));
    await until(() => stage.ended.length > 0);
    assert.equal(stage.delivered.length, octets === frame.length ? 1 : 0, `${octets} octets`);
  }
});

test("a reset connection leaves open submits without a response", async (t) => {
  const stage = await boundSession(t, politeBut({ submit_sm: (_pdu, caller) => caller.socket.resetAndDestroy() }));
  const asked = await Promise.all([submit(stage), submit(stage)]);
  for (const { answer, ...rest } of asked) {
    assert.equal(answer, null);
    assert.match("reason" in rest ? rest.reason : "", /ECONNRESET/);
  }
  assert.equal(stage.session.submitsOpen, 0);
});

test("in a flood of 10,000 deliver_sm no more are handled at once than the limit, and each is answered once", async (t) => {
  const FLOOD = 10_000;
  const stage = await boundSession(t, politeBut({}));
  const caller = stage.smsc.last();
  let open = 0;
  let most = 0;
  let gate = Promise.withResolvers<void>();
  stage.deliver = async () => {
    open += 1;
    most = Math.max(most, open);
    await gate.promise;
    open -= 1;
    return 0;
  };
  caller.socket.write(
    Buffer.concat(Array.from({ length: FLOOD }, (_, at) => encodePdu(deliverSm({ sequence: at + 1 })))),
  );
  await until(() => open === DELIVERIES_OPEN_MAX);
  // A request from before reading was paused does not time out during the pause.
  const asked = submit(stage);
  await until(() => caller.of("submit_sm").length === 1);
  await stage.clock.advance(5 * RESPONSE_TIMEOUT_MS);
  assert.deepEqual([open, stage.session.submitsOpen, stage.ended], [DELIVERIES_OPEN_MAX, 1, []]);
  gate.resolve();
  gate = Promise.withResolvers<void>();
  gate.resolve();
  await until(() => caller.of("deliver_sm_resp").length === FLOOD, { what: "all answers" });
  assert.equal(most, DELIVERIES_OPEN_MAX);
  const numbers = caller.of("deliver_sm_resp").map(({ sequence }) => sequence);
  assert.equal(new Set(numbers).size, FLOOD);
  assert.equal((await asked).answer?.status, 0);
});

test("a peer that sends and never reads is not read either: the output buffer does not grow", async (t) => {
  const stage = await boundSession(t);
  const { socket } = stage.smsc.last();
  socket.pause();
  const asking = Buffer.concat(
    Array.from({ length: 4_096 }, () => encodePdu({ command: "enquire_link", sequence: 1 })),
  );
  let written = 0;
  let isStuck = false;
  while (!isStuck && written < 64 * 1_024 * 1_024) {
    written += asking.length;
    if (socket.write(asking)) continue;
    isStuck = !(await drained(socket));
  }
  assert.ok(isStuck, `${written} octets were taken`);
  socket.on("data", () => {});
  socket.resume();
  await until(() => !socket.writableNeedDrain, { what: "the way being free again" });
});

/** The scripted SMSC's usual reaction. */
const BIND_RESP: BindResp = {
  command: "bind_transceiver_resp",
  status: 0,
  sequence: 1,
  systemId: "SMSC",
  tlvs: NO_TLVS,
};

/** Whether it drains within half a second. */
function drained(socket: Caller["socket"]): Promise<boolean> {
  return until(() => !socket.writableNeedDrain, { limitMs: 500 }).then(
    () => true,
    () => false,
  );
}
