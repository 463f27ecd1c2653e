/**
 * Every index as data, with the read that needs it. An index differs between the databases where PostgreSQL has no row
 * numbers in it, or orders texts in another way.
 */

import type { TableName } from "./records.ts";

/** An index of a table. */
export interface Index {
  name: string;
  table: TableName;
  isUnique: boolean;
  /** The read or the rule that needs it. */
  serves: string;
  /** The SQL behind the name of the table; null: the database does not have this index. */
  sqlite: string | null;
  postgres: string | null;
}

/** The end of a customer id. A whole id in each entry would be four fifths of an index of messages. */
const NEAR = "substr(customer_id, -8)";
/** An id in the collation of lists: `narrowedId` in `sql-dialects.ts` says why. */
const ID = 'id collate "POSIX"';
/** Selects deliveries whose id does not tell the time of their event, since a replay made them. */
const APART = "where substr(id, 5, 18) <> substr(event_id, 5, 18)";
const NOTED = "(instance_id, started_at) where note is not null";
const DUE = "due_at is not null";

type Spelling = readonly [serves: string, sqlite: string | null, postgres?: string | null];

/**
 * `name: [serves, SQLite, PostgreSQL]`. Without a third text, PostgreSQL has the same index as SQLite. The name of a
 * unique index ends with `!`. Each entry on SQLite ends with its row number, which orders messages, deliveries and
 * events.
 */
const DECLARED: Readonly<Partial<Record<TableName, Readonly<Record<string, Spelling>>>>> = {
  customers: {
    customers_email: [
      "customers by email",
      "(lower(email), id) where email is not null",
      `(lower(email), ${ID}) where email is not null`,
    ],
  },
  numbers: {
    "numbers_address!": ["a number has one customer", "(address)"],
    numbers_customer: ["numbers of a customer", "(customer_id)"],
  },
  keys: {
    "keys_hash!": ["the key of a request", "(hash)"],
    keys_customer: ["keys of a customer", "(customer_id, id)", `(customer_id, ${ID})`],
  },
  messages: {
    messages_list: ["messages of a customer", `(${NEAR})`, "(customer_id, rowid)"],
    messages_recipient: ["messages to an address", `(${NEAR}, "to")`, '(customer_id, "to", rowid)'],
    messages_sender: [
      "messages from an address",
      `(${NEAR}, "from") where direction = 'inbound'`,
      `(customer_id, "from", rowid) where direction = 'inbound'`,
    ],
    messages_external: [
      "messages by externalMessageId",
      `(${NEAR}, external_message_id) where external_message_id is not null`,
      "(customer_id, external_message_id, rowid) where external_message_id is not null",
    ],
    messages_rare: [
      "messages of a rare status",
      `(${NEAR}, status) where status in ('failed', 'unsent', 'cancelled')`,
      "(customer_id, rare_status, rowid) where rare_status is not null",
    ],
    messages_chat: [
      "messages of a thread",
      "(chat_id) where chat_id is not null",
      "(chat_id, rowid) where chat_id is not null",
    ],
    messages_scheduled: [
      "scheduled messages of a customer",
      "(customer_id, scheduled_at, id) where status = 'scheduled'",
      "(customer_id, waits_until, id) where waits_until is not null",
    ],
    messages_erase: [
      "deleted messages whose text is still there",
      "(deleted_at) where deleted_at is not null and erased_at is null",
      "(customer_id, id) where deleted_at is not null and erased_at is null",
    ],
    messages_unknown: [
      "messages with an unknown outcome after a restore",
      `(id) where status = 'pending' and ${DUE}`,
      "(id) where is_unknown = 1",
    ],
    messages_due: ["due messages of a lane", `(instance_id, due_at, id) where ${DUE}`, null],
    messages_due_beside: [
      "due timers of a lane behind many queued messages",
      `(instance_id, due_at, id) where ${DUE} and status <> 'queued'`,
      null,
    ],
    messages_pair: ["due messages of a pair", `(instance_id, "from", "to", due_at, id) where ${DUE}`, null],
    messages_claimed: [
      "messages that are being sent",
      "(instance_id, claimed_until) where claimed_until is not null",
      null,
    ],
  },
  sendAttempts: {
    send_attempts_noted: ["what instances remember of sent messages", NOTED],
  },
  events: {
    events_list: ["events of a customer", `(${NEAR})`, null],
    events_message: [
      "events of a message",
      "(message_id) where message_id is not null",
      "(message_id, position) where message_id is not null",
    ],
    events_loose: ["events of a customer without a message", "(customer_id, position) where message_id is null"],
  },
  endpoints: {
    endpoints_customer: ["endpoints of a customer", "(customer_id)"],
    endpoints_inbox: ["built-in inboxes", "(url) where kind = 'inbox'"],
    endpoints_gone: ["endpoints whose receiver is gone", "(id) where gone_since is not null"],
  },
  deliveries: {
    "deliveries_list!": ["a delivery by its id, and deliveries of a customer", `(${NEAR}, id)`, null],
    deliveries_of_customer: ["deliveries of a customer", null, `(customer_id, ${ID})`],
    deliveries_due: ["due deliveries of a lane", `(lane, due_at) where ${DUE}`, null],
    deliveries_apart: ["a delivery of a replay by its id", `(id) ${APART}`, null],
    deliveries_apart_event: ["deliveries of an event that replays made", `(event_id) ${APART}`],
    deliveries_replay: ["deliveries of a replay", "(replay_id, id) where replay_id is not null"],
    deliveries_replay_due: [
      "deliveries of a replay that wait",
      `(replay_id) where replay_id is not null and ${DUE}`,
      null,
    ],
  },
  replays: {
    "replays_endpoint!": ["an endpoint has one replay", "(endpoint_id)"],
    replays_customer: ["replays of a customer", "(customer_id)"],
    replays_running: ["replays that go on", "(customer_id, id) where status = 'running'"],
  },
  idempotency: { idempotency_age: ["pruning by age", "(created_at)"] },
  arrivals: { arrivals_age: ["pruning by age", "(created_at)"] },
  contents: {
    contents_age: ["pruning by age", "(created_at)"],
    contents_message: ["files of a message", "(message_id)"],
  },
  chats: {
    "chats_key!": ["a thread by its members", '("key")'],
    chats_list: ["threads of a customer", "(customer_id, id)", `(customer_id, ${ID})`],
    chats_groups: [
      "groups that a number is in",
      '(customer_id, "from", id) where is_group = 1 and left_at is null',
      `(customer_id, "from", ${ID}) where is_group = 1 and left_at is null`,
    ],
    chats_unnamed: [
      "groups whose reference is not known yet",
      '(customer_id, "from", id) where is_group = 1 and reference is null',
    ],
  },
  contacts: { contacts_list: ["contacts of a customer", "(customer_id, id)", `(customer_id, ${ID})`] },
  payments: {
    payments_list: ["payment requests of a customer", "(customer_id, id)", `(customer_id, ${ID})`],
    payments_due: ["payment requests that expire", `(due_at, id) where ${DUE}`],
    payments_pending: [
      "the request that a payment is for",
      `(customer_id, "from", "to", amount_cents, id) where status = 'pending'`,
      `(customer_id, "from", "to", amount_cents, ${ID}) where status = 'pending'`,
    ],
  },
  calls: {
    "calls_uuid!": ["a call is recorded once", "(instance_id, call_uuid)"],
    calls_list: ["calls of a customer", "(customer_id, id)", `(customer_id, ${ID})`],
  },
  optOuts: {
    opt_outs_list: ["opt-outs of a customer", "(customer_id, created_at desc, number, contact)"],
    opt_outs_of_number: ["opt-outs of a number", "(customer_id, number, created_at desc, contact)"],
    opt_outs_of_customer: ["opt-outs that hold for all numbers", "(customer_id, contact) where scope = 'customer'"],
  },
  erasures: { erasures_open: ["erasures that go on", "(requested_at) where completed_at is null"] },
  sessions: {
    "sessions_hash!": ["the session of a request", "(hash)"],
    sessions_key: ["sessions of a key", "(key_id, kind)"],
    sessions_end: ["pruning by age", "(expires_at)"],
  },
  requests: {
    requests_id: ["a request by its id", "(id)", "(id, position)"],
    requests_list: ["requests of a customer", "(customer_id)", "(customer_id, position)"],
    requests_errors: ["errors in the log", "(position) where error_code is not null"],
  },
};

export const INDEXES: readonly Index[] = Object.entries(DECLARED).flatMap(([table, indexes]) =>
  Object.entries(indexes).map(([name, [serves, sqlite, postgres = sqlite]]) => ({
    name: name.replace("!", ""),
    table: table as TableName,
    isUnique: name.endsWith("!"),
    serves,
    sqlite,
    postgres,
  })),
);
