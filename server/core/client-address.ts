/** Finds the address of a client behind proxies, and the network that one owner has. Pure. */

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

/** `::ffff:1.2.3.4` and its spelling in groups. */
const MAPPED = /^::ffff:(?:(\d+\.\d+\.\d+\.\d+)|([0-9a-f]{1,4}):([0-9a-f]{1,4}))$/i;

/** The network of an address that counts as one client: an IPv4 address, or the /64 of an IPv6 address, whose owner has all of it. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address.slice(0, 64);
  const [bare = ""] = address.split("%");
  const [mapped, quad, high, low] = MAPPED.exec(bare) ?? [];
  if (mapped !== undefined) return quad ?? quadOf(`${high}`, `${low}`);
  const [head = "", tail] = bare.split("::");
  const before = groupsOf(head);
  const after = groupsOf(tail ?? "");
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  const groups = [...before, ...zeros, ...after].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/64`;
}

/** The groups of a part of an IPv6 address; an IPv4 address at its end counts as two. */
function groupsOf(part: string): string[] {
  return part === "" ? [] : part.split(":").flatMap((group) => (group.includes(".") ? ["0", "0"] : [group]));
}

function quadOf(high: string, low: string): string {
  const bits = Number.parseInt(high, 16) * 65_536 + Number.parseInt(low, 16);
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join(".");
}
