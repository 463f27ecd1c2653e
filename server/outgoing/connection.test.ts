/** The guarded connector, with receivers on loopback that count their requests. */

import assert from "node:assert/strict";
import { createServer as createHttp } from "node:http";
import { createServer as createHttps } from "node:https";
import { type AddressInfo, createServer, isIP, type Server } from "node:net";
import { type TestContext, test } from "node:test";
import { EXPIRED_CERTIFICATE, TLS_CERTIFICATE, TLS_KEY } from "../../test/support/certificate.ts";
import { until } from "../../test/support/wait.ts";
import { checkAddress, parseAllowList } from "../core/address.ts";
import type { Resolve } from "./dns.ts";
import { Poster, type PosterOptions, type PostResult } from "./post.ts";

interface Receiver {
  port: number;
  connections: () => number;
}

async function receiver(t: TestContext, server: Server, host = "127.0.0.1"): Promise<Receiver> {
  let count = 0;
  server.on("connection", (socket) => {
    count += 1;
    t.after(() => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  t.after(() => server.close());
  return { port: (server.address() as AddressInfo).port, connections: () => count };
}

/** A receiver that responds with 200; with `close`, on a new connection each time. */
function answering(t: TestContext, options: { close?: boolean; host?: string } = {}): Promise<Receiver> {
  const server = createHttp((request, response) => {
    request.resume();
    if (options.close === true) response.setHeader("Connection", "close");
    response.end("reached");
  });
  return receiver(t, server, options.host);
}

function poster(t: TestContext, allow: string, options: Partial<PosterOptions> = {}): Poster {
  const made = new Poster({
    allow: parseAllowList(allow),
    userAgent: "Tightbeam/0",
    deadlineMs: 10_000,
    resolve: () => Promise.reject(new Error("this test asks for no name")),
    ...options,
  });
  t.after(() => made.close());
  return made;
}

function send(by: Poster, url: string, trusted = false): Promise<PostResult> {
  return by.post({ url, body: "{}", headers: {}, trusted });
}

/** Returns the next list for each lookup; the last list repeats. */
function namesThatLeadTo(...answers: string[][]): Resolve {
  let at = 0;
  return async () => {
    const addresses = answers[Math.min(at, answers.length - 1)] ?? [];
    at += 1;
    return { addresses, ttlSeconds: 0 };
  };
}

function refused(posted: PostResult): void {
  const { status, response, error, timedOut, isPrivate } = posted;
  const expected = { status: null, response: null, error: "ADDRESS_REFUSED", timedOut: false, isPrivate: false };
  assert.deepEqual({ status, response, error, timedOut, isPrivate }, expected);
}

const LOOPBACK_ENCODINGS = [
  "127.0.0.1",
  "127.0.0.1.",
  "127.1",
  "2130706433",
  "0x7f.1",
  "0x7f000001",
  "017700000001",
  "0177.0.0.1",
  "%31%32%37.0.0.1",
  "１２７.0.0.1",
  "127。0。0。1",
  "[::1]",
  "[0:0:0:0:0:0:0:1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "localhost",
  "LOCALHOST.",
  "ⓛocalhost",
  "api.localhost",
];
const NEVER_REACHED = ["0.0.0.0", "0", "[::]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]"];

test("no encoding of loopback reaches a receiver unless it is allowed", async (t) => {
  const v4 = await answering(t);
  const v6 = await answering(t, { host: "::1" });
  const by = poster(t, "");
  for (const host of [...LOOPBACK_ENCODINGS, ...NEVER_REACHED]) {
    for (const { port } of [v4, v6]) {
      for (const scheme of ["http", "https"]) refused(await send(by, `${scheme}://${host}:${port}/hook`));
    }
  }
  assert.equal(v4.connections() + v6.connections(), 0);
});

test("the word loopback lets the encodings of loopback through, and only those", async (t) => {
  const dual = await answering(t, { host: "::" });
  const by = poster(t, "loopback");
  for (const host of LOOPBACK_ENCODINGS) {
    const posted = await send(by, `http://${host}:${dual.port}/hook`);
    assert.deepEqual([posted.status, posted.error, posted.isPrivate], [200, null, true], host);
  }
  const reached = dual.connections();
  for (const host of NEVER_REACHED) refused(await send(by, `http://${host}:${dual.port}/hook`));
  assert.equal(dual.connections(), reached);
});

test("a name that leads to a private address is refused, also beside a public one", async (t) => {
  const target = await answering(t);
  const leads = [
    ["127.0.0.1"],
    ["::1"],
    ["::ffff:127.0.0.1"],
    ["169.254.169.254"],
    ["fd00:ec2::254"],
    ["64:ff9b::7f00:1"],
    ["203.0.113.9"],
    ["1.1.1.1", "127.0.0.1"],
    ["127.0.0.1", "1.1.1.1"],
    ["2606:4700:4700::1111", "::1"],
    ["not an address"],
  ];
  for (const addresses of leads) {
    const by = poster(t, "", { resolve: namesThatLeadTo(addresses) });
    refused(await send(by, `https://rebind.test:${target.port}/hook`));
  }
  assert.equal(target.connections(), 0);
});

test("addresses are checked at each connection: a name is refused as soon as it leads to a private address", async (t) => {
  const target = await answering(t, { close: true });
  const resolve = namesThatLeadTo(["127.0.0.1"], ["127.0.0.2"], ["127.0.0.1", "127.0.0.2"], ["127.0.0.1"]);
  const by = poster(t, "127.0.0.1", { resolve });
  const url = `http://rebind.test:${target.port}/hook`;
  assert.equal((await send(by, url)).status, 200);
  refused(await send(by, url));
  refused(await send(by, url));
  assert.equal((await send(by, url)).status, 200);
  assert.equal(target.connections(), 2);
});

test("http is refused to public addresses that are not on the allow list", async (t) => {
  const by = poster(t, "10.0.0.0/8", { resolve: namesThatLeadTo(["1.1.1.1"]) });
  refused(await send(by, "http://public.test/hook"));
  refused(await send(by, "http://1.1.1.1/hook"));
  refused(await send(by, "ftp://1.1.1.1/hook"));
  refused(await send(by, "not a URL"));
});

test("a host on the allow list is reached at any address", async (t) => {
  const target = await answering(t);
  const by = poster(t, "hooks.internal", { resolve: namesThatLeadTo(["127.0.0.1"]) });
  const posted = await send(by, `http://HOOKS.internal.:${target.port}/hook`);
  assert.deepEqual([posted.status, posted.response, posted.isPrivate], [200, "reached", true]);
  refused(await send(by, `http://other.internal:${target.port}/hook`));
  refused(await send(by, `http://127.0.0.1:${target.port}/hook`));
});

test("the connector accepts the same literal addresses as the configuration", async (t) => {
  const target = await answering(t, { host: "::" });
  const by = poster(t, "loopback");
  for (const host of [...LOOPBACK_ENCODINGS, ...NEVER_REACHED]) {
    const url = `http://${host}:${target.port}/hook`;
    const accepted = checkAddress(url, parseAllowList("loopback")) === null;
    assert.equal((await send(by, url)).error === null, accepted, host);
  }
});

test("only trusted requests skip the guard, and no other request uses their connection", async (t) => {
  const target = await answering(t);
  const by = poster(t, "");
  const url = `http://127.0.0.1:${target.port}/hook`;
  const posted = await send(by, url, true);
  assert.deepEqual([posted.status, posted.isPrivate], [200, false]);
  refused(await send(by, url));
  assert.equal(target.connections(), 1);
});

test("a name without an address is DNS_FAILED", async (t) => {
  for (const resolve of [namesThatLeadTo([]), () => Promise.reject(new Error("ENOTFOUND"))]) {
    const posted = await send(poster(t, "", { resolve }), "https://nowhere.test/hook");
    assert.deepEqual([posted.status, posted.error, posted.timedOut], [null, "DNS_FAILED", false]);
  }
});

test("the next address of a name is tried if the first does not respond", async (t) => {
  const target = await answering(t);
  const by = poster(t, "loopback", { resolve: namesThatLeadTo(["127.0.0.2", "127.0.0.3", "127.0.0.1"]) });
  assert.equal((await send(by, `http://two.test:${target.port}/hook`)).status, 200);
});

function secureReceiver(t: TestContext, cert = TLS_CERTIFICATE): Promise<Receiver & { requests: () => number }> {
  let count = 0;
  const server = createHttps({ key: TLS_KEY, cert }, (request, response) => {
    count += 1;
    request.resume();
    response.end("reached");
  });
  return receiver(t, server).then((made) => ({ ...made, requests: () => count }));
}

test("TLS is verified: a certificate that is not trusted, of another name or expired gets no request", async (t) => {
  const good = await secureReceiver(t);
  const expired = await secureReceiver(t, EXPIRED_CERTIFICATE);
  const resolve = namesThatLeadTo(["127.0.0.1"]);
  const cases: [number, string, string | undefined][] = [
    [good.port, "hooks.test", undefined],
    [good.port, "127.0.0.1", undefined],
    [good.port, "other.test", TLS_CERTIFICATE],
    [good.port, "localhost", TLS_CERTIFICATE],
    [expired.port, "hooks.test", EXPIRED_CERTIFICATE],
  ];
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
  t.after(() => delete process.env.NODE_TLS_REJECT_UNAUTHORIZED);
  for (const [port, host, tlsCa] of cases) {
    const by = poster(t, "loopback", { resolve, ...(tlsCa === undefined ? {} : { tlsCa }) });
    const posted = await send(by, `https://${host}:${port}/hook`);
    assert.deepEqual([posted.status, posted.error, posted.response], [null, "TLS_FAILED", null], host);
  }
  assert.equal(good.requests() + expired.requests(), 0);
});

test("a certificate of a trusted authority and the right name is fine, by name and by address", async (t) => {
  const good = await secureReceiver(t);
  const by = poster(t, "loopback", { resolve: namesThatLeadTo(["127.0.0.1"]), tlsCa: TLS_CERTIFICATE });
  for (const host of ["hooks.test", "HOOKS.TEST.", "127.0.0.1"]) {
    const posted = await send(by, `https://${host}:${good.port}/hook`);
    assert.deepEqual([posted.status, posted.error], [200, null], `${host} ${isIP(host)}`);
  }
});

test("a receiver without TLS behind https is TLS_FAILED, one that never finishes the handshake TIMEOUT", async (t) => {
  const plain = await answering(t);
  const by = poster(t, "loopback", { deadlineMs: 300 });
  assert.equal((await send(by, `https://127.0.0.1:${plain.port}/hook`)).error, "TLS_FAILED");
  let ended = false;
  const mute = await receiver(
    t,
    createServer((socket) =>
      socket
        .on("close", () => (ended = true))
        .on("error", () => {})
        .resume(),
    ),
  );
  const posted = await send(by, `https://127.0.0.1:${mute.port}/hook`);
  assert.deepEqual([posted.error, posted.timedOut], ["TIMEOUT", true]);
  assert.ok(posted.durationMs < 2_000);
  await until(() => ended, { what: "the end of the connection" });
});

test("an address gets 5 seconds to connect, TLS included, however long the deadline is", async (t) => {
  const mute = await receiver(
    t,
    createServer((socket) => socket.on("error", () => {}).resume()),
  );
  const posted = await send(poster(t, "loopback"), `https://127.0.0.1:${mute.port}/hook`);
  assert.deepEqual([posted.error, posted.timedOut], ["TIMEOUT", true]);
  assert.ok(posted.durationMs >= 4_900 && posted.durationMs < 6_500, `${posted.durationMs} ms`);
});
