/** Admin routes, usage and the inbox behind a real edge, with a real store and simulated time, for their tests. */

import assert from "node:assert/strict";
import type { TestContext as Test } from "node:test";
import type { Key } from "../../sdk/wire.ts";
import { customerRoutes } from "../../server/api/customers.ts";
import { Inboxes, inboxReceiver, inboxRoutes } from "../../server/api/inbox.ts";
import { keyRoutes } from "../../server/api/keys.ts";
import { numberRoutes } from "../../server/api/numbers.ts";
import { usageRoutes } from "../../server/api/usage.ts";
import { hashKey } from "../../server/core/key.ts";
import { UsageCounters } from "../../server/engine/customers/usage.ts";
import { commitAll, type TestContext, type TestContextOptions, testContext, testKey } from "./context.ts";
import { assertAnswered } from "./contract.ts";
import { failureOf, startEdge } from "./edge.ts";

/** One request: with the admin key unless another is given, null for none. */
export interface Asking {
  key?: string | null;
  body?: unknown;
  headers?: Record<string, string>;
}

export interface AdminApi extends TestContext {
  url: string;
  /** The admin key in clear, and its id. */
  admin: string;
  adminId: string;
  usage: UsageCounters;
  /** The `data` of a response that must have this status; 200 by default. */
  // biome-ignore lint/suspicious/noExplicitAny: what an answer holds is what the test looks at
  data(line: string, asking?: Asking, status?: number): Promise<any>;
  /** The code of a failure that must have this status, and the paths that it names. */
  failure(line: string, asking: Asking, status: number): Promise<{ code: string; paths: string[] }>;
  ask(line: string, asking?: Asking): Promise<{ status: number; text: string }>;
  /** A key of the context's customer, made by the API. */
  makeKey(body?: Record<string, unknown>): Promise<Required<Key>>;
}

/** Serves the routes on a free port until the test ends. `line` of a request is `GET /v1/numbers`. */
export async function startAdminApi(t: Test, options: TestContextOptions = {}): Promise<AdminApi> {
  const test = await testContext(options);
  const { deps } = test;
  const { apiKey, key: admin } = testKey(deps, null);
  await commitAll(deps, [{ op: "insert", table: "keys", record: apiKey }]);
  const usage = new UsageCounters({ ...deps, fault: deps.observer.fault, owner: "test" });
  let url = "";
  const inboxes = new Inboxes(deps, (path) => url + path);
  const { port } = await startEdge(t, {
    authenticate: (secret) => deps.configCache.findKey(hashKey(secret)),
    keyUsed: (used) => usage.used(used.id),
    completed: ({ keyId }) => {
      if (keyId !== null) usage.count([keyId], "requests");
    },
    clock: deps.clock,
    newId: deps.newId,
    random: deps.random,
    routes: [
      ...customerRoutes(deps),
      ...keyRoutes(deps),
      ...numberRoutes(deps),
      ...usageRoutes(deps, usage),
      ...inboxRoutes(inboxes),
      inboxReceiver(inboxes),
    ],
  });
  url = `http://127.0.0.1:${port}`;
  t.after(() => test.close());
  const ask: AdminApi["ask"] = async (line, { key = admin, body, headers = {} } = {}) => {
    const [method = "", path = ""] = line.split(" ");
    const authorization: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };
    const type: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(url + path, {
      method,
      headers: { ...authorization, ...type, ...headers },
      ...content,
    });
    const text = await response.text();
    assertAnswered(method, path, response.status, JSON.parse(text));
    return { status: response.status, text };
  };
  const data: AdminApi["data"] = async (line, asking, status = 200) => {
    const answer = await ask(line, asking);
    assert.equal(answer.status, status, `${line}: ${answer.text}`);
    return JSON.parse(answer.text).data;
  };
  return {
    ...test,
    url,
    admin,
    adminId: apiKey.id,
    usage,
    ask,
    data,
    async failure(line, asking, status) {
      const answer = await ask(line, asking);
      assert.equal(answer.status, status, `${line}: ${answer.text}`);
      const { error } = failureOf(status, answer.text);
      return { code: error.code, paths: (error.details ?? []).map(({ path }) => path) };
    },
    makeKey: (body = {}) =>
      data("POST /v1/admin/keys", { body: { name: "made", customerId: test.customer.id, ...body } }, 201),
  };
}
