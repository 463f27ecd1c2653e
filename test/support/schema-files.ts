/** The checked-in SQL of both databases, for readers. */

import { fileURLToPath } from "node:url";
import { POSTGRES_SCHEMA } from "../../server/store/postgres/schema.ts";
import { SQLITE_SCHEMA } from "../../server/store/sqlite/schema.ts";

const HEAD =
  "-- Written by `npm run schema` from server/store/tables.ts and indexes.ts, and schema.ts beside this file.\n\n";

/** Each file with the text that it must have. */
export const SCHEMA_FILES: readonly (readonly [file: string, text: string])[] = [
  [pathOf("sqlite"), HEAD + SQLITE_SCHEMA.sql],
  [pathOf("postgres"), HEAD + POSTGRES_SCHEMA.sql],
];

function pathOf(database: string): string {
  return fileURLToPath(new URL(`../../server/store/${database}/0001.sql`, import.meta.url));
}
