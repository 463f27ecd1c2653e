/** Posts against receivers on loopback, well-behaved and hostile. */

import assert from "node:assert/strict";
import { createServer as createHttp, type RequestListener } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { runsOf } from "../../test/support/runs.ts";
import { until } from "../../test/support/wait.ts";
import { parseAllowList } from "../core/address.ts";
import { Poster, type PosterOptions, type PostResult } from "./post.ts";

interface Receiver {
  url: string;
  sockets: Socket[];
  server: Server;
}

async function listen(t: TestContext, server: Server): Promise<Receiver> {
  const sockets: Socket[] = [];
  server.on("connection", (socket) => sockets.push(socket.on("error", () => {})));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, sockets, server };
}

function http(t: TestContext, listener: RequestListener): Promise<Receiver> {
  return listen(t, createHttp(listener));
}

/** A receiver that responds to each request with raw bytes, after its head and a small body have come. */
function raw(
  t: TestContext,
  onRequest: (socket: Socket, count: number) => void,
): Promise<Receiver & { count: () => number }> {
  let count = 0;
  const server = createServer((socket) => {
    let seen = "";
    socket.on("data", (chunk) => {
      seen += chunk.toString("latin1");
      if (!seen.includes("\r\n\r\n{}")) return;
      seen = "";
      count += 1;
      onRequest(socket, count);
    });
  });
  return listen(t, server).then((made) => ({ ...made, count: () => count }));
}

function poster(t: TestContext, options: Partial<PosterOptions> = {}): Poster {
  const made = new Poster({ allow: parseAllowList("loopback"), userAgent: "Tightbeam/1.2.3", ...options });
  t.after(() => made.close());
  return made;
}

function send(by: Poster, url: string): Promise<PostResult> {
  return by.post({ url, body: "{}", headers: {} });
}

async function rest(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Posts once and waits until the connection is back in the pool for the next request. */
async function sendAndRest(by: Poster, url: string): Promise<PostResult> {
  const posted = await send(by, url);
  await rest();
  return posted;
}

function failed(posted: PostResult, error: string): void {
  const { status, response, timedOut } = posted;
  const expected = { status: null, response: null, error, timedOut: error === "TIMEOUT" };
  assert.deepEqual({ status, response, error: posted.error, timedOut }, expected);
}

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/** Writes one byte every 20 ms until the socket is gone. */
function drip(socket: Socket, byte: string): void {
  const timer = setInterval(() => socket.write(byte), 20);
  socket.on("close", () => clearInterval(timer));
}

test("the request is a POST of exactly the body, with the given headers and the service's own", async (t) => {
  const seen: unknown[] = [];
  const target = await http(t, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      seen.push([request.method, request.url, { ...request.headersDistinct }, Buffer.concat(chunks).toString()]);
      response.end("thanks");
    });
  });
  const by = poster(t);
  const body = '{"text":"Zażółć 🚀"}';
  const headers = { "X-Signature": "sha256=ab", "X-Timestamp": "1750000000", "content-type": "text/x" };
  for (const form of [body, Buffer.from(body)]) {
    const posted = await by.post({ url: `${target.url}/a%20b?c=d&e#f`, body: form, headers });
    const { durationMs, connected, sent: _, ...others } = posted;
    assert.ok(connected && Number.isInteger(durationMs) && durationMs >= 0);
    await rest();
    assert.deepEqual(others, { status: 200, response: "thanks", error: null, timedOut: false, isPrivate: true });
  }
  const expected = {
    host: [new URL(target.url).host],
    connection: ["keep-alive"],
    "content-type": ["application/json"],
    "user-agent": ["Tightbeam/1.2.3"],
    "x-signature": ["sha256=ab"],
    "x-timestamp": ["1750000000"],
    "content-length": [String(Buffer.byteLength(body))],
  };
  assert.deepEqual(seen, Array(2).fill(["POST", "/hook/a%20b?c=d&e", expected, body]));
  assert.equal(target.sockets.length, 1, "the connection is kept");
});

test("any status is recorded as it is, and a redirect is not followed", async (t) => {
  const called: string[] = [];
  const target = await http(t, (request, response) => {
    called.push(request.url ?? "");
    request.resume();
    const status = Number(request.url?.split("/").at(-1));
    response.writeHead(status, { Location: "/elsewhere/200" });
    response.end(status === 204 || status === 304 ? undefined : `status ${status}`);
  });
  const by = poster(t);
  const statuses = [200, 201, 204, 299, 301, 302, 303, 304, 307, 308, 400, 404, 410, 429, 500, 503];
  for (const status of statuses) {
    const posted = await send(by, `${target.url}/${status}`);
    const empty = status === 204 || status === 304;
    assert.deepEqual([posted.status, posted.error, posted.response], [status, null, empty ? "" : `status ${status}`]);
  }
  assert.deepEqual(
    called,
    statuses.map((status) => `/hook/${status}`),
  );
});

test("a receiver that never responds is a TIMEOUT at the deadline, and its connection is closed", async (t) => {
  const target = await raw(t, () => {});
  const posted = await send(poster(t, { deadlineMs: 200 }), target.url);
  failed(posted, "TIMEOUT");
  assert.ok(posted.durationMs >= 195 && posted.durationMs < 1_500, `${posted.durationMs} ms`);
  await until(() => target.sockets.every((socket) => socket.destroyed), { what: "the end of the connection" });
  assert.equal(target.count(), 1);
});

test("headers that drip do not hold an attempt beyond the deadline", async (t) => {
  const heads = ["", "H", "HTTP/1.1 200 OK\r\nX-Slow: "];
  for (const head of heads) {
    const target = await raw(t, (socket) => {
      socket.write(head);
      drip(socket, head === "" ? "\r\n" : "x");
    });
    const posted = await send(poster(t, { deadlineMs: 300 }), target.url);
    assert.ok(posted.error === "TIMEOUT" || posted.error === "PROTOCOL_ERROR", String(posted.error));
    assert.ok(posted.durationMs < 1_500);
    await until(() => target.sockets.every((socket) => socket.destroyed), { what: "the end of the connection" });
  }
});

test("a 2xx whose body hangs or drips is a success about a second after its status line", async (t) => {
  const bodies = [
    "Content-Length: 10\r\n\r\n",
    "Content-Length: 100000\r\n\r\nabc",
    "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nTrailer: ",
    "\r\n",
  ];
  const attempts = bodies.map(async (body, at) => {
    const target = await raw(t, (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${body}`);
      if (at === 1) drip(socket, "x");
    });
    const posted = await send(poster(t), target.url);
    assert.deepEqual([posted.status, posted.error, posted.timedOut], [200, null, false]);
    assert.ok(posted.durationMs >= 990 && posted.durationMs < 2_500, `${posted.durationMs} ms`);
    assert.match(posted.response ?? "", at === 1 ? /^abcx+$/ : /^(abc)?$/);
    await until(() => target.sockets.every((socket) => socket.destroyed), { what: "the end of the connection" });
  });
  await Promise.all(attempts);
});

test("a status that came in time counts, though the deadline passes during the body", async (t) => {
  const target = await raw(t, (socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab"));
  const posted = await send(poster(t, { deadlineMs: 200 }), target.url);
  assert.deepEqual([posted.status, posted.response, posted.error], [200, "ab", null]);
  assert.ok(posted.durationMs < 900);
});

test("a body that breaks off, or is cut by a reset, does not change the status", async (t) => {
  const target = await raw(t, (socket, count) => {
    socket.write(`HTTP/1.1 ${count === 1 ? 200 : 500} X\r\nContent-Length: 10\r\n\r\nab`, () => {
      if (count === 1) socket.end();
      else socket.resetAndDestroy();
    });
  });
  const by = poster(t);
  const first = await send(by, target.url);
  assert.deepEqual([first.status, first.response, first.error], [200, "ab", null]);
  const second = await send(by, target.url);
  assert.deepEqual([second.status, second.error], [500, null]);
});

test("at most 1 KiB of an endless response is kept, little of it is read, and memory stays flat", async (t) => {
  const block = Buffer.alloc(64 * 1024, "x");
  const target = await raw(t, (socket) => {
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\n");
    const pour = () => {
      while (!socket.destroyed && socket.write(block));
    };
    socket.on("drain", pour);
    pour();
  });
  const by = poster(t);
  await send(by, target.url);
  const rssBefore = process.memoryUsage().rss;
  for (let round = 0; round < 100; round += 1) {
    const posted = await send(by, target.url);
    assert.deepEqual([posted.status, posted.response], [200, "x".repeat(1_024)]);
    assert.ok(posted.durationMs < 900, `${posted.durationMs} ms`);
  }
  await until(() => target.sockets.every((socket) => socket.destroyed), { what: "the end of the connections" });
  const most = Math.max(...target.sockets.map((socket) => socket.bytesWritten));
  assert.ok(most < 20_000_000, `a receiver could write ${most} bytes`);
  const grownMiB = (process.memoryUsage().rss - rssBefore) / 2 ** 20;
  assert.ok(grownMiB < 100, `resident memory grew by ${grownMiB} MiB`);
});

test("a response a little longer than 1 KiB keeps the connection", async (t) => {
  const target = await http(t, (request, response) => {
    request.resume();
    response.end("y".repeat(3_000));
  });
  const by = poster(t);
  for (let round = 0; round < 3; round += 1) {
    assert.equal((await sendAndRest(by, target.url)).response, "y".repeat(1_024));
  }
  assert.equal(target.sockets.length, 1);
});

test("a compressed response is kept as it came, not decompressed", async (t) => {
  const target = await http(t, (request, response) => {
    assert.equal(request.headers["accept-encoding"], undefined);
    request.resume();
    response.writeHead(200, { "Content-Encoding": "gzip" }).end(Buffer.from([0x1f, 0x8b, 0x08, 0x00]));
  });
  assert.equal((await send(poster(t), target.url)).response, "\u001f\ufffd\b\ufffd");
});

test("a broken connection, broken HTTP and a timeout have an error each", async (t) => {
  const table: [string, (socket: Socket) => void][] = [
    ["CONNECTION_RESET", (socket) => socket.resetAndDestroy()],
    ["CONNECTION_RESET", (socket) => socket.end()],
    ["CONNECTION_RESET", (socket) => socket.end("HTTP/1.1 20")],
    ["PROTOCOL_ERROR", (socket) => socket.end("SSH-2.0-OpenSSH_9.6\r\n")],
    ["PROTOCOL_ERROR", (socket) => socket.end("HTTP/1.1 banana\r\n\r\n")],
    ["PROTOCOL_ERROR", (socket) => socket.write(`HTTP/1.1 200 OK\r\nX-Big: ${"x".repeat(20_000)}\r\n\r\n`)],
    ["PROTOCOL_ERROR", (socket) => socket.write("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100))],
    ["PROTOCOL_ERROR", (socket) => socket.write("HTTP/1.1 100 Continue\r\n\r\n")],
    ["PROTOCOL_ERROR", (socket) => socket.write("HTTP/1.1 101 X\r\n\r\n")],
    ["PROTOCOL_ERROR", (socket) => socket.write("HTTP/1.1 200 X\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab")],
    ["PROTOCOL_ERROR", (socket) => socket.write("HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")],
  ];
  for (const [error, answer] of table) {
    const target = await raw(t, answer);
    failed(await send(poster(t), target.url), error);
    assert.equal(target.count(), 1, `${error}: ${answer}`);
    await until(() => target.sockets.every((socket) => socket.destroyed), { what: "the end of the connection" });
  }
  const gone = await raw(t, () => {});
  await new Promise((resolve) => gone.server.close(resolve));
  failed(await send(poster(t), gone.url), "CONNECTION_REFUSED");
});

test("a few 1xx responses before the final one are fine", async (t) => {
  const target = await raw(t, (socket) =>
    socket.write(`${"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n".repeat(3)}${OK}`),
  );
  assert.equal((await send(poster(t), target.url)).status, 200);
});

test("a kept connection that turns out to be closed is one immediate second try on a new one", async (t) => {
  for (const close of [(socket: Socket) => socket.resetAndDestroy(), (socket: Socket) => socket.end()]) {
    const target = await raw(t, (socket, count) => {
      if (count === 2) close(socket);
      else socket.write(OK);
    });
    const by = poster(t);
    assert.equal((await sendAndRest(by, target.url)).status, 200);
    const posted = await sendAndRest(by, target.url);
    assert.deepEqual([posted.status, posted.error], [200, null]);
    assert.equal(target.count(), 3);
    assert.equal(target.sockets.length, 2);
  }
});

test("there is no third try, and no second one after a byte of a response or on a new connection", async (t) => {
  const always = await raw(t, (socket, count) => (count === 1 ? socket.write(OK) : socket.resetAndDestroy()));
  const by = poster(t);
  await sendAndRest(by, always.url);
  failed(await sendAndRest(by, always.url), "CONNECTION_RESET");
  assert.equal(always.count(), 3);
  failed(await sendAndRest(by, always.url), "CONNECTION_RESET");
  assert.equal(always.count(), 4);
  const partly = await raw(t, (socket, count) => {
    if (count === 1) socket.write(OK);
    else socket.write("H", () => socket.end());
  });
  await sendAndRest(by, partly.url);
  failed(await sendAndRest(by, partly.url), "CONNECTION_RESET");
  assert.equal(partly.count(), 2);
});

test("the second try shares the deadline of the first", async (t) => {
  const target = await raw(t, (socket, count) => {
    if (count === 1) socket.write(OK);
    if (count === 2) socket.resetAndDestroy();
  });
  const by = poster(t, { deadlineMs: 300 });
  await sendAndRest(by, target.url);
  const posted = await sendAndRest(by, target.url);
  failed(posted, "TIMEOUT");
  assert.ok(posted.durationMs < 1_500);
  assert.equal(target.count(), 3);
});

test("receivers that hang do not delay another request, not even to the same host", async (t) => {
  const target = await http(t, (request, response) => {
    request.resume();
    if (request.url === "/hook/quick") response.end("ok");
  });
  const by = poster(t, { deadlineMs: 1_500 });
  const hanging = Promise.all(Array.from({ length: 200 }, () => send(by, target.url)));
  await until(() => target.sockets.length >= 200, { what: "200 hanging connections" });
  const quick = await send(by, `${target.url}/quick`);
  assert.equal(quick.status, 200);
  assert.ok(quick.durationMs < 1_000, `${quick.durationMs} ms`);
  for (const posted of await hanging) failed(posted, "TIMEOUT");
  await until(() => target.sockets.filter((socket) => !socket.destroyed).length <= 1, {
    what: "the end of all of them",
  });
});

test("a request that cannot be sent is SEND_FAILED and never an exception", async (t) => {
  const target = await http(t, (_request, response) => response.end());
  const posted = await poster(t).post({ url: target.url, body: "{}", headers: { "X-Bad": "a\r\nX-Injected: 1" } });
  failed(posted, "SEND_FAILED");
  assert.equal(target.sockets.length, 0);
});

const ANSWER_PARTS = [
  "HTTP/1.1 200 OK,HTTP/1.0 200 OK,HTTP/1.1 204 X,HTTP/1.1 101 X,HTTP/1.1 100 X,HTTP/1.1 103 X,HTTP/1.1 000 X,HTTP/2.0 200",
  "Content-Length: 0,Content-Length: 3,Content-Length: 99999999999999999999,Content-Length: -1,Connection: close,0\r\n",
  "Transfer-Encoding: chunked,Transfer-Encoding: gzip,3\r\nabc,ffffffffffff,5;ext=x\r\nhello,Keep-Alive: timeout=0,: bad",
  `Connection: upgrade\r\nUpgrade: x,,\n\n, folded,\0\0,Set-Cookie: a,${"x".repeat(3_000)},X: ${"y".repeat(5_000)}`,
].flatMap((line) => line.split(","));

test("no response, however broken, throws, leaves an attempt open, or has both a status and an error", async (t) => {
  let answer: { parts: string[]; ending: string } = { parts: [], ending: "" };
  const target = await raw(t, (socket) => {
    socket.write(answer.parts.join("\r\n"), "latin1", () => {
      if (answer.ending === "end") socket.end();
      if (answer.ending === "reset") socket.resetAndDestroy();
    });
  });
  const by = poster(t, { deadlineMs: 40 });
  const parts = fc.array(fc.constantFrom(...ANSWER_PARTS), { minLength: 1, maxLength: 9 });
  const first = fc.constantFrom("HTTP/1.1 200 OK", "HTTP/1.1 200 OK", "");
  const answers = fc.tuple(first, parts, fc.constantFrom("end", "reset", "wait"));
  await fc.assert(
    fc.asyncProperty(answers, async ([head, rest, ending]) => {
      answer = { parts: [head, ...rest], ending };
      const posted = await send(by, target.url);
      assert.equal(posted.status === null, posted.error !== null);
      assert.equal(posted.status === null, posted.response === null);
      assert.ok(posted.status === null || posted.status >= 200);
      assert.notEqual(posted.error, "SEND_FAILED");
    }),
    { numRuns: runsOf(400) },
  );
});

test("closing ends open attempts as STOPPED, wherever they are, and closes every connection", async (t) => {
  const mute = await raw(t, () => {});
  const kept = await raw(t, (socket) => socket.write(OK));
  const by = poster(t, { resolve: () => new Promise(() => {}) });
  await send(by, kept.url);
  const open = [send(by, mute.url), send(by, mute.url.replace("http:", "https:")), send(by, "https://slow.test/hook")];
  await until(() => mute.sockets.length === 2 && mute.count() === 1, { what: "two open connections" });
  await by.close();
  for (const posted of await Promise.all(open)) failed(posted, "STOPPED");
  failed(await send(by, kept.url), "STOPPED");
  const sockets = [...mute.sockets, ...kept.sockets];
  await until(() => sockets.every((socket) => socket.destroyed), { what: "the end of all connections" });
});
