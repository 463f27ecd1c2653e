/** The SQL that adds usage. */

import { LAYOUT } from "../rows.ts";
import { noteBatch } from "../usage-batch.ts";

const COLUMNS = LAYOUT.usage.map(({ column }) => `"${column}"`).join(", ");
const COUNTS = LAYOUT.usage.filter(({ property }) => property !== "subject" && property !== "at");
const SUMS = COUNTS.map(({ column }) => `${column} = ${column} + excluded.${column}`).join(", ");

const placeholders = (table: "usage" | "idempotency") => LAYOUT[table].map(() => "?").join(", ");

export const USAGE = {
  /** Notes a batch. Changes nothing if the batch is counted already. */
  batch: noteBatch(placeholders("idempotency")),
  /** Adds the counters of an hour. */
  hour: `insert into usage (${COLUMNS}) values (${placeholders("usage")}) on conflict (subject, at) do update set ${SUMS}`,
};
