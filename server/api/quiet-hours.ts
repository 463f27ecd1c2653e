/** Admin routes of a customer's quiet hours. */

import { SetQuietHours } from "../../contract/customers.ts";
import type { QuietHours } from "../../sdk/wire.ts";
import type { CustomerId } from "../core/id.ts";
import { quietHoursOf } from "../core/quiet-hours.ts";
import type { With } from "../engine/engine-deps.ts";
import { findQuietHours, setQuietHours } from "../engine/routing/quiet-hours.ts";
import { type Route, route } from "./route.ts";

/** `/v1/admin/customers/:id/quiet-hours`. `data` is null if the customer has none. */
export function quietHoursRoutes(deps: With<"configCache" | "messageCache">): Route[] {
  const path = "/v1/admin/customers/:id/quiet-hours";
  return [
    route({
      method: "GET",
      path,
      scope: "admin",
      async handle({ params }) {
        const data: QuietHours | null = await findQuietHours(deps, params.id as CustomerId);
        return { data };
      },
    }),
    route({
      method: "PUT",
      path,
      scope: "admin",
      body: SetQuietHours,
      async handle({ params, body, gone }) {
        const data = quietHoursOf(body);
        await setQuietHours(deps, params.id as CustomerId, data, gone());
        return { data };
      },
    }),
    route({
      method: "DELETE",
      path,
      scope: "admin",
      async handle({ params, gone }) {
        await setQuietHours(deps, params.id as CustomerId, null, gone());
        return { data: null };
      },
    }),
  ];
}
