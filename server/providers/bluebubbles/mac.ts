/** One Mac: the connection, settings and caches that all parts of this provider share. */

import type { ProviderContext } from "../provider.ts";
import type { ChatGuids } from "./chat-guids.ts";
import type { MacClient } from "./client.ts";
import type { MacHealth } from "./health.ts";
import type { PrivateApiRateLimiter } from "./rate-limiter.ts";

export interface Mac {
  context: ProviderContext;
  settings: MacSettings;
  client: MacClient;
  rateLimiter: PrivateApiRateLimiter;
  chatGuids: ChatGuids;
  health: MacHealth;
}

/** Settings of the instance. */
export interface MacSettings {
  url: string;
  password: string;
  /** How events arrive: the Mac posts to our webhook, or we connect to its socket. */
  ingest: "webhook" | "socket";
  /** Limit of new conversations in any one hour. */
  newChatsPerHour: number;
}
