/** Every provider by its name. The only file that knows them all; admin routes and the engine ask here. */

import type { ProviderName } from "../../sdk/wire.ts";
import { BLUEBUBBLES_CAPABILITIES, createBluebubbles } from "./bluebubbles/bluebubbles.ts";
import type { Capabilities, Provider, ProviderContext } from "./provider.ts";
import { createSandbox, SANDBOX_CAPABILITIES } from "./sandbox/sandbox.ts";
import { createSmpp, SMPP_CAPABILITIES } from "./smpp/smpp.ts";
import { createTwilio, TWILIO_CAPABILITIES } from "./twilio/twilio.ts";

interface Registered {
  capabilities: Capabilities;
  /** Those settings that name the peer: with another value of one, whom the instance talks to is somebody else. */
  accountSettings: readonly string[];
  create(context: ProviderContext): Provider;
}

const REGISTRY: Readonly<Record<ProviderName, Registered>> = {
  sandbox: { capabilities: SANDBOX_CAPABILITIES, accountSettings: [], create: createSandbox },
  bluebubbles: { capabilities: BLUEBUBBLES_CAPABILITIES, accountSettings: ["url"], create: createBluebubbles },
  smpp: { capabilities: SMPP_CAPABILITIES, accountSettings: ["host", "port", "systemId"], create: createSmpp },
  twilio: { capabilities: TWILIO_CAPABILITIES, accountSettings: ["accountSid", "baseUrl"], create: createTwilio },
};

/** Those whose peer has to be told by hand where it can tell us of what happens. */
export const PROVIDERS_WITH_HOOK: readonly ProviderName[] = ["twilio"];

/** A new provider called `name`, not started. */
export function createProvider(name: ProviderName, context: ProviderContext): Provider {
  return REGISTRY[name].create(context);
}

/** Names of the settings by which the peer of a provider called `name` is known. */
export function accountSettingsOf(name: ProviderName): readonly string[] {
  return REGISTRY[name].accountSettings;
}

/** What providers called `name` can do, whether or not an instance of one is running. */
export function capabilitiesOf(name: ProviderName): Capabilities {
  return REGISTRY[name].capabilities;
}
