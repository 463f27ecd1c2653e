/** One Mac, as everything that works with it is given it. */

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

/** The instance's settings. */
export interface MacSettings {
  url: string;
  password: string;
  /** How what happens on the Mac comes here: the Mac calls our hook, or we listen at its socket. */
  ingest: "webhook" | "socket";
  /** Conversations begun within any hour. */
  newChatsPerHour: number;
}
