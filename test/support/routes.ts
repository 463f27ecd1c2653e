/** Every declared route of the service under `/v1`, for tests of all routes. */

import { allRoutes } from "../../server/api/all-routes.ts";
import { Inboxes } from "../../server/api/inbox.ts";
import type { Route } from "../../server/api/route.ts";
import { type TestContext, testContext } from "./context.ts";

/** The list that the service itself is built from. Their handlers are not to be called: nothing is behind them. */
export async function listRoutes(): Promise<Route[]> {
  const { deps, close } = await testContext();
  await close();
  return routesOf(deps);
}

/** All routes on the dependencies of a test context. */
export function routesOf(deps: TestContext["deps"]): Route[] {
  return allRoutes(deps, { flush: async () => {} }, new Inboxes(deps, (path) => path));
}
