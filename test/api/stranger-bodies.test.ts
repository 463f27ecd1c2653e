/** Callers without a key hold up only themselves with bodies that they send slowly: each network address has its share of places. */

import assert from "node:assert/strict";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import { originOf, send } from "../support/browser-session.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { ask } from "../support/socket.ts";
import { twilioService } from "../support/twilio/service.ts";
import { until } from "../support/wait.ts";

/** Header lines of the client, as a proxy on this machine adds them. */
const from = (address: string) => `X-Forwarded-For: ${address}\r\n`;

interface Slow {
  /** The statuses of the responses so far. */
  statuses: string[];
  end(): void;
}

/** Opens `count` requests whose bodies never come. */
function openSlowly(t: TestContext, { service }: TestService, path: string, more: string, count: number): Slow {
  const statuses: string[] = [];
  const own = `Host: 127.0.0.1:${service.port}\r\nOrigin: http://127.0.0.1:${service.port}\r\n`;
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(service.port, "127.0.0.1");
    socket.on("error", () => {}).on("data", (data) => statuses.push(String(data).slice(9, 12)));
    socket.write(`POST ${path} HTTP/1.1\r\n${own}${more}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n`);
    return socket;
  });
  const end = () => {
    for (const socket of sockets) socket.destroy();
  };
  t.after(end);
  return { statuses, end };
}

async function signInFrom(at: TestService, headers: Record<string, string>): Promise<number> {
  return (await send(at, "POST /session", { Origin: originOf(at), ...headers }, { key: at.key })).status;
}

/** The status of a callback with a body that no provider has signed. 403 says that the body was read. */
async function callBack(at: TestService, path: string, more: string): Promise<number> {
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\n${more}Content-Type: application/x-www-form-urlencoded`;
  return (await ask(at.service.port, `${head}\r\nContent-Length: 3\r\n\r\na=1`, { limitMs: 60_000 })).status;
}

test("one address that opens bodies at a hook and at the sign-in until it is refused keeps no other address from either", async (t) => {
  const { service, hookUrl } = await twilioService(t);
  const path = new URL(hookUrl).pathname;
  const hooks = openSlowly(t, service, path, from("198.51.100.1"), 600);
  await until(() => hooks.statuses.includes("503"), { what: "a refusal of the hook" });
  const signIns = openSlowly(t, service, "/session", from("198.51.100.1"), 200);
  await until(() => signIns.statuses.includes("503"), { what: "a refusal of the sign-in" });
  assert.equal(await callBack(service, path, from("198.51.100.2")), 403);
  assert.equal(await signInFrom(service, { "X-Forwarded-For": "198.51.100.2" }), 201);
  hooks.end();
  await until(async () => (await callBack(service, path, from("198.51.100.1"))) === 403, { what: "room again" });
  signIns.end();
});

test("the clients of a trusted proxy that names none share the places of one address", async (t) => {
  const service = await startTestService();
  t.after(() => service.stop());
  const { statuses, end } = openSlowly(t, service, "/session", "Via: 1.1 proxy\r\n", 200);
  await until(() => statuses.includes("503"), { what: "a refusal" });
  assert.equal(await signInFrom(service, { "X-Forwarded-For": "198.51.100.2" }), 201);
  end();
});

test("the owner of a /64 shares the places of one address, however its addresses are written", async (t) => {
  const service = await startTestService();
  t.after(() => service.stop());
  const opened = Array.from({ length: 200 }, (_, index) => {
    return openSlowly(t, service, "/session", from(`2001:db8::${(index + 1).toString(16)}:2:3:4`), 1);
  });
  await until(() => opened.some(({ statuses }) => statuses.includes("503")), { what: "a refusal" });
  assert.equal(await signInFrom(service, { "X-Forwarded-For": "2001:db8:0:1::1" }), 201);
  for (const { end } of opened) end();
});
