/** Tests of the log: what a line looks like, and values that never get into one. */

import assert from "node:assert/strict";
import test from "node:test";
import { createLog, type LogFields } from "./log.ts";

const KEY = "tb_0123456789abcdefghijABCDEFGHIJ0123";
const HEX_KEY = `tb_${"0123456789abcdef".repeat(2)}`;
const NUMBER = "+15005550100";
const TEXT = "the launch code is swordfish";

function capture(level: Parameters<typeof createLog>[0] = "debug") {
  const lines: string[] = [];
  const log = createLog(level, { write: (line: string) => void lines.push(line) });
  return { log, lines, last: () => JSON.parse(lines.at(-1) ?? "null") as Record<string, unknown> };
}

test("a line is one JSON object with level, time, event and the fields", () => {
  const { log, lines, last } = capture();
  log.info("request", { requestId: "req_1", method: "GET", route: "/v1/messages/:id", status: 200, durationMs: 1.5 });
  const { time, ...rest } = last();
  assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.deepEqual(rest, {
    level: "info",
    event: "request",
    requestId: "req_1",
    method: "GET",
    route: "/v1/messages/:id",
    status: 200,
    durationMs: 1.5,
  });
  assert.match(lines[0] ?? "", /^\{.*\}\n$/);
});

test("lines below the level are not written, and silent writes none", () => {
  const { log, lines } = capture("warn");
  log.debug("a");
  log.info("b");
  log.warn("c");
  log.error("d");
  assert.equal(lines.length, 2);
  const silent = capture("silent");
  silent.log.error("e");
  assert.equal(silent.lines.length, 0);
});

test("a field that is not on the list is left out, whatever it holds", () => {
  const { log, lines, last } = capture();
  const mistaken = { messageId: "msg_1", text: TEXT, key: KEY, body: { to: NUMBER }, content: { text: TEXT } };
  log.warn("delivery failed", mistaken as LogFields);
  assert.deepEqual(Object.keys(last()).sort(), ["event", "level", "messageId", "time"]);
  assert.doesNotMatch(lines.join(""), /swordfish|15005550100|0123456789abc/);
});

test("keys, texts and numbers do not appear in any field, put there by mistake or not", () => {
  const { log, lines } = capture();
  const values: unknown[] = [
    KEY,
    HEX_KEY,
    NUMBER,
    TEXT,
    `Bearer ${KEY}`,
    `to ${NUMBER}: ${TEXT}`,
    { text: TEXT },
    [KEY, NUMBER],
  ];
  const fields =
    "requestId correlationId method route status durationMs keyId customerId messageId eventId eventType deliveryId " +
    "webhookId instanceId provider channel from to outcome code attempt count retryAfterMs origin port version signal where error";
  for (const value of values) {
    for (const name of fields.split(" ")) log.error("request", { [name]: value });
    log.error(`request ${KEY} ${NUMBER}`, { error: value } as LogFields);
  }
  assert.doesNotMatch(lines.join(""), /swordfish|5005550100|0123456789abc/);
});

test("a phone number appears by its last four digits only", () => {
  const { log, last } = capture();
  log.info("message sent", { from: "+15005550006", to: NUMBER, reason: `no route to ${NUMBER}, nor 1 (500) 555-0101` });
  const { from, to, reason } = last();
  assert.deepEqual({ from, to }, { from: "…0006", to: "…0100" });
  assert.equal(reason, "no route to …0100, nor …0101");
});

test("an address of a person appears by its last four characters, and not at all in a free text", () => {
  const { log, last } = capture();
  log.info("message sent", { to: "someone@example.com", reason: "someone@example.com is not on iMessage" });
  assert.equal(last().to, "….com");
  assert.equal(last().reason, "…@… is not on iMessage");
});

test("secrets in a free text are masked, and the text is cut to 500 characters", () => {
  const { log, last } = capture();
  log.warn("odd", { reason: `${KEY} and whsec_c2VjcmV0c2VjcmV0 ${"x".repeat(1000)}` });
  const reason = String(last().reason);
  assert.ok(reason.startsWith("tb_… and whsec_… xxx"));
  assert.equal(reason.length, 500);
});

test("only scheme, host and port of a URL are written", () => {
  const { log, last } = capture();
  log.info("delivery failed", { origin: "https://user:pass@hooks.example:8443/token/secret?key=1" });
  assert.equal(last().origin, "https://hooks.example:8443");
});

test("ids, dates and durations are not taken for numbers of people", () => {
  const { log, last } = capture();
  const id = "msg_01981234-5678-7123-8123-123456789012";
  log.info("x", {
    messageId: id,
    requestId: "01981234-5678-7123-8123-123456789012",
    reason: "due 2026-03-01T00:00:00.000Z",
  });
  assert.equal(last().messageId, id);
  assert.equal(last().requestId, "01981234-5678-7123-8123-123456789012");
  assert.equal(last().reason, "due 2026-03-01T00:00:00.000Z");
});

test("an error is written as type, code and message; its stack and causes' stacks at error level only", () => {
  const { log, last } = capture();
  const cause = Object.assign(new TypeError("socket hang up"), { code: "ECONNRESET" });
  const error = Object.assign(new Error("no answer", { cause }), { code: "ETIMEDOUT", body: TEXT });
  log.warn("delivery failed", { error });
  assert.deepEqual(last().error, {
    type: "Error",
    code: "ETIMEDOUT",
    message: "no answer",
    cause: { type: "TypeError", code: "ECONNRESET", message: "socket hang up" },
  });
  log.error("bug", { error });
  const { stack, cause: inner } = last().error as { stack: string; cause: { stack: string } };
  assert.match(stack, /^at .*log\.test\.ts/);
  assert.match(inner.stack, /^at /);
});

test("input that Node quotes in the message of an error is left out", () => {
  const { log, lines, last } = capture();
  for (const action of [
    () => JSON.parse(`${TEXT}`),
    () => JSON.parse(`{"text": ${TEXT}}`),
    () => Buffer.alloc(TEXT as unknown as number),
    () => (TEXT as unknown as { nothing: () => void }).nothing(),
  ]) {
    assert.throws(action, (error) => {
      log.error("bug", { error });
      return true;
    });
    assert.notEqual((last().error as { message: string }).message, "");
  }
  assert.doesNotMatch(lines.join(""), /swordfish|launch/);
});

test("a chain of causes ends after three", () => {
  const { log, lines } = capture();
  const error = new Error("loop");
  error.cause = error;
  log.error("bug", { error });
  assert.equal(lines.join("").split('"type"').length - 1, 4);
});

/** The stack in the log of an error with this message and these frames. */
function stackOf(message: string, frames: readonly string[]): string {
  const { log, last } = capture();
  const error = new Error(message);
  error.stack = [`Error: ${message}`, ...frames.map((frame) => `    at ${frame}`)].join("\n");
  log.error("fault", { error });
  return (last().error as { stack: string }).stack;
}

test("a stack begins after the message, also if lines of the message look like frames", () => {
  const message = `no reply\n    at ${TEXT}\n    at ${"x".repeat(100_000)}`;
  assert.equal(stackOf(message, ["send (file:///server/send.ts:1:2)"]), "at send (file:///server/send.ts:1:2)");
});

test("keys, secrets, numbers and e-mail addresses in a stack are masked, and paths of packages are not", () => {
  const frames = [
    `Object.${KEY} (file:///a.ts:1:1)`,
    "send (file:///whsec_c2VjcmV0:1:1)",
    `to ${NUMBER} (file:///a.ts:1:1)`,
    "anna.smith@example.com (file:///a.ts:1:1)",
    "handle (file:///srv/node_modules/@fastify/static/index.js:204:17)",
  ];
  assert.deepEqual(stackOf("no reply", frames).split("\n"), [
    "at Object.tb_… (file:///a.ts:1:1)",
    "at send (file:///whsec_…:1:1)",
    "at to …0100 (file:///a.ts:1:1)",
    "at …@… (file:///a.ts:1:1)",
    "at handle (file:///srv/node_modules/@fastify/static/index.js:204:17)",
  ]);
});

test("a stack is cut to 8 KiB of whole frames, and each frame to 500 characters", () => {
  const many = stackOf("no reply", Array<string>(10_000).fill(`to ${NUMBER} ${"f".repeat(100)}`)).split("\n");
  assert.deepEqual(new Set(many), new Set([`at to …0100 ${"f".repeat(100)}`]));
  assert.ok(many.length > 50 && many.length < 8_192 / 100, String(many.length));
  assert.equal(stackOf("no reply", ["f".repeat(5_000), "send (a.ts:1:1)"]).split("\n")[0]?.length, 500);
  assert.equal(stackOf("no reply", ["f".repeat(1_000_000)]), "");
});
