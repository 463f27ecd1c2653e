/**
 * Migrates a database in a process of its own. It writes each line of progress and then reads a byte, so that its parent knows where
 * it is when the parent ends it.
 */

import { readSync, writeSync } from "node:fs";
import { openWriter } from "../../server/store/sqlite/connection.ts";
import { migrate } from "../../server/store/sqlite/migrate.ts";

const [path = ""] = process.argv.slice(2);
const database = openWriter(path);
await migrate(
  database,
  (progress) => {
    writeSync(1, `${progress}\n`);
    readSync(0, Buffer.alloc(1));
  },
  0,
);
database.close();
