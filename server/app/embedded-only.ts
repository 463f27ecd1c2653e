/** Refuses work on the embedded database while `DATABASE_URL` names another. */

import { type Config, ConfigError } from "../config.ts";

/** Throws `ConfigError` if the data is in PostgreSQL. `instead` says what to do there. */
export function requireEmbedded({ databaseUrl }: Pick<Config, "databaseUrl">, instead: string): void {
  if (databaseUrl === null) return;
  throw new ConfigError(`DATABASE_URL is set, and this command works on the embedded database only: ${instead}`);
}
