/** Routes that look up which channels reach an address, and whether its owner has turned on Do Not Disturb. */

import type { AvailabilityLookups } from "../engine/contacts/availability.ts";
import type { Deps } from "../engine/deps.ts";
import { reachableParam } from "./address-param.ts";
import { type Route, route } from "./route.ts";

export function capabilityRoutes(deps: Deps, inquiries: AvailabilityLookups): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/capabilities/:phone",
      scope: "messages",
      async handle({ caller: { customerId }, params: { phone } }) {
        return {
          data: await inquiries.capabilities(customerId, await reachableParam(deps, customerId, ["phone", phone])),
        };
      },
    }),
    route({
      method: "GET",
      path: "/v1/contacts/:phone/focus",
      scope: "messages",
      async handle({ caller: { customerId }, params: { phone } }) {
        return { data: await inquiries.focus(customerId, await reachableParam(deps, customerId, ["phone", phone])) };
      },
    }),
    route({
      method: "GET",
      path: "/v1/contacts/:phone/facetime",
      scope: "messages",
      async handle({ caller: { customerId }, params: { phone } }) {
        return { data: await inquiries.facetime(customerId, await reachableParam(deps, customerId, ["phone", phone])) };
      },
    }),
  ];
}
