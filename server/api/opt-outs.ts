/** Routes of opt-outs: contacts that do not want messages from a number of the customer. */

import { OptOutsQuery } from "../../contract/opt-outs.ts";
import type { Deleted, OptOutList } from "../../sdk/wire.ts";
import { ApiError } from "../core/error.ts";
import type { CustomerId } from "../core/id.ts";
import { optOutRecord } from "../core/opt-out.ts";
import { parseAddress } from "../core/phone.ts";
import { optIn, optOut } from "../engine/contacts/opt-outs.ts";
import type { Deps } from "../engine/deps.ts";
import type { With } from "../engine/engine-deps.ts";
import { findOptOut, listOptOuts, type OptOutCursor } from "../store/opt-outs.ts";
import { addressParam } from "./address-param.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";
import { listReader } from "./list-reader.ts";
import { type Route, route } from "./route.ts";

export function optOutRoutes(deps: With<"configCache" | "optOutCache">): Route[] {
  return [listRoute(deps), ...oneOptOutRoutes(deps)];
}

function listRoute(deps: Deps): Route {
  return route({
    method: "GET",
    path: "/v1/opt-outs",
    scope: "messages",
    query: OptOutsQuery,
    async handle(request) {
      const { caller, query } = request;
      const { limit, cursor } = query;
      const number = query.number === undefined ? undefined : addressParam("number", query.number);
      const after = cursor === undefined ? null : decodeCursor(cursor, isPlace);
      const found = await listOptOuts(listReader(deps, request), caller.customerId, number, after, limit + 1);
      const last = found[limit - 1];
      const hasMore = found.length > limit && last !== undefined;
      const data: OptOutList = {
        optOuts: found.slice(0, limit).map(optOutRecord),
        pagination: { hasMore, nextCursor: hasMore ? encodeCursor(placeOf(last)) : null },
      };
      return { data };
    },
  });
}

function placeOf({ createdAt, number, contact }: OptOutCursor): OptOutCursor {
  return { createdAt, number, contact };
}

function isPlace(value: unknown): value is OptOutCursor {
  if (typeof value !== "object" || value === null) return false;
  if (!("createdAt" in value && "number" in value && "contact" in value)) return false;
  const { createdAt, number, contact } = value;
  return typeof createdAt === "number" && typeof number === "string" && typeof contact === "string";
}

function oneOptOutRoutes(deps: With<"configCache" | "optOutCache">): Route[] {
  const path = "/v1/opt-outs/:number/:contact";
  return [
    route({
      method: "GET",
      path,
      scope: "messages",
      async handle({ caller: { customerId }, params }) {
        const { number, contact } = await pairOf(deps, customerId, params);
        const found = await findOptOut(deps.store.db, number, contact);
        if (found === null) throw notListed(number, contact);
        return { data: optOutRecord(found) };
      },
    }),
    route({
      method: "PUT",
      path,
      scope: "messages",
      async handle({ caller: { customerId }, params }) {
        const { number } = await pairOf(deps, customerId, params);
        const contact = addressParam("contact", params.contact);
        return { data: optOutRecord(await optOut(deps, { customerId, number, contact })) };
      },
    }),
    route({
      method: "DELETE",
      path,
      scope: "messages",
      async handle({ caller: { customerId }, params }) {
        const { number, contact } = await pairOf(deps, customerId, params);
        if (!(await optIn(deps, number, contact))) throw notListed(number, contact);
        const data: Deleted = { id: `${number}/${contact}`, deleted: true };
        return { data };
      },
    }),
  ];
}

/** The two addresses of a path. Throws 404 unless the number is the customer's. A contact may be a short code. */
async function pairOf(deps: With<"configCache">, customerId: CustomerId, params: { number: string; contact: string }) {
  const number = parseAddress(params.number)?.address;
  const owned = (await deps.configCache.numbers(customerId)).find(({ address }) => address === number);
  if (owned === undefined) throw new ApiError("NOT_FOUND", `${params.number} is not a number of this customer.`);
  return { number: owned.address, contact: parseAddress(params.contact)?.address ?? params.contact };
}

function notListed(number: string, contact: string): ApiError {
  return new ApiError("NOT_FOUND", `${contact} has not opted out of messages from ${number}.`);
}
