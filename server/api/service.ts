/** The route by which an admin sees the service itself: its version, health, database, clock and settings. */

import type { ServiceDetails } from "../../sdk/wire.ts";
import { type Route, route } from "./route.ts";

/** `GET /v1/admin/service`; `describe` reads what it tells. */
export function serviceRoutes(describe: () => Promise<ServiceDetails>): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/admin/service",
      scope: "admin",
      async handle() {
        const data: ServiceDetails = await describe();
        return { data };
      },
    }),
  ];
}
