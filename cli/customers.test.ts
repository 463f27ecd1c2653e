import assert from "node:assert/strict";
import { test } from "node:test";
import { ADMIN_KEY, AT, envFor, pagination, runOnTerminal, serverWith } from "../test/support/cli.ts";
import { startTestService } from "../test/support/service.ts";

test("customers create, add-number, default-number, remove-number and get show a customer's numbers with their channels", async (t) => {
  const api = await startTestService();
  t.after(() => api.stop());
  const env = { ...envFor(t, api), TIGHTBEAM_ADMIN_KEY: api.adminKey };
  const shown = async (...line: string[]) => {
    const { code, stdout, stderr } = await runOnTerminal(["customers", ...line], env);
    assert.deepEqual([code, stderr], [0, ""]);
    return stdout;
  };
  const made = await shown("create", "Bistro", "--email", "jo@example.com");
  const id = /cust_\S+/.exec(made)?.[0] ?? assert.fail(made);
  await shown("add-number", "+15005550007", "--provider", "sandbox", "--customer", id);
  await shown("add-number", "bistro@example.com", "--provider", "sandbox", "--customer", id);
  await shown("default-number", "bistro@example.com", "--customer", id);
  const both = await shown("get", id);
  assert.match(both, /\+15005550007 +imessage, sms +sandbox/);
  assert.match(both, /bistro@example\.com +imessage +sandbox +inst_\S+ +yes/);
  assert.match(await shown("list"), new RegExp(`${id} +jo@example\\.com`));
  assert.equal(await shown("remove-number", "+15005550007", "--customer", id), "+15005550007 removed\n");
  assert.doesNotMatch(await shown("get", id), /\+15005550007/);
  const gone = await runOnTerminal(["customers", "remove-number", "+15005550007", "--customer", id], env);
  assert.equal(gone.code, 2);
  assert.match(gone.stderr, /has no number \+15005550007/);
});

test("customers add-number uses the only customer if none is named", async (t) => {
  const customer = { id: "cust_1", name: "First", email: null, company: null, createdAt: AT };
  const number = { id: "num_1", phoneNumber: "+15005550007", email: null, provider: "smpp", instanceId: "inst_1" };
  const capabilities = { imessage: false, sms: true };
  const { env, requests } = await serverWith(t, {
    "GET /v1/admin/customers": { data: { customers: [customer], pagination } },
    "POST /v1/admin/customers/cust_1/numbers": {
      status: 201,
      data: { ...number, capabilities, isDefault: true, createdAt: AT },
    },
  });
  const line = "customers add-number +15005550007 --provider smpp --instance inst_1";
  const { code, stdout } = await runOnTerminal(line.split(" "), env);
  assert.equal(code, 0);
  assert.match(stdout, /number +\+15005550007\nchannels +sms/);
  assert.deepEqual(requests.at(-1)?.body, { phoneNumber: "+15005550007", provider: "smpp", instanceId: "inst_1" });
  assert.equal(requests.at(-1)?.headers.authorization, `Bearer ${ADMIN_KEY}`);
});
