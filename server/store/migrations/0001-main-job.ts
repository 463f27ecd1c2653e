/** The tables of customers, keys, numbers, messages, events, endpoints and deliveries. */

import { type CreateTableBuilder, type Kysely, sql } from "kysely";

type Columns = Record<string, "text" | "number">;

const secret: Columns = { secret: "text", previous_secret: "text", previous_secret_until: "number" };

const TABLES: Record<string, { required: Columns; optional: Columns; key: string[] }> = {
  customers: {
    key: ["id"],
    required: {
      id: "text",
      version: "number",
      name: "text",
      secret: "text",
      secret_known: "number",
      created_at: "number",
      updated_at: "number",
    },
    optional: { email: "text", company: "text", previous_secret: "text", previous_secret_until: "number" },
  },
  numbers: {
    key: ["id"],
    required: {
      id: "text",
      customer_id: "text",
      address: "text",
      provider: "text",
      instance_id: "text",
      is_default: "number",
      created_at: "number",
    },
    optional: {},
  },
  keys: {
    key: ["id"],
    required: {
      id: "text",
      version: "number",
      name: "text",
      scope: "text",
      hash: "text",
      last4: "text",
      created_at: "number",
    },
    optional: {
      customer_id: "text",
      rate_limit: "text",
      last_used_at: "number",
      expires_at: "number",
      revoked_at: "number",
      replaced_by: "text",
    },
  },
  instances: {
    key: ["id"],
    required: { id: "text", name: "text", provider: "text", created_at: "number" },
    optional: {},
  },
  messages: {
    key: ["id"],
    required: {
      id: "text",
      version: "number",
      customer_id: "text",
      direction: "text",
      status: "text",
      from: "text",
      to: "text",
      channel: "text",
      channels_left: "text",
      fallback: "number",
      fallback_triggered: "number",
      correlation_id: "text",
      instance_id: "text",
      hand_overs: "number",
      sequence: "number",
      retry_count: "number",
      created_at: "number",
      updated_at: "number",
      timeline: "text",
    },
    optional: {
      key_id: "text",
      fallback_after_ms: "number",
      text: "text",
      metadata: "text",
      external_message_id: "text",
      callback_url: "text",
      due_at: "number",
      claimed_until: "number",
      expires_at: "number",
      unknown_since: "number",
      provider_message_id: "text",
      error_code: "text",
      error_message: "text",
      provider_error_code: "text",
      segments: "number",
      encoding: "text",
      scheduled_at: "number",
      sent_at: "number",
      delivered_at: "number",
      read_at: "number",
      deleted_at: "number",
      erased_at: "number",
    },
  },
  hand_overs: {
    key: ["instance_id", "reference"],
    required: { instance_id: "text", reference: "text", message_id: "text", channel: "text", created_at: "number" },
    optional: {},
  },
  endpoints: {
    key: ["id"],
    required: {
      id: "text",
      version: "number",
      customer_id: "text",
      kind: "text",
      url: "text",
      events: "text",
      active: "number",
      created_at: "number",
      updated_at: "number",
    },
    optional: { name: "text", ...secret },
  },
  deliveries: {
    key: ["id"],
    required: {
      id: "text",
      version: "number",
      customer_id: "text",
      event_id: "text",
      event_type: "text",
      url: "text",
      lane: "text",
      sequence: "number",
      status: "text",
      attempt_count: "number",
      retry_count: "number",
      by_hand: "number",
      owed: "number",
      created_at: "number",
    },
    optional: {
      message_id: "text",
      endpoint_id: "text",
      due_at: "number",
      claimed_until: "number",
      resume_at: "number",
    },
  },
  attempts: {
    key: ["delivery_id", "number"],
    required: { delivery_id: "text", number: "number", at: "number", duration_ms: "number" },
    optional: { status: "number", response: "text", error: "text" },
  },
  idempotency: {
    key: ["scope", "key"],
    required: { scope: "text", key: "text", fingerprint: "text", result: "text", created_at: "number" },
    optional: {},
  },
  usage: {
    key: ["subject", "at"],
    required: {
      subject: "text",
      at: "number",
      requests: "number",
      rate_limited: "number",
      messages_sent: "number",
      segments: "number",
      messages_received: "number",
      webhooks_delivered: "number",
      webhooks_failed: "number",
    },
    optional: {},
  },
  memory: { key: ["instance_id", "key"], required: { instance_id: "text", key: "text", value: "text" }, optional: {} },
  settings: { key: ["name"], required: { name: "text", value: "text" }, optional: {} },
};

/** Indexes: what each is for, table, columns and, where it holds only some rows, which. */
const INDEXES: [purpose: string, table: string, columns: string[], only?: string][] = [
  ["address", "numbers", ["address"]],
  ["customer", "numbers", ["customer_id"]],
  ["hash", "keys", ["hash"]],
  ["list", "messages", ["customer_id", "id"]],
  ["recipient", "messages", ["customer_id", "to", "id"]],
  ["external", "messages", ["customer_id", "external_message_id"], "external_message_id is not null"],
  ["scheduled", "messages", ["customer_id", "scheduled_at", "id"], "status = 'scheduled'"],
  ["due", "messages", ["instance_id", "due_at", "id"], "due_at is not null"],
  ["claimed", "messages", ["instance_id", "claimed_until"], "claimed_until is not null"],
  ["erase", "messages", ["deleted_at"], "deleted_at is not null and erased_at is null"],
  ["list", "events", ["customer_id", "position"]],
  ["message", "events", ["message_id"], "message_id is not null"],
  ["customer", "endpoints", ["customer_id"]],
  ["list", "deliveries", ["customer_id", "id"]],
  ["event", "deliveries", ["event_id"]],
  ["due", "deliveries", ["lane", "due_at", "id"], "due_at is not null"],
  ["claimed", "deliveries", ["claimed_until"], "claimed_until is not null"],
  ["first", "deliveries", ["message_id", "lane", "sequence"], "attempt_count = 0 and status = 'pending'"],
  ["age", "idempotency", ["created_at"]],
];

const UNIQUE = new Set(["numbers_address", "keys_hash"]);

/** Kysely runs it once, in a transaction. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const [name, { key, required, optional }] of Object.entries(TABLES)) {
    let table: CreateTableBuilder<string, string> = db.schema.createTable(name);
    for (const [column, type] of Object.entries(required)) {
      table = table.addColumn(column, type === "text" ? "text" : "bigint", (definition) => definition.notNull());
    }
    for (const [column, type] of Object.entries(optional))
      table = table.addColumn(column, type === "text" ? "text" : "bigint");
    await table.addPrimaryKeyConstraint(`${name}_key`, key).execute();
  }
  await sql`create table events (
    position integer primary key autoincrement, id text not null unique, customer_id text not null, type text not null,
    message_id text, sequence bigint not null, correlation_id text not null, created_at bigint not null, bytes text not null
  )`.execute(db);
  for (const [purpose, table, columns, only] of INDEXES) {
    const name = `${table}_${purpose}`;
    const kind = UNIQUE.has(name) ? "unique index" : "index";
    const quoted = columns.map((column) => `"${column}"`).join(", ");
    const rows = only === undefined ? "" : ` where ${only}`;
    await sql.raw(`create ${kind} ${name} on ${table} (${quoted})${rows}`).execute(db);
  }
}
