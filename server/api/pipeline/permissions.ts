/** Which permission of a key opens a route. */

import type { KeyPermission } from "../../../sdk/wire.ts";
import { ApiError } from "../../core/error.ts";
import type { ApiKey } from "../../core/key.ts";
import type { Route } from "../route.ts";

const UNDER_WEBHOOKS = /^\/v1\/webhooks(\/|$)/;

/**
 * The permissions of which a customer's key needs one for the route; none is needed where the list is empty. `read` opens
 * every GET, `webhooks` all of `/v1/webhooks`, `send` whatever else changes something.
 */
export function permissionsFor({
  method,
  path,
  scope,
}: Pick<Route, "method" | "path" | "scope">): readonly KeyPermission[] {
  if (scope === "admin" || scope === "public" || path.startsWith("/v1/admin/")) return [];
  if (UNDER_WEBHOOKS.test(path)) return method === "GET" ? ["webhooks", "read"] : ["webhooks"];
  return method === "GET" ? ["read"] : ["send"];
}

/** Throws 403 `FORBIDDEN`, which names what is missing, for a customer's key that has none of the permissions needed. */
export function checkPermissions({ scope, permissions }: ApiKey, needed: readonly KeyPermission[]): void {
  if (scope === "admin" || needed.length === 0 || needed.some((one) => permissions.includes(one))) return;
  const missing = needed.map((one) => `\`${one}\``).join(" or ");
  const has = permissions.map((one) => `\`${one}\``).join(" and ");
  const message = `This key lacks the permission ${missing}: it has ${has} only. Use another key; permissions are set when a key is made.`;
  throw new ApiError("FORBIDDEN", message);
}
