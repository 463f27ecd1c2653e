/** Every provider by its name. The only file that knows them all; admin routes and the engine ask here. */

import type { ProviderName } from "../../sdk/wire.ts";
import type { Capabilities, Provider, ProviderContext } from "./provider.ts";
import { createSandbox, SANDBOX_CAPABILITIES } from "./sandbox/sandbox.ts";

interface Registered {
  capabilities: Capabilities;
  /** Null while this version cannot run it: its messages wait, as those of an instance that is down. */
  create: ((context: ProviderContext) => Provider) | null;
}

const NOT_RUNNING = { concurrency: 1, settleAfterMs: 1_000, seesPayments: false } as const;

const REGISTRY: Readonly<Record<ProviderName, Registered>> = {
  sandbox: { capabilities: SANDBOX_CAPABILITIES, create: createSandbox },
  bluebubbles: { capabilities: { ...NOT_RUNNING, channels: ["imessage", "sms"] }, create: null },
  smpp: { capabilities: { ...NOT_RUNNING, channels: ["sms"] }, create: null },
  twilio: { capabilities: { ...NOT_RUNNING, channels: ["sms"] }, create: null },
};

/** Those whose peer has to be told by hand where it can tell us of what happens. */
export const PROVIDERS_WITH_HOOK: readonly ProviderName[] = ["twilio"];

/** A new provider called `name`, not started; null while this version cannot run such a one. */
export function createProvider(name: ProviderName, context: ProviderContext): Provider | null {
  return REGISTRY[name].create?.(context) ?? null;
}

/** What providers called `name` can do, whether or not an instance of one is running. */
export function capabilitiesOf(name: ProviderName): Capabilities {
  return REGISTRY[name].capabilities;
}
