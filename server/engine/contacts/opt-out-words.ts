/** The opt-out words of the customer that a contact writes to, for providers that handle such a text before others. */

import type { ChosenWords } from "../../core/opt-out.ts";
import { chosenWords, DEFAULT_OPT_OUT_SETTINGS } from "../../core/opt-out-settings.ts";
import type { ConfigCache } from "../config-cache.ts";

/** The opt-out words of the customer with the number `address`; the default ones if no customer has it. */
export async function optOutWordsAt(configCache: ConfigCache, address: string): Promise<ChosenWords> {
  const number = await configCache.numberAt(address);
  const settings = number === null ? null : (await configCache.customer(number.customerId)).optOuts;
  return chosenWords(settings ?? DEFAULT_OPT_OUT_SETTINGS);
}
