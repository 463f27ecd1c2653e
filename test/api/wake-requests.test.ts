/** The address at which a process takes wakes: only processes of its database wake it, at any time, and nothing is logged or counted. */

import assert from "node:assert/strict";
import { createHash, createHmac, randomBytes } from "node:crypto";
import { type AddressInfo, createServer } from "node:net";
import { type TestContext, test } from "node:test";
import type { ServerOptions } from "../../server/api/server.ts";
import { type MemberWake, WAKE_PATH, wakeText } from "../../server/core/member-wake.ts";
import { HopClient } from "../../server/outgoing/hop.ts";
import { failureOf, startEdge } from "../support/edge.ts";

const SECRET = randomBytes(32);
const WAKE: MemberWake = { messages: ["inst_1"], deliveries: ["wh_1"], atOnce: [] };
const BODY = wakeText(WAKE);

function client(t: TestContext, { secretKey = SECRET, now = Date.now } = {}): HopClient {
  const hop = new HopClient({ secretKey, urlOf: () => null, ownUrl: () => null, now, random: randomBytes });
  t.after(() => hop.close());
  return hop;
}

/** A process that can be woken, and another one of its database. */
async function scene(t: TestContext, more: Partial<ServerOptions> = {}) {
  const woken: string[] = [];
  const edge = await startEdge(t, { hop: client(t), woken: (wake) => void woken.push(wake), ...more });
  return { ...edge, woken, url: `http://127.0.0.1:${edge.port}`, other: client(t) };
}

/** Everything that a signature depends on. */
interface Forgery {
  purpose: string;
  secretKey: Uint8Array;
  method: string;
  path: string;
  signedBody: string;
  body: string;
  at: number;
}

/** A request with a signature made of these parts, by default a good one. */
function forged(url: string, more: Partial<Forgery> = {}): Promise<Response> {
  const parts = { purpose: "tightbeam wake", secretKey: SECRET, method: "POST", path: WAKE_PATH, at: Date.now() };
  const { purpose, secretKey, method, path, at, body, signedBody } = {
    ...parts,
    body: BODY,
    signedBody: BODY,
    ...more,
  };
  const hash = createHash("sha256").update(signedBody).digest("hex");
  const key = createHmac("sha256", secretKey).update(purpose).digest();
  const signed = JSON.stringify([method, path, String(at), hash]);
  const signature = createHmac("sha256", key).update(signed).digest("hex");
  const headers = { "tightbeam-wake": `t=${at},body=${hash},v1=${signature}` };
  return fetch(url + WAKE_PATH, { method: "POST", headers, body });
}

test("a wake of another process arrives with all its names, and is neither logged nor counted", async (t) => {
  const { url, other, woken, counted, lines } = await scene(t);
  await other.wake(url, WAKE);
  await other.wake(url, "all");
  assert.deepEqual(woken, [BODY, '"all"']);
  assert.deepEqual([counted, lines], [[], []]);
});

test("a wake is answered with 204 also while the service starts, has no database, or is overloaded", async (t) => {
  const { url, woken } = await scene(t, {
    isClosing: () => true,
    hasDatabase: () => false,
    overloadSeconds: () => 5,
    isWorker: true,
  });
  assert.deepEqual([(await forged(url)).status, woken], [204, [BODY]]);
});

test("a wake that is repeated is answered with 204 again", async (t) => {
  const { url, woken } = await scene(t);
  const at = Date.now();
  assert.deepEqual([(await forged(url, { at })).status, (await forged(url, { at })).status], [204, 204]);
  assert.equal(woken.length, 2);
});

test("a request without the signature of a wake is answered like one to an address where nothing is, and wakes nobody", async (t) => {
  const { url, woken } = await scene(t);
  const forgeries: Record<string, Partial<Forgery>> = {
    "the key of requests that are passed on": { purpose: "tightbeam hop" },
    "the key of another database": { secretKey: randomBytes(32) },
    "another method": { method: "PUT" },
    "another path": { path: "/v1/messages" },
    "another body": { body: wakeText("all") },
    "an empty body": { body: "" },
    "a time of 31 s ago": { at: Date.now() - 31_000 },
    "a time in 60 s": { at: Date.now() + 60_000 },
  };
  for (const [name, forgery] of Object.entries(forgeries)) {
    const response = await forged(url, forgery);
    const { error } = failureOf(response.status, await response.text());
    assert.deepEqual([response.status, error.code], [404, "NOT_FOUND"], name);
  }
  for (const header of ["", "yes", `t=1,body=${"0".repeat(64)},v1=${"0".repeat(64)}`, "x".repeat(10_000)]) {
    const response = await fetch(url + WAKE_PATH, {
      method: "POST",
      headers: { "tightbeam-wake": header },
      body: BODY,
    });
    assert.equal(response.status, 404, header.slice(0, 20));
  }
  assert.equal((await fetch(url + WAKE_PATH, { method: "POST", body: BODY })).status, 404);
  assert.deepEqual(woken, []);
});

test("a body of more than 1 MiB is not taken", async (t) => {
  const { url, woken } = await scene(t);
  const body = " ".repeat(1_048_577);
  assert.deepEqual([(await forged(url, { body, signedBody: body })).status, woken], [404, []]);
});

test("a process that owns its database takes no wakes", async (t) => {
  const { url, woken } = await scene(t, { hop: null });
  assert.deepEqual([(await forged(url)).status, woken], [404, []]);
});

test("a wake to a process that does not answer is given up", async (t) => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  t.after(() => silent.close());
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  await assert.rejects(client(t).wake(url, WAKE));
});
