/** Every declared route of the service under `/v1`, for tests of all routes. */

import assert from "node:assert/strict";
import { allRoutes } from "../../server/api/all-routes.ts";
import { Inboxes } from "../../server/api/inbox.ts";
import type { Route } from "../../server/api/route.ts";
import { browserRoutes } from "../../server/api/sessions.ts";
import { type TestContext, testContext } from "./context.ts";

/** The list that the service itself is built from. Their handlers are not to be called: nothing is behind them. */
export async function listRoutes(): Promise<Route[]> {
  const { deps, close } = await testContext();
  await close();
  return routesOf(deps);
}

/** The routes of the reference: those under `/v1`, and those by which browsers sign in. */
export async function listDescribedRoutes(): Promise<Route[]> {
  const { deps, close } = await testContext();
  await close();
  const nowhere = (): never => assert.fail("a route without a service was called");
  return [...routesOf(deps), ...browserRoutes(deps, { names: nowhere, state: nowhere })];
}

/** All routes on the dependencies of a test context. */
export function routesOf(deps: TestContext["deps"]): Route[] {
  const nothing = { flush: async () => {} };
  const describeService = () => assert.fail("a route without a service was called");
  const inboxes = new Inboxes(deps, (path) => path);
  return allRoutes(deps, { usage: nothing, requestLog: nothing, inboxes, describeService });
}
