/** The recipes of `examples/recipes` in their frameworks: each accepts only correctly signed webhooks. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { constructSignature } from "../../sdk/signature.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const SECRET = `whsec_${Buffer.alloc(32, 3).toString("base64")}`;
const PATH = "/webhooks/tightbeam";
const BODY =
  '{"id":"evt_1","type":"message.inbound","timestamp":"2026-01-01T00:00:00.000Z","data":{"text":"Grüße  👋","n":1.0}}';

// Inside the repository, so that the frameworks are found; the package's name stands for its source.
const directory = mkdtempSync(join(ROOT, "test", ".recipes-"));
after(() => rmSync(directory, { recursive: true, force: true }));
process.env.TIGHTBEAM_WEBHOOK_SECRET = SECRET;

async function recipe<Module>(name: string): Promise<Module> {
  const source = readFileSync(join(ROOT, "examples", "recipes", `${name}.mjs`), "utf8");
  const sdk = new URL("../../sdk/index.ts", import.meta.url).href;
  assert.ok(source.includes('"@tightbeam/sdk"'));
  const path = join(directory, `${name}.mjs`);
  writeFileSync(path, source.replace('"@tightbeam/sdk"', JSON.stringify(sdk)).replaceAll("console.log", "void"));
  return (await import(path)) as Module;
}

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Sends valid and invalid webhooks, and checks the responses. */
async function takesOnlySigned(send: (request: Request) => Promise<Response>, base: string): Promise<void> {
  const post = async (body: string, signed = body, more: Record<string, string> = {}) => {
    const headers = {
      "content-type": "application/json",
      ...(await constructSignature({ body: signed, secret: SECRET, eventId: "evt_1" })),
    };
    return send(new Request(base + PATH, { method: "POST", body, headers: { ...headers, ...more } }));
  };
  assert.equal((await post(BODY)).status, 200);
  assert.equal((await post(BODY)).status, 200, "a repeat is taken, and handled no second time");
  for (const body of [BODY.replace("1.0", "1"), BODY.replace("  ", " "), "{}", "not json"]) {
    const refused = await post(body, BODY);
    assert.equal(refused.status, 400, body);
    assert.match(await refused.text(), /signature does not fit/);
  }
  const old = await post(BODY, BODY, await constructSignature({ body: BODY, secret: SECRET, timestamp: 1_000 }));
  assert.equal(old.status, 200, "the Standard Webhooks headers alone are enough");
  const unsigned = await send(
    new Request(base + PATH, { method: "POST", body: BODY, headers: { "content-type": "application/json" } }),
  );
  assert.equal(unsigned.status, 400);
}

test("Express", async (t) => {
  const { app } = await recipe<{ app: RequestListener }>("express");
  const base = await serve(t, app);
  await takesOnlySigned((request) => fetch(request), base);
});

test("Fastify", async (t) => {
  const { app } = await recipe<{ app: { ready(): Promise<void>; routing: RequestListener; close(): Promise<void> } }>(
    "fastify",
  );
  await app.ready();
  t.after(() => app.close());
  const base = await serve(t, (request, response) => app.routing(request, response));
  await takesOnlySigned((request) => fetch(request), base);
});

test("Hono", async () => {
  const { app } = await recipe<{ app: { fetch(request: Request): Promise<Response> | Response } }>("hono");
  await takesOnlySigned(async (request) => app.fetch(request), "http://receiver.example");
});

test("Next.js", async () => {
  const { POST } = await recipe<{ POST(request: Request): Promise<Response> }>("next");
  await takesOnlySigned(POST, "http://receiver.example");
});
