/** The client's plugin for Fastify, in Fastify itself: `sdk/` has no dependency on it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fastify from "fastify";
import { fastifyWebhookPlugin } from "../sdk/receiver.ts";
import { constructSignature } from "../sdk/signature.ts";

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

test("fastifyWebhookPlugin verifies the raw body of its own route, and leaves the JSON of other routes alone", async (t) => {
  const texts: (string | null)[] = [];
  const app = fastify();
  t.after(() => app.close());
  const handlers = {
    "message.inbound": (event: { data: { text: string | null } }) => texts.push(event.data.text),
    "message.failed": () => {
      throw new Error("the database is down");
    },
  };
  app.register(fastifyWebhookPlugin("/hook", handlers, { secret }));
  app.post("/other", async ({ body }) => body);
  const url = `${await app.listen({ host: "127.0.0.1", port: 0 })}/hook`;
  const post = async (type: string, signed?: string) => {
    const body = JSON.stringify({
      id: "evt_1",
      type,
      timestamp: "2031-05-01T09:00:00.000Z",
      data: { text: "Grüße 👋" },
    });
    const headers = {
      "Content-Type": "application/json",
      ...(await constructSignature({ body: signed ?? body, secret })),
    };
    return (await fetch(url, { method: "POST", body, headers })).status;
  };
  assert.equal(await post("message.inbound"), 200);
  assert.deepEqual(texts, ["Grüße 👋"]);
  assert.equal(await post("message.inbound", "{}"), 400);
  assert.equal(await post("message.failed"), 500);
  const other = await app.inject({ method: "POST", url: "/other", payload: { a: 1 } });
  assert.deepEqual(other.json(), { a: 1 });
});
