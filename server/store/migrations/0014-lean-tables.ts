/**
 * Tables that cost a message fewer writes: most have their key as the table, without row numbers. SQL names are those of the properties.
 * `sqlite/move-rows.ts` moves the rows of older versions there afterwards.
 */

import { type Kysely, sql } from "kysely";

/** A table that takes the place of an older one. */
export interface MovedTable {
  name: string;
  /** Its name until its rows were moved. */
  before: string;
  /** Its columns, and how a row of before gives them. */
  columns: Readonly<Record<string, string>>;
}

interface NewTable {
  name: string;
  /** Its name in older versions, if it was another one. */
  formerly?: string;
  columns: readonly string[];
  /** Its key; null: it has row numbers, and an index for its key. */
  key: string | null;
  /** Columns that are not what the row of before has under the same name: SQL for them. */
  renamed?: Readonly<Record<string, string>>;
  /** Statements that make its indexes, by name. */
  indexes?: Readonly<Record<string, string>>;
}

const TABLES: readonly NewTable[] = [
  {
    name: "provider_references",
    formerly: "hand_overs",
    columns: [
      "instance_id text not null",
      "reference text not null",
      "message_id text not null",
      "channel text not null",
      "created_at bigint not null",
    ],
    key: "instance_id, reference",
  },
  {
    name: "memory",
    columns: ["instance_id text not null", '"key" text not null', "value text not null"],
    key: 'instance_id, "key"',
  },
  {
    name: "arrivals",
    columns: ["instance_id text not null", "reference text not null", "created_at bigint not null"],
    key: "instance_id, reference",
    indexes: { arrivals_age: "(created_at)" },
  },
  {
    name: "idempotency",
    columns: [
      "scope text not null",
      '"key" text not null',
      "fingerprint text not null",
      "result text not null",
      "created_at bigint not null",
    ],
    key: 'scope, "key"',
    indexes: { idempotency_age: "(created_at)" },
  },
  {
    name: "deliveries",
    columns: [
      "id text not null",
      "version bigint not null",
      "customer_id text not null",
      "event_id text not null",
      "event_type text not null",
      "url text not null",
      "lane text not null",
      "sequence bigint not null",
      "status text not null",
      "attempt_count bigint not null",
      "retry_count bigint not null",
      "by_hand bigint not null",
      "retry_requested bigint not null",
      "created_at bigint not null",
      "message_id text",
      "endpoint_id text",
      "due_at bigint",
      "resume_at bigint",
      "attempts text not null default '[]'",
    ],
    renamed: { retry_requested: "owed" },
    key: null,
    indexes: {
      deliveries_list: "unique (customer_id, id)",
      deliveries_due: "(lane, due_at) where due_at is not null",
      deliveries_apart: "(id) where substr(id, 5, 18) <> substr(event_id, 5, 18)",
      deliveries_apart_event: "(event_id) where substr(id, 5, 18) <> substr(event_id, 5, 18)",
    },
  },
  {
    name: "chats",
    columns: [
      "id text not null",
      "version bigint not null",
      "customer_id text not null",
      '"key" text not null',
      "is_group bigint not null",
      '"from" text not null',
      "contact text",
      "instance_id text not null",
      "reference text",
      "channel text not null",
      "name text",
      "participants text not null",
      "left_at bigint",
      "created_at bigint not null",
      "updated_at bigint not null",
    ],
    renamed: { contact: "peer" },
    key: "id",
    indexes: {
      chats_key: 'unique ("key")',
      chats_list: "(customer_id, id)",
      chats_contact: "(customer_id, contact, id) where contact is not null",
      chats_groups: '(customer_id, "from", id) where is_group = 1 and left_at is null',
      chats_unnamed: '(customer_id, "from", id) where is_group = 1 and reference is null',
    },
  },
];

const BEFORE = "_before";

const nameOf = (column: string) => column.split(" ", 1)[0] ?? "";

/** The tables whose rows are moved. */
export const MOVED: readonly MovedTable[] = TABLES.map(({ name, formerly = name, columns, renamed = {} }) => ({
  name,
  before: `${formerly}${BEFORE}`,
  columns: Object.fromEntries(columns.map(nameOf).map((column) => [column, renamed[column] ?? column])),
}));

/** `hand_overs` and `peer` are the properties `sendAttempts` and `account`. */
const RENAMED = [
  "alter table messages rename column hand_overs to send_attempts",
  "alter table messages rename column peer to account",
];

/**
 * Positions of events are never used twice. The writer counts on from the greatest one that was ever drawn: that of the newest
 * event, or this one if the newest event was deleted.
 */
const POSITIONS = [
  "create table deleted_position (last bigint not null)",
  "insert into deleted_position (last) select coalesce((select seq from sqlite_sequence where name = 'events'), 0)",
  `create trigger events_newest before delete on events when old.position = (select max(position) from events) begin
     update deleted_position set last = max(last, old.position);
   end`,
];

/** Kysely runs it once, in a transaction. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of [...RENAMED, ...POSITIONS]) await sql.raw(statement).execute(db);
  for (const table of TABLES) await replace(db, table);
}

/** Puts an empty table in the place of an older one, which keeps its rows and loses its indexes. */
async function replace(db: Kysely<unknown>, { name, formerly = name, columns, key, indexes = {} }: NewTable) {
  const { rows } = await sql<{ index: string }>`select name as "index" from sqlite_schema
    where type = 'index' and tbl_name = ${formerly} and sql is not null`.execute(db);
  for (const { index } of rows) await sql.raw(`drop index ${index}`).execute(db);
  await sql.raw(`alter table ${formerly} rename to ${formerly}${BEFORE}`).execute(db);
  const end = key === null ? ")" : `, primary key (${key})) without rowid`;
  await sql.raw(`create table ${name} (${columns.join(", ")}${end}`).execute(db);
  for (const [index, on] of Object.entries(indexes)) {
    const [unique, rest] = on.startsWith("unique ") ? ["unique ", on.slice(7)] : ["", on];
    await sql.raw(`create ${unique}index ${index} on ${name} ${rest}`).execute(db);
  }
}
