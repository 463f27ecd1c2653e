/** Real routes behind the real edge, on a test context's store, for API tests with `fetch`. */

import assert from "node:assert/strict";
import type { TestContext as NodeTest } from "node:test";
import type { ErrorCode } from "../../sdk/wire.ts";
import type { Route } from "../../server/api/route.ts";
import { hashKey } from "../../server/core/key.ts";
import { type TestContext, type TestContextOptions, testContext } from "./context.ts";
import { assertAnswered } from "./contract.ts";
import { failureOf, startEdge, type TestEdge } from "./edge.ts";

/** A request of a test; `key` defaults to that of the stage's customer. */
export interface Ask {
  body?: unknown;
  key?: string;
  idempotencyKey?: string;
  headers?: Record<string, string>;
  /** Ends the request from the client's side. */
  signal?: AbortSignal;
}

export interface Served extends TestContext, Pick<TestEdge, "counted" | "lines"> {
  /** Sends a request, and returns the response's `data`. Fails the test if the status is not `status`. */
  data<Data>(status: number, method: string, path: string, ask?: Ask): Promise<Data>;
  /** Asks, and checks that it is refused with `code`; gives the paths of its details. */
  refused(code: ErrorCode, method: string, path: string, ask?: Ask): Promise<string[]>;
}

/** Serves the routes made of a new test context, on a free port, until the test ends. */
export async function served(
  t: NodeTest,
  routesOf: (deps: TestContext["deps"]) => Route[],
  options: TestContextOptions = {},
): Promise<Served> {
  const made = await testContext(options);
  const { deps } = made;
  const { port, counted, lines } = await startEdge(t, {
    routes: routesOf(deps),
    authenticate: (secret) => deps.configCache.findKey(hashKey(secret)),
    clock: deps.clock,
    newId: deps.newId,
    random: deps.random,
  });
  t.after(() => made.close());
  const send = async (method: string, path: string, ask: Ask = {}) => {
    const headers: Record<string, string> = {
      authorization: `Bearer ${ask.key ?? made.key}`,
      "content-type": "application/json",
      ...(ask.idempotencyKey === undefined ? {} : { "idempotency-key": ask.idempotencyKey }),
      ...ask.headers,
    };
    const body = ask.body === undefined ? null : JSON.stringify(ask.body);
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers,
      body,
      signal: ask.signal ?? null,
    });
    const text = await response.text();
    assertAnswered(method, path, response.status, JSON.parse(text));
    return { status: response.status, text };
  };
  return {
    ...made,
    counted,
    lines,
    async data<Data>(status: number, method: string, path: string, ask?: Ask) {
      const answer = await send(method, path, ask);
      assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
      return JSON.parse(answer.text).data as Data;
    },
    async refused(code, method, path, ask) {
      const answer = await send(method, path, ask);
      const { error } = failureOf(answer.status, answer.text);
      assert.equal(error.code, code, `${method} ${path}: ${answer.text}`);
      return (error.details ?? []).map((detail) => detail.path);
    },
  };
}
