/**
 * Adds requests to the log, and erases their texts. Positions are in the order
 * of commits, so that a reader that goes by positions misses no request.
 */

import { LAYOUT, type SqlValue } from "../rows.ts";
import type { ErasedRequest } from "../store.ts";
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

const TEXTS = (["path", "request", "response"] as const).map((property) => inputColumn("requests", property, property));
const ERASED = [{ name: "position", type: "bigint", isBytes: false }, ...TEXTS] as const;

const ERASE = `update requests set path = r.path, request = r.request, response = r.response, request_cut = 0, response_cut = 0
  from ${recordset("$1", ERASED)} where requests.position = r.position`;

/** Replaces texts of requests. */
export async function eraseRequests(sql: Sql, requests: readonly ErasedRequest[]): Promise<void> {
  const rows = requests.map(({ position, path, request, response }) => [position, path, request, response]);
  await sql.values(ERASE, [jsonRows(ERASED, rows)]);
}
