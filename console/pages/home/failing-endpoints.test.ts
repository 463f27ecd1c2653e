import assert from "node:assert/strict";
import test from "node:test";
import type { Delivery } from "../../../sdk/wire.ts";
import { failingEndpoints } from "./failing-endpoints.ts";

const delivery = (webhookId: string | null, status: Delivery["status"], attempts: number): Delivery => ({
  ...{ id: "dlv_1", eventId: "evt_1", eventType: "message.sent", messageId: null, createdAt: "", nextAttemptAt: null },
  ...{ webhookId, url: `https://${webhookId ?? "callback"}.example`, status },
  attempts: Array.from({ length: attempts }, () => ({
    at: "",
    status: 500,
    durationMs: 1,
    response: null,
    error: null,
    retryAfterSeconds: null,
    requestHeaders: null,
  })),
});

test("an endpoint that gave deliveries up comes before one that is retried, and one that delivers is not named", () => {
  const found = failingEndpoints([
    delivery("wh_1", "pending", 1),
    delivery("wh_1", "pending", 2),
    delivery("wh_2", "exhausted", 8),
    delivery("wh_3", "succeeded", 2),
    delivery("wh_4", "pending", 0),
  ]);
  assert.deepEqual(found, [
    { url: "https://wh_2.example", path: "/webhooks/endpoints/wh_2", lost: 1, retrying: 0 },
    { url: "https://wh_1.example", path: "/webhooks/endpoints/wh_1", lost: 0, retrying: 2 },
  ]);
});

test("a callbackUrl has no endpoint: its delivery is shown", () => {
  assert.equal(failingEndpoints([delivery(null, "exhausted", 8)])[0]?.path, "/d/dlv_1");
});
