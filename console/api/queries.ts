/** The cache of what the console has read, and which items of the live stream make which of it stale. */

import { QueryClient } from "@tanstack/react-query";
import type { WireItem } from "../../sdk/requests.ts";
import type { LoggedRequest } from "../../sdk/wire.ts";
import { isToInbox } from "./inbox-items.ts";
import type { Live } from "./live.ts";

/** The first part of every query key: the noun that was read. */
export type Noun =
  | "calls"
  | "capabilities"
  | "chats"
  | "contacts"
  | "customers"
  | "deliveries"
  | "events"
  | "health"
  | "inbox"
  | "instances"
  | "keys"
  | "messages"
  | "numbers"
  | "opt-outs"
  | "payments"
  | "phones"
  | "reference"
  | "replays"
  | "requests"
  | "service"
  | "sessions"
  | "clock"
  | "usage"
  | "webhooks";

/** The cache. The client of `sdk/` retries by itself, so that a query does not. */
export function createCache(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: { retry: false, staleTime: 30_000, refetchOnWindowFocus: false, refetchOnReconnect: false },
      mutations: { retry: false },
    },
  });
}

/** The nouns that an event makes stale beside `events` and `deliveries`, by the first word of its type. */
const STALE: Record<string, readonly Noun[]> = {
  message: ["messages", "chats", "usage", "inbox"],
  payment: ["payments", "messages"],
  facetime: ["calls"],
  chat: ["chats"],
  typing: [],
  contact: ["opt-outs"],
  webhook: ["webhooks"],
};

/** The nouns that requests change without an event, by the beginning of their paths. */
const CHANGED_BY: readonly (readonly [path: string, noun: Noun])[] = [
  ["/v1/webhooks", "webhooks"],
  ["/v1/contacts", "contacts"],
  ["/v1/opt-outs", "opt-outs"],
  ["/v1/chats", "chats"],
  ["/v1/sandbox/clock", "clock"],
  ["/v1/sandbox/inbox", "inbox"],
  ["/v1/sandbox/phones", "phones"],
];

/** The nouns that a request has changed: another program made it. */
function changedNouns({ method, path, status }: LoggedRequest): Noun[] {
  if (method === "GET" || method === "HEAD" || status >= 400) return [];
  return CHANGED_BY.flatMap(([start, noun]) => (path.startsWith(start) ? [noun] : []));
}

/** Nouns that an item of the live stream makes stale. */
export function staleNouns(item: WireItem): readonly Noun[] {
  switch (item.kind) {
    case "request":
      return ["requests", ...changedNouns(item.request)];
    case "message":
      return ["messages"];
    case "delivery":
      if (isToInbox(item.delivery)) return ["deliveries", "inbox"];
      // The endpoint may be gone now.
      return item.delivery.attempts.at(-1)?.status === 410 ? ["deliveries", "webhooks"] : ["deliveries"];
    case "event":
      return ["events", "deliveries", ...(STALE[item.event.type.split(".")[0] ?? ""] ?? [])];
  }
}

/** Stale nouns are read at once, then after this time, and ever less often as long as items come. */
const REFRESH_MS = 250;
const REFRESH_MS_MAX = 2_000;

/** Reads again what the live stream has made stale, as long as a screen shows it. Returns the end of it. */
export function keepFresh(
  cache: Pick<QueryClient, "invalidateQueries">,
  live: Pick<Live, "onItems" | "onGap">,
): () => void {
  const stale = new Set<Noun>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const refresh = (nextMs: number) => {
    if (stale.size === 0) {
      timer = undefined;
      return;
    }
    for (const noun of stale) void cache.invalidateQueries({ queryKey: [noun] });
    stale.clear();
    timer = setTimeout(() => refresh(Math.min(2 * nextMs, REFRESH_MS_MAX)), nextMs);
  };
  const endItems = live.onItems((items) => {
    for (const item of items) for (const noun of staleNouns(item)) stale.add(noun);
    if (timer === undefined) refresh(REFRESH_MS);
  });
  const endGap = live.onGap(() => void cache.invalidateQueries());
  return () => {
    clearTimeout(timer);
    endItems();
    endGap();
  };
}
