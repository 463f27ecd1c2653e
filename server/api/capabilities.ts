/** Routes that look up which channels reach an address, and whether its owner has turned on Do Not Disturb. */

import type { AvailabilityLookups } from "../engine/contacts/availability.ts";
import { reachableParam } from "./address-param.ts";
import { type Route, route } from "./route.ts";

export function capabilityRoutes(inquiries: AvailabilityLookups): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/capabilities/:phone",
      scope: "messages",
      async handle({ caller: { customerId }, params: { phone } }) {
        return { data: await inquiries.capabilities(customerId, reachableParam("phone", phone)) };
      },
    }),
    route({
      method: "GET",
      path: "/v1/contacts/:phone/focus",
      scope: "messages",
      async handle({ caller: { customerId }, params: { phone } }) {
        return { data: await inquiries.focus(customerId, reachableParam("phone", phone)) };
      },
    }),
    route({
      method: "GET",
      path: "/v1/contacts/:phone/facetime",
      scope: "messages",
      async handle({ caller: { customerId }, params: { phone } }) {
        return { data: await inquiries.facetime(customerId, reachableParam("phone", phone)) };
      },
    }),
  ];
}
