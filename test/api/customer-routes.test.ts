/** Routes of customers over HTTP: valid routes, and their effect on numbers, capabilities, messages and instances. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startTestService, type TestService } from "../support/service.ts";

const SMPP = {
  provider: "smpp",
  config: { host: "127.0.0.1", port: 9, systemId: "tb", password: "s3cret", bindMode: "transceiver" },
};
const MAC = { provider: "bluebubbles", config: { url: "http://127.0.0.1:9", password: "s3cret", ingest: "socket" } };
const NUMBER = "+15550002001";

describe("routes of a customer", () => {
  let service: TestService;
  let customer = "";
  let sandbox = "";
  let carrier = "";
  before(async () => {
    service = await startTestService();
    customer = (await admin("POST", "/v1/admin/customers", { name: "Routed" })).data.id;
    sandbox = (await admin("GET", "/v1/admin/instances")).data.instances[0].id;
    carrier = (await admin("POST", "/v1/admin/instances", { name: "Carrier", ...SMPP })).data.id;
  });
  after(() => service.stop());

  const admin = (method: string, path: string, body?: unknown) =>
    service.ask(method, path, { key: service.adminKey, ...(body === undefined ? {} : { body }) });
  const routesOf = (id = customer) => `/v1/admin/customers/${id}/routes`;

  test("are empty at first, then as set, in order", async () => {
    assert.deepEqual((await admin("GET", routesOf())).data, []);
    const routes = [
      { prefix: "+", instanceId: carrier },
      { prefix: "+1", instanceId: sandbox },
      { prefix: "+1", instanceId: carrier },
    ];
    const set = await admin("PUT", routesOf(), routes);
    assert.deepEqual([set.status, set.data], [200, routes]);
    assert.deepEqual((await admin("GET", routesOf())).data, routes);
    assert.deepEqual((await admin("PUT", routesOf(), [])).data, []);
    assert.deepEqual((await admin("GET", routesOf())).data, []);
  });

  const BAD: [title: string, body: () => unknown, paths: string[]][] = [
    ["no list", () => ({ routes: [] }), ["body"]],
    ["no body", () => undefined, ["body"]],
    [
      "a prefix that is none",
      () => ["44", "+44a", "++", "", `+${"1".repeat(16)}`].map((prefix) => ({ prefix, instanceId: sandbox })),
      [0, 1, 2, 3, 4].map((index) => `[${index}].prefix`),
    ],
    ["an unknown field", () => [{ prefix: "+", instanceId: sandbox, weight: 1 }], ["[0].weight"]],
    [
      "an instance that is not there",
      () => [
        { prefix: "+", instanceId: sandbox },
        { prefix: "+1", instanceId: "inst_none" },
      ],
      ["[1].instanceId"],
    ],
    [
      "the same twice",
      () => [
        { prefix: "+1", instanceId: sandbox },
        { prefix: "+", instanceId: sandbox },
        { prefix: "+1", instanceId: sandbox },
      ],
      ["[2]"],
    ],
    [
      "more than 1,000",
      () => Array.from({ length: 1_001 }, (_, index) => ({ prefix: `+${index}`, instanceId: sandbox })),
      ["body"],
    ],
  ];
  for (const [title, body, paths] of BAD) {
    test(`with ${title} are refused with the field's path, and change nothing`, async () => {
      const { status, error } = await admin("PUT", routesOf(), body());
      const named = [...new Set(error?.details?.map(({ path }) => path))];
      assert.deepEqual([status, error?.code, named], [400, "VALIDATION_ERROR", paths]);
      assert.deepEqual((await admin("GET", routesOf())).data, []);
    });
  }

  test("may be 1,000", async () => {
    const routes = Array.from({ length: 1_000 }, (_, index) => ({ prefix: `+${index + 1}`, instanceId: sandbox }));
    assert.equal((await admin("PUT", routesOf(), routes)).status, 200);
    assert.deepEqual((await admin("PUT", routesOf(), [])).data, []);
  });

  test("need an admin key and an existing customer", async () => {
    assert.equal((await service.ask("GET", routesOf())).error?.code, "FORBIDDEN");
    assert.equal((await service.ask("PUT", routesOf(), { body: [] })).error?.code, "FORBIDDEN");
    assert.equal((await admin("GET", routesOf("cust_none"))).status, 404);
    assert.equal((await admin("PUT", routesOf("cust_none"), [])).status, 404);
  });

  test("give SMS to a number whose instance has none, and protect their instance from deletion", async () => {
    const other = (await admin("POST", "/v1/admin/customers", { name: "On a Mac" })).data.id;
    const mac = (await admin("POST", "/v1/admin/instances", { name: "Mac", ...MAC })).data.id;
    const key = (await admin("POST", "/v1/admin/keys", { name: "k", customerId: other })).data.key;
    const wanted = { email: "us@example.com", provider: "bluebubbles", instanceId: mac };
    const email = await admin("POST", `/v1/admin/customers/${other}/numbers`, wanted);
    const added = await admin("POST", `/v1/admin/customers/${other}/numbers`, {
      phoneNumber: NUMBER,
      provider: "bluebubbles",
      instanceId: mac,
    });
    assert.equal((await admin("PUT", routesOf(other), [{ prefix: "+1", instanceId: carrier }])).status, 200);
    const { numbers } = (await admin("GET", `/v1/admin/customers/${other}`)).data;
    const capabilities = (id: string) => numbers.find((number: { id: string }) => number.id === id).capabilities;
    assert.deepEqual(capabilities(email.data.id), { imessage: true, sms: false }, "an e-mail address has no SMS");
    assert.equal(capabilities(added.data.id).sms, true);
    const sms = { from: NUMBER, routing: { preference: ["sms"] }, content: { text: "Hello" } };
    const sent = await service.ask("POST", "/v1/messages", { key, body: { ...sms, to: "+15005550100" } });
    assert.deepEqual([sent.status, sent.data.channel], [202, "sms"]);
    const [first] = (await service.ask("GET", `/v1/messages/${sent.data.id}`, { key })).data.timeline;
    assert.equal(first.instanceId, carrier);
    assert.match(first.reason, /^SMS \(preferred\), via Carrier \(route \+1\)/);
    const known = await service.ask("GET", "/v1/capabilities/+15005550100", { key });
    assert.equal(known.data.capabilities.sms, true);
    const kept = await admin("DELETE", `/v1/admin/instances/${carrier}`);
    assert.equal(kept.error?.code, "INVALID_STATUS");
    assert.match(kept.error?.message ?? "", new RegExp(other));
    await admin("PUT", routesOf(other), []);
    assert.equal((await admin("DELETE", `/v1/admin/instances/${carrier}`)).status, 200);
  });
});

test("a customer with a route to real people has no sandbox until the route is deleted", async (t) => {
  const service = await startTestService();
  t.after(() => service.stop());
  const admin = { key: service.adminKey };
  const { id } = (await service.ask("POST", "/v1/admin/instances", { ...admin, body: { name: "Carrier", ...SMPP } }))
    .data;
  const [customer] = (await service.ask("GET", "/v1/admin/customers", admin)).data.customers;
  const clear = () => service.ask("POST", "/v1/sandbox/reset");
  const set = (body: unknown) => service.ask("PUT", `/v1/admin/customers/${customer.id}/routes`, { ...admin, body });
  assert.equal((await clear()).status, 200);
  assert.equal((await set([{ prefix: "+", instanceId: id }])).status, 200);
  const refused = await clear();
  assert.deepEqual([refused.status, refused.error?.code], [404, "NOT_FOUND"]);
  assert.equal((await set([])).status, 200);
  assert.equal((await clear()).status, 200);
});

test("a provider with only SMS refuses an e-mail address as number, and says so", async (t) => {
  const service = await startTestService();
  t.after(() => service.stop());
  const admin = { key: service.adminKey };
  await service.ask("POST", "/v1/admin/instances", { ...admin, body: { name: "Carrier", ...SMPP } });
  const [customer] = (await service.ask("GET", "/v1/admin/customers", admin)).data.customers;
  const body = { email: "jo@example.com", provider: "smpp" };
  const { status, error } = await service.ask("POST", `/v1/admin/customers/${customer.id}/numbers`, { ...admin, body });
  assert.equal(status, 400);
  assert.deepEqual(
    error?.details?.map(({ path }) => path),
    ["email"],
  );
});
