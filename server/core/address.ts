/** Which addresses the service may connect to on behalf of callers. Pure: server/outgoing resolves names and checks each address. */

import { BlockList, isIP } from "node:net";
import { withoutTrailing } from "./trim-end.ts";

/** Addresses that the operator allows besides public ones (`TB_WEBHOOK_ALLOW`). Parsed by `parseAllowList`. */
export interface AllowList {
  /** Host names, as `canonicalHost` writes them. */
  readonly hosts: ReadonlySet<string>;
  readonly ranges: BlockList;
  /** Opens `localhost`, `*.localhost` and every loopback address. */
  readonly loopback: boolean;
}

const URL_CHARACTERS_MAX = 2_048;

const LOOPBACK = rangesOf(["127.0.0.0/8", "::1/128"]);

/** IPv4 that is not public: the IANA special-purpose registry (RFC 6890), and Azure's metadata address at the end. */
const NOT_PUBLIC_V4 = rangesOf([
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "168.63.129.16/32",
]);

/**
 * IPv6 is public only inside global unicast. All forms that carry an IPv4 address (mapped, compatible, NAT64, 6to4,
 * Teredo) lie outside of it or in the exceptions.
 */
const GLOBAL_V6 = rangesOf(["2000::/3"]);
const NOT_PUBLIC_V6 = rangesOf(["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"]);

/** Whether `ip` is an address of the public Internet. False for anything that is not exactly an address. */
export function isPublicAddress(ip: string): boolean {
  const family = isIP(ip);
  if (family === 4) return !NOT_PUBLIC_V4.check(ip, "ipv4");
  if (family !== 6 || ip.includes("%")) return false;
  return GLOBAL_V6.check(ip, "ipv6") && !NOT_PUBLIC_V6.check(ip, "ipv6");
}

/** The canonical form of a URL's host, for comparisons: no brackets, lower case, no dot at the end. */
export function canonicalHost(host: string): string {
  const bare = host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
  return withoutTrailing(bare.toLowerCase(), ".");
}

/** Whether the name always means this machine (RFC 6761): `localhost` or a name under it. Expects a canonical host. */
export function isLocalhost(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost");
}

/**
 * The allow list in `text`: comma-separated CIDR ranges, addresses, host names and the word `loopback`. Throws an Error
 * of one line that names the first invalid item.
 */
export function parseAllowList(text: string): AllowList {
  const items = text.split(",").map((item) => item.trim());
  const hosts = new Set<string>();
  const ranges: string[] = [];
  let loopback = false;
  for (const item of items) {
    if (item === "") continue;
    if (item.toLowerCase() === "loopback") loopback = true;
    else if (isRange(item)) ranges.push(item);
    else hosts.add(hostItem(item));
  }
  if (loopback) ranges.push("127.0.0.0/8", "::1/128");
  return { hosts, ranges: rangesOf(ranges), loopback };
}

/**
 * The networks in `text`: comma-separated CIDR ranges, addresses, and the word `loopback`. Throws an Error of one line that names the first
 * invalid item.
 */
export function parseNetworks(text: string): BlockList {
  const { hosts, ranges } = parseAllowList(text);
  const [host] = hosts;
  if (host !== undefined) throw new Error(`"${host}" is a name; give a network such as 10.0.0.0/8, or an address`);
  return ranges;
}

/**
 * Whether the operator opened this target: by the name of its host, or by its address. `ip` is null before the name
 * was resolved. An IPv4 address inside IPv6 (`::ffff:…`) counts as the IPv4 address that it reaches.
 */
export function allows(list: AllowList, target: { host: string; ip: string | null }): boolean {
  const host = canonicalHost(target.host);
  if (list.hosts.has(host)) return true;
  const { ip } = target;
  if (list.loopback && isLocalhost(host) && (ip === null || inRanges(LOOPBACK, ip))) return true;
  return ip !== null && inRanges(list.ranges, ip);
}

/**
 * Why a caller may not configure this address, as the end of an error message; null if it is allowed. Resolves no name:
 * the addresses of a name are checked at each connection. `setting` is the setting that `allow` comes from.
 */
export function checkAddress(
  url: string,
  allow: AllowList,
  setting: keyof typeof PURPOSES = "TB_WEBHOOK_ALLOW",
): string | null {
  const purpose = PURPOSES[setting];
  if (url.length > URL_CHARACTERS_MAX) {
    return `is ${url.length} characters long; an address has at most ${URL_CHARACTERS_MAX}`;
  }
  const parsed = parseHttp(url);
  if (parsed === null) return `is not an address to ${purpose.use}`;
  if (parsed.username !== "" || parsed.password !== "") {
    return `must not contain a user name or password; ${purpose.instead}`;
  }
  const host = canonicalHost(parsed.hostname);
  const literal = isIP(host) !== 0;
  if (allows(allow, { host, ip: literal ? host : null })) return null;
  if (literal ? !isPublicAddress(host) : isPrivateName(host)) {
    return `leads to ${host}, which is not a public address; use a public one, or have the operator open it by ${setting}`;
  }
  if (parsed.protocol === "http:") {
    return `must start with https://; http:// is only for hosts that the operator opens by ${setting}`;
  }
  return null;
}

/** Purposes of addresses, by the setting that allows exceptions. */
const PURPOSES = {
  TB_WEBHOOK_ALLOW: {
    use: "send to; give an absolute URL such as https://example.com/webhooks",
    instead: "what is sent is signed, check that signature instead",
  },
  TB_FETCH_ALLOW: {
    use: "fetch from; give an absolute URL such as https://example.com/picture.jpg",
    instead: "give an address that opens by itself, such as a signed one",
  },
} as const;

/** The parsed URL; null if it is not http(s)://host, or if the parser would change its meaning. */
function parseHttp(url: string): URL | null {
  if (!/^https?:\/\/[^/\\?#]/i.test(url) || hasControlOrSpace(url)) return null;
  const parsed = URL.parse(url);
  if (parsed === null || canonicalHost(parsed.hostname).split(".").includes("")) return null;
  return parsed;
}

function hasControlOrSpace(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code <= 0x20 || code === 0x7f) return true;
  }
  return false;
}

const PRIVATE_DOMAINS = ["localhost", "local", "internal"];

function isPrivateName(host: string): boolean {
  return PRIVATE_DOMAINS.some((domain) => host === domain || host.endsWith(`.${domain}`));
}

function isRange(item: string): boolean {
  const [address = "", prefix, ...rest] = item.split("/");
  const family = isIP(address);
  if (family === 0 || address.includes("%") || rest.length > 0) return false;
  if (prefix === undefined) return true;
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128);
}

/** A host name of the list in canonical form, as a URL parser writes it, so that `Bücher.example` matches. */
function hostItem(item: string): string {
  const parsed = /^[^\s/\\?#@:[\]%*]+$/.test(item) ? URL.parse(`http://${item}`) : null;
  const host = parsed === null ? "" : canonicalHost(parsed.hostname);
  if (host === "" || isIP(host) !== 0 || host.split(".").includes("")) {
    throw new Error(
      `${JSON.stringify(item)} is not an address range (10.0.0.0/8), an address, a host name or the word loopback`,
    );
  }
  return host;
}

function rangesOf(items: readonly string[]): BlockList {
  const list = new BlockList();
  for (const item of items) {
    const [address = "", prefix] = item.split("/");
    const family = isIP(address) === 4 ? "ipv4" : "ipv6";
    list.addSubnet(address, prefix === undefined ? (family === "ipv4" ? 32 : 128) : Number(prefix), family);
  }
  return list;
}

/** Whether an address is in some networks; false for anything that is not exactly an address. */
export function inRanges(ranges: BlockList, ip: string): boolean {
  const family = isIP(ip);
  if (family === 0 || ip.includes("%")) return false;
  return ranges.check(ip, family === 4 ? "ipv4" : "ipv6");
}

/** The host of a URL, an IPv6 address without its brackets. */
export function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, "");
}

/** Whether only this machine can reach `host`: `localhost`, a name under it, 127.0.0.0/8 or ::1. */
export function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith("127.");
  if (isIP(host) === 6) return new URL(`http://[${host}]`).hostname === "[::1]";
  return isLocalhost(canonicalHost(host));
}

/** Whether both the listening address and the public URL are loopback addresses, so that no proxy is in front. */
export function isLocalOnly(host: string, publicUrl: string | null): boolean {
  return isLoopback(host) && (publicUrl === null || isLoopback(hostOf(publicUrl)));
}
