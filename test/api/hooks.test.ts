/** Hooks of peers: outside `/v1`, without a key, with a token in the path that no log contains. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../../server/log.ts";
import { freePort } from "../support/free-port.ts";
import { startTestService } from "../support/service.ts";
import { ask } from "../support/socket.ts";
import { twilioService } from "../support/twilio/service.ts";
import { until } from "../support/wait.ts";

const TO = "+15550100001";

test("only the exact URL of a hook exists: everything else is the same 404, without authentication", async (t) => {
  const { service, fake, admin, instanceId, hookUrl } = await twilioService(t);
  const second = { name: "Second", provider: "twilio", config: fake.config };
  const other = (await admin("POST", "/v1/admin/instances", second)).data;
  const { data } = await admin("GET", "/v1/admin/instances");
  const sandbox = data.instances.find((one: { provider: string }) => one.provider === "sandbox");
  assert.equal(sandbox.hookUrl, null);
  const token = hookUrl.split("/").at(-1) ?? "";
  const otherToken = other.hookUrl.split("/").at(-1);
  assert.equal(token.length, otherToken.length);
  const paths = [
    `/hooks/inst_00000000-0000-7000-8000-000000000001/${token}`,
    `/hooks/${other.id}/${token}`,
    `/hooks/${instanceId}/${otherToken}`,
    `/hooks/${sandbox.id}/${token}`,
    `/hooks/${instanceId}/${token.slice(1)}`,
    `/hooks/${instanceId}/${token}x`,
    `/hooks/${instanceId}/${"x".repeat(token.length)}`,
    `/hooks/${instanceId}/${token}%00`,
    `/hooks/${instanceId}%2F${token}`,
    `/hooks/${instanceId}/${token.slice(0, 1)}%2f${token.slice(2)}`,
    `/%68ooks/${instanceId}/${token}`,
    `/hooks/${instanceId}`,
    `/hooks/${instanceId}/`,
    "/hooks",
    "/hooks/",
  ];
  for (const path of paths) {
    const answer = await ask(port(service.url), `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`);
    assert.equal(answer.status, 404, path);
    const { success, error, requestId } = JSON.parse(answer.body);
    assert.deepEqual([success, error.code, requestId], [false, "NOT_FOUND", answer.headers["x-request-id"]]);
  }
});

test("an invalid path, method or body is refused as on other routes, and reaches no provider", async (t) => {
  const { service, fake, hookUrl } = await twilioService(t);
  const path = new URL(hookUrl).pathname;
  const send = async (line: string, headers = "Content-Length: 0", body = "") =>
    (await ask(port(service.url), `${line} HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n${body}`)).status;
  assert.equal(await send(`POST ${path}/%zz`), 400);
  assert.equal(await send(`POST ${path}/%ff`), 400);
  assert.equal(await send(`POST ${path}/${"x".repeat(9_000)}`), 414);
  assert.equal(await send(`PUT ${path}`), 405);
  assert.equal(await send(`DELETE ${path}/inbound`), 405);
  assert.equal(await send(`GET ${path}`, ""), 405);
  const form = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length:";
  assert.equal(await send(`POST ${path}`, `${form} 1048577`), 413);
  assert.equal(await send(`POST ${path}`, `${form} 3`, "a=1"), 403);
  assert.equal(await send(`POST ${path}/..%2f..%2f..`, `${form} 3`, "a=1"), 403);
  assert.equal(await send(`POST ${path}//inbound`, `${form} 3`, "a=1"), 403);
  assert.equal(await send(`POST ${service.url}${path}`, `${form} 3`, "a=1"), 403);
  // The largest allowed body, and a target that names the host, reach the check of the signature.
  const called = await fake.call(hookUrl, { Body: "x".repeat(1_000_000) });
  assert.equal(called.status, 200);
});

test("a wrong token is a 404 before the body is read; with the right token the body is read up to its limit", async (t) => {
  const { service, hookUrl } = await twilioService(t);
  const path = new URL(hookUrl).pathname;
  const head = (target: string) => `POST ${target} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n`;
  const refused = await ask(port(service.url), head(`${path}x`));
  assert.equal(refused.status, 404);
  await assert.rejects(ask(port(service.url), head(path), { limitMs: 300 }), /no answer/);
});

test("a hook has no rate limit and ignores an API key", async (t) => {
  const { fake, hookUrl } = await twilioService(t, { TB_RATE_LIMIT: "100/60s" });
  const calls = Array.from({ length: 150 }, () => fake.call(hookUrl, { SmsSid: "" }));
  const statuses = (await Promise.all(calls)).map(({ status }) => status);
  assert.deepEqual([...new Set(statuses)], [200]);
  const withKey = await fetch(hookUrl, { method: "POST", headers: { authorization: "Bearer tb_nonsense" } });
  assert.equal(withKey.status, 403);
  assert.equal(withKey.headers.get("x-ratelimit-limit"), null);
  assert.ok(withKey.headers.get("x-request-id"));
});

test("the log of a hook request has the route's pattern, and no token, path, number or text", async (t) => {
  const lines: string[] = [];
  const log = createLog("debug", { write: (line) => void lines.push(line) });
  const service = await startTestService({}, { log });
  t.after(() => service.stop());
  const config = {
    accountSid: `AC${"0".repeat(32)}`,
    authToken: "secret-of-the-account",
    baseUrl: "http://127.0.0.1:9",
  };
  const body = { name: "Twilio", provider: "twilio", config };
  const { data } = await service.ask("POST", "/v1/admin/instances", { key: service.adminKey, body });
  const token = data.hookUrl.split("/").at(-1);
  const form = new URLSearchParams({ From: TO, To: "+15550000001", Body: "for nobody else's eyes", MessageSid: "SM1" });
  for (const path of ["", "/inbound", "/status/secret-path/1", "?secret-query=1"]) {
    assert.equal((await fetch(`${data.hookUrl}${path}`, { method: "POST", body: form })).status, 403);
    assert.equal((await fetch(`${data.hookUrl}x${path}`, { method: "POST", body: form })).status, 404);
  }
  await until(() => lines.filter((line) => line.includes("/hooks/:id/:token")).length >= 8);
  const all = lines.join("");
  assert.ok(all.includes('"route":"/hooks/:id/:token/*"'));
  for (const secret of [token, "secret-", "nobody else", TO, "+15550000001", config.accountSid]) {
    assert.ok(!all.includes(secret), secret);
  }
});

test("a restart loses no hook request that got a 200, and the next process serves the same URL", async (t) => {
  const { service, fake, hookUrl, ask: asking } = await twilioService(t, { PORT: String(await freePort()) });
  const before = new URL(hookUrl);
  await service.restart(async () => ({ PORT: before.port }));
  const called = await fake.write(hookUrl, { from: TO, to: "+15550000001", body: "After" });
  assert.equal(called.status, 200);
  const { data } = await asking("GET", "/v1/events?type=message.inbound");
  assert.equal(data.events.length, 1);
  const calls = Array.from({ length: 30 }, (_, index) =>
    fake.write(hookUrl, { from: TO, to: "+15550000001", body: `${index}` }),
  );
  const restarting = service.restart(async () => ({ PORT: before.port }));
  const answered = await Promise.all(calls);
  await restarting;
  const taken = answered.filter(({ status }) => status === 200).length;
  for (const { status } of answered) assert.ok(status === 200 || status === 503 || status === null, String(status));
  const after = (await asking("GET", "/v1/events?type=message.inbound")).data.events.length;
  assert.ok(after >= 1 + taken, `${after} of ${taken}`);
});

function port(url: string): number {
  return Number(new URL(url).port);
}
