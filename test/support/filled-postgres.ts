/**
 * Fills a PostgreSQL database with many rows that can be decoded, as statistics see them: one row in ten is of the customer `cust_1`,
 * and none of the newer ones, as of a customer who is silent now.
 */

import type pg from "pg";
import { addPartition } from "../../server/store/postgres/partitions.ts";
import { sqlOn } from "../../server/store/postgres/sql.ts";
import type { TableName } from "../../server/store/records.ts";
import { LAYOUT } from "../../server/store/rows.ts";
import { TABLES } from "../../server/store/tables.ts";

/** Rows of the tables that grow the most, and of the others that grow. */
const MANY = 24_000;
const SOME = 12_000;
const CUSTOMERS = 200;
/** Messages and deliveries that are due. */
const WAITING = 2_400;
/** The time of the first row: the first day with partitions. */
const BEGIN_MS = Date.UTC(2026, 10, 1);
const DAYS = 4;
const DAY_MS = 86_400_000;

/** SQL for values of row `i` of `count`. */
const customer = (count: number) =>
  `case when i <= ${count * 0.6} and i % 6 = 0 then 'cust_1' else 'cust_' || 2 + i % ${CUSTOMERS - 1} end`;
const number = "lpad(i::text, 8, '0')";
const at = (count: number) => `(${BEGIN_MS} + i * ${Math.floor((DAYS * DAY_MS) / count)}::bigint)`;
const hex = (count: number) => `lpad(to_hex(${at(count)}), 12, '0')`;
const timed = (prefix: string, count: number) =>
  `'${prefix}_' || substr(${hex(count)}, 1, 8) || '-' || substr(${hex(count)}, 9, 4) || '-7000-8000-' || lpad(to_hex(i), 12, '0')`;
const one = (...words: string[]) => `(array['${words.join("','")}'])[1 + i % ${words.length}]`;
const address = (count: number) => `'+1' || i % ${count}`;

type Values = Record<string, string>;

/** The columns that differ from row to row, by table. Other columns are null, or the same in all rows. */
const FILLED: Partial<Record<TableName, { count: number; values: Values }>> = {
  customers: { count: CUSTOMERS, values: { id: "'cust_' || i", email: "'c' || i || '@b.example'" } },
  numbers: { count: CUSTOMERS, values: { id: "'num_' || i", customer_id: "'cust_' || i", address: "'+1' || i" } },
  endpoints: {
    count: 3 * CUSTOMERS,
    values: {
      id: "'wh_' || i",
      customer_id: `'cust_' || 1 + i % ${CUSTOMERS}`,
      kind: one("primary", "extra", "inbox"),
      url: "'/' || i",
    },
  },
  keys: { count: SOME, values: { id: `'key_' || ${number}`, customer_id: customer(SOME), hash: "'h' || i" } },
  instances: { count: 5, values: { id: "'inst_' || i" } },
  messages: {
    count: MANY,
    values: {
      id: timed("msg", MANY),
      customer_id: customer(MANY),
      instance_id: one("inst_1", "inst_2", "inst_3"),
      status: `case when i % 100 = 0 then ${one("failed", "unsent", "scheduled")} when i > ${MANY - WAITING} then 'queued' else 'delivered' end`,
      direction: `case when i % 5 = 0 then 'inbound' else 'outbound' end`,
      channel: one("sms", "imessage"),
      from: address(50),
      to: address(5_000),
      chat_id: "'chat_' || i % 5000",
      external_message_id: `case when i % 3 = 0 then 'e' || i % 1000 end`,
      text: one("Hello", "Green apples", "\u{c4}pfel"),
      due_at: `case when i > ${MANY - WAITING} then ${at(MANY)} end`,
      deleted_at: `case when i % 500 = 0 then ${at(MANY)} end`,
      created_at: at(MANY),
      updated_at: at(MANY),
      scheduled_at: at(MANY),
    },
  },
  sendAttempts: {
    count: SOME,
    values: { instance_id: "'inst_1'", reference: "'r' || i", message_id: `'msg_' || i`, started_at: at(SOME) },
  },
  providerReferences: { count: SOME, values: { instance_id: "'inst_1'", reference: "'p' || i" } },
  events: {
    count: MANY,
    values: {
      id: timed("evt", MANY),
      customer_id: customer(MANY),
      message_id: timed("msg", MANY),
      created_at: at(MANY),
      position: `(${at(MANY)} / ${DAY_MS}) * ${2 ** 33} + i`,
    },
  },
  deliveries: {
    count: MANY,
    values: {
      id: timed("dlv", MANY),
      customer_id: customer(MANY),
      event_id: timed("evt", MANY),
      message_id: timed("msg", MANY),
      endpoint_id: "'wh_' || i % 600",
      lane: "'wh_' || i % 600",
      status: `case when i % 1000 = 0 then 'exhausted' when i > ${MANY - WAITING} then 'pending' else 'delivered' end`,
      due_at: `case when i > ${MANY - WAITING} then ${at(MANY)} end`,
      replay_id: "case when i % 100 = 0 then 'rpl_' || i % 300 end",
      created_at: at(MANY),
    },
  },
  idempotency: { count: SOME, values: { scope: customer(SOME), key: "'k' || i", created_at: at(SOME) } },
  usage: { count: SOME, values: { subject: `'key_' || i % 500`, at: `${BEGIN_MS} + (i / 500)::bigint * 3600000` } },
  memory: { count: SOME, values: { instance_id: "'inst_1'", key: "'k' || i" } },
  chats: {
    count: SOME,
    values: {
      id: `'chat_' || ${number}`,
      customer_id: customer(SOME),
      key: `${customer(SOME)} || '/' || i`,
      is_group: "(i % 10 = 0)::int",
      from: address(50),
      contact: `case when i % 10 <> 0 then ${address(5_000)} end`,
      reference: "case when i % 20 = 0 then 'r' || i end",
    },
  },
  contacts: {
    count: SOME,
    values: {
      id: `'con_' || ${number}`,
      customer_id: customer(SOME),
      tags: one('["vip"]', "[]"),
      search_text: "'grace ' || i",
    },
  },
  contactAddresses: {
    count: SOME,
    values: { customer_id: customer(SOME), address: "'+1' || i", contact_id: `'con_' || ${number}` },
  },
  payments: {
    count: SOME,
    values: {
      id: `'pay_' || ${number}`,
      customer_id: customer(SOME),
      status: one("pending", "paid", "expired"),
      from: address(50),
      to: address(5_000),
      due_at: `case when i % 3 = 0 then ${at(SOME)} end`,
    },
  },
  calls: {
    count: SOME,
    values: { id: `'call_' || ${number}`, customer_id: customer(SOME), call_uuid: "'u' || i", from: address(50) },
  },
  sessions: {
    count: SOME,
    values: {
      id: `'ses_' || ${number}`,
      kind: one("session", "session", "link"),
      hash: "'h' || i",
      key_id: "'key_' || i % 400",
      expires_at: `${at(SOME)} + ${40 * DAY_MS}`,
    },
  },
  contents: { count: SOME, values: { id: `'att_' || i`, message_id: "'msg_' || i" } },
  arrivals: { count: SOME, values: { instance_id: "'inst_1'", reference: "'r' || i" } },
  optOuts: {
    count: SOME,
    values: { customer_id: customer(SOME), number: address(50), contact: "'+2' || i", created_at: at(SOME) },
  },
  replays: {
    count: SOME,
    values: {
      id: `'rpl_' || ${number}`,
      customer_id: customer(SOME),
      endpoint_id: "'wh_' || i",
      status: "case when i % 10 = 0 then 'running' else 'done' end",
    },
  },
  erasures: {
    count: SOME,
    values: {
      contact_id: "'con_' || i",
      customer_id: customer(SOME),
      completed_at: "case when i % 100 <> 0 then 1 end",
    },
  },
  requests: {
    count: SOME,
    values: {
      id: `'req_' || ${number}`,
      customer_id: `case when i % 10 <> 0 then ${customer(SOME)} end`,
      status: "case when i % 5 = 0 then 400 else 200 end",
      error_code: "case when i % 5 = 0 then 'NOT_FOUND' end",
      created_at: at(SOME),
    },
  },
};

const QUEUES = [
  `insert into due_messages (id, lane, due_at, is_queued, "from", "to", lease)
    select id, instance_id, due_at, 1, "from", "to", lease from (
      select *, case when rowid % 50 = 0 then rowid end as lease from messages) m where due_at is not null`,
  `insert into due_deliveries (id, lane, due_at, row, replay_id)
    select id, lane, due_at, rowid, replay_id from deliveries where due_at is not null`,
  `insert into quarantined ("table", id, reason, since, parked) select 'messages', 'msg_' || i, 'x', 0, 0 from generate_series(1, ${SOME}) i`,
  // The pages that a vacuum marks let an index alone answer, as in a database that has been running for a while.
  "select setval('event_positions', max(position)) from events",
  "vacuum analyze",
];

/** Fills a migrated database. */
export async function fillPostgres(pool: pg.Pool): Promise<void> {
  const sql = sqlOn(pool, () => {});
  for (let day = 0; day <= DAYS; day += 1) {
    for (const table of ["events", "deliveries"] as const) await addPartition(sql, table, BEGIN_MS / DAY_MS + day, 1);
  }
  for (const [table, { count, values }] of Object.entries(FILLED)) {
    const columns = { ...constants(table as TableName), ...values };
    const names = Object.keys(columns).map((name) => `"${name}"`);
    await pool.query(`insert into ${TABLES[table as TableName].name} (${names.join(", ")})
      select ${Object.values(columns).join(", ")} from generate_series(1, ${count}) i`);
  }
  for (const statement of QUEUES) await pool.query(statement);
}

/** The values of the columns of a table that are the same in all rows. */
function constants(table: TableName): Values {
  const ofKind = { text: "'x'", number: "1", flag: "0", json: "'{}'", bytes: "null" };
  return Object.fromEntries(
    LAYOUT[table].map(({ column, kind, isNullable, words, form }) => {
      if (isNullable) return [column, "null"];
      const [word] = words ?? [];
      if (word !== undefined) return [column, `'${word}'`];
      return [column, form?.isList ? "'[]'" : ofKind[kind]];
    }),
  );
}
