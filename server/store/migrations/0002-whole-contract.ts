/** Chats, contacts, payments, calls, files, opt-outs; what messages and instances have more for them. */

import { type CreateTableBuilder, type Kysely, sql } from "kysely";

type Type = "text" | "bigint" | "blob";
type Columns = Record<string, Type>;

/** Columns added to tables; `filled` is what rows that are there already get. */
const ADDED: [table: string, column: string, type: Type, filled?: string][] = [
  ["messages", "message_type", "text", "text"],
  ["messages", "media_urls", "text", "[]"],
  ["messages", "attachments", "text", "[]"],
  ["messages", "mentions", "text", "[]"],
  ["messages", "chat_id", "text"],
  ["messages", "effect", "text"],
  ["messages", "reply_to", "text"],
  ["messages", "parent_message_id", "text"],
  ["messages", "payment", "text"],
  ["messages", "edited_at", "bigint"],
  ["instances", "version", "bigint", "1"],
  ["instances", "config", "text"],
  ["instances", "updated_at", "bigint", "0"],
];

const TABLES: Record<string, { key: string[]; required: Columns; optional: Columns }> = {
  chats: {
    key: ["id"],
    required: {
      id: "text",
      version: "bigint",
      customer_id: "text",
      key: "text",
      is_group: "bigint",
      from: "text",
      instance_id: "text",
      channel: "text",
      participants: "text",
      created_at: "bigint",
      updated_at: "bigint",
    },
    optional: { peer: "text", reference: "text", name: "text", left_at: "bigint" },
  },
  contacts: {
    key: ["id"],
    required: {
      id: "text",
      version: "bigint",
      customer_id: "text",
      tags: "text",
      search_text: "text",
      created_at: "bigint",
      updated_at: "bigint",
    },
    optional: {
      first_name: "text",
      last_name: "text",
      phone_number: "text",
      email: "text",
      company: "text",
      metadata: "text",
    },
  },
  contact_addresses: {
    key: ["customer_id", "address"],
    required: { customer_id: "text", address: "text", contact_id: "text" },
    optional: {},
  },
  payments: {
    key: ["id"],
    required: {
      id: "text",
      version: "bigint",
      customer_id: "text",
      key_id: "text",
      message_id: "text",
      from: "text",
      to: "text",
      amount_cents: "bigint",
      currency: "text",
      status: "text",
      correlation_id: "text",
      expires_at: "bigint",
      created_at: "bigint",
      updated_at: "bigint",
    },
    optional: {
      note: "text",
      metadata: "text",
      callback_url: "text",
      paid_by: "text",
      reason: "text",
      due_at: "bigint",
      paid_at: "bigint",
      cancelled_at: "bigint",
    },
  },
  calls: {
    key: ["id"],
    required: {
      id: "text",
      version: "bigint",
      customer_id: "text",
      instance_id: "text",
      call_uuid: "text",
      from: "text",
      caller: "text",
      to: "text",
      is_audio: "bigint",
      is_video: "bigint",
      is_outgoing: "bigint",
      status: "text",
      history: "text",
      created_at: "bigint",
      updated_at: "bigint",
    },
    optional: {},
  },
  contents: {
    key: ["id"],
    required: { id: "text", customer_id: "text", message_id: "text", mime_type: "text", created_at: "bigint" },
    optional: { filename: "text", total_bytes: "bigint", data: "blob", instance_id: "text", reference: "text" },
  },
  arrivals: {
    key: ["instance_id", "reference"],
    required: { instance_id: "text", reference: "text", created_at: "bigint" },
    optional: {},
  },
  opt_outs: {
    key: ["number", "contact"],
    required: { customer_id: "text", number: "text", contact: "text", source: "text", created_at: "bigint" },
    optional: { keyword: "text" },
  },
};

/** Indexes: name, table, columns and, where it holds only some rows, which. */
const INDEXES: [name: string, table: string, columns: string[], only?: string][] = [
  ["messages_chat", "messages", ["chat_id", "id"], "chat_id is not null"],
  ["chats_list", "chats", ["customer_id", "id"]],
  ["chats_peer", "chats", ["customer_id", "peer", "id"], "peer is not null"],
  ["contacts_list", "contacts", ["customer_id", "id"]],
  ["payments_list", "payments", ["customer_id", "id"]],
  ["payments_message", "payments", ["message_id"]],
  ["payments_due", "payments", ["due_at", "id"], "due_at is not null"],
  ["payments_pending", "payments", ["customer_id", "from", "to", "amount_cents", "id"], "status = 'pending'"],
  ["calls_list", "calls", ["customer_id", "id"]],
  ["contents_message", "contents", ["message_id"]],
  ["contents_age", "contents", ["created_at"]],
  ["arrivals_age", "arrivals", ["created_at"]],
  ["opt_outs_list", "opt_outs", ["customer_id", "created_at"]],
];

const UNIQUE: [name: string, table: string, columns: string[]][] = [
  ["chats_key", "chats", ["key"]],
  ["calls_uuid", "calls", ["instance_id", "call_uuid"]],
];

/** Key of the thread that a message is in. */
const KEY = `messages.customer_id || ' ' || messages."from" || ' ' || messages."to"`;

/** Fills the new tables from existing rows: each pair of addresses with messages gets a thread. */
const FILLED = [
  "update instances set updated_at = created_at",
  // A thread is called and dated as its first message is. Addresses hold nothing that JSON would escape.
  `insert into chats (id, version, customer_id, key, is_group, "from", peer, instance_id, channel, participants, created_at, updated_at)
   select 'chat_' || substr(id, 5), 1, customer_id, ${KEY}, 0, "from", "to", instance_id, channel, '["' || "to" || '"]', created_at, created_at
   from messages where id in (select min(id) from messages group by customer_id, "from", "to")`,
  `update messages set chat_id = (select chats.id from chats where chats.key = ${KEY})`,
];

/** Kysely runs it once, in a transaction. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const [table, column, type, filled] of ADDED) {
    const rest = filled === undefined ? "" : ` not null default ${type === "bigint" ? filled : `'${filled}'`}`;
    await sql.raw(`alter table ${table} add column ${column} ${type}${rest}`).execute(db);
  }
  for (const [name, { key, required, optional }] of Object.entries(TABLES)) {
    let table: CreateTableBuilder<string, string> = db.schema.createTable(name);
    for (const [column, type] of Object.entries(required)) {
      table = table.addColumn(column, sql.raw(type), (definition) => definition.notNull());
    }
    for (const [column, type] of Object.entries(optional)) table = table.addColumn(column, sql.raw(type));
    await table.addPrimaryKeyConstraint(`${name}_primary`, key).execute();
  }
  for (const [name, table, columns] of UNIQUE) {
    await sql.raw(`create unique index ${name} on ${table} (${quoted(columns)})`).execute(db);
  }
  // Between the two: threads are found by their key, and messages get into an index faster all at once.
  for (const statement of FILLED) await sql.raw(statement).execute(db);
  for (const [name, table, columns, only] of INDEXES) {
    const rows = only === undefined ? "" : ` where ${only}`;
    await sql.raw(`create index ${name} on ${table} (${quoted(columns)})${rows}`).execute(db);
  }
}

function quoted(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(", ");
}
