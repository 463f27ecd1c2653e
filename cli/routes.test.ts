import assert from "node:assert/strict";
import { test } from "node:test";
import { pagination, runOnTerminal, serverWith } from "../test/support/cli.ts";

const UK = { prefix: "+44", instanceId: "inst_uk" };
const WORLD = { prefix: "+", instanceId: "inst_world" };

test("routes set takes prefix=instance in order, for the only customer or the named one", async (t) => {
  const { env, requests } = await serverWith(t, {
    "GET /v1/admin/customers": { data: { customers: [{ id: "cust_1" }], pagination } },
    "PUT /v1/admin/customers/cust_1/routes": { data: [UK, WORLD] },
    "PUT /v1/admin/customers/cust_2/routes": { data: [] },
    "GET /v1/admin/customers/cust_2/routes": { data: [] },
  });
  const set = await runOnTerminal(["routes", "set", "+44=inst_uk", "+=inst_world"], env);
  assert.equal(set.code, 0);
  assert.deepEqual(requests.at(-1)?.body, [UK, WORLD]);
  assert.match(set.stdout, /\+44 +inst_uk\n\+ +inst_world/);
  const removed = await runOnTerminal(["routes", "remove", "--customer", "cust_2"], env);
  assert.deepEqual([removed.code, requests.at(-1)?.body], [0, []]);
  assert.match((await runOnTerminal(["routes", "list", "--customer", "cust_2"], env)).stdout, /No routes/);
});

test("routes set refuses a malformed route before it sends anything", async (t) => {
  const { env, requests } = await serverWith(t, {});
  for (const word of ["+44", "=inst_uk", "+44=", "+44=inst_uk=x"]) {
    const { code, stderr } = await runOnTerminal(["routes", "set", word], env);
    assert.equal(code, 2, word);
    assert.match(stderr, /prefix=instance/);
  }
  assert.deepEqual(requests, []);
});
