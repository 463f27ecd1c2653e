/** Provider instances as an administrator makes, changes and removes them; their settings are sealed as one. */

import type { Instance } from "../core/instance.ts";
import type { Context } from "./context.ts";
import { instanceSecretPlace } from "./secret-places.ts";

/** An instance's settings, secrets in clear. Throws when they were sealed with another key. */
export function openConfig({ sealer }: Pick<Context, "sealer">, instance: Instance): Record<string, unknown> {
  if (instance.config === null) return {};
  return JSON.parse(sealer.open(instance.config, instanceSecretPlace(instance.id))) as Record<string, unknown>;
}
