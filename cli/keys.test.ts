import assert from "node:assert/strict";
import { test } from "node:test";
import { ADMIN_KEY, AT, KEY, pagination, runOnTerminal, serverWith } from "../test/support/cli.ts";

const key = {
  id: "key_1",
  name: "billing",
  customerId: "cust_1",
  scope: "messages",
  permissions: ["read", "send", "webhooks"],
  last4: "cdef",
  rateLimit: null,
  createdAt: AT,
  lastUsedAt: null,
  expiresAt: null,
  revokedAt: null,
  replacedBy: null,
};

test("keys create uses the only customer if none is named, and shows the key once", async (t) => {
  const customers = (count: number) => ({
    data: { customers: [{ id: "cust_1" }, { id: "cust_2" }].slice(0, count), pagination },
  });
  const { env, requests } = await serverWith(t, {
    "GET /v1/admin/customers": [customers(1), customers(2), customers(0)],
    "POST /v1/admin/keys": { status: 201, data: { ...key, key: KEY } },
  });
  const made = await runOnTerminal(["keys", "create", "billing", "--limit", "1000/1m"], env);
  assert.equal(made.code, 0);
  assert.match(made.stdout, new RegExp(`${KEY}\n\n.*only time`));
  assert.match(made.stdout, /permissions +read send webhooks\n/);
  const rateLimit = { limit: 1000, windowSeconds: 60 };
  assert.deepEqual(requests.at(-1)?.body, { name: "billing", scope: "messages", customerId: "cust_1", rateLimit });
  assert.equal(requests.at(-1)?.headers.authorization, `Bearer ${ADMIN_KEY}`);
  for (const reason of [/several customers.*--customer/, /no customer yet/]) {
    const { code, stderr } = await runOnTerminal(["keys", "create", "billing"], env);
    assert.equal(code, 2);
    assert.match(stderr, reason);
  }
  await runOnTerminal(["keys", "create", "ops", "--scope", "admin"], env);
  assert.deepEqual(requests.at(-1)?.body, { name: "ops", scope: "admin" });
});

test("keys list, rotate and revoke call their routes and show the result", async (t) => {
  const { env, requests } = await serverWith(t, {
    "GET /v1/admin/keys": { data: { keys: [key, { ...key, id: "key_2", revokedAt: AT }], pagination } },
    "POST /v1/admin/keys/key_1/rotate": { status: 201, data: { ...key, id: "key_3", key: KEY } },
    "DELETE /v1/admin/keys/key_1": { data: { ...key, revokedAt: AT } },
  });
  const shown = async (line: string) => (await runOnTerminal(line.split(" "), env)).stdout;
  assert.match(await shown("keys list"), /key_1 +active +messages +tb_…cdef +read send webhooks[\s\S]+key_2 +revoked/);
  assert.match(await shown("keys rotate key_1 --grace 0"), /key_3[\s\S]+only time/);
  assert.deepEqual(requests.at(-1)?.body, { gracePeriodSeconds: 0 });
  assert.equal(await shown("keys revoke key_1"), "key_1 revoked\n");
});
