/** The quarantine on PostgreSQL: adds undecodable rows, removes them from their queues, and restores repaired rows. */

import type { QuarantineEntry } from "../jobs/jobs.ts";
import type { TableName } from "../records.ts";
import { columnOf, decodeRecord, LAYOUT, RowUnreadable, type SqlValue } from "../rows.ts";
import { storedColumn } from "../split-timeline.ts";
import type { RecheckResult, RowKey } from "../store.ts";
import { TABLES } from "../tables.ts";
import { keepDueRow } from "./due-rows.ts";
import type { Sql } from "./sql.ts";

/** Tables that have a queue, each with SQL for the time at which a repaired row becomes due; `$2` is now. */
const QUEUES: Partial<Record<TableName, string>> = {
  messages: "case status when 'queued' then least(coalesce(scheduled_at, created_at), $2::bigint) else $2 end",
  deliveries: "$2",
};

/** Adds rows to the quarantine. A row that is already there keeps its time. */
export async function addToQuarantine(sql: Sql, rows: readonly QuarantineEntry[]): Promise<void> {
  for (const { table, id, customerId, reason, isLeased } of rows) {
    const isParked = isLeased && QUEUES[table] !== undefined;
    await sql.values(
      `insert into quarantined as q ("table", id, customer_id, reason, since, parked)
       values ($1, $2, $3, $4, (extract(epoch from clock_timestamp()) * 1000)::bigint, $5)
       on conflict ("table", id) do update set reason = excluded.reason, parked = greatest(q.parked, excluded.parked)`,
      [table, id, customerId, reason, isParked ? 1 : 0],
    );
    if (!isParked) continue;
    const lease = table === "messages" ? ", claimed_until = null" : "";
    await sql.values(`update ${table} set due_at = null${lease}, version = version + 1 where id = $1`, [id]);
    await keepDueRow(sql, table, id);
  }
}

/** Rechecks the next `limit` rows. A row leaves the quarantine if it can be decoded or is gone. */
export async function recheck(sql: Sql, after: RowKey | null, limit: number, now: number): Promise<RecheckResult> {
  const rows = (await sql.values(
    `select "table", id, parked from quarantined where ("table", id) > ($1, $2) order by "table", id limit $3`,
    [after?.table ?? "", after?.id ?? "", limit],
  )) as unknown as [TableName, string, number][];
  const mended: RowKey[] = [];
  for (const [table, id, parked] of rows) {
    if (!(await isMended(sql, table, id))) continue;
    await sql.values(`delete from quarantined where "table" = $1 and id = $2`, [table, id]);
    if (parked === 1) await putBack(sql, table, id, now);
    mended.push({ table, id });
  }
  const [table, id] = rows.at(-1) ?? [];
  const isMore = rows.length === limit && table !== undefined && id !== undefined;
  return { mended, next: isMore ? { table, id } : null };
}

async function isMended(sql: Sql, table: TableName, id: string): Promise<boolean> {
  if (TABLES[table] === undefined) return true;
  const { name, key } = TABLES[table];
  const columns = LAYOUT[table].map(({ column }) => storedColumn(name, column, "t")).join(", ");
  const where = key.map((property, index) => `"${columnOf(property)}" = $${index + 1}`).join(" and ");
  const values = key.length === 1 ? [id] : (JSON.parse(id) as SqlValue[]);
  const [row] = await sql.values(`select ${columns} from ${name} t where ${where}`, values);
  try {
    if (row === undefined) return true;
    const record = decodeRecord(table, row);
    return !("eventId" in record) || (await hasEvent(sql, record.eventId));
  } catch (error) {
    if (error instanceof RowUnreadable) return false;
    throw error;
  }
}

/** Whether the event of a delivery exists. */
async function hasEvent(sql: Sql, eventId: string): Promise<boolean> {
  return (await sql.values("select 1 from events where id = $1", [eventId])).length > 0;
}

async function putBack(sql: Sql, table: TableName, id: string, now: number): Promise<void> {
  const dueAt = QUEUES[table];
  if (dueAt === undefined) return;
  const isFree = table === "messages" ? "and claimed_until is null" : "";
  await sql.values(
    `update ${table} set due_at = ${dueAt}, version = version + 1 where id = $1 and due_at is null ${isFree}`,
    [id, now],
  );
  await keepDueRow(sql, table, id);
}
