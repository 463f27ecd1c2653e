/** Every provider by its name. The only file that knows them all; admin routes and the engine ask here. */

import type { ProviderName } from "../../sdk/wire.ts";
import type { Capabilities, Provider, ProviderContext } from "./provider.ts";
import { createSandbox, SANDBOX_CAPABILITIES } from "./sandbox/sandbox.ts";

interface Registered {
  capabilities: Capabilities;
  create(context: ProviderContext): Provider;
}

const REGISTRY: Readonly<Record<ProviderName, Registered>> = {
  sandbox: { capabilities: SANDBOX_CAPABILITIES, create: createSandbox },
};

/** A new provider called `name`, not started. */
export function createProvider(name: ProviderName, context: ProviderContext): Provider {
  return REGISTRY[name].create(context);
}

/** What providers called `name` can do, whether or not an instance of one is running. */
export function capabilitiesOf(name: ProviderName): Capabilities {
  return REGISTRY[name].capabilities;
}
