/** Finds the own address that an event or row belongs to. */

import { parseAddress } from "../../core/phone.ts";
import type { ProviderContext } from "../provider.ts";

/**
 * Returns the address that the Mac names (`lastAddressedHandle`) if it is on this instance. Otherwise returns the only
 * address, or the default address of the only customer; null if several customers share the instance.
 */
export async function ownAddress(
  { numbers }: Pick<ProviderContext, "numbers">,
  named: string | null,
): Promise<string | null> {
  const own = await numbers();
  // Apple sometimes prefixes the kind of address: `P:+1…`, `E:…`.
  const bare = named?.replace(/^[pe]:/i, "") ?? "";
  const address = parseAddress(bare)?.address ?? bare;
  const found = own.find((one) => one.address === address);
  if (found !== undefined) return found.address;
  if (new Set(own.map(({ customerId }) => customerId)).size > 1) return null;
  return (own.find(({ isDefault }) => isDefault) ?? own[0])?.address ?? null;
}
