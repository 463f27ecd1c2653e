/** Which of our own addresses something came to. */

import { parseAddress } from "../../core/phone.ts";
import type { ProviderContext } from "../provider.ts";

/**
 * The address of ours that the Mac names (`lastAddressedHandle`), where it is on this instance; else the only one, or
 * the default of the only customer there is. Null where that leaves a choice between customers.
 */
export async function ownAddress(
  { numbers }: Pick<ProviderContext, "numbers">,
  named: string | null,
): Promise<string | null> {
  const own = await numbers();
  // Apple writes the kind of an address before it in some places: `P:+1…`, `E:…`.
  const bare = named?.replace(/^[pe]:/i, "") ?? "";
  const address = parseAddress(bare)?.address ?? bare;
  const found = own.find((one) => one.address === address);
  if (found !== undefined) return found.address;
  if (new Set(own.map(({ customerId }) => customerId)).size > 1) return null;
  return (own.find(({ isDefault }) => isDefault) ?? own[0])?.address ?? null;
}
