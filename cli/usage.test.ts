import assert from "node:assert/strict";
import { test } from "node:test";
import { ADMIN_KEY, AT, KEY, runCli, runOnTerminal, serverWith } from "../test/support/cli.ts";

test("usage shows the own key, or with the admin key another key, a customer or all", async (t) => {
  const counts = {
    requests: 12,
    rateLimited: 1,
    messagesSent: 3,
    segments: 4,
    messagesReceived: 0,
    webhooksDelivered: 9,
    webhooksFailed: 2,
  };
  const none = Object.fromEntries(Object.keys(counts).map((name) => [name, 0]));
  const usage = {
    key: { id: "key_1", name: "billing" },
    period: { from: AT, to: AT },
    totals: counts,
    series: [
      { at: "2031-04-30T00:00:00.000Z", ...none },
      { at: AT, ...counts },
    ],
  };
  const { env, requests } = await serverWith(t, { "GET /v1/admin/usage": { data: usage } });
  const own = await runOnTerminal(["usage", "--from", AT, "--granularity", "hour"], env);
  assert.match(own.stdout, /billing \(key_1\)[\s\S]+total +12 +1 +3 +4 +0 +9 +2/);
  assert.doesNotMatch(own.stdout, /2031-04-30/);
  assert.equal(requests.at(-1)?.headers.authorization, `Bearer ${KEY}`);
  assert.deepEqual(requests.at(-1)?.query, { from: AT, granularity: "hour" });
  await runOnTerminal(["usage", "--of-customer", "cust_1"], env);
  assert.equal(requests.at(-1)?.headers.authorization, `Bearer ${ADMIN_KEY}`);
  assert.deepEqual(requests.at(-1)?.query, { customerId: "cust_1" });
  assert.deepEqual(JSON.parse((await runCli(["usage", "--admin"], { env })).stdout), usage);
});
