/** Tests of the log on a terminal: what a person sees, what is left out, and that nothing gets in that JSON lines hide. */

import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import test from "node:test";
import { createLog, type LogFields } from "./log.ts";
import { terminalDestination } from "./log-terminal.ts";

/** A log on a pretended terminal without colours, and what was written to it, with the times as `HH:MM:SS`. */
function onTerminal() {
  const stream = Object.assign(new PassThrough(), { isTTY: true, getColorDepth: () => 1 });
  let text = "";
  stream.setEncoding("utf8").on("data", (part: string) => {
    text += part.replaceAll(/\d\d:\d\d:\d\d/g, "HH:MM:SS");
  });
  const log = createLog("debug", terminalDestination(stream as unknown as NodeJS.WriteStream));
  return { log, shown: () => text.split("\n").slice(0, -1) };
}

test("a request is shown with time, method, route, status and milliseconds, and its id if it was refused", () => {
  const { log, shown } = onTerminal();
  log.info("request", { requestId: "req_1", method: "POST", route: "/v1/messages", status: 202, durationMs: 3.1234 });
  log.info("request", { requestId: "req_2", method: "GET", route: "/v1/messages/:id", status: 404, durationMs: 12.6 });
  log.info("request", { requestId: "req_3", method: "GET", status: 404, durationMs: 0.2 });
  log.info("request", { requestId: "req_4", status: 400 });
  assert.deepEqual(shown(), [
    "HH:MM:SS  POST    /v1/messages                            202  3.1 ms",
    "HH:MM:SS  GET     /v1/messages/:id                        404  13 ms  req_2",
    "HH:MM:SS  GET     (no such route)                         404  0.2 ms  req_3",
    "HH:MM:SS  -       (no such route)                         400  req_4",
  ]);
});

test("posts to the built-in inbox are not shown; reads of it are", () => {
  const { log, shown } = onTerminal();
  log.info("request", { method: "POST", route: "/sandbox/inbox/:token", status: 200, durationMs: 1 });
  log.info("request", { method: "GET", route: "/v1/sandbox/inbox", status: 200, durationMs: 1 });
  assert.deepEqual(shown(), ["HH:MM:SS  GET     /v1/sandbox/inbox                       200  1.0 ms"]);
});

test("successful reads of an open console are not shown; its changes and refusals are, and reads of programs", () => {
  const { log, shown } = onTerminal();
  const sessionId = "ses_01a2";
  const line = { route: "/v1/sandbox/clock", durationMs: 1, requestId: "req_1" };
  log.info("request", { ...line, method: "GET", status: 200, sessionId });
  log.info("request", { ...line, method: "GET", status: 200, sessionId: null });
  log.info("request", { ...line, method: "POST", status: 200, sessionId });
  log.info("request", { ...line, method: "GET", status: 403, sessionId });
  assert.deepEqual(shown(), [
    "HH:MM:SS  GET     /v1/sandbox/clock                       200  1.0 ms",
    "HH:MM:SS  POST    /v1/sandbox/clock                       200  1.0 ms",
    "HH:MM:SS  GET     /v1/sandbox/clock                       403  1.0 ms  req_1",
  ]);
});

test("other lines show the event with its fields, warnings and errors their level, errors also causes and frames", () => {
  const { log, shown } = onTerminal();
  log.info("listening", { port: 8080, version: "1.0.0" });
  log.warn("fault", { where: "deliver", reason: "the receiver is gone" });
  const error = new Error("the disk is full", { cause: Object.assign(new Error("no space left"), { code: "ENOSPC" }) });
  error.stack = "Error: the disk is full\n    at write (file:///store.ts:1:1)";
  log.error("request failed", { requestId: "req_1", error });
  const [listening, fault, failed, frame, cause] = shown();
  assert.equal(listening, "HH:MM:SS  listening  port 8080  version 1.0.0");
  assert.equal(fault, "HH:MM:SS  warn  fault  where deliver  reason the receiver is gone");
  assert.equal(failed, "HH:MM:SS  error  request failed  requestId req_1  Error: the disk is full");
  assert.equal(frame, "    at write (file:///store.ts:1:1)");
  assert.equal(cause, "    caused by  Error ENOSPC: no space left");
});

test("no key, text or whole number is shown, and no logged text controls the terminal", () => {
  const { log, shown } = onTerminal();
  log.info("request", {
    method: "GET",
    route: "/v1/chats/:id",
    status: 200,
    durationMs: 1,
    text: "swordfish",
  } as LogFields);
  log.warn("message sent", { to: "+15005550100", reason: "tb_0123456789abcdef0123456789abcdef at +15005550100" });
  log.warn("fault", { reason: "red \u001b[31m and a \nnew line" });
  const all = shown().join("\n");
  assert.doesNotMatch(all, /swordfish|15005550100|0123456789abcdef/);
  assert.ok(!all.includes("\u001b"));
  assert.equal(shown().length, 3);
});
