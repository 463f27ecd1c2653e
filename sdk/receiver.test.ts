import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { expressWebhookHandler, type WebhookHandlers, webhookHandler } from "./receiver.ts";
import { constructSignature, type WebhookVerificationError } from "./signature.ts";

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const URL_OF_RECEIVER = "http://receiver.example/hook";

function bodyOf(type: string): string {
  return JSON.stringify({ id: "evt_1", type, timestamp: "2031-05-01T09:00:00.000Z", data: { text: "Grüße 👋" } });
}

async function webhook(body: string, url = URL_OF_RECEIVER, signedBody = body): Promise<Request> {
  const headers = { "Content-Type": "application/json", ...(await constructSignature({ body: signedBody, secret })) };
  return new Request(url, { method: "POST", body, headers });
}

/** Handlers that record what they got. */
function recording() {
  const calls: string[] = [];
  const handlers: WebhookHandlers = {
    "message.inbound": async (event) => calls.push(`inbound ${event.data.text}`),
    "message.failed": () => {
      throw new Error("the database is down");
    },
  };
  return { calls, handlers };
}

test("webhookHandler calls the handler of the event's type, and responds 200 to types without one", async () => {
  const { calls, handlers } = recording();
  const handle = webhookHandler(handlers, { secret });
  assert.equal((await handle(await webhook(bodyOf("message.inbound")))).status, 200);
  assert.equal((await handle(await webhook(bodyOf("message.read")))).status, 200);
  for (const name of ["toString", "constructor", "__proto__"]) {
    assert.equal((await handle(await webhook(bodyOf(name)))).status, 200, name);
  }
  assert.deepEqual(calls, ["inbound Grüße 👋"]);
  const others: string[] = [];
  const all = webhookHandler({ ...handlers, "*": ({ type }) => others.push(type) }, { secret });
  for (const type of ["message.read", "message.inbound"]) await all(await webhook(bodyOf(type)));
  assert.deepEqual(others, ["message.read"]);
});

test("webhookHandler responds 400 to a wrong signature and 405 to other methods, and calls no handler", async () => {
  const { calls, handlers } = recording();
  const handle = webhookHandler(handlers, { secret: ["whsec_other", secret] });
  const forged = await handle(await webhook(bodyOf("message.inbound"), URL_OF_RECEIVER, "{}"));
  assert.equal(forged.status, 400);
  assert.match(await forged.text(), /signature does not fit/);
  assert.equal((await handle(new Request(URL_OF_RECEIVER, { method: "POST", body: "{}" }))).status, 400);
  const got = await handle(new Request(URL_OF_RECEIVER));
  assert.deepEqual([got.status, got.headers.get("Allow")], [405, "POST"]);
  assert.deepEqual(calls, []);
});

test("webhookHandler throws what a handler throws, and its own faults, so that the event is sent again", async () => {
  const { handlers } = recording();
  await assert.rejects(async () => webhookHandler(handlers, { secret })(await webhook(bodyOf("message.failed"))), {
    message: "the database is down",
  });
  await assert.rejects(async () => webhookHandler(handlers, { secret: "" })(await webhook(bodyOf("message.read"))), {
    reason: "SECRET_MISSING",
  });
});

async function serve(t: TestContext, listener: Parameters<typeof createServer>[1]): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
}

test("expressWebhookHandler reads the raw body itself, limits it, and passes errors on", async (t) => {
  const { calls, handlers } = recording();
  const handle = expressWebhookHandler(handlers, { secret });
  const url = await serve(t, (request, response) => {
    void handle(request, response, (error) => response.writeHead(500).end(String(error)));
  });
  assert.equal((await fetch(await webhook(bodyOf("message.inbound"), url))).status, 200);
  assert.deepEqual(calls, ["inbound Grüße 👋"]);
  assert.equal((await fetch(await webhook(bodyOf("message.inbound"), url, "{}"))).status, 400);
  assert.equal((await fetch(await webhook("x".repeat(1_048_577), url))).status, 413);
  assert.equal((await fetch(await webhook(bodyOf("message.failed"), url))).status, 500);
  assert.equal((await fetch(url)).status, 405);
});

test("expressWebhookHandler takes what express.raw() read, and names a body that express.json() has parsed as a fault", async () => {
  const { calls, handlers } = recording();
  const handle = expressWebhookHandler(handlers, { secret });
  const body = bodyOf("message.inbound");
  const headers = await constructSignature({ body, secret });
  const request = (given: unknown) => ({
    method: "POST",
    headers,
    body: given,
    async *[Symbol.asyncIterator](): AsyncGenerator<never> {},
  });
  const response = { statusCode: 0, setHeader: () => {}, end: () => {} };
  await handle(request(Buffer.from(body)), response);
  assert.deepEqual([response.statusCode, calls.length], [200, 1]);
  let fault: unknown = null;
  await handle(request(JSON.parse(body)), response, (error) => {
    fault = error;
  });
  assert.equal((fault as WebhookVerificationError).reason, "BODY_NOT_RAW");
});

test("expressWebhookHandler on Node's own server responds 500 if a handler throws, reports the error, and goes on", async (t) => {
  const { calls, handlers } = recording();
  const reported = t.mock.method(console, "error", () => {});
  const url = await serve(t, expressWebhookHandler(handlers, { secret }));
  const failed = await fetch(await webhook(bodyOf("message.failed"), url));
  assert.deepEqual([failed.status, await failed.text()], [500, "The receiver could not handle the webhook."]);
  assert.deepEqual(
    reported.mock.calls.map(({ arguments: [error] }) => (error as unknown as Error).message),
    ["the database is down"],
  );
  const unset = await serve(t, expressWebhookHandler(handlers, { secret: "" }));
  assert.equal((await fetch(await webhook(bodyOf("message.read"), unset))).status, 500);
  assert.equal(reported.mock.callCount(), 2);
  assert.equal((await fetch(await webhook(bodyOf("message.inbound"), url))).status, 200);
  assert.equal((await fetch(await webhook(bodyOf("message.inbound"), url, "{}"))).status, 400);
  assert.deepEqual(calls, ["inbound Grüße 👋"]);
});
