/** Hooks: the addresses to which providers' systems send callbacks. Each instance has its own unguessable address. */

import { ApiError } from "../../core/error.ts";
import type { InstanceId } from "../../core/id.ts";
import type { Instance } from "../../core/instance.ts";
import { NotRunningHere } from "../../core/not-running-here.ts";
import type { HookRequest, HookResponse } from "../../providers/provider.ts";
import { HOOK_ENTERED_BY_OPERATOR } from "../../providers/registry.ts";
import type { EngineDeps, With } from "../engine-deps.ts";
import { hookUrl } from "../signed-links.ts";

const RETRY_AFTER_SECONDS = 10;

/** The address of the hook that the operator has to enter at the peer; null if the provider enters its hook itself, or has none. */
export function shownHookUrl(deps: Pick<EngineDeps, "signedLinks" | "publicUrl">, instance: Instance): string | null {
  return HOOK_ENTERED_BY_OPERATOR.includes(instance.provider) ? hookUrl(deps, instance.id) : null;
}

/** A request to a hook. `rest` is the path after the token, with its slash; `query` has its question mark. */
export interface IncomingHook extends Pick<HookRequest, "method" | "headers" | "body"> {
  id: string;
  token: string;
  rest: string;
  query: string;
}

/**
 * Checks only the address, so that a stranger's request need not be read. Returns the instance of the hook. Throws the
 * same 404 for every invalid address, and 503 while the instance does not run.
 */
export async function findHook(
  deps: With<"configCache" | "signedLinks" | "providers">,
  { id, token }: Pick<IncomingHook, "id" | "token">,
): Promise<InstanceId> {
  // Without the signing key no address can be checked.
  if (!deps.signedLinks.isLoaded) throw notNow("The service is starting; try again later.");
  const instance = await deps.configCache.instance(id as InstanceId);
  if (instance === null || !deps.signedLinks.opensHook(instance.id, token)) throw notFound();
  receiverOf(deps, instance.id);
  return instance.id;
}

/** Passes a request to the provider of its instance and returns the provider's response. Throws the errors of `findHook`. */
export async function receiveHook(
  deps: With<"configCache" | "signedLinks" | "providers" | "publicUrl">,
  request: IncomingHook,
): Promise<HookResponse> {
  const instanceId = await findHook(deps, request);
  const { rest, query, method, headers, body } = request;
  const url = `${hookUrl(deps, instanceId)}${rest}${query}`;
  return receiverOf(deps, instanceId)({ method, headers, body, path: rest, url });
}

/** The receiver of an instance's provider. Throws 503 while the instance does not run, and 404 if it has no hook. */
function receiverOf(deps: With<"providers">, id: InstanceId): (request: HookRequest) => Promise<HookResponse> {
  const provider = deps.providers.get(id);
  if (provider === undefined) throw new NotRunningHere(id, "The instance");
  if (provider.receive === undefined) throw notFound();
  return provider.receive.bind(provider);
}

function notFound(): ApiError {
  return new ApiError("NOT_FOUND", "There is nothing at this address.");
}

function notNow(message: string): ApiError {
  return new ApiError("SERVICE_UNAVAILABLE", message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}
