/** Finds the address of a client behind proxies. Pure. */

import { type BlockList, isIP } from "node:net";
import { inRanges } from "./address.ts";

/** The address that attempts of a client are counted for. */
export interface ClientAddress {
  address: string;
  /** A trusted proxy names no client: all of its clients have its address. */
  isShared: boolean;
}

/**
 * The client of a request: the peer, unless that is a trusted proxy; then the first address of `X-Forwarded-For`, from the right, that is
 * not a trusted proxy. Whatever a client itself writes into the header stands further left.
 */
export function clientAddress(peer: string, forwardedFor: string | undefined, trusted: BlockList): ClientAddress {
  if (!inRanges(trusted, peer)) return { address: peer, isShared: false };
  let named: string | null = null;
  for (const text of (forwardedFor ?? "").split(",").reverse()) {
    const address = text.trim();
    // A proxy that writes anything but an address names nobody.
    if (isIP(address) === 0) break;
    named = address;
    if (!inRanges(trusted, address)) break;
  }
  return named === null ? { address: peer, isShared: true } : { address: named, isShared: false };
}
