/** The memory budget of bodies: one customer's uploads leave room for another's, and all memory is returned in the end. */

import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { AUTH, failureOf, GOOD, http, JSON_TYPE, OTHER, startEdge } from "../../../test/support/edge.ts";
import { ask } from "../../../test/support/socket.ts";
import { until } from "../../../test/support/wait.ts";
import { systemClock } from "../../clock.ts";
import { ATTACHMENT_BODY_BYTES_MAX } from "../route.ts";
import type { ServerOptions } from "../server.ts";
import { BodyBudget } from "./body-budget.ts";

const UPLOAD = "POST /v1/messages/carousel";
/** Uploads of the largest size that one customer may have read at once. */
const OWN_MAX = 5;

async function stage(t: TestContext, options: Partial<ServerOptions> = {}) {
  const bodies = new BodyBudget(options.clock ?? systemClock());
  const edge = await startEdge(t, { ...options, bodyBudget: bodies });
  const opened: Upload[] = [];
  t.after(() => {
    for (const { socket } of opened) socket.destroy();
  });
  /** Announces an upload and waits to be told to send it. */
  const upload = (auth: string, bytes = ATTACHMENT_BODY_BYTES_MAX) => {
    const one = announce(edge.port, auth, bytes);
    opened.push(one);
    return one;
  };
  return { ...edge, bodies, upload };
}

interface Upload {
  socket: Socket;
  received: string;
}

function announce(port: number, auth: string, bytes: number): Upload {
  const socket = connect({ port, host: "127.0.0.1" });
  const one: Upload = { socket, received: "" };
  socket.on("error", () => {});
  socket.on("data", (chunk) => {
    one.received += chunk;
  });
  const lines = [`${UPLOAD} HTTP/1.1`, "Host: x", auth, JSON_TYPE, "Expect: 100-continue", `Content-Length: ${bytes}`];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  return one;
}

function isWanted({ received }: Upload): boolean {
  return received.startsWith("HTTP/1.1 100 ");
}

test("a customer's sixth upload of 10 MiB waits, and another customer's upload is read at once", async (t) => {
  const { port, upload, bodies } = await stage(t);
  const own = Array.from({ length: 20 }, () => upload(AUTH));
  await until(() => own.filter(isWanted).length === OWN_MAX, { what: "as many as fit into the customer's share" });
  const other = upload(OTHER);
  await until(() => isWanted(other), { what: "the other customer's upload" });
  assert.equal(own.filter(isWanted).length, OWN_MAX);
  assert.equal(bodies.usedBytes, (OWN_MAX + 1) * ATTACHMENT_BODY_BYTES_MAX);
  const small = await ask(port, http("POST /v1/messages", [AUTH, JSON_TYPE], GOOD));
  assert.equal(small.status, 202, "a small body waits behind no upload, not even of its own customer");
  other.socket.destroy();
  own.find(isWanted)?.socket.destroy();
  await until(() => own.filter(isWanted).length === OWN_MAX + 1, { what: "the next upload" });
  for (const { socket } of own) socket.destroy();
  await until(() => bodies.usedBytes === 0, { what: "everything given back" });
});

test("an upload that waits longer than 5 s is a 503, and so is each upload beyond 100 that wait", async (t) => {
  const clock = new SimulatedClock();
  const { port, upload, bodies } = await stage(t, { clock });
  const own = Array.from({ length: OWN_MAX + 100 }, () => upload(AUTH));
  await until(() => own.filter(isWanted).length === OWN_MAX && clock.pending >= 100, { what: "100 that wait" });
  const beyond = await ask(port, http("POST /v1/nowhere", [AUTH, JSON_TYPE, "Content-Length: 20000"]));
  const failure = failureOf(beyond.status, beyond.body);
  assert.deepEqual([failure.error.code, beyond.headers["retry-after"]], ["SERVICE_UNAVAILABLE", "5"]);
  assert.match(failure.error.message, /this customer hold its share/);
  await clock.advance(5_000);
  await until(() => own.filter(({ received }) => received.startsWith("HTTP/1.1 503 ")).length === 100, {
    what: "the refusal of all that wait",
  });
  assert.equal(bodies.usedBytes, OWN_MAX * ATTACHMENT_BODY_BYTES_MAX);
});

test("a body in chunks is counted as it grows, waits for memory, and is read completely", async (t) => {
  const { port, upload, bodies } = await stage(t);
  const own = Array.from({ length: OWN_MAX }, () => upload(AUTH));
  await until(() => own.every(isWanted), { what: "the customer's share" });
  const text = "x".repeat(3_000_000);
  const body = JSON.stringify({ text });
  const head = `${UPLOAD} HTTP/1.1\r\nHost: x\r\n${AUTH}\r\n${JSON_TYPE}\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const chunks = body.match(/.{1,50000}/gs) ?? [];
  const chunked = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("");
  const answered = ask(port, `${head}${chunked}0\r\n\r\n`);
  let isAnswered = false;
  void answered.then(() => {
    isAnswered = true;
  });
  await ask(port, http("GET /v1/nothing", [AUTH]));
  assert.equal(isAnswered, false, "it waits: its customer's share is taken");
  own[0]?.socket.destroy();
  const { status, body: received } = await answered;
  assert.deepEqual([status, JSON.parse(received).data], [200, text.length]);
  for (const { socket } of own) socket.destroy();
  await until(() => bodies.usedBytes === 0, { what: "everything given back" });
});

test("large bodies are parsed one at a time; other requests are served between two, and a handler that waits gives way", async () => {
  const clock = new SimulatedClock();
  const bodies = new BodyBudget(clock);
  const request = { once: () => {}, off: () => {} } as unknown as IncomingMessage;
  const order: string[] = [];
  const take = async (owner: string) => {
    const release = await bodies.acquireParsing(owner, request);
    order.push(owner);
    return release;
  };
  const first = await take("a");
  const [second, third] = [take("a"), take("b")];
  await turn();
  assert.deepEqual(order, ["a"]);
  first();
  await Promise.resolve();
  assert.deepEqual(order, ["a"], "others come in between");
  await third;
  assert.deepEqual(order, ["a", "b"], "the other customer is next");
  await clock.advance(250);
  await second;
  assert.deepEqual(order, ["a", "b", "a"]);
});
