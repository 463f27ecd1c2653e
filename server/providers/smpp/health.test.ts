import assert from "node:assert/strict";
import { test } from "node:test";
import { healthOf, type Traffic } from "./health.ts";
import type { LinkState } from "./link.ts";

const STATE: LinkState = {
  bound: ["transceiver"],
  isDegraded: false,
  lastError: null,
  since: 0,
};
const TRAFFIC: Traffic = {
  throttledAt: null,
  unanswered: 0,
  unmatched: 0,
  refused: 0,
  unreadRests: 0,
  unsentEnds: 0,
  unaddressed: { count: 0, to: "" },
  foreign: 0,
  defaultAlphabet: "gsm",
  sharedIds: 0,
  sinceReceipt: 0,
};
const NOW = 1_000_000;

function health(state: Partial<LinkState>, traffic: Partial<Traffic> = {}) {
  const place = { host: "smsc.example", port: 2775, now: NOW };
  return healthOf({ ...STATE, ...state }, place, { ...TRAFFIC, ...traffic });
}

test("a bound session is healthy, and the message names its kind", () => {
  assert.deepEqual(health({}), { status: "healthy", message: "Bound to smsc.example:2775 as transceiver." });
});

test("an instance that can send nothing is unhealthy, with the address, the time and the reason", () => {
  const why = "transceiver: nothing listens on this port of the host, or a firewall refuses (ECONNREFUSED)";
  const message = `Not connected to smsc.example:2775 since 1970-01-01T00:00:00.000Z: ${why}.`;
  assert.deepEqual(health({ bound: [], lastError: why }), { status: "unhealthy", message, warnings: [message] });
  assert.match(health({ bound: [] }).message ?? "", /the session is being bound\.$/);
  assert.equal(health({ bound: ["receiver"], lastError: "transmitter: refused" }).status, "unhealthy");
});

test("a fault that keeps receipts or messages back makes the instance degraded, with a sentence", () => {
  const cases: [Partial<LinkState>, Partial<Traffic>, RegExp][] = [
    [
      { bound: ["transmitter"], isDegraded: true, lastError: "receiver: bind failed" },
      {},
      /receiver is not bound.*: receiver: bind failed\.$/,
    ],
    [{}, { unanswered: 1 }, /^The last message got no response/],
    [{}, { unanswered: 3 }, /^The last 3 messages got no response/],
    [{}, { refused: 2 }, /^The SMSC sent 2 messages or receipts that cannot be read.*refused/],
    [{}, { throttledAt: NOW - 59_000 }, /sent too fast/],
  ];
  for (const [state, traffic, words] of cases) {
    const { status, message, warnings } = health(state, traffic);
    assert.equal(status, "degraded");
    assert.match(message ?? "", words);
    assert.deepEqual(warnings, [message]);
  }
  assert.equal(health({}, { throttledAt: NOW - 60_000 }).status, "healthy");
});

test("an uncertainty is a warning, and the instance is healthy", () => {
  for (const [traffic, words] of [
    [{ unmatched: 1 }, /^1 receipt matched no message/],
    [{ unmatched: 3 }, /^3 receipts matched no message/],
    [{ unaddressed: { count: 2, to: "…0002" } }, /^2 texts came to an address that is no number .*\(last: …0002\)/],
    [{ unreadRests: 1 }, /^1 message or receipt of the SMSC ended in octets that are no optional parameter/],
    [{ unsentEnds: 2 }, /^2 messages or receipts of the SMSC counted a NUL at their end/],
    [
      { foreign: 2 },
      /^2 texts with data_coding 0 had octets that are no character of GSM 03\.38: .*set defaultAlphabet/,
    ],
    [{ foreign: 1, defaultAlphabet: "ascii" }, /^1 text with data_coding 0 .* of ASCII/],
    [{ sharedIds: 1 }, /several messages the same id/],
    [{ sinceReceipt: 100 }, /^No receipt came for the last 100 messages/],
  ] as const) {
    const { status, warnings } = health({}, traffic);
    assert.equal(status, "healthy");
    assert.match(warnings?.[0] ?? "", words);
  }
  assert.equal(health({}, { sinceReceipt: 99 }).warnings, undefined);
});
