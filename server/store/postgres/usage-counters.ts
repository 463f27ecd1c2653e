/**
 * Adds to the usage counters of hours, in the order of their keys. Processes
 * that add at the same time wait for each other, but never in a circle.
 */

import { columnOf, LAYOUT, type SqlValue } from "../rows.ts";
import { TABLES } from "../tables.ts";
import { noteBatch } from "../usage-batch.ts";
import type { SqlStatement } from "./sql.ts";

const { name, key } = TABLES.usage;
const KEY = key.map(columnOf);
const COLUMNS = LAYOUT.usage.map(({ column }) => column);
const COUNTS = COLUMNS.filter((column) => !KEY.includes(column));

const ADD = `with batch as (${noteBatch(LAYOUT.idempotency.map((_, index) => `$${index + 2}`).join(", "))} returning 1)
  insert into ${name} (${[...KEY, ...COUNTS].join(", ")})
  select ${KEY.join(", ")}, ${COUNTS.map((column) => `sum(${column})`).join(", ")}
  from json_to_recordset($1::json) as hour (${COLUMNS.map((column) => `${column} ${column === "subject" ? "text" : "bigint"}`).join(", ")})
  where exists (select from batch)
  group by ${KEY.join(", ")} order by ${KEY.join(", ")}
  on conflict (${KEY.join(", ")}) do update set ${COUNTS.map((column) => `${column} = ${name}.${column} + excluded.${column}`).join(", ")}`;

/** The statement that adds counters to the hours that they name, unless their batch is already counted. The values are those of `encodeRecord`. */
export function usageOf(batch: readonly SqlValue[], hours: readonly SqlValue[][]): SqlStatement[] {
  if (hours.length === 0) return [];
  const records = hours.map((values) => Object.fromEntries(COLUMNS.map((column, index) => [column, values[index]])));
  return [{ text: ADD, parameters: [JSON.stringify(records), ...batch] }];
}
