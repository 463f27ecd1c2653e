/** Any request to the edge gets a response in the envelope, without a fault of the service. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { checkAnswered } from "../support/answered.ts";
import { KEYS, STUBS, startEdge } from "../support/edge.ts";
import { anyRequest } from "../support/requests.ts";
import { runsOf } from "../support/runs.ts";

/** `TB_PROPERTY_RUNS` sets how many requests are tried. */
const RUNS = Number(process.env.TB_PROPERTY_RUNS ?? runsOf(3_000, 1_000));

test("no request, however malformed, gets a 5xx or a response without the envelope", async (t) => {
  const { port, lines } = await startEdge(t);
  const routes = STUBS.filter(({ path }) => path !== "/v1/broken");
  const statuses = new Set<number>();
  await fc.assert(
    fc.asyncProperty(anyRequest(routes, { messages: KEYS.customer, admin: KEYS.admin }), async (request) => {
      statuses.add((await checkAnswered(port, request)).status);
    }),
    { numRuns: RUNS },
  );
  assert.deepEqual(
    lines.filter(({ event }) => event !== "request"),
    [],
  );
  assert.equal(Object.hasOwn(Object.prototype, "polluted"), false);
  for (const status of [200, 400, 401, 403, 404, 405, 413, 414, 415, 431]) {
    assert.ok(statuses.has(status), `the generator never got a ${status}`);
  }
});
