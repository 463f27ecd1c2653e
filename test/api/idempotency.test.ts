/** Idempotency keys over HTTP, in the header and in the body, on every POST there is. */

import assert from "node:assert/strict";
import test from "node:test";
import { readDocument } from "../support/contract.ts";
import { startTestService } from "../support/service.ts";

const api = await startTestService();
test.after(() => api.stop());

const POSTS = Object.entries(readDocument().paths).flatMap(([path, item]) => ("post" in item ? [path] : []));

test("no POST under /v1 refuses an idempotencyKey in the body", async () => {
  assert.ok(POSTS.length > 30);
  for (const [index, path] of POSTS.filter((one) => one.startsWith("/v1/")).entries()) {
    const key = path.startsWith("/v1/admin") ? api.adminKey : api.key;
    const body = { idempotencyKey: `every-${index}` };
    const { error } = await api.ask("POST", path.replace(/\{\w+\}/g, "none"), { key, body });
    const paths = (error?.details ?? []).map((detail) => detail.path);
    assert.ok(!paths.includes("idempotencyKey"), `${path}: ${error?.message}`);
  }
});

test("a key in the body and the same key in the header are one key, and another request is a 409", async () => {
  for (const [path, admin, body, other] of [
    ["/v1/admin/customers", true, { name: "Acme" }, { name: "Other" }],
    ["/v1/contacts", false, { phoneNumber: "+15005550123" }, { phoneNumber: "+15005550124" }],
    [
      "/v1/webhooks",
      false,
      { url: "http://127.0.0.1:9/a", events: ["*"] },
      { url: "http://127.0.0.1:9/b", events: ["*"] },
    ],
    [
      "/v1/chats/groups",
      false,
      { participants: ["+15005550100", "+15005550101"] },
      { participants: ["+15005550100", "+15005550110"] },
    ],
    [
      "/v1/messages",
      false,
      { to: "+15005550100", content: { text: "a" } },
      { to: "+15005550101", content: { text: "a" } },
    ],
    ["/v1/payments/request", false, { to: "+15005550113", amount: 1 }, { to: "+15005550113", amount: 2 }],
  ] as const) {
    const key = admin ? api.adminKey : api.key;
    const idempotencyKey = `one of ${path}`;
    const first = await api.ask("POST", path, { key, body: { ...body, idempotencyKey } });
    assert.ok(first.status === 201 || first.status === 202, `${path}: ${first.error?.message}`);
    const again = await api.ask("POST", path, { key, body, headers: { "Idempotency-Key": idempotencyKey } });
    assert.deepEqual([again.status, again.data?.id], [200, first.data.id], `${path}: ${again.error?.message}`);
    const reused = await api.ask("POST", path, { key, body: { ...other, idempotencyKey } });
    assert.deepEqual([reused.status, reused.error?.code], [409, "IDEMPOTENCY_KEY_REUSED"], path);
  }
});

test("two webhook tests with the same key in the body make one delivery", async () => {
  const body = { url: "http://127.0.0.1:9/c", events: ["*"] };
  assert.equal((await api.ask("PUT", "/v1/webhooks", { body })).status, 200);
  const command = { body: { idempotencyKey: "one test" } };
  const first = await api.ask("POST", "/v1/webhooks/test", command);
  const again = await api.ask("POST", "/v1/webhooks/test", command);
  assert.deepEqual([first.status, again.status, again.data.id], [200, 200, first.data.id]);
});
