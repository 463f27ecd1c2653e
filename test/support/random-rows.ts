/**
 * Random rows of every table, few enough values apart that every read finds some, and the same rows put into a database of either
 * kind. Some rows cannot be decoded.
 */

import type { DatabaseSync } from "node:sqlite";
import type pg from "pg";
import { threadKey } from "../../server/core/chat.ts";
import { ERASED } from "../../server/core/erasure.ts";
import { type CustomerId, createIdSource, timeOfId } from "../../server/core/id.ts";
import { addPartition } from "../../server/store/postgres/partitions.ts";
import { sqlOn } from "../../server/store/postgres/sql.ts";
import type { TableName } from "../../server/store/records.ts";
import { encodeValue, LAYOUT, type SqlValue } from "../../server/store/rows.ts";
import { TABLES } from "../../server/store/tables.ts";
import { seeded } from "./engine.ts";

/** The time of the first id, and of most instants. */
export const NOW = Date.UTC(2026, 10, 3);
const DAY_MS = 86_400_000;
const POSITIONS_A_DAY = 2 ** 33;

/** The last two have ids that end alike, as the indexes of SQLite have them. */
export const CUSTOMERS = ["cust_first0001", "cust_second0002", "cust_third0002"];
export const ADDRESSES = ["+15550000001", "+15550000002", "+15005550100", "a@b.example", "\u{e4}@b.example"];
const TEXTS = [
  "Hello",
  "GREEN apples",
  "green \u{c4}PFEL",
  "Stra\u{df}e",
  "\u{130}stanbul",
  "\u{3a3}\u{3af}\u{3c3}\u{3c5}\u{3c6}\u{3bf}\u{3c2}",
  "100%_!\\",
  "",
  "\u{ff21}pples",
];
export const TAGS = ["vip", "VIP", "a,b", ",", '"', "\\", "\u{e4}", "%"];

/** Values that are drawn for a property, whatever its table. */
const DRAWN: Readonly<Record<string, readonly unknown[]>> = {
  customerId: CUSTOMERS,
  scope: CUSTOMERS,
  subject: [...CUSTOMERS, "key_1", "key_2"],
  instanceId: ["inst_1", "inst_2"],
  keyId: ["key_1", "key_2"],
  endpointId: ["wh_1", "wh_2"],
  lane: ["wh_1", "wh_2"],
  from: [...ADDRESSES, ERASED],
  to: [...ADDRESSES, ERASED],
  number: ADDRESSES,
  contact: ADDRESSES,
  caller: ADDRESSES,
  address: ADDRESSES,
  phoneNumber: ADDRESSES,
  email: ["a@b.example", "A@B.example", "\u{c4}@b.example"],
  text: TEXTS,
  searchText: ["grace hopper", "100% \u{e4}pfel", "grace_!", "g"],
  tags: [[], ["vip"], ["a,b", "VIP"], ["x,", ",y"], ['"', "\\"], ["\u{e4}", "%", "vip"]],
  participants: [ADDRESSES.slice(0, 2), ADDRESSES.slice(0, 2).toReversed(), ADDRESSES.slice(1, 4), []],
  addresses: [ADDRESSES.slice(0, 1), ADDRESSES.slice(1, 3)],
  externalMessageId: ["order-1", "Order-1", "order-2"],
  reference: ["r1", "r2", "r3", "r4", "r5", "r6"],
  callUuid: ["u1", "u2", "u3"],
  hash: ["h1", "h2", "h3", "h4"],
  key: ["k1", "k2", "seen:1", "seen:2"],
  name: ["clock", "probe", "Grace"],
  url: ["/sandbox/inbox/1", "/sandbox/inbox/2", "https://a.example/"],
  routes: [[], [{ prefix: "+1", instanceId: "inst_1" }]],
  before: ["msg_01b"],
  amountCents: [100, 200],
  version: [1, 2],
  attemptCount: [0, 1],
  sendAttempts: [0, 1],
  at: [0, 1, 2, 3, 4, 5].map((hour) => NOW + hour * 3_600_000),
};
/** A value of an object column. */
const OBJECTS: Readonly<Record<string, unknown>> = {
  quietHours: { start: "22:00", end: "08:00", timeZone: null },
  optOuts: { scope: "number", keywords: [], resume: ["START"], confirmation: null, help: null },
  rateLimit: { limit: 1, windowSeconds: 60 },
  sentPart: { reference: "r", what: "w" },
};

/** How many rows of a table there are, and the prefix of its ids. */
const COUNTS: Readonly<Record<TableName, readonly [count: number, prefix: string]>> = {
  customers: [0, "cust"],
  numbers: [5, "num"],
  keys: [6, "key"],
  instances: [3, "inst"],
  chats: [60, "chat"],
  messages: [160, "msg"],
  sendAttempts: [12, ""],
  providerReferences: [12, ""],
  events: [160, "evt"],
  endpoints: [6, "wh"],
  deliveries: [200, "dlv"],
  idempotency: [10, ""],
  usage: [20, ""],
  memory: [10, ""],
  settings: [2, ""],
  contacts: [60, "con"],
  contactAddresses: [10, ""],
  payments: [60, "pay"],
  calls: [6, "call"],
  contents: [10, "att"],
  arrivals: [8, ""],
  optOuts: [20, ""],
  erasures: [8, "con"],
  sessions: [4, "ses"],
  requests: [60, "req"],
  replays: [4, "rpl"],
};

export type Row = Record<string, SqlValue>;

/** Rows by table, and those of the quarantine. */
export interface RandomRows {
  tables: Record<TableName, Row[]>;
  quarantined: Row[];
}

export type Draw = ReturnType<typeof drawing>;

/** Draws that a seed decides. */
export function drawing(seed: number) {
  const below = seeded(seed);
  const one = <Value>(values: readonly Value[]): Value => values[below(values.length)] as Value;
  return {
    below,
    one,
    is: (percent: number) => below(100) < percent,
    some: <Value>(values: readonly Value[]) => values.filter(() => below(2) === 0),
    orNone: <Value>(values: readonly Value[]) => (below(2) === 0 ? undefined : one(values)),
    instant: () => NOW + below(40),
  };
}

/** Makes the rows of a seed. */
export function randomRows(seed: number): RandomRows {
  const draw = drawing(seed);
  let at = NOW;
  // Ids of more than a day, so that rows are in several partitions.
  const newId = createIdSource(
    () => (at += draw.below(900_000)),
    (size) => Buffer.from(Array.from({ length: size }, () => draw.below(256))),
  );
  const tables = {} as RandomRows["tables"];
  const ids: Record<string, string[]> = {};
  for (const [table, [count, prefix]] of Object.entries(COUNTS) as [TableName, readonly [number, string]][]) {
    const rows = Array.from({ length: count }, () => randomRow(draw, table, () => newId(prefix), ids));
    tables[table] = unique(table, rows);
    ids[table] = tables[table].map(({ id }) => String(id));
  }
  tables.customers = CUSTOMERS.map((id) => ({ ...randomRow(draw, "customers", () => id, ids) }));
  // A scheduled message has a time.
  for (const row of tables.messages) if (row.status === "scheduled") row.scheduled_at ??= draw.instant();
  for (const [index, row] of tables.events.entries()) row.position = positionOf(String(row.id), index);
  for (const [index, row] of tables.requests.entries()) row.position = index + 1;
  // Of each kind but the extra ones a customer has one endpoint.
  for (const [index, row] of tables.endpoints.entries())
    Object.assign(row, {
      id: `wh_${index + 1}`,
      customer_id: CUSTOMERS[index % 3],
      kind: index < 3 ? "primary" : "inbox",
      url: `/sandbox/inbox/${index}`,
    });
  const names = draw.some(tables.messages).map(({ id = null }, index) => ({ table: "messages", id, index }));
  const quarantined = names
    .slice(0, 5)
    .map(({ table, id }) => ({ table, id, customer_id: null, reason: "x", since: NOW, parked: 0 }));
  return { tables, quarantined };
}

function positionOf(id: string, index: number): number {
  return Math.floor(timeOfId(id) / DAY_MS) * POSITIONS_A_DAY + index + 1;
}

function randomRow(draw: Draw, table: TableName, newId: () => string, ids: Record<string, string[]>): Row {
  const row: Row = {};
  for (const { property, column, kind, isNullable, words, form } of LAYOUT[table]) {
    const value = () => {
      if (property === "id" || (table === "erasures" && property === "contactId")) return newId();
      if (isNullable && draw.is(40)) return null;
      if (property === "messageId") return draw.one(ids.messages ?? ["msg_1"]);
      if (property === "eventId") return draw.one(ids.events ?? ["evt_1"]);
      if (property === "address" && table === "numbers") return draw.one(["+1", "+2", "+3", "me@b.example"]);
      if (words !== null) return draw.one([...words]);
      if (property === "chatId") return draw.one(ids.chats ?? []);
      const known = DRAWN[property];
      if (known !== undefined && (kind !== "number" || typeof known[0] === "number")) return draw.one(known);
      if (kind === "flag") return draw.is(50);
      if (kind === "number") return draw.instant();
      if (kind === "bytes") return new Uint8Array([0, draw.below(256)]);
      if (kind === "json") return form?.isList ? [] : (OBJECTS[property] ?? { a: 1 });
      return "x";
    };
    row[column] = encodeValue({ kind, form }, value());
    // Some rows cannot be decoded.
    if (kind === "json" && row[column] !== null && draw.is(1)) row[column] = "{";
  }
  if (table === "chats") row.key = keyOf(row);
  return row;
}

function keyOf({ id, customer_id, from, contact, is_group }: Row): string {
  if (is_group === 1 || typeof contact !== "string") return String(id);
  return threadKey(String(customer_id) as CustomerId, String(from), contact);
}

/** The rows without those whose key or unique property another one has. */
function unique(table: TableName, rows: readonly Row[]): Row[] {
  const taken = new Set<string>();
  const { key } = TABLES[table];
  const properties: readonly (readonly string[])[] = [
    key,
    table === "chats" ||
    table === "calls" ||
    table === "numbers" ||
    table === "keys" ||
    table === "sessions" ||
    table === "replays"
      ? TABLES[table].unique
      : key,
  ];
  return rows.filter((row) => {
    const names = properties.map((list) =>
      JSON.stringify(list.map((property) => row[LAYOUT[table].find((one) => one.property === property)?.column ?? ""])),
    );
    if (names.some((name, index) => taken.has(`${index} ${name}`))) return false;
    for (const [index, name] of names.entries()) taken.add(`${index} ${name}`);
    return true;
  });
}

/** Puts the rows into a migrated SQLite database. */
export function putIntoSqlite(database: DatabaseSync, { tables, quarantined }: RandomRows): void {
  database.exec("begin");
  for (const [name, rows] of [...named(tables), ["quarantined", quarantined] as const]) {
    for (const row of rows) {
      const columns = Object.keys(row).map((column) => `"${column}"`);
      const insert = `insert into ${name} (${columns.join(", ")}) values (${columns.map(() => "?").join(", ")})`;
      database.prepare(insert).run(...Object.values(row));
    }
  }
  database.exec("commit");
}

const QUEUES = [
  `insert into due_messages (id, lane, due_at, is_queued, "from", "to", lease)
    select id, instance_id, due_at, (status = 'queued')::int, "from", "to", case when rowid % 5 = 0 then rowid end
    from messages where due_at is not null`,
  `insert into due_deliveries (id, lane, due_at, row, replay_id)
    select id, lane, due_at, rowid, replay_id from deliveries where due_at is not null`,
];

const POSITIONS = "select setval('event_positions', coalesce(max(position), 1)) from events";

/** Puts the rows into a migrated PostgreSQL database instead of those that are in it. */
export async function putIntoPostgres(pool: pg.Pool, { tables, quarantined }: RandomRows): Promise<void> {
  const sql = sqlOn(pool, () => {});
  const whole = [...named(tables), ["quarantined", quarantined] as const];
  const others = ["due_messages", "due_deliveries"];
  await sql.values(`truncate ${[...whole.map(([name]) => name), ...others].join(", ")} restart identity`);
  for (const [name, rows] of whole) {
    const [first] = rows;
    if (first === undefined) continue;
    const columns = Object.keys(first);
    for (let from = 0; from < rows.length; from += 500) {
      const some = rows.slice(from, from + 500);
      const values = some.map(
        (_, row) => `(${columns.map((_, column) => `$${row * columns.length + column + 1}`).join(", ")})`,
      );
      const identity = name === "requests" ? "overriding system value" : "";
      const insert = `insert into ${name} (${columns.map((column) => `"${column}"`).join(", ")}) ${identity} values ${values.join(", ")}`;
      await sql.values(
        insert,
        some.flatMap((row) => Object.values(row)),
      );
    }
  }
  for (const statement of [...QUEUES, POSITIONS]) await sql.values(statement);
}

/** Adds the partitions that random rows need. */
export async function addPartitions(pool: pg.Pool): Promise<void> {
  const sql = sqlOn(pool, () => {});
  for (let day = 0; day < 8; day += 1) {
    for (const table of ["events", "deliveries"] as const) await addPartition(sql, table, NOW / DAY_MS + day, 1);
  }
}

function named(tables: RandomRows["tables"]): (readonly [string, Row[]])[] {
  return (Object.keys(tables) as TableName[]).map((table) => [TABLES[table].name, tables[table]] as const);
}
