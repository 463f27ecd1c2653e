/** `POST /v1/webhooks/test` waits for its first attempt and says how it ended. */

import assert from "node:assert/strict";
import { request, type ServerResponse } from "node:http";
import { after, before, beforeEach, test } from "node:test";
import { closedAddress } from "../support/api.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

let api: TestService;
let receiver: Receiver;

before(async () => {
  [api, receiver] = await Promise.all([startTestService(), startReceiver()]);
});
after(async () => {
  await api.stop();
  await receiver.stop();
});
beforeEach(() => {
  receiver.received.length = 0;
  receiver.answer = (_, response) => void response.writeHead(200).end("thanks");
});

const configure = (url: string) => api.ask("PUT", "/v1/webhooks", { body: { url, events: ["*"] } });
const runTest = (path = "/v1/webhooks/test", headers: Record<string, string> = {}) =>
  api.ask("POST", path, { headers });

test("a receiver that accepts: delivered is true, with its status and the attempt", async () => {
  await configure(receiver.url);
  const { status, data } = await runTest();
  assert.equal(status, 200);
  assert.deepEqual([data.delivered, data.responseStatus, data.status], [true, 200, "succeeded"]);
  assert.deepEqual([data.attempts.length, data.attempts[0].response], [1, "thanks"]);
  assert.equal(receiver.received.length, 1);
});

test("a receiver that refuses, of an endpoint by its id: its status is returned", async () => {
  receiver.answer = (_, response) => void response.writeHead(418).end();
  const body = { url: `${receiver.url}/further`, events: ["message.sent"] };
  const { data: endpoint } = await api.ask("POST", "/v1/webhooks", { body });
  const { data } = await runTest(`/v1/webhooks/${endpoint.id}/test`);
  assert.deepEqual([data.delivered, data.responseStatus, data.status], [false, 418, "pending"]);
});

test("an unreachable receiver: delivered is false, without status, with the error in the attempt", async () => {
  await configure(`${await closedAddress()}/hook`);
  const { data } = await runTest();
  assert.deepEqual([data.delivered, data.responseStatus], [false, null]);
  assert.match(data.attempts[0].error, /^CONNECTION_/);
});

test("a repeat by Idempotency-Key waits for the same delivery and sends nothing again", async () => {
  await configure(receiver.url);
  const [one, two] = await Promise.all([1, 2].map(() => runTest(undefined, { "idempotency-key": "test-1" })));
  assert.deepEqual([one?.data.delivered, two?.data.delivered], [true, true]);
  assert.equal(one?.data.id, two?.data.id);
  assert.equal(receiver.received.length, 1);
});

test("the wait for a hanging receiver ends after 5 s, when the client disconnects, or when the service stops", async () => {
  const open: ServerResponse[] = [];
  receiver.answer = (_, response) => void open.push(response);
  await configure(`${receiver.url}/hangs`);
  const startedAt = performance.now();
  const { data } = await runTest();
  const tookMs = performance.now() - startedAt;
  assert.ok(tookMs >= 4_900 && tookMs < 25_000, `${tookMs} ms`);
  assert.deepEqual([data.delivered, data.responseStatus, data.attempts], [false, null, []]);
  const headers = { authorization: `Bearer ${api.key}` };
  const left = request(`${api.url}/v1/webhooks/test`, { method: "POST", headers });
  left.on("error", () => {});
  left.end();
  await until(() => open.length === 2);
  left.destroy();
  const waiting = runTest();
  await until(() => open.length === 3);
  const stopping = api.restart();
  const ended = await waiting;
  assert.deepEqual([ended.status, ended.data?.delivered, ended.data?.attempts], [200, false, []]);
  for (const response of open) response.end();
  await stopping;
});
