/** Finds the endpoint that a request names, or refuses with the code that says what is missing. */

import { ApiError } from "../../core/error.ts";
import type { CustomerId } from "../../core/id.ts";
import type { Endpoint } from "../../core/webhook.ts";
import { findPrimaryEndpoint, findWebhook } from "../../store/webhooks.ts";
import type { Deps } from "../deps.ts";

/** The id of an endpoint as the caller wrote it. Null: the primary endpoint. */
export type EndpointRef = string | null;

/** The endpoint of a customer. Throws 404 `WEBHOOK_NOT_CONFIGURED` or, for an id, `WEBHOOK_NOT_FOUND`. */
export async function requireEndpoint(
  { store }: Pick<Deps, "store">,
  customerId: CustomerId,
  target: EndpointRef,
): Promise<Endpoint> {
  const found =
    target === null ? await findPrimaryEndpoint(store.db, customerId) : await findWebhook(store.db, customerId, target);
  if (found === null) throw missing(target);
  return found;
}

/** Like `requireEndpoint`, and throws 400 `INVALID_STATUS` for a paused endpoint, because nothing is sent to it. */
export async function requireActive(
  deps: Pick<Deps, "store">,
  customerId: CustomerId,
  target: EndpointRef,
): Promise<Endpoint> {
  const endpoint = await requireEndpoint(deps, customerId, target);
  if (endpoint.active) return endpoint;
  const message = `The endpoint ${endpoint.id} is paused, so nothing is sent to it; set active to true first.`;
  throw new ApiError("INVALID_STATUS", message);
}

/** The error for an endpoint that does not exist. */
export function missing(target: EndpointRef): ApiError {
  if (target !== null) return new ApiError("WEBHOOK_NOT_FOUND", `There is no endpoint ${target.slice(0, 100)}.`);
  return new ApiError("WEBHOOK_NOT_CONFIGURED", "There is no primary endpoint; create it with PUT /v1/webhooks.");
}
