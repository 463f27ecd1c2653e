/** Failures of this machine are told apart from failures of the receiver. */

import assert from "node:assert/strict";
import { type connect, Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { parseAllowList } from "../core/address.ts";
import { Poster, type PosterOptions } from "./post.ts";

/** A socket that fails to connect with the given code. */
function failing(code: string, address: string): typeof connect {
  const open = () => {
    const socket = new Socket();
    const error = Object.assign(new Error(`connect ${code} ${address}:443`), { code, syscall: "connect", address });
    setImmediate(() => socket.destroy(error));
    return socket;
  };
  return open as unknown as typeof connect;
}

async function errorOf(t: TestContext, url: string, options: Partial<PosterOptions>): Promise<string | null> {
  const poster = new Poster({ allow: parseAllowList("loopback"), userAgent: "Tightbeam/1.2.3", ...options });
  t.after(() => poster.close());
  return (await poster.post({ url, body: "{}", headers: {} })).error;
}

for (const code of ["EMFILE", "ENFILE", "ENOMEM", "ENOBUFS"]) {
  test(`a connection that fails by ${code} is not the receiver's failure`, async (t) => {
    const open = failing(code, "127.0.0.1");
    assert.equal(await errorOf(t, "http://127.0.0.1:9/hook", { open }), "OUT_OF_FILES");
  });
}

test("EADDRNOTAVAIL with IPv4 is a lack of ports; with IPv6 a machine without IPv6, which is a failed attempt", async (t) => {
  const of = (address: string, url: string) => errorOf(t, url, { open: failing("EADDRNOTAVAIL", address) });
  assert.equal(await of("127.0.0.1", "http://127.0.0.1:9/hook"), "OUT_OF_PORTS");
  assert.equal(await of("::1", "http://[::1]:9/hook"), "CONNECTION_FAILED");
});

test("a lookup that fails for lack of files is not the receiver's failure; a name that is not found is", async (t) => {
  const resolve = (code: string) => async () => {
    throw Object.assign(new Error(`getaddrinfo ${code} a.example`), { code });
  };
  assert.equal(await errorOf(t, "https://a.example/hook", { resolve: resolve("EMFILE") }), "OUT_OF_FILES");
  assert.equal(await errorOf(t, "https://a.example/hook", { resolve: resolve("ENOTFOUND") }), "DNS_FAILED");
});

test("the reported failure is that of the last address, not a lack of ports at the first", async (t) => {
  let count = 0;
  const codes = ["EADDRNOTAVAIL", "ECONNREFUSED"];
  const open = (() => {
    const code = codes[count] ?? "ECONNREFUSED";
    count += 1;
    return failing(code, count === 1 ? "127.0.0.1" : "::1")({ port: 9 });
  }) as unknown as typeof connect;
  assert.equal(await errorOf(t, "http://localhost:9/hook", { open }), "CONNECTION_REFUSED");
  assert.equal(count, 2);
});
