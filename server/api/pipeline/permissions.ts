/** Refuses a key whose scope or permissions do not open a route (403). */

import type { KeyPermission } from "../../../sdk/wire.ts";
import { ApiError } from "../../core/error.ts";
import type { ApiKey } from "../../core/key.ts";
import type { KeyedRoute, Route } from "../route.ts";

const OF_CUSTOMERS = /^\/v1\/(?!admin\/)/;
const UNDER_WEBHOOKS = /^\/v1\/webhooks(\/|$)/;

/**
 * The permissions that open a route: a customer's key needs one of them, or none if the list is empty. `read` opens every
 * GET, `webhooks` all of `/v1/webhooks`, `send` every other change.
 */
export function permissionsFor({
  method,
  path,
  scope,
}: Pick<Route, "method" | "path" | "scope">): readonly KeyPermission[] {
  if (scope === "admin" || scope === "public" || !OF_CUSTOMERS.test(path)) return [];
  if (UNDER_WEBHOOKS.test(path)) return method === "GET" ? ["webhooks", "read"] : ["webhooks"];
  return method === "GET" ? ["read"] : ["send"];
}

/** Throws 403 `FORBIDDEN` for a key of the other scope. */
export function checkScope({ scope }: ApiKey, needed: KeyedRoute["scope"]): void {
  if (needed === "any" || needed === scope) return;
  const keys = needed === "admin" ? "an admin key" : "a key of a customer, with the scope messages";
  throw new ApiError("FORBIDDEN", `This key has the scope ${scope}; here ${keys} is needed.`);
}

/** Throws 403 `FORBIDDEN`, naming the missing permissions, for a customer's key that has none of `needed`. */
export function checkPermissions({ scope, permissions }: ApiKey, needed: readonly KeyPermission[]): void {
  if (scope === "admin" || needed.length === 0 || needed.some((one) => permissions.includes(one))) return;
  const missing = needed.map((one) => `\`${one}\``).join(" or ");
  const has = permissions.map((one) => `\`${one}\``).join(" and ");
  const message = `This key lacks the permission ${missing}: it has ${has} only. Use another key; permissions are set when a key is made.`;
  throw new ApiError("FORBIDDEN", message);
}
