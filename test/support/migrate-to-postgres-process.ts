/**
 * Migrates a data directory to PostgreSQL in a process of its own. It writes a line for each step and then reads a byte, so that its
 * parent knows where it is when the parent ends it.
 */

import { readSync, writeSync } from "node:fs";
import { migrateToPostgres } from "../../server/app/migrate-to-postgres.ts";

const [dataDir = "", url = "", rowsAtOnce = ""] = process.argv.slice(2);
await migrateToPostgres({ dataDir }, url, {
  now: Date.now(),
  rowsAtOnce: Number(rowsAtOnce),
  progress(doing, done) {
    writeSync(1, `${doing} ${done}\n`);
    readSync(0, Buffer.alloc(1));
  },
});
