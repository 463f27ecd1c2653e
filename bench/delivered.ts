/** Fills a database with delivered messages directly, without the service: the file, the ids, the records. */

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Event } from "../server/core/event.ts";
import type { CustomerId, InstanceId, NewId } from "../server/core/id.ts";
import { type Message, NEW_MESSAGE } from "../server/core/message.ts";
import { beginAttempt, climb, begin as enqueue } from "../server/core/message-lifecycle.ts";
import { encodeRecord } from "../server/store/jobs/jobs.ts";
import type { Records, TableName } from "../server/store/records.ts";
import { openWriter } from "../server/store/sqlite/connection.ts";
import { Statements } from "../server/store/sqlite/statements.ts";
import { recipientOf } from "./request.ts";

/** Inserts one record. */
export type Insert = <Name extends TableName>(table: Name, record: Records[Name]) => void;

const EVENTS_PER_MESSAGE = 3;
const CALLS_PER_TRANSACTION = 2_000;
/** A reason in the timeline of each message, as long as the product's own. */
const WAY = `iMessage (preferred), via inst_${"0".repeat(36)} (this number's instance)`;

/**
 * Writes into the database of a data directory that a service has created and that no service uses now. Calls the
 * function that `begin` returns until it returns false. Drops the indexes first, and creates them again at the end.
 */
export function fillDatabase(dataDir: string, begin: (insert: Insert) => () => boolean): void {
  const database = openWriter(join(dataDir, "tightbeam.db"));
  // Only during the filling: the service opens the database with its own settings, and with all indexes.
  database.exec("pragma synchronous = off; pragma cache_size = -262144;");
  const indexes = database
    .prepare("select name, sql from sqlite_master where type = 'index' and sql is not null")
    .all();
  for (const { name } of indexes) database.exec(`drop index "${name}"`);
  const statements = new Statements(database);
  const insert: Insert = (table, record) => void statements.insert(table).run(...encodeRecord(table, record));
  database.exec("begin");
  const add = begin(insert);
  database.exec("commit");
  for (let done = false; !done; ) {
    database.exec("begin");
    for (let index = 0; index < CALLS_PER_TRANSACTION && !done; index += 1) done = !add();
    database.exec("commit");
  }
  for (const { sql } of indexes) database.exec(String(sql));
  database.exec("pragma wal_checkpoint(truncate)");
  database.close();
}

const POOL = randomBytes(1 << 20);
let drawn = 0;

/** Random enough for unique ids, and much faster than single reads from the kernel. */
export function pooled(size: number): Uint8Array {
  drawn = (drawn + size + 1) % (POOL.length - size);
  return POOL.subarray(drawn, drawn + size);
}

/** The message number `index` of a customer, delivered at `at` (epoch milliseconds), and its three events. */
export function deliveredMessage(
  newId: NewId,
  { customerId, index, at }: { customerId: CustomerId; index: number; at: number },
): { message: Message; events: Event[] } {
  const eventId = () => newId("evt");
  const deps = { now: at, eventId, link: (token: string) => token, smartEncoding: false };
  const begun = enqueue(newMessage(newId, customerId, index, at), WAY, deps);
  const handed = beginAttempt(begun.message, null, deps);
  const climbed = handed === null ? null : climb(handed.message, "delivered", deps);
  if (climbed === null) throw new Error("the message does not get delivered");
  return { message: climbed.message, events: [...begun.events, ...climbed.events].slice(0, EVENTS_PER_MESSAGE) };
}

function newMessage(newId: NewId, customerId: CustomerId, index: number, at: number): Message {
  return {
    ...UNTOUCHED,
    id: newId("msg"),
    customerId,
    to: recipientOf(index, "many"),
    text: `Your order ${index} has left our warehouse and arrives tomorrow between 9 and 12.`,
    metadata: { order: `A-${index}`, campaign: "autumn" },
    externalMessageId: `waiting-${index}`,
    correlationId: `cor_${Buffer.from(pooled(16)).toString("hex")}`,
    createdAt: at,
    updatedAt: at,
  };
}

const UNTOUCHED = {
  ...NEW_MESSAGE,
  keyId: null,
  from: "+15005550002",
  channel: "imessage",
  channelsLeft: ["sms"],
  fallback: true,
  fallbackAfterMs: null,
  instanceId: "inst_019aa000-0000-7000-8000-000000000000" as InstanceId,
  dueAt: null,
  expiresAt: null,
  scheduledAt: null,
} satisfies Partial<Message>;
