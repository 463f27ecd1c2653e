/** Provider instances: one connection to one account, which is also the lane of its messages; and their record in the API. */

import type { HealthStatus, ProviderName, Instance as WireInstance } from "../../sdk/wire.ts";
import type { InstanceId } from "./id.ts";
import { iso, isoOrNull } from "./instant.ts";

export interface Instance {
  id: InstanceId;
  /** Incremented by every change. */
  version: number;
  name: string;
  provider: ProviderName;
  /** Sealed JSON of the provider's settings; null if it has none. */
  config: string | null;
  createdAt: number;
  updatedAt: number;
}

/** Secret settings: no response ever shows them. */
const SECRET_FIELDS: Readonly<Record<ProviderName, readonly string[]>> = {
  sandbox: [],
  bluebubbles: ["password"],
  smpp: ["password"],
  twilio: ["authToken"],
};

/** A provider's settings without its secret settings. */
function publicConfig(provider: ProviderName, config: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const secrets = SECRET_FIELDS[provider];
  return Object.fromEntries(Object.entries(config).filter(([name]) => !secrets.includes(name)));
}

/** Whether messages of the instance reach people: anything but the sandbox. */
export function isReal({ provider }: Pick<Instance, "provider">): boolean {
  return provider !== "sandbox";
}

/** Health of an instance, with sentences about what its operator should fix. */
export interface InstanceHealth {
  status: HealthStatus;
  message?: string;
  warnings?: readonly string[];
}

/** Warnings for the operator; the reason of bad health comes first. */
function warningsOf({ status, message, warnings = [] }: InstanceHealth): string[] {
  return [...new Set(status === "healthy" || message === undefined ? warnings : [message, ...warnings])];
}

/** The record as the API answers it; `config` in clear. */
export function instanceRecord(
  instance: Instance,
  config: Readonly<Record<string, unknown>>,
  { health, lastEventAt, hookUrl }: { health: InstanceHealth; lastEventAt: number | null; hookUrl: string | null },
): WireInstance {
  return {
    id: instance.id,
    name: instance.name,
    provider: instance.provider,
    config: publicConfig(instance.provider, config),
    health: health.status,
    warnings: warningsOf(health),
    lastEventAt: isoOrNull(lastEventAt),
    hookUrl,
    createdAt: iso(instance.createdAt),
    updatedAt: iso(instance.updatedAt),
  };
}
