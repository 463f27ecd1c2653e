/** Reads the rows of a table as a copy has them. */

import type { CopiedTable, CopiedValue } from "../copied-tables.ts";
import { storedColumn } from "../split-timeline.ts";
import type { Sql } from "./sql.ts";

/** Rows that a cursor reads at once; fewer if they are files, which may be large. */
const READ_AT_ONCE = 2_000;
const FILES_AT_ONCE = 8;

/** Reads all rows of a table by a cursor. Needs a transaction. */
export async function readRows(
  sql: Sql,
  { name, columns }: CopiedTable,
  each: (rows: CopiedValue[][]) => void,
): Promise<void> {
  const list = columns.map(({ column }) => `(${storedColumn(name, column, "t")})::text`).join(", ");
  await sql.values(`declare copied no scroll cursor for select ${list} from ${name} t`);
  for (;;) {
    const count = name === "contents" ? FILES_AT_ONCE : READ_AT_ONCE;
    const rows = (await sql.values(`fetch ${count} from copied`)) as CopiedValue[][];
    if (rows.length === 0) break;
    each(rows);
  }
  await sql.values("close copied");
}
