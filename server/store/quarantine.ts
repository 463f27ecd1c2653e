/** Rows that cannot be decoded: lists leave them out and report them for the quarantine, which can be listed. */

import { type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { MessageId } from "../core/id.ts";
import type { Records, TableName } from "./records.ts";
import { type Database, decode, decodeEach, type QuarantinedRow, type UnreadableRow } from "./rows.ts";

type UnreadableReporter = (row: UnreadableRow) => void;

/** Reporter of each database for rows that cannot be decoded. */
const reports = new WeakMap<Kysely<Database>, UnreadableReporter>();

/** Sets the reporter for rows that `decodeRows` leaves out of reads of `db`. */
export function reportUnreadable(db: Kysely<Database>, report: UnreadableReporter): void {
  reports.set(db, report);
}

/** Decodes rows that `db` read, in order. A row that cannot be decoded is reported and left out. */
export function decodeRows<Name extends TableName>(
  db: Kysely<Database>,
  name: Name,
  rows: readonly object[],
): Records[Name][] {
  return decodeAll(db, rows, (row) => decode(name, row));
}

/** `decodeRows` with a decoder of its own. */
export function decodeAll<Row, Record_>(
  db: Kysely<Database>,
  rows: readonly Row[],
  decodeOne: (row: Row) => Record_,
): Record_[] {
  const { records, unreadable } = decodeEach(rows, decodeOne);
  for (const row of unreadable) reports.get(db)?.(row);
  return records;
}

/**
 * Up to `limit` records of the rows of `read`, which returns `count` rows after the first `skip`. Rows that cannot be
 * decoded are reported and replaced by further rows, so that a short page is the last one.
 */
export async function decodePage<Name extends TableName>(
  db: Kysely<Database>,
  name: Name,
  limit: number,
  read: (skip: number, count: number) => Promise<readonly object[]>,
): Promise<Records[Name][]> {
  return fillPage(db, limit, read, (row) => decode(name, row));
}

/** `decodePage` with a decoder of its own. */
export async function fillPage<Row, Record_>(
  db: Kysely<Database>,
  limit: number,
  read: (skip: number, count: number) => Promise<readonly Row[]>,
  decodeOne: (row: Row) => Record_,
): Promise<Record_[]> {
  const records: Record_[] = [];
  for (let skip = 0; ; ) {
    const count = limit - records.length;
    const rows = await read(skip, count);
    records.push(...decodeAll(db, rows, decodeOne));
    if (rows.length < count || records.length === limit) return records;
    skip += rows.length;
  }
}

/**
 * Excludes rows in quarantine from the reads of a loop, so that they do not fill its batches for ever. PostgreSQL
 * evaluates a scalar subquery row by row, but could join `not exists` with a whole table.
 */
export function isNotQuarantined(
  table: "messages" | "payments",
  id: RawBuilder<unknown> = sql.ref(`${table}.id`),
): RawBuilder<SqlBool> {
  return sql`(select 1 from quarantined u where u."table" = ${table} and u.id = ${id}) is null`;
}

/** Up to `limit` rows in quarantine, ordered by table. */
export async function listQuarantined(db: Kysely<Database>, limit: number): Promise<QuarantinedRow[]> {
  return db.selectFrom("quarantined").selectAll().orderBy("table").orderBy("id").limit(limit).execute();
}

/** Ids of messages in quarantine after one, in order. */
export async function listQuarantinedMessages(
  db: Kysely<Database>,
  after: MessageId | null,
  limit: number,
): Promise<MessageId[]> {
  const rows = await db
    .selectFrom("quarantined")
    .select("id")
    .where("table", "=", "messages")
    .where("id", ">", after ?? "")
    .orderBy("id")
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id as MessageId);
}

/** The most rows of a table that are counted, since `/health` and `/metrics` count at each request. */
export const QUARANTINED_COUNTED_MAX = 1_000;

/** Counts the rows in quarantine per table, up to `QUARANTINED_COUNTED_MAX`; tables without any are missing. */
export async function countQuarantined(db: Kysely<Database>): Promise<{ table: TableName; count: number }[]> {
  const { rows } = await sql<{ table: TableName; count: number }>`
    with recursive tables (name) as (
      select min("table") from quarantined
      union all
      select (select min("table") from quarantined where "table" > name) from tables where name is not null)
    select name as "table", (
      select count(*) from (select 1 from quarantined where "table" = name limit ${QUARANTINED_COUNTED_MAX} + 0) found) as count
    from tables where name is not null`.execute(db);
  return rows.map(({ table, count }) => ({ table, count: Number(count) }));
}
