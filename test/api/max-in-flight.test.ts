/** How many attempts an endpoint takes at once, as callers say it and read it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Webhook } from "../../sdk/wire.ts";

import { serveWebhooks, URL_A, URL_B } from "../support/webhooks.ts";

const EVENTS = ["*"];

test("maxInFlight has a default, is set by PUT, POST and PATCH, and is in every record", async (t) => {
  const api = await serveWebhooks(t);
  const ask = (method: "PUT" | "POST" | "PATCH", path: string, body: object) =>
    api.data<Webhook>(method === "POST" ? 201 : 200, method, path, { body });
  const configuration = await ask("PUT", "/v1/webhooks", { url: URL_A, events: EVENTS });
  assert.equal(configuration.maxInFlight, 64);
  const further = await ask("POST", "/v1/webhooks", { url: URL_B, events: EVENTS, maxInFlight: 256 });
  assert.equal(further.maxInFlight, 256);
  assert.equal((await ask("PATCH", `/v1/webhooks/${further.id}`, { maxInFlight: 1 })).maxInFlight, 1);
  assert.equal((await ask("PATCH", `/v1/webhooks/${further.id}`, { name: "Books" })).maxInFlight, 1, "it stays");
  assert.equal((await ask("PUT", "/v1/webhooks", { url: URL_A, events: EVENTS, maxInFlight: 8 })).maxInFlight, 8);
  assert.equal((await ask("PUT", "/v1/webhooks", { url: URL_A, events: EVENTS })).maxInFlight, 8, "it stays");
  assert.equal((await api.data<Webhook>(200, "GET", "/v1/webhooks")).maxInFlight, 8);
  assert.deepEqual(
    (await api.data<Webhook[]>(200, "GET", "/v1/webhooks/list")).map(({ maxInFlight }) => maxInFlight),
    [8, 1],
  );
});

test("maxInFlight is a whole number from 1 to 256", async (t) => {
  const api = await serveWebhooks(t);
  const body = { url: URL_A, events: EVENTS };
  for (const maxInFlight of [0, 257, 1.5, -1, "8", null]) {
    await api.refused("VALIDATION_ERROR", "PUT", "/v1/webhooks", { body: { ...body, maxInFlight } });
    await api.refused("VALIDATION_ERROR", "POST", "/v1/webhooks", { body: { ...body, maxInFlight } });
  }
  assert.equal(await api.data(200, "GET", "/v1/webhooks"), null);
});
