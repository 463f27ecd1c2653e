/** One Mac, as everything that works with it is given it. */

import type { ProviderContext } from "../provider.ts";
import type { Chats } from "./chats.ts";
import type { MacClient } from "./client.ts";
import type { MacHealth } from "./health.ts";
import type { Pace } from "./pace.ts";

export interface Mac {
  context: ProviderContext;
  settings: MacSettings;
  client: MacClient;
  pace: Pace;
  chats: Chats;
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
