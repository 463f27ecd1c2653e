/** Refuses the database of a backup that would run what a stranger wrote. */

import { ConfigError } from "../config.ts";
import { printable } from "../core/printable.ts";
import { listForeign } from "../store/sqlite/foreign-schema.ts";
import { isOwnSchema } from "../store/sqlite/snapshot.ts";

/** Names that an error shows, and their length. */
const SHOWN_MAX = 5;
const NAME_LENGTH_MAX = 60;

/**
 * Throws `ConfigError` if the database `path` of the backup has triggers, views or virtual tables that a new database does not have. Throws
 * `DatabaseDamaged`. Call before anything else reads or writes the database. Says nothing about a backup of another version, whose manifest
 * names another `schema`: no restore takes it.
 */
export function requireOwnSchema(path: string, backup: string, schema: string): void {
  if (!isOwnSchema(schema)) return;
  const foreign = listForeign(path);
  if (foreign.length === 0) return;
  const names = foreign.slice(0, SHOWN_MAX).map((name) => printable(name.slice(0, NAME_LENGTH_MAX)));
  const more = foreign.length > SHOWN_MAX ? ` and ${foreign.length - SHOWN_MAX} more` : "";
  throw new ConfigError(
    `The database in the backup ${backup} has parts that are not of Tightbeam and could run code: ${names.join(", ")}${more}. If they are yours, drop them in the database and take another backup; if you do not know them, do not use the backup.`,
  );
}
