/** Sets how a customer's contacts opt out and in again. */

import type { OptOutSettings, SetOptOutSettings } from "../../../sdk/wire.ts";
import type { CustomerId } from "../../core/id.ts";
import { changedOptOutSettings, DEFAULT_OPT_OUT_SETTINGS } from "../../core/opt-out-settings.ts";
import { change } from "../commit.ts";
import { requireCustomer } from "../customers/require-customer.ts";
import type { With } from "../engine-deps.ts";

/** The settings as they are on disk. */
export async function findOptOutSettings(deps: With<"configCache">, customerId: CustomerId): Promise<OptOutSettings> {
  return (await requireCustomer(deps, customerId)).optOuts ?? DEFAULT_OPT_OUT_SETTINGS;
}

/**
 * Changes the settings that are given and returns all of them. Opt-outs that exist keep their scope. Throws a 400 that names each word that
 * cannot be one.
 */
export async function setOptOutSettings(
  deps: With<"configCache">,
  customerId: CustomerId,
  wanted: SetOptOutSettings,
): Promise<OptOutSettings> {
  const settings = await change(deps, async () => {
    const { id, version, optOuts: former } = await requireCustomer(deps, customerId);
    const optOuts = changedOptOutSettings(former ?? DEFAULT_OPT_OUT_SETTINGS, wanted);
    const set = { optOuts, updatedAt: deps.clock.now() };
    return { transaction: [{ op: "update", table: "customers", id, version, set }], value: optOuts };
  });
  deps.configCache.clear();
  return settings;
}
