/** Admin routes of SMS routes: which instances send a customer's SMS. */

import { SetRoutes } from "../../contract/customers.ts";
import type { Route as SmsRoute } from "../../sdk/wire.ts";
import type { CustomerId } from "../core/id.ts";
import type { With } from "../engine/engine-deps.ts";
import { findRoutes, setRoutes } from "../engine/routing/set-routes.ts";
import { type Route, route } from "./route.ts";

/** `/v1/admin/customers/:id/routes`. Body and `data` are the plain list. */
export function customerRouteRoutes(deps: With<"configCache" | "providers">): Route[] {
  const path = "/v1/admin/customers/:id/routes";
  return [
    route({
      method: "GET",
      path,
      scope: "admin",
      async handle({ params }) {
        const data: SmsRoute[] = await findRoutes(deps, params.id as CustomerId);
        return { data };
      },
    }),
    route({
      method: "PUT",
      path,
      scope: "admin",
      body: SetRoutes,
      async handle({ params, body }) {
        await setRoutes(deps, params.id as CustomerId, body);
        return { data: body };
      },
    }),
  ];
}
