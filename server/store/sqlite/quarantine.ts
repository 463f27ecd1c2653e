/** The quarantine of the writer: adds undecodable rows, removes them from their queues, and restores repaired rows. */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { QuarantineEntry } from "../jobs/jobs.ts";
import type { TableName } from "../records.ts";
import { columnOf, decodeRecord, LAYOUT, RowUnreadable, type SqlValue } from "../rows.ts";
import { isOfCustomer } from "../rows-of-customer.ts";
import type { RecheckResult, RowKey } from "../store.ts";
import { TABLES } from "../tables.ts";
import { allRows } from "./wide-rows.ts";

/** The due time of a repaired row, as SQL with `:now`, for each table with a queue. */
const QUEUES: Partial<Record<TableName, string>> = {
  messages: "case status when 'queued' then min(coalesce(scheduled_at, created_at), :now) else :now end",
  deliveries: ":now",
};

const KEY = `"table" = ? and id = ?`;

/** The values that find a row of a queue. A delivery needs its customer too, since its event may be gone. */
type QueueKey = { id: string; customer?: string | null };

function keyOf(table: TableName, id: string, customer: string | null): QueueKey {
  return table === "deliveries" ? { id, customer } : { id };
}

function rowOf(table: TableName): string {
  return table === "deliveries" ? `id = :id and ${isOfCustomer("", ":customer")}` : "id = :id";
}

/** The table `quarantined`, over the writer's connection. Its statements run in the SQL transaction of their job. */
export class QuarantineTable {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();
  /** Endpoints in quarantine; null: not read yet. */
  #endpoints: Set<string> | null = null;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Clears the cache of endpoints, after a rollback. */
  forget(): void {
    this.#endpoints = null;
  }

  /** Whether a lane waits because the row of its endpoint cannot be decoded. */
  holds(lane: string): boolean {
    if (this.#endpoints === null) {
      const rows = this.#statement(`select id from quarantined where "table" = 'endpoints'`).all();
      this.#endpoints = new Set((rows as unknown as string[][]).map(([id = ""]) => id));
    }
    return this.#endpoints.has(lane);
  }

  /** Adds rows. A row that is in quarantine already keeps its `since`. */
  add(rows: readonly QuarantineEntry[]): void {
    for (const { table, id, customerId, reason, isLeased } of rows) {
      const parked = isLeased && QUEUES[table] !== undefined ? 1 : 0;
      this.#statement(
        `insert into quarantined ("table", id, customer_id, reason, since, parked)
         values (?, ?, ?, ?, cast(unixepoch('subsec') * 1000 as integer), ?)
         on conflict do update set reason = excluded.reason, parked = max(parked, excluded.parked)`,
      ).run(table, id, customerId, reason, parked);
      if (parked === 1) {
        const lease = table === "messages" ? ", claimed_until = null" : "";
        this.#statement(`update ${table} set due_at = null${lease}, version = version + 1 where ${rowOf(table)}`).run(
          keyOf(table, id, customerId),
        );
      }
      if (table === "endpoints") this.#endpoints?.add(id);
    }
  }

  /** Rechecks the next `limit` rows. Rows that can be decoded and rows that are gone leave the quarantine. */
  recheck(after: RowKey | null, limit: number, now: number): RecheckResult {
    const rows = this.#statement(
      `select "table", id, customer_id, parked from quarantined where ("table", id) > (?, ?) order by "table", id limit ?`,
    ).all(after?.table ?? "", after?.id ?? "", limit) as unknown as [TableName, string, string | null, number][];
    const mended: RowKey[] = [];
    for (const [table, id, customerId, parked] of rows) {
      if (!this.#isMended(table, id, customerId)) continue;
      this.#statement(`delete from quarantined where ${KEY}`).run(table, id);
      if (parked === 1) this.#putBack(table, keyOf(table, id, customerId), now);
      mended.push({ table, id });
    }
    if (mended.length > 0) this.forget();
    const [table, id] = rows.at(-1) ?? [];
    const isMore = rows.length === limit && table !== undefined && id !== undefined;
    return { mended, next: isMore ? { table, id } : null };
  }

  #isMended(table: TableName, id: string, customerId: string | null): boolean {
    if (TABLES[table] === undefined) return true;
    const { name, key } = TABLES[table];
    const columns = LAYOUT[table].map(({ column }) => `"${column}"`).join(", ");
    const ofKey = key.map((property) => `"${columnOf(property)}" = ?`).join(" and ");
    const where = table === "deliveries" ? `id = ?1 and ${isOfCustomer("", "?2")}` : ofKey;
    const ids = key.length === 1 ? [id] : (JSON.parse(id) as string[]);
    const values = table === "deliveries" ? [id, customerId] : ids;
    const [row] = allRows(this.#statement(`select ${columns} from ${name} where ${where}`), values);
    try {
      if (row === undefined) return true;
      const record = decodeRecord(table, row as SqlValue[]);
      return !("eventId" in record) || this.#hasBytes(record.eventId);
    } catch (error) {
      if (error instanceof RowUnreadable) return false;
      throw error;
    }
  }

  /** Whether the event of a delivery exists and can be sent. */
  #hasBytes(eventId: string): boolean {
    const event = this.#statement("select bytes, correlation_id from events where id = ?").get(eventId);
    const [bytes, correlationId] = (event ?? []) as unknown as SqlValue[];
    return typeof bytes === "string" && typeof correlationId === "string";
  }

  #putBack(table: TableName, key: QueueKey, now: number): void {
    const dueAt = QUEUES[table];
    if (dueAt === undefined) return;
    const isFree = table === "messages" ? "and claimed_until is null" : "";
    this.#statement(
      `update ${table} set due_at = ${dueAt}, version = version + 1 where ${rowOf(table)} and due_at is null ${isFree}`,
    ).run({ ...key, now });
  }

  #statement(sql: string): StatementSync {
    const prepared = this.#prepared.get(sql);
    if (prepared !== undefined) return prepared;
    const statement = this.#database.prepare(sql);
    statement.setReturnArrays(true);
    this.#prepared.set(sql, statement);
    return statement;
  }
}
