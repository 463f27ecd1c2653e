/** Routes of opt-outs: contacts that do not want messages from a number of the customer. */

import { OptOutRemovalQuery, OptOutsQuery, SetOptOutSettings } from "../../contract/opt-outs.ts";
import type { Deleted, OptOutList } from "../../sdk/wire.ts";
import { ApiError, invalidField } from "../core/error.ts";
import type { CustomerId } from "../core/id.ts";
import { type OptOut, optOutRecord } from "../core/opt-out.ts";
import { parseAddress } from "../core/phone.ts";
import { pairAt } from "../engine/contacts/opt-out-change.ts";
import { optIn, optOut } from "../engine/contacts/opt-outs.ts";
import { findOptOutSettings, setOptOutSettings } from "../engine/contacts/set-opt-outs.ts";
import type { Deps } from "../engine/deps.ts";
import type { With } from "../engine/engine-deps.ts";
import { findOptOuts, listOptOuts, type OptOutCursor } from "../store/opt-outs.ts";
import { addressParam } from "./address-param.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";
import { listReader } from "./list-reader.ts";
import { type Route, route } from "./route.ts";

export function optOutRoutes(deps: With<"configCache" | "optOutCache">): Route[] {
  return [listRoute(deps), ...settingsRoutes(deps), ...oneOptOutRoutes(deps)];
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

function settingsRoutes(deps: With<"configCache">): Route[] {
  const path = "/v1/opt-outs/settings";
  return [
    route({
      method: "GET",
      path,
      scope: "messages",
      handle: async ({ caller }) => ({ data: await findOptOutSettings(deps, caller.customerId) }),
    }),
    route({
      method: "PUT",
      path,
      scope: "messages",
      body: SetOptOutSettings,
      handle: async ({ caller, body }) => ({ data: await setOptOutSettings(deps, caller.customerId, body) }),
    }),
  ];
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
        const [found] = await findOptOuts(deps.store.db, pairAt({ customerId, number, contact }));
        if (found === undefined) throw notListed(number, contact);
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
      query: OptOutRemovalQuery,
      async handle({ caller: { customerId }, params, query: { reason = null } }) {
        const { number, contact } = await pairOf(deps, customerId, params);
        await optIn(deps, { customerId, number, contact }, reason, (ended) => {
          if (ended.length === 0) throw notListed(number, contact);
          if (reason === null) requireOwn(ended);
        });
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

/** Throws a 400 on `reason` for an opt-out that the contact or the provider made. */
function requireOwn(ended: readonly OptOut[]): void {
  if (ended.every(({ source }) => source === "api")) return;
  throw invalidField("reason", "is required: the contact or the provider made this opt-out; say why it ends");
}

function notListed(number: string, contact: string): ApiError {
  return new ApiError("NOT_FOUND", `${contact} has not opted out of messages from ${number}.`);
}
