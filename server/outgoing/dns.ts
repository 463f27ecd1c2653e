/** Resolves host names, with a time limit and a small cache. The guarded connector decides which addresses are permitted. */

import { lookup, Resolver } from "node:dns/promises";
import { Cached } from "../core/cached.ts";

/** The addresses of a name, and their time to live. */
export interface Resolution {
  addresses: string[];
  ttlSeconds: number;
}

/** Finds all addresses of a name, IPv4 first. Rejects if there are none. */
export type Resolve = (host: string) => Promise<Resolution>;

/** A lookup that takes longer fails, in milliseconds. */
const RESOLVE_LIMIT_MS = 2_000;
const TTL_SECONDS_MAX = 60;
const CACHED_NAMES_MAX = 1_000;

/** /etc/hosts and the system's resolver return no time to live. */
const SYSTEM_TTL_SECONDS = 5;

const QUERY_TIMEOUT_MS = 900;
const QUERY_TRIES = 2;

/**
 * Resolves by the system's name servers, or by `servers` ("127.0.0.1:5353"), without a thread for each lookup: the slow
 * name server of one receiver does not delay another. Reads neither /etc/hosts nor search domains.
 */
export function dnsResolver(servers?: readonly string[]): Resolve {
  let resolver = newResolver(servers);
  return async (host) => {
    const asked = resolver;
    const [v4, v6] = await Promise.allSettled([
      asked.resolve4(host, { ttl: true }),
      asked.resolve6(host, { ttl: true }),
    ]);
    const found = [v4, v6].flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
    if (found.length > 0) {
      return { addresses: found.map((each) => each.address), ttlSeconds: Math.min(...found.map((each) => each.ttl)) };
    }
    // c-ares reads the list of name servers once. After a lookup that no server answered, it is read again.
    if (unanswered(v4) && unanswered(v6) && resolver === asked) resolver = newResolver(servers);
    throw v4.status === "rejected" ? v4.reason : new Error(`${host} has no address`);
  };
}

/** Resolves like other programs of this machine, /etc/hosts included, two lookups at a time: for the operator's names only. */
export async function systemResolver(host: string): Promise<Resolution> {
  const found = await lookup(host, { all: true, order: "ipv4first" });
  return { addresses: found.map((each) => each.address), ttlSeconds: SYSTEM_TTL_SECONDS };
}

/**
 * Caches addresses for their time to live, at most a minute, of at most 1,000 names. The promise rejects if the name has
 * no address or the lookup takes longer than 2 s. Failures are not cached. `now` is in milliseconds.
 */
export function cachedResolver(resolve: Resolve, now: () => number): (host: string) => Promise<string[]> {
  const keptMs = ({ ttlSeconds }: Resolution) => Math.min(ttlSeconds, TTL_SECONDS_MAX) * 1_000;
  const names = new Cached<string, Resolution>({ max: CACHED_NAMES_MAX, expiry: { now, keptMs } });
  return async (host) => (await names.get(host, () => withinLimit(resolve(host)))).addresses;
}

function newResolver(servers: readonly string[] | undefined): Resolver {
  const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  return resolver;
}

/** Codes of c-ares if no name server answered, in contrast to the answer that there is no address. */
const UNANSWERED = new Set(["ETIMEOUT", "ECONNREFUSED", "ECANCELLED"]);

function unanswered(answer: PromiseSettledResult<unknown>): boolean {
  return answer.status === "rejected" && UNANSWERED.has(String((answer.reason as { code?: unknown })?.code));
}

function withinLimit<Value>(found: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("the name servers did not answer in time")), RESOLVE_LIMIT_MS);
    found.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
