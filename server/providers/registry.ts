/** Every provider by its name. This is the only file that knows all of them. */

import type { ProviderName } from "../../sdk/wire.ts";
import { BLUEBUBBLES_CAPABILITIES, createBluebubbles } from "./bluebubbles/bluebubbles.ts";
import type { Capabilities, Provider, ProviderContext } from "./provider.ts";
import { createSandbox, SANDBOX_CAPABILITIES } from "./sandbox/sandbox.ts";
import { createSmpp, SMPP_CAPABILITIES } from "./smpp/smpp.ts";
import { createTwilio, TWILIO_CAPABILITIES } from "./twilio/twilio.ts";

interface ProviderEntry {
  capabilities: Capabilities;
  /**
   * The settings that identify the account at the peer. An instance with another value for one of them talks to another
   * account.
   */
  accountSettings: readonly string[];
  create(context: ProviderContext): Provider;
}

const REGISTRY: Readonly<Record<ProviderName, ProviderEntry>> = {
  sandbox: { capabilities: SANDBOX_CAPABILITIES, accountSettings: [], create: createSandbox },
  bluebubbles: { capabilities: BLUEBUBBLES_CAPABILITIES, accountSettings: ["url"], create: createBluebubbles },
  smpp: { capabilities: SMPP_CAPABILITIES, accountSettings: ["host", "port", "systemId"], create: createSmpp },
  twilio: { capabilities: TWILIO_CAPABILITIES, accountSettings: ["accountSid", "baseUrl"], create: createTwilio },
};

/** Providers whose hook address the operator has to enter at the peer. */
export const HOOK_ENTERED_BY_OPERATOR: readonly ProviderName[] = ["twilio"];

/** Creates a provider without starting it. */
export function createProvider(name: ProviderName, context: ProviderContext): Provider {
  return REGISTRY[name].create(context);
}

/** Names of the settings that identify the account of a provider. */
export function accountSettingsOf(name: ProviderName): readonly string[] {
  return REGISTRY[name].accountSettings;
}

/** The capabilities of a provider, whether or not an instance of it runs. */
export function capabilitiesOf(name: ProviderName): Capabilities {
  return REGISTRY[name].capabilities;
}
