/** Keys with permissions over HTTP: every route outside them responds with 403 and names the missing permissions. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { KeyPermission } from "../../sdk/wire.ts";
import { listRoutes } from "../support/routes.ts";
import { startTestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

const api = await startTestService({ TB_SANDBOX_INBOX: "on" });
after(() => api.stop());
const ROUTES = (await listRoutes()).filter(({ scope }) => scope === "messages" || scope === "any");

const [{ id: customerId }] = (await api.ask("GET", "/v1/admin/customers", { key: api.adminKey })).data.customers;

async function keyWith(permissions: KeyPermission[], more: object = {}) {
  const body = { name: permissions.join(" "), customerId, permissions, ...more };
  const { status, data } = await api.ask("POST", "/v1/admin/keys", { key: api.adminKey, body });
  assert.equal(status, 201);
  return data;
}

/** The permissions that open a route, listed here independently of the code. */
function opens(method: string, path: string): KeyPermission[] {
  if (path.startsWith("/v1/admin/")) return ["read", "send", "webhooks"];
  if (path.startsWith("/v1/webhooks")) return method === "GET" ? ["read", "webhooks"] : ["webhooks"];
  return [method === "GET" ? "read" : "send"];
}

for (const permission of ["read", "send", "webhooks"] as const) {
  test(`a key narrowed to ${permission} gets 403 FORBIDDEN wherever it lacks the permission`, async () => {
    const { key } = await keyWith([permission]);
    const closed = ROUTES.filter(({ method, path }) => !opens(method, path).includes(permission));
    assert.ok(closed.length > 5);
    for (const { method, path } of closed) {
      const at = path.replace(/:\w+/g, "x");
      const { status, error } = await api.ask(method, at, { key, ...(method === "GET" ? {} : { body: {} }) });
      assert.deepEqual([status, error?.code], [403, "FORBIDDEN"], `${method} ${path}`);
      assert.match(error?.message ?? "", new RegExp(`lacks the permission .*\\(?it has .?${permission}.? only`), at);
      for (const missing of opens(method, path)) assert.ok(error?.message.includes(`\`${missing}\``), at);
    }
  });
}

test("a narrowed key may use its permissions, and so may its replacement", async () => {
  const { key, id, permissions } = await keyWith(["webhooks", "send"]);
  assert.deepEqual(permissions, ["send", "webhooks"]);
  const send = (by: string) =>
    api.ask("POST", "/v1/messages", { key: by, body: { to: "+15005550100", content: { text: "Hello" } } });
  assert.equal((await send(key)).status, 202);
  assert.equal((await api.ask("GET", "/v1/webhooks/list", { key })).status, 200);
  assert.equal((await api.ask("GET", "/v1/messages", { key })).status, 403);
  assert.equal((await api.ask("GET", "/v1/admin/usage", { key })).status, 200);
  const rotated = await api.ask("POST", `/v1/admin/keys/${id}/rotate`, { key: api.adminKey });
  assert.deepEqual(rotated.data.permissions, ["send", "webhooks"]);
  assert.equal((await send(rotated.data.key)).status, 202);
  assert.equal((await api.ask("GET", "/v1/messages", { key: rotated.data.key })).status, 403);
});

test("no response shows a signing secret to a key without the permission `webhooks`", async () => {
  const body = { url: "http://127.0.0.1:9/hook", events: ["*"] };
  const primary = await api.ask("PUT", "/v1/webhooks", { body });
  const further = await api.ask("POST", "/v1/webhooks", { body: { ...body, events: ["message.sent"] } });
  const inbox = await api.ask("GET", "/v1/sandbox/inbox");
  const secrets: string[] = [primary, further, inbox].map(({ data }) => data.secret);
  for (const secret of secrets) assert.match(secret, /^whsec_/);
  const { key: reader } = await keyWith(["read"]);
  const { key: sender } = await keyWith(["send"]);
  const parameters = { ":id": further.data.id, ":number": "+15005550100", ":phone": "+15005550100" };
  // A stream and a wait for an event do not end by themselves.
  const ends = ({ path }: { path: string }) => path !== "/v1/wire" && path !== "/v1/sandbox/wait";
  const read = ROUTES.filter((one) => one.method === "GET" && ends(one)).map(({ method, path }) => ({
    key: reader,
    method,
    path,
  }));
  const behaviour = { key: sender, method: "PUT", path: "/v1/sandbox/inbox/behaviour", body: { status: 200 } } as const;
  for (const { key, method, path, ...more } of [...read, behaviour]) {
    const at = Object.entries(parameters).reduce((text, [name, value]) => text.replace(name, value), path);
    const shown = JSON.stringify(await api.ask(method, at.replace(/:\w+/g, "x"), { key, ...more }));
    for (const secret of secrets) assert.ok(!shown.includes(secret), `${method} ${at}`);
  }
});

test("a key without permissions may do everything, also after a restart", async () => {
  const { keys } = (await api.ask("GET", "/v1/admin/keys", { key: api.adminKey })).data;
  const first = keys.at(-1);
  const all = ["read", "send", "webhooks"];
  for (const { scope, permissions, name } of keys.filter((one: { id: string }) => one.id === first.id)) {
    assert.deepEqual(permissions, scope === "admin" ? [] : all, name);
  }
  await api.restart();
  const sent = await api.ask("POST", "/v1/messages", { body: { to: "+15005550100", content: { text: "Hello" } } });
  assert.equal(sent.status, 202);
  await until(async () => (await api.ask("GET", `/v1/messages/${sent.data.id}`)).data.status === "delivered");
});

test("unknown or empty permissions, or any of an admin key, are a 400 with the field", async () => {
  const bad = [{ permissions: [] }, { permissions: ["write"] }, { permissions: ["read"], scope: "admin" }];
  for (const given of bad) {
    const owner = "scope" in given ? {} : { customerId };
    const body = { name: "bad", ...owner, ...given };
    const { status, error } = await api.ask("POST", "/v1/admin/keys", { key: api.adminKey, body });
    assert.equal(status, 400, JSON.stringify(given));
    assert.match(error?.details?.[0]?.path ?? "", /^permissions/);
  }
});
