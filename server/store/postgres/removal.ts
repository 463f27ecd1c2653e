/** Removes records in batches: old records whose partition is not dropped, and all records of a customer. */

import { firstIdAt } from "../../core/id.ts";
import { hasOpenInPostgres, idsInPostgres } from "../deliveries-of-event.ts";
import { DAY_MS } from "../positions.ts";
import { columnOf } from "../rows.ts";
import type { RequestRemoval } from "../store.ts";
import { TABLES } from "../tables.ts";
import { KEEP_PARTITIONS, listPartitions, partitionOf } from "./partitions.ts";
import type { Sql } from "./sql.ts";

/** Tables from which `reset` removes every record of the customer, and the column that names it. */
const RESET_TABLES = {
  events: "customer_id",
  replays: "customer_id",
  chats: "customer_id",
  contacts: "customer_id",
  contactAddresses: "customer_id",
  optOuts: "customer_id",
  payments: "customer_id",
  calls: "customer_id",
  requests: "customer_id",
  idempotency: "scope",
} as const;

/** Tables with providers' references of a customer's messages. */
const REFERENCES = ["send_attempts", "provider_references"] as const;
/** References that one transaction reads, whichever customers they belong to. */
const REFERENCES_READ_MAX = 5_000;
/** Old files that one transaction checks: an event may still mention them. */
const CONTENTS_READ_MAX = 4_000;
/**
 * If a clock was wrong, an event's id may be older than the day of its partition.
 * If it is older by more than this, the event is removed before the day is dropped.
 */
const STRAY_MS = 3_600_000;

type ReferenceKey = readonly [instanceId: string, reference: string];

/** How far references are read: the table, by its place in `REFERENCES`, and the last key that was read. */
interface ReferenceProgress {
  table: number;
  after: ReferenceKey;
}

const FIRST_REFERENCE: ReferenceProgress = { table: 0, after: ["", ""] };

/** Removes old events with their deliveries, idempotency keys, files, arrivals and notes about attempts. Returns how many records. */
export async function prune(sql: Sql, held: ReadonlySet<number>, before: number, limit: number): Promise<number> {
  let removed = 0;
  await sql.values(KEEP_PARTITIONS);
  for (const { name, below } of await listOldRows(sql, held, before)) {
    if (removed < limit) removed += await pruneEvents(sql, name, below, limit - removed);
  }
  // Files go after the events that mention them.
  removed += await pruneContents(sql, before, limit);
  for (const statement of OLD) removed += (await sql.values(statement, [before, limit])).length;
  return removed;
}

/** Partitions of events with rows that are removed one by one, not with their day, and the id below which those rows are. */
async function listOldRows(sql: Sql, held: ReadonlySet<number>, before: number) {
  const partitions = [
    { name: "events_before", until: before },
    ...(await listPartitions(sql, "events")).map((partition) => {
      const until = held.has(partition.first) ? before : Math.min(before, partition.first * DAY_MS - STRAY_MS);
      return { name: partitionOf("events", partition), until };
    }),
  ].map(({ name, until }) => ({ name, below: firstIdAt("evt", until) }));
  const firsts = partitions.map(({ name }) => `(select min(id) from ${name})`);
  const [row = []] = await sql.values(`select ${firsts.join(", ")}`);
  return partitions.filter(({ below }, index) => {
    const first = row[index];
    return typeof first === "string" && first < below;
  });
}

/** Deletes the oldest events of a partition without an open delivery. */
async function pruneEvents(sql: Sql, partition: string, below: string, limit: number): Promise<number> {
  // The condition is a scalar subquery, so it runs for each event in turn until there are enough.
  const old = await sql.values(
    `select id from ${partition} e where id < $1
       and not ${hasOpenInPostgres("e")} order by id limit $2`,
    [below, limit],
  );
  if (old.length === 0) return 0;
  const ids = old.map(([id = null]) => id);
  const deliveries = idsInPostgres("unnest($1::text[]) e (id)");
  await sql.values(`delete from deliveries where id = any(array(${deliveries}))`, [ids]);
  await sql.values(`delete from ${partition} where id = any($1::text[])`, [ids]);
  return ids.length;
}

/** Deletes old files that no event mentions, except those of messages that are still to be sent. */
async function pruneContents(sql: Sql, before: number, limit: number): Promise<number> {
  const old = await sql.values(
    `select c.id, c.message_id from contents c left join messages m on m.id = c.message_id
     where c.created_at < $1 and coalesce(m.status not in ('scheduled', 'queued', 'pending'), true)
     order by c.created_at, c.id limit ${CONTENTS_READ_MAX}`,
    [before],
  );
  if (old.length === 0) return 0;
  const messages = [...new Set(old.map(([, message = null]) => message))];
  const mentioned = await sql.values("select message_id from events where message_id = any($1::text[])", [messages]);
  const kept = new Set(mentioned.map(([message]) => message));
  const ids = old.filter(([, message]) => !kept.has(message ?? null)).map(([id = null]) => id);
  const removed = await sql.values("delete from contents where id = any($1::text[]) returning 1", [
    ids.slice(0, limit),
  ]);
  return removed.length;
}

/** Removes requests from the log. Returns how many. */
export async function removeRequests(sql: Sql, { before, oldest, limit }: RequestRemoval): Promise<number> {
  let removed = (await sql.values(OLD_REQUESTS, [before, limit])).length;
  for (const [customerId, count] of oldest) {
    const left = Math.min(count, limit - removed);
    const [where, parameters] = customerId === null ? (["is null", []] as const) : (["= $2", [customerId]] as const);
    removed += (await sql.values(oldestRequests(where), [left, ...parameters])).length;
  }
  return removed;
}

const OLD_REQUESTS = `delete from requests where position in (select position from
  (select position, logged_at from requests order by position limit $2) o where logged_at < $1) returning 1`;

function oldestRequests(ofCustomer: string): string {
  return `delete from requests where position in (
    select position from requests where customer_id ${ofCustomer} order by position limit $1) returning 1`;
}

/** SQL for send attempts with a note that began before a time. The rest of the inner query follows. */
const OLD_NOTED = `(instance_id, reference) in (
  select instance_id, reference from send_attempts where note is not null and started_at < $1`;

const OLD = [
  `delete from idempotency where (scope, "key") in (
     select scope, "key" from idempotency where created_at < $1 limit $2) returning 1`,
  `delete from arrivals where (instance_id, reference) in (
     select instance_id, reference from arrivals where created_at < $1 limit $2) returning 1`,
  // Attempts with a note whose provider never gave them a reference, except those of messages that are being sent.
  `delete from send_attempts where ${OLD_NOTED} and reference like 'attempt:%'
     and not exists (select 1 from messages m where m.id = message_id and m.status = 'pending') limit $2) returning 1`,
  // Notes of attempts with a reference of the provider. The reference stays.
  `update send_attempts set note = null where ${OLD_NOTED} and reference not like 'attempt:%' limit $2) returning 1`,
];

/** Removes all records of customers, and knows how far each removal is. */
export class CustomerReset {
  /** Customers that are being reset, and how far their provider references are removed. */
  readonly #resetting = new Map<string, ReferenceProgress>();

  /**
   * Removes some records of each kind of a customer. Returns how many. `begins`:
   * a new reset, which also reads the references that an earlier one has read.
   */
  async reset(sql: Sql, customerId: string, limit: number, begins: boolean): Promise<number> {
    if (begins) this.#resetting.delete(customerId);
    let removed = await removeDeliveries(sql, customerId, limit);
    removed += await this.#removeMessages(sql, customerId, limit);
    for (const [table, column] of Object.entries(RESET_TABLES)) {
      removed += await removeSome(sql, table as keyof typeof RESET_TABLES, column, [customerId, limit]);
    }
    if (removed === 0) this.#resetting.delete(customerId);
    return removed;
  }

  /** Lets every reset begin again, after a transaction was rolled back. */
  forget(): void {
    this.#resetting.clear();
  }

  /**
   * References have no index by message. So the first batches read all references of all customers,
   * while the messages of this customer still exist. Later batches find references by their keys.
   */
  async #removeMessages(sql: Sql, customerId: string, limit: number): Promise<number> {
    const messages = await sql.values(
      "select id, instance_id, provider_message_id from messages where customer_id = $1 order by id limit $2 for update",
      [customerId, limit],
    );
    if (messages.length === 0) return 0;
    if (await this.#removeReferences(sql, customerId)) return 1;
    const [ids, instances, references] = [0, 1, 2].map((index) => messages.map((row) => row[index]));
    for (const table of REFERENCES) {
      await sql.values(
        `delete from ${table} r using unnest($1::text[], $2::text[]) as x (instance_id, reference)
         where r.instance_id = x.instance_id and r.reference = x.reference`,
        [instances ?? [], references ?? []],
      );
    }
    await sql.values(
      `delete from send_attempts a using unnest($1::text[], $2::text[]) as x (instance_id, message_id)
       where a.instance_id = x.instance_id
         and a.reference >= 'attempt:' || x.message_id || '/' and a.reference < 'attempt:' || x.message_id || '0'`,
      [instances ?? [], ids ?? []],
    );
    await sql.values("delete from contents where message_id = any($1::text[])", [ids ?? []]);
    await sql.values("delete from due_messages where id = any($1::text[])", [ids ?? []]);
    await sql.values("delete from messages where id = any($1::text[])", [ids ?? []]);
    return messages.length;
  }

  /** Removes the customer's references among the next references of all customers. Returns whether there were any to read. */
  async #removeReferences(sql: Sql, customerId: string): Promise<boolean> {
    const { table: index, after } = this.#resetting.get(customerId) ?? FIRST_REFERENCE;
    const table = REFERENCES[index];
    if (table === undefined) return false;
    const [end] = await sql.values(
      `select instance_id, reference from ${table} where (instance_id, reference) > ($1, $2)
       order by instance_id, reference limit 1 offset ${REFERENCES_READ_MAX - 1}`,
      after,
    );
    const until = end === undefined ? "" : "and (r.instance_id, r.reference) <= ($4, $5)";
    await sql.values(
      `delete from ${table} r using messages m where m.id = r.message_id and m.customer_id = $1
         and (r.instance_id, r.reference) > ($2, $3) ${until}`,
      [customerId, ...after, ...(end ?? [])],
    );
    const next =
      end === undefined
        ? { table: index + 1, after: FIRST_REFERENCE.after }
        : { table: index, after: end as unknown as ReferenceKey };
    this.#resetting.set(customerId, next);
    return true;
  }
}

async function removeDeliveries(sql: Sql, customerId: string, limit: number): Promise<number> {
  const some = await sql.values(
    `select id from deliveries where customer_id = $1 order by id collate "POSIX" limit $2 for update`,
    [customerId, limit],
  );
  if (some.length === 0) return 0;
  const ids = some.map(([id = null]) => id);
  await sql.values("delete from due_deliveries where id = any($1::text[])", [ids]);
  await sql.values("delete from deliveries where id = any($1::text[])", [ids]);
  return ids.length;
}

/** Deletes some of the records whose `column` is this. */
async function removeSome(
  sql: Sql,
  table: keyof typeof RESET_TABLES,
  column: string,
  parameters: readonly [string, number],
): Promise<number> {
  const { name, key } = TABLES[table];
  const keys = (table === "events" || table === "requests" ? ["position"] : key.map(columnOf))
    .map((one) => `"${one}"`)
    .join(", ");
  const some = `select ${keys} from ${name} where ${column} = $1 limit $2`;
  // The array is known when the statement begins, so it names the partitions.
  const where = table === "events" ? `${column} = $1 and position = any(array(${some}))` : `(${keys}) in (${some})`;
  return (await sql.values(`delete from ${name} where ${where} returning 1`, parameters)).length;
}
