/** Adds requests to the log. Positions are drawn in the order of commits, so that a reader who goes by them misses none. */

import { LAYOUT, type SqlValue } from "../rows.ts";
import { columnValue, inputColumn, jsonRows, numberColumn, recordset } from "./json-rows.ts";
import type { Sql } from "./sql.ts";

const COLUMNS = LAYOUT.requests.map(({ property }, index) => inputColumn("requests", property, `v${index}`));
const INPUT = [...COLUMNS, numberColumn("place")];

/** Processes write to the log one after the other. */
const LOCK = "select pg_advisory_xact_lock(hashtextextended('tightbeam requests', 0))";

const INSERT = `insert into requests (${LAYOUT.requests.map(({ column }) => column).join(", ")})
  select ${COLUMNS.map((column) => columnValue("r", column)).join(", ")} from ${recordset("$1", INPUT)} order by r.place`;

/** Adds requests in their order. The values are those of `encodeRecord`. */
export async function logRequests(sql: Sql, requests: readonly SqlValue[][]): Promise<void> {
  if (requests.length === 0) return;
  await sql.values(LOCK);
  const placed = requests.map((values, place) => [...values, place]);
  await sql.values(INSERT, [jsonRows(INPUT, placed)]);
}
