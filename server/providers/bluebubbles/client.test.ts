/** Tests of the Mac's HTTP client: how it classifies failures, and that it never reveals the password. */

import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { startMac } from "../../../test/support/mac/mac.ts";
import { until } from "../../../test/support/wait.ts";
import { systemClock } from "../../clock.ts";
import { describeFailure, MacClient, type MacResponse, pathSegment } from "./client.ts";

const PASSWORD = "pa ss&word=1/?#";

function clientOf(t: TestContext, url: string, password = PASSWORD, clock = systemClock()): MacClient {
  const client = new MacClient({ url, password, clock });
  t.after(() => client.close());
  return client;
}

async function listen(t: TestContext, server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A server that responds as given and counts the requests. */
async function serve(t: TestContext, answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    request.resume();
    request.on("end", () => answer(request, response));
  });
  t.after(() => server.closeAllConnections());
  return { url: await listen(t, server), requests };
}

test("a response has its data; the password is sent with every request, whatever characters it has", async (t) => {
  const mac = await startMac({ password: PASSWORD });
  t.after(() => mac.stop());
  const client = clientOf(t, `${mac.url}/`);
  assert.deepEqual(await client.get("/ping"), { kind: "ok", data: "pong" });
  assert.deepEqual(mac.requests, ["GET /api/v1/ping"]);
  const queried = await client.query("/message/query", { limit: 1 });
  assert.deepEqual(queried, { kind: "ok", data: [] });
  assert.notEqual(client.respondedAt, null);
});

test("a guid in a path and a plus in a query arrive unchanged", async (t) => {
  const { url, requests } = await serve(t, (_request, response) => response.end('{"status":200,"data":1}'));
  const client = clientOf(t, url, "p");
  await client.get(`/chat/${pathSegment("iMessage;-;+15551234567")}`, { address: "+15551234567", none: null });
  assert.deepEqual(requests, ["GET /api/v1/chat/iMessage%3B-%3B%2B15551234567?address=%2B15551234567&password=p"]);
});

test("an error of BlueBubbles has its type and message; another server's error has no type", async (t) => {
  const mac = await startMac({ password: PASSWORD });
  t.after(() => mac.stop());
  const client = clientOf(t, mac.url);
  assert.deepEqual(await client.get("/chat/nope"), {
    kind: "errorResponse",
    status: 404,
    type: "Database Error",
    message: "Chat does not exist!",
  });
  const unknown = await client.get("/no/such/route");
  assert.deepEqual(unknown, { kind: "errorResponse", status: 404, type: null, message: "the response is not JSON" });
  const wrong = await clientOf(t, mac.url, "other").get("/ping");
  assert.deepEqual(wrong, {
    kind: "errorResponse",
    status: 401,
    type: "Authentication Error",
    message: "Unauthorized",
  });
});

test("without a connection, by address or by name, the request is unreachable: nothing was written", async (t) => {
  const server = createTcp();
  const url = await listen(t, server);
  await new Promise((resolve) => server.close(resolve));
  assert.deepEqual(await clientOf(t, url).post("/message/text", {}), { kind: "unreachable", reason: "ECONNREFUSED" });
  const named = await clientOf(t, "http://no-such-mac.invalid:1234").post("/message/text", {});
  assert.equal(named.kind, "unreachable");
  const secure = await clientOf(t, url.replace("http:", "https:")).post("/message/text", {});
  assert.equal(secure.kind, "unreachable");
});

test("a TLS handshake that fails is unreachable: no request was written", async (t) => {
  const { url } = await serve(t, (_request, response) => response.end("{}"));
  const failed = await clientOf(t, url.replace("http:", "https:")).post("/message/text", {});
  assert.equal(failed.kind, "unreachable");
});

test("a write whose connection breaks has no response, and is never repeated", async (t) => {
  const { url, requests } = await serve(t, (request) => void request.socket.destroy());
  const client = clientOf(t, url);
  for (const answer of [await client.post("/x", {}), await client.put("/x", {}), await client.delete("/x")]) {
    assert.equal(answer.kind, "noResponse");
  }
  const upload = { fields: {}, filename: "a.txt", mimeType: "text/plain", bytes: new Uint8Array([1]) };
  assert.equal((await client.upload("/x", upload)).kind, "noResponse");
  assert.deepEqual(
    requests.map((line) => line.slice(0, 4)),
    ["POST", "PUT ", "DELE", "POST"],
  );
});

test("a read whose connection breaks is repeated once", async (t) => {
  let cuts = 1;
  const { url, requests } = await serve(t, (request, response) => {
    cuts -= 1;
    if (cuts >= 0) request.socket.destroy();
    else response.end('{"status":200,"data":"here"}');
  });
  const client = clientOf(t, url);
  assert.equal((await client.get("/x")).kind, "ok");
  cuts = 2;
  assert.equal((await client.query("/x", {})).kind, "noResponse");
  assert.equal(requests.length, 4);
});

test("a write uses a connection that was never idle, so that the Mac cannot just have closed it", async (t) => {
  const ports = new Set<number | undefined>();
  const { url } = await serve(t, (request, response) => {
    ports.add(request.socket.remotePort);
    response.end('{"status":200,"data":1}');
  });
  const client = clientOf(t, url);
  for (let at = 0; at < 3; at += 1) assert.equal((await client.post("/x", {})).kind, "ok");
  assert.equal(ports.size, 3);
});

test("a timed out request and an aborted one have no response", async (t) => {
  const { url, requests } = await serve(t, () => {});
  const clock = new SimulatedClock();
  const client = clientOf(t, url, PASSWORD, clock);
  const late = client.post("/message/text", {});
  const early = client.get("/ping");
  await until(() => requests.length === 2);
  await clock.advance(15_000);
  assert.deepEqual(await early, { kind: "noResponse", reason: "timed out" });
  await clock.advance(174_999);
  let isDone = false;
  void late.then(() => {
    isDone = true;
  });
  await clock.advance(0);
  assert.equal(isDone, false);
  await clock.advance(1);
  assert.deepEqual(await late, { kind: "noResponse", reason: "timed out" });
  const abort = new AbortController();
  const called = client.get("/ping", {}, { abort: abort.signal });
  await until(() => requests.length === 3);
  abort.abort();
  assert.deepEqual(await called, { kind: "noResponse", reason: "aborted" });
});

test("a 200 that is not JSON counts as no response: the result is unknown", async (t) => {
  const { url } = await serve(t, (_request, response) => response.end("<html>Welcome</html>"));
  assert.deepEqual(await clientOf(t, url).post("/x", {}), {
    kind: "noResponse",
    reason: "the response (200) is not JSON",
  });
});

test("a file over the size limit counts as no response", async (t) => {
  const { url } = await serve(t, (_request, response) => response.end(Buffer.alloc(2_000)));
  const client = clientOf(t, url);
  assert.deepEqual(await client.download("/x", {}, 1_999), {
    kind: "noResponse",
    reason: "the connection broke (TOO_LONG)",
  });
  const whole = await client.download("/x", {}, 2_000);
  assert.equal(whole.kind === "ok" && whole.bytes.length, 2_000);
});

test("after close every request fails at once", async (t) => {
  const { url } = await serve(t, () => {});
  const client = clientOf(t, url);
  const open = client.post("/x", {});
  await client.close();
  assert.equal((await open).kind, "noResponse");
  assert.notEqual((await client.post("/x", {})).kind, "ok");
});

test("no failure contains the password or the address", async (t) => {
  const sockets = new Set<Socket>();
  const rude = createTcp((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\nContent-Length: nonsense\r\n\r\n"));
  });
  const url = await listen(t, rude);
  const closed = await serve(t, (request) => void request.socket.destroy());
  const answers: MacResponse[] = [
    await clientOf(t, url).get("/ping"),
    await clientOf(t, closed.url).get("/ping"),
    await clientOf(t, "http://no-such-mac.invalid").get("/ping"),
  ];
  for (const answer of answers) {
    assert.notEqual(answer.kind, "ok");
    const words = answer.kind === "ok" ? "" : describeFailure(answer);
    assert.doesNotMatch(`${words} ${JSON.stringify(answer)}`, /pa.{1,3}ss|127\.0|no-such-mac|password/);
  }
});

test("a proxy that responds does not count as a Mac that is awake", async (t) => {
  let answer = { status: 200, body: '{"status":200,"data":"pong"}' };
  const { url } = await serve(t, (_request, response) => response.writeHead(answer.status).end(answer.body));
  const client = clientOf(t, url);
  await client.get("/ping");
  const { respondedAt, awakeSince } = client;
  assert.ok(respondedAt !== null && awakeSince !== null);
  answer = { status: 502, body: "<h1>Bad Gateway</h1>" };
  await client.get("/ping");
  assert.deepEqual([client.respondedAt, client.awakeSince], [respondedAt, null]);
  answer = { status: 500, body: '{"status":500,"error":{"type":"iMessage Error","message":"no"}}' };
  await client.get("/ping");
  assert.notEqual(client.awakeSince, null);
});

test("an error that repeats the request does not reveal the password", async (t) => {
  for (const password of [PASSWORD, "hunter2"]) {
    const { url } = await serve(t, ({ url: asked }, response) =>
      response
        .writeHead(404)
        .end(JSON.stringify({ message: `Cannot GET ${asked}; ${decodeURIComponent(asked ?? "")}` })),
    );
    const answer = await clientOf(t, url, password).get("/chat/x", { address: "a" });
    assert.ok(answer.kind === "errorResponse");
    assert.doesNotMatch(answer.message, /word|hunter|ss[&%+ ]/);
    assert.match(describeFailure(answer), /Cannot GET/);
  }
});

test("a request that sends is not written, although its connection opened, once another process runs the instance", async (t) => {
  const { url, requests } = await serve(t, (_request, response) => response.end('{"status":200,"data":1}'));
  let mayWrite = true;
  const client = new MacClient({ url, password: "p", clock: systemClock(), mayWrite: () => mayWrite });
  t.after(() => client.close());
  assert.equal((await client.post("/message/text", {})).kind, "ok");
  mayWrite = false;
  const refused = await client.post("/message/text", {});
  assert.deepEqual(refused, { kind: "unreachable", reason: "another process runs the instance by now" });
  assert.equal(requests.length, 1);
});
