import assert from "node:assert/strict";
import test from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { NO_TLVS } from "../../../test/support/smsc/pdus.ts";
import { PendingRequests, type ResponsePdu } from "./pending-requests.ts";

const LIMIT_MS = 10_000;
const SEQUENCE_MAX = 0x7fff_ffff;

function taken(sequence: number, messageId = "m"): ResponsePdu {
  return { command: "submit_sm_resp", status: 0, sequence, messageId, tlvs: NO_TLVS };
}

test("SMPP 3.4, 5.1.4: sequence numbers go from 1 to 0x7FFFFFFF and begin again", () => {
  const open = (requests: PendingRequests) => requests.open("submit_sm_resp", () => {});
  assert.equal(open(new PendingRequests(new SimulatedClock(), LIMIT_MS, () => 0)), 1);
  const late = new PendingRequests(new SimulatedClock(), LIMIT_MS, () => 0, SEQUENCE_MAX - 1);
  assert.deepEqual([open(late), open(late), open(late)], [SEQUENCE_MAX, 1, 2]);
});

test("a response ends its own request, in any order", () => {
  const requests = new PendingRequests(new SimulatedClock(), LIMIT_MS, () => 0);
  const ended: string[] = [];
  const end = (name: string) => (answer: ResponsePdu | null) =>
    ended.push(`${name} ${answer?.command === "submit_sm_resp" ? answer.messageId : answer?.command}`);
  const [first, second, third] = ["a", "b", "c"].map((name) => requests.open("submit_sm_resp", end(name)));
  requests.receive(taken(third ?? 0, "3"));
  requests.receive(taken(first ?? 0, "1"));
  requests.receive({ command: "generic_nack", status: 3, sequence: second ?? 0 });
  assert.deepEqual(ended, ["c 3", "a 1", "b generic_nack"]);
  assert.equal(requests.strays, 0);
});

test("a repeated, unexpected or mismatched response is counted, and ends nothing", () => {
  const requests = new PendingRequests(new SimulatedClock(), LIMIT_MS, () => 0);
  let count = 0;
  const sequence = requests.open("submit_sm_resp", () => (count += 1));
  requests.receive({ command: "enquire_link_resp", status: 0, sequence });
  requests.receive(taken(sequence + 1));
  assert.equal(count, 0);
  requests.receive(taken(sequence));
  requests.receive(taken(sequence));
  assert.deepEqual([count, requests.strays], [1, 3]);
});

test("a request without a response in time ends with null, once, and a late response is unexpected", async () => {
  const clock = new SimulatedClock();
  const requests = new PendingRequests(clock, LIMIT_MS, () => 0);
  const ended: (ResponsePdu | null)[] = [];
  const sequence = requests.open("submit_sm_resp", (answer) => ended.push(answer));
  await clock.advance(LIMIT_MS - 1);
  assert.deepEqual(ended, []);
  await clock.advance(1);
  requests.receive(taken(sequence));
  assert.deepEqual([ended, requests.strays], [[null], 1]);
});

test("the time in which reading was paused does not count", async () => {
  const clock = new SimulatedClock();
  let deafUntil = 0;
  const requests = new PendingRequests(clock, LIMIT_MS, () => deafUntil);
  const ended: (ResponsePdu | null)[] = [];
  requests.open("submit_sm_resp", (answer) => ended.push(answer));
  deafUntil = Number.POSITIVE_INFINITY;
  await clock.advance(3 * LIMIT_MS + 1);
  deafUntil = clock.real();
  await clock.advance(LIMIT_MS - 1);
  assert.deepEqual(ended, []);
  await clock.advance(LIMIT_MS);
  assert.deepEqual(ended, [null]);
});

test("endAll() ends all requests with null and leaves no timer", () => {
  const clock = new SimulatedClock();
  const requests = new PendingRequests(clock, LIMIT_MS, () => 0);
  const ended: (ResponsePdu | null)[] = [];
  for (let at = 0; at < 3; at += 1) requests.open("submit_sm_resp", (answer) => ended.push(answer));
  requests.endAll();
  assert.deepEqual(ended, [null, null, null]);
  assert.equal(clock.pending, 0);
});
