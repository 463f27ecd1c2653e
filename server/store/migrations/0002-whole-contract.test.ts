/** A database with messages from before chats existed gets the chats of those messages. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { Kysely } from "kysely";
import type { CustomerId } from "../../core/id.ts";
import { findChatByKey, listChats } from "../chats.ts";
import { findInstances } from "../instances.ts";
import { listMessagesOfChat } from "../message-lists.ts";
import type { Database } from "../rows.ts";
import { queryDatabase } from "../sqlite/driver.ts";
import { moveRows } from "../sqlite/move-rows.ts";
import { createReader } from "../sqlite/query.ts";
import { FIRST_PAGE } from "../windows.ts";
import { up as mainJob } from "./0001-main-job.ts";
import { MIGRATIONS } from "./list.ts";

const CUSTOMER: CustomerId = "cust_1";

/** A row with what every table of the first version requires, and `given`. */
function insert(database: DatabaseSync, table: string, given: Record<string, string | number>): void {
  const columns = database.prepare(`pragma table_info(${table})`).all() as unknown as {
    name: string;
    notnull: number;
  }[];
  const names = columns.filter(({ name, notnull }) => notnull === 1 || name in given).map(({ name }) => name);
  const values = names.map((name) => given[name] ?? (name === "timeline" || name === "channels_left" ? "[]" : 1));
  const quoted = names.map((name) => `"${name}"`).join(", ");
  database.prepare(`insert into ${table} (${quoted}) values (${names.map(() => "?").join(", ")})`).run(...values);
}

async function upgraded(fill: (database: DatabaseSync) => void): Promise<Kysely<Database>> {
  const database = new DatabaseSync(":memory:");
  const read = createReader(database);
  const db = queryDatabase(async (query) => read(query));
  await mainJob(db as unknown as Kysely<unknown>);
  fill(database);
  const later = Object.keys(MIGRATIONS).filter((name) => name >= "0002");
  for (const name of later) await MIGRATIONS[name]?.up(db as unknown as Kysely<unknown>);
  moveRows(database);
  return db;
}

test("messages of an older version are in the threads of their two addresses, one thread a pair, after the upgrade", async () => {
  const message = (id: string, to: string, from = "+15005550001") => ({
    id,
    customer_id: CUSTOMER,
    from,
    to,
    channel: "imessage",
    instance_id: "inst_1",
    direction: "outbound",
    status: "sent",
    created_at: Number(id.slice(4)),
  });
  const db = await upgraded((database) => {
    insert(database, "messages", message("msg_1", "+15005550100"));
    insert(database, "messages", message("msg_2", "jo@example.com"));
    insert(database, "messages", message("msg_3", "+15005550100"));
    insert(database, "messages", message("msg_4", "+15005550100", "+15005550002"));
    insert(database, "messages", { ...message("msg_5", "+15005550100"), customer_id: "cust_2" });
  });
  const chats = (await listChats(db, CUSTOMER, null, 10)).map(({ chat }) => chat);
  assert.deepEqual(
    chats.map(({ id, contact, from, participants, createdAt }) => [id, contact, from, participants, createdAt]),
    [
      ["chat_4", "+15005550100", "+15005550002", ["+15005550100"], 4],
      ["chat_2", "jo@example.com", "+15005550001", ["jo@example.com"], 2],
      ["chat_1", "+15005550100", "+15005550001", ["+15005550100"], 1],
    ],
  );
  const said = (await listMessagesOfChat(db, "chat_1", FIRST_PAGE, 10)).records;
  assert.deepEqual(
    said.map(({ id, chatId }) => [id, chatId]),
    [
      ["msg_3", "chat_1"],
      ["msg_1", "chat_1"],
    ],
  );
  const next = await findChatByKey(db, `${CUSTOMER} +15005550001 +15005550100`);
  assert.equal(next?.id, "chat_1", "what is sent next goes into the same thread");
});

test("updatedAt of an instance of an older version is its creation", async () => {
  const db = await upgraded((database) => {
    insert(database, "instances", {
      id: "inst_1",
      name: "Sandbox",
      provider: "sandbox",
      created_at: 1_700_000_000_000,
    });
  });
  assert.deepEqual(
    (await findInstances(db)).map(({ updatedAt, version }) => [updatedAt, version]),
    [[1_700_000_000_000, 1]],
  );
});
