/** Host names to addresses, with a limit and a small cache. Asks the network and judges nothing: the guard does. */

import { lookup, Resolver } from "node:dns/promises";
import { setBounded } from "../core/bounded-map.ts";

/** What a name leads to now, and for how long that may be believed. */
export interface Resolution {
  addresses: string[];
  ttlSeconds: number;
}

/** Finds all addresses of a name, IPv4 first; rejects when there are none. */
export type Resolve = (host: string) => Promise<Resolution>;

/** A lookup that takes longer has failed. */
const RESOLVE_LIMIT_MS = 2_000;
const TTL_SECONDS_MAX = 60;
const CACHED_NAMES_MAX = 1_000;

/** /etc/hosts and the system's resolver give no time to live. */
const SYSTEM_TTL_SECONDS = 5;

const QUERY_TIMEOUT_MS = 900;
const QUERY_TRIES = 2;

/**
 * Resolves by the system's name servers, or by `servers` ("127.0.0.1:5353"), without a thread per lookup: a slow name
 * server of one receiver does not hold up another's. Knows neither /etc/hosts nor search domains.
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
    // The list of name servers is read once: after a lookup that no server answered it is read again.
    if (unanswered(v4) && unanswered(v6) && resolver === asked) resolver = newResolver(servers);
    throw v4.status === "rejected" ? v4.reason : new Error(`${host} has no address`);
  };
}

/** Resolves as other programs of this machine do, /etc/hosts included. Two at a time: for the operator's own names only. */
export async function systemResolver(host: string): Promise<Resolution> {
  const found = await lookup(host, { all: true, order: "ipv4first" });
  return { addresses: found.map((each) => each.address), ttlSeconds: SYSTEM_TTL_SECONDS };
}

interface Entry {
  addresses: Promise<string[]>;
  /** Infinity while the lookup runs, so that those who ask meanwhile share it. */
  expiresAt: number;
}

/**
 * Keeps what `resolve` finds for its time to live, at most a minute and at most 1,000 names. The promise rejects when
 * the name has no address or none was found within 2 s; a failure is not kept. `now` is in milliseconds.
 */
export function cachedResolver(resolve: Resolve, now: () => number): (host: string) => Promise<string[]> {
  const entries = new Map<string, Entry>();
  return (host) => {
    const known = entries.get(host);
    if (known !== undefined && known.expiresAt > now()) return known.addresses;
    const entry: Entry = { expiresAt: Number.POSITIVE_INFINITY, addresses: Promise.resolve([]) };
    const forget = () => {
      if (entries.get(host) === entry) entries.delete(host);
    };
    entry.addresses = withinLimit(resolve(host)).then(
      ({ addresses, ttlSeconds }) => {
        entry.expiresAt = now() + Math.min(ttlSeconds, TTL_SECONDS_MAX) * 1_000;
        if (entry.expiresAt <= now()) forget();
        return addresses;
      },
      (error: unknown) => {
        forget();
        throw error;
      },
    );
    setBounded(entries, host, entry, CACHED_NAMES_MAX);
    return entry.addresses;
  };
}

function newResolver(servers: readonly string[] | undefined): Resolver {
  const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  return resolver;
}

/** Codes of c-ares for a question that got no answer, as against the answer that there is none. */
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
