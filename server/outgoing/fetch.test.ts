/** Fetches, against servers on loopback that do everything wrong. */

import assert from "node:assert/strict";
import { createServer as createHttp, type RequestListener } from "node:http";
import { createServer as createHttps } from "node:https";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { gzipSync } from "node:zlib";
import { EXPIRED_CERTIFICATE, TLS_CERTIFICATE, TLS_KEY } from "../../test/support/certificate.ts";
import { nameServer } from "../../test/support/name-server.ts";
import { until } from "../../test/support/wait.ts";
import { parseAllowList } from "../core/address.ts";
import { dnsResolver } from "./dns.ts";
import { Fetcher, type FetcherOptions } from "./fetch.ts";

const BYTES_MAX = 1_000_000;

function fetcher(t: TestContext, options: Partial<FetcherOptions> & { open?: string } = {}): Fetcher {
  const { open = "loopback", ...rest } = options;
  const made = new Fetcher({
    allow: parseAllowList(open),
    userAgent: "Tightbeam/0",
    resolve: () => Promise.reject(new Error("this test asks for no name")),
    ...rest,
  });
  t.after(() => made.close());
  return made;
}

function get(by: Fetcher, url: string, bytesMax = BYTES_MAX, abort = new AbortController().signal, owner = "cust_1") {
  return by.fetch(url, { owner, bytesMax, tooLarge: "is too large", abort });
}

interface Listening {
  port: number;
  url: string;
  connections: () => number;
}

async function listening(t: TestContext, server: Server): Promise<Listening> {
  let count = 0;
  server.on("connection", (socket: Socket) => {
    count += 1;
    t.after(() => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://127.0.0.1:${port}/file`, connections: () => count };
}

const serving = (t: TestContext, listener: RequestListener) => listening(t, createHttp(listener));

/** A server that responds to every request with these bytes and then stays silent; `end` closes the connection. */
function raw(t: TestContext, answer: string, end = false): Promise<Listening> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => (end ? socket.end(answer, "latin1") : socket.write(answer, "latin1")));
  });
  return listening(t, server);
}

test("a file arrives unchanged, and counts against the memory for files until it is released", async (t) => {
  const asked: { url: string | undefined; encoding: unknown; agent: unknown; key: unknown }[] = [];
  const body = Buffer.from(Array.from({ length: 200_000 }, (_, index) => index % 251));
  const server = await serving(t, ({ url, headers }, response) => {
    const { "accept-encoding": encoding, "user-agent": agent, authorization: key } = headers;
    asked.push({ url, encoding, agent, key });
    response.end(body);
  });
  const by = fetcher(t);
  const got = await get(by, `${server.url}?a=1#b`);
  assert.ok("bytes" in got);
  assert.ok(got.bytes.equals(body));
  assert.ok(by.held >= body.length && by.held <= 2 * body.length, `${by.held}`);
  got.release();
  assert.equal(by.held, 0);
  assert.deepEqual(asked, [{ url: "/file?a=1", encoding: "identity", agent: "Tightbeam/0", key: undefined }]);
});

test("a response is refused if a repeat is of no use, and deferred if it may help", async (t) => {
  const means: [number, "refused" | "deferred"][] = [
    [204, "refused"],
    [206, "refused"],
    [301, "refused"],
    [302, "refused"],
    [304, "refused"],
    [400, "refused"],
    [401, "refused"],
    [404, "refused"],
    [410, "refused"],
    [408, "deferred"],
    [425, "deferred"],
    [429, "deferred"],
    [500, "deferred"],
    [503, "deferred"],
  ];
  const server = await serving(t, (request, response) => {
    response.writeHead(Number(request.url?.slice(1)), { location: "http://127.0.0.1/elsewhere" }).end();
  });
  const by = fetcher(t);
  for (const [status, meaning] of means) {
    const got = await get(by, `http://127.0.0.1:${server.port}/${status}`);
    assert.match((got as Record<string, string>)[meaning] ?? "", new RegExp(`^responds with ${status}`), `${status}`);
  }
  const empty = await serving(t, (_, response) => response.end());
  assert.deepEqual(await get(by, empty.url), { refused: "is empty" });
  assert.equal(by.held, 0);
});

test("a redirect is not followed, wherever it leads", async (t) => {
  const target = await serving(t, (_, response) => response.end("secret"));
  const server = await serving(t, (_, response) => response.writeHead(302, { location: target.url }).end());
  const got = await get(fetcher(t), server.url);
  assert.deepEqual(got, { refused: "responds with 302; redirects are not followed, give the address of the file" });
  assert.equal(target.connections(), 0);
});

test("a file beyond the limit is refused: at once if its length is announced, else when it is reached", async (t) => {
  const by = fetcher(t);
  const announced = await raw(t, `HTTP/1.1 200 OK\r\nContent-Length: ${BYTES_MAX + 1}\r\n\r\nx`);
  assert.deepEqual(await get(by, announced.url), { refused: "is too large" });
  let written = 0;
  const endless = await serving(t, (_, response) => {
    const chunk = Buffer.alloc(100_000, 1);
    const more = () => {
      for (;;) {
        written += chunk.length;
        if (!response.write(chunk)) break;
      }
    };
    response.on("drain", more);
    more();
  });
  assert.deepEqual(await get(by, endless.url), { refused: "is too large" });
  assert.ok(written < 50_000_000, `${written} bytes were written`);
  const exact = await serving(t, (_, response) => response.end(Buffer.alloc(BYTES_MAX, 1)));
  const got = await get(by, exact.url);
  assert.ok("bytes" in got && got.bytes.length === BYTES_MAX && by.held === BYTES_MAX);
  got.release();
  assert.equal(by.held, 0);
});

test("a server that lies about its length gives no file", async (t) => {
  const by = fetcher(t);
  const short = await raw(t, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this", true);
  assert.deepEqual(await get(by, short.url), { deferred: "closed the connection before the whole file had arrived" });
  const two = await raw(t, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 5\r\n\r\nhello", true);
  assert.ok("deferred" in (await get(by, two.url)));
  const chunked = await raw(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", true);
  assert.ok("deferred" in (await get(by, chunked.url)));
  const nonsense = await raw(t, "SSH-2.0-OpenSSH_9.6\r\n", true);
  assert.ok("deferred" in (await get(by, nonsense.url)));
  const switched = await raw(t, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n");
  assert.ok("deferred" in (await get(by, switched.url)));
  assert.equal(by.held, 0);
});

test("nothing is decompressed: a response with an encoding that was not requested is refused", async (t) => {
  const server = await serving(t, (_, response) => {
    response.setHeader("Content-Encoding", "gzip");
    response.end(gzipSync(Buffer.alloc(10_000_000)));
  });
  assert.deepEqual(await get(fetcher(t), server.url), {
    refused: "responds with the encoding gzip, which was not requested",
  });
});

test("a fetch ends at its deadline, however a server drags it out", async (t) => {
  const by = fetcher(t, { deadlineMs: 300 });
  const mute = await listening(
    t,
    createServer((socket) => socket.on("error", () => {}).resume()),
  );
  const drip = await serving(t, (_, response) => {
    const timer = setInterval(() => response.write("x"), 5);
    response.on("close", () => clearInterval(timer));
  });
  const headers = await raw(t, "HTTP/1.1 200 OK\r\nX-Slow: ");
  for (const { url } of [mute, drip, headers]) {
    const startedAt = performance.now();
    assert.deepEqual(await get(by, url), { deferred: "took longer than 0.3 s" });
    assert.ok(performance.now() - startedAt < 20_000);
  }
  assert.equal(by.held, 0);
});

test("a server that sends a byte at a time costs no more memory than its bytes", async (t) => {
  const server = await serving(t, (_, response) => {
    let left = 500;
    const next = () => {
      left -= 1;
      if (left === 0) response.end();
      else response.write("x", () => setImmediate(next));
    };
    next();
  });
  const by = fetcher(t);
  const got = await get(by, server.url);
  assert.ok("bytes" in got);
  assert.equal(got.bytes.length, 499);
  assert.equal(by.held, 65_536);
});

test("no name leads a fetch to an address that is not public, and nothing there receives a byte", async (t) => {
  const server = await serving(t, (_, response) => response.end("secret"));
  const zone = {
    "metadata.test": { a: ["169.254.169.254"], aaaa: [], ttlSeconds: 0 },
    "loopback.test": { a: ["127.0.0.1"], aaaa: [], ttlSeconds: 0 },
    "both.test": { a: ["93.184.215.14", "10.0.0.1"], aaaa: [], ttlSeconds: 0 },
    "six.test": { a: [], aaaa: [Buffer.from("0".repeat(31).concat("1"), "hex")], ttlSeconds: 0 },
  };
  const dns = await nameServer(zone);
  t.after(() => dns.close());
  const by = fetcher(t, { open: "", resolve: dnsResolver([dns.address]) });
  const refused = { refused: "leads to an address that this service does not fetch from" };
  const hosts = ["127.0.0.1", "localhost", "2130706433", "[::1]", "[::ffff:127.0.0.1]", ...Object.keys(zone)];
  for (const host of hosts) {
    for (const scheme of ["http", "https"]) {
      assert.deepEqual(await get(by, `${scheme}://${host}:${server.port}/file`), refused, host);
    }
  }
  for (const url of ["ftp://127.0.0.1/x", "file:///etc/passwd", "data:text/plain,x", "not a URL"]) {
    assert.deepEqual(await get(by, url), refused, url);
  }
  assert.deepEqual(await get(by, "https://nowhere.test/x"), { deferred: "has a host name without an address" });
  assert.equal(server.connections(), 0);
});

test("addresses on the operator's allow list are fetched from, by name and by http", async (t) => {
  const server = await serving(t, (_, response) => response.end("inside"));
  const by = fetcher(t, { open: "files.internal", resolve: async () => ({ addresses: ["127.0.0.1"], ttlSeconds: 0 }) });
  const got = await get(by, `http://files.internal:${server.port}/file`);
  assert.ok("bytes" in got && got.bytes.toString() === "inside");
  assert.ok("refused" in (await get(by, `http://other.internal:${server.port}/file`)));
});

test("TLS is verified: a certificate that is not trusted is refused, a server without TLS deferred", async (t) => {
  const answer: RequestListener = (_, response) => void response.end("sealed");
  const good = await listening(t, createHttps({ key: TLS_KEY, cert: TLS_CERTIFICATE }, answer));
  const expired = await listening(t, createHttps({ key: TLS_KEY, cert: EXPIRED_CERTIFICATE }, answer));
  const plain = await serving(t, answer);
  const url = ({ port }: Listening) => `https://127.0.0.1:${port}/file`;
  const trusting = fetcher(t, { tlsCa: TLS_CERTIFICATE });
  const got = await get(trusting, url(good));
  assert.ok("bytes" in got && got.bytes.toString() === "sealed");
  assert.match(String(((await get(fetcher(t), url(good))) as { refused?: string }).refused), /^has a certificate that/);
  const late = (await get(fetcher(t, { tlsCa: EXPIRED_CERTIFICATE }), url(expired))) as { refused?: string };
  assert.match(String(late.refused), /CERT_HAS_EXPIRED/);
  assert.deepEqual(await get(trusting, url(plain)), { deferred: "does not offer TLS" });
});

test("a fetch without a connection is deferred", async (t) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  assert.deepEqual(await get(fetcher(t), `http://127.0.0.1:${port}/`), { deferred: "cannot be connected to" });
});

test("memory is bounded: beyond the bound a fetch is deferred and its bytes are dropped", async (t) => {
  const server = await serving(t, (_, response) => response.end(Buffer.alloc(900_000, 1)));
  const by = fetcher(t, { heldBytesMax: 1_500_000 });
  const first = await get(by, server.url);
  assert.ok("bytes" in first);
  assert.deepEqual(await get(by, server.url), {
    deferred: "was not fetched because too many large files are in memory",
  });
  assert.equal(by.held, BYTES_MAX);
  first.release();
  assert.ok("bytes" in (await get(by, server.url)));
});

test("a customer alone fetches twelve files at once, further fetches wait, and an aborted fetch stops waiting", async (t) => {
  const open: (() => void)[] = [];
  const server = await serving(t, (_, response) => void open.push(() => response.end("x")));
  const by = fetcher(t);
  const off = new AbortController();
  const first = Array.from({ length: 12 }, () => get(by, server.url));
  const called = get(by, server.url, BYTES_MAX, off.signal);
  const later = Array.from({ length: 12 }, () => get(by, server.url));
  await until(() => open.length === 12, { what: "twelve fetches" });
  off.abort();
  assert.deepEqual(await called, { deferred: "was not fetched because the service stopped" });
  assert.equal(open.length, 12);
  for (const end of open.splice(0)) end();
  for (const got of await Promise.all(first)) assert.ok("bytes" in got);
  await until(() => open.length === 12, { what: "the next twelve fetches" });
  for (const end of open.splice(0)) end();
  for (const got of await Promise.all(later)) assert.ok("bytes" in got);
});

test("a customer whose files come from servers that hang never holds up another customer's picture", async (t) => {
  const hanging = await serving(t, () => {});
  const prompt = await serving(t, (_, response) => response.end("x"));
  const by = fetcher(t);
  const greedy = Array.from({ length: 100 }, () => get(by, hanging.url));
  await until(() => hanging.connections() === 12, { what: "the greedy customer's twelve fetches" });
  const signal = new AbortController().signal;
  for (let index = 0; index < 20; index += 1) {
    assert.ok("bytes" in (await get(by, prompt.url, BYTES_MAX, signal, "cust_2")));
  }
  assert.equal(hanging.connections(), 12);
  await by.close();
  assert.equal((await Promise.all(greedy)).filter((got) => "deferred" in got).length, 100);
});

test("a customer that holds most of the memory for files leaves room for another's", async (t) => {
  const server = await serving(t, (_, response) => response.end(Buffer.alloc(60_000, 1)));
  const by = fetcher(t, { heldBytesMax: 10 * 65_536 });
  const signal = new AbortController().signal;
  let held = 0;
  while ("bytes" in (await get(by, server.url))) held += 1;
  assert.equal(held, 7);
  assert.ok("bytes" in (await get(by, server.url, BYTES_MAX, signal, "cust_2")));
});

test("an aborted fetch, and a fetch whose fetcher closes, ends at once and frees its connection", async (t) => {
  let closed = 0;
  const server = await serving(t, (request, response) => {
    request.socket.on("close", () => (closed += 1));
    response.write("x");
  });
  const by = fetcher(t);
  const off = new AbortController();
  const called = get(by, server.url, BYTES_MAX, off.signal);
  const other = get(by, server.url);
  await until(() => server.connections() === 2, { what: "both connections" });
  off.abort();
  assert.ok("deferred" in (await called));
  await until(() => closed === 1, { what: "the end of its connection" });
  await by.close();
  assert.ok("deferred" in (await other));
  assert.ok("deferred" in (await get(by, server.url)));
  assert.equal(by.held, 0);
});
