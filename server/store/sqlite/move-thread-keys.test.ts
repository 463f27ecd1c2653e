/** Threads of an older version get the keys of this one, also if the upgrade is interrupted. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { Kysely } from "kysely";
import { type Chat, groupKey, threadKey } from "../../core/chat.ts";
import { findChatByKey, findThreadByContact } from "../chats.ts";
import { MIGRATIONS } from "../migrations/list.ts";
import type { Database } from "../rows.ts";
import { queryDatabase } from "./driver.ts";
import { moveThreadKeys } from "./move-thread-keys.ts";
import { createReader } from "./query.ts";

const COUNT = 5_000;
const CUSTOMER = "cust_1";
const OWN = "+15550000001";
const OTHER = "+15550000002";
const contactOf = (index: number) => `+1500555${String(index).padStart(4, "0")}`;
const older = (from: string, contact: string) => `${CUSTOMER} ${from} ${contact}`;

/** Threads and a group with the keys that version 15 gave them. */
async function prepared() {
  const database = new DatabaseSync(":memory:");
  const read = createReader(database);
  const db = queryDatabase<Database>(async (query) => read(query));
  for (const { up } of Object.values(MIGRATIONS)) await up(db as unknown as Kysely<unknown>);
  const insert =
    database.prepare(`insert into chats (id, version, customer_id, key, is_group, "from", contact, instance_id, channel,
    participants, created_at, updated_at) values (?, 1, '${CUSTOMER}', ?, ?, ?, ?, 'inst_1', 'sms', '[]', 5, 5)`);
  database.exec("begin");
  for (let index = 0; index < COUNT; index += 1) {
    const id = `chat_${String(index).padStart(5, "0")}`;
    insert.run(id, older(OWN, contactOf(index)), 0, OWN, contactOf(index));
  }
  // Two of the customer's numbers that write with each other.
  insert.run("chat_a", older(OWN, OTHER), 0, OWN, OTHER);
  insert.run("chat_b", older(OTHER, OWN), 0, OTHER, OWN);
  insert.run("chat_group", groupKey(CUSTOMER, OWN, "g"), 1, OWN, null);
  database.exec("commit");
  return { database, db };
}

type Prepared = Awaited<ReturnType<typeof prepared>>;

async function assertMoved({ database, db }: Prepared): Promise<void> {
  const threads = database.prepare(`select "from", contact, key from chats where is_group = 0`).all();
  const wrong = threads.filter(
    (row) => row.key !== threadKey(CUSTOMER, String(row.from), String((row as unknown as Chat).contact)),
  );
  assert.deepEqual([threads.length, wrong], [COUNT + 2, []]);
  assert.equal((await findChatByKey(db, groupKey(CUSTOMER, OWN, "g")))?.id, "chat_group");
  assert.equal((await findThreadByContact(db, CUSTOMER, contactOf(77), null))?.id, "chat_00077");
  assert.equal((await findThreadByContact(db, CUSTOMER, OTHER, OWN))?.id, "chat_a");
  assert.equal((await findThreadByContact(db, CUSTOMER, OWN, null))?.id, "chat_b");
  assert.equal(database.prepare("select 1 from sqlite_schema where name = 'chats_contact'").get(), undefined);
}

test("every thread is found by its contact, and groups keep their keys", async () => {
  const stage = await prepared();
  moveThreadKeys(stage.database);
  await assertMoved(stage);
  moveThreadKeys(stage.database);
  await assertMoved(stage);
});

test("a contact whose name begins with that of another and a slash is not taken for it", async () => {
  const { database, db } = await prepared();
  database.exec(`update chats set contact = 'ACME' where id = 'chat_00001';
    update chats set contact = 'ACME/TAXI' where id = 'chat_00002'`);
  moveThreadKeys(database);
  assert.equal((await findThreadByContact(db, CUSTOMER, "ACME", null))?.id, "chat_00001");
  assert.equal((await findThreadByContact(db, CUSTOMER, "ACME/TAXI", null))?.id, "chat_00002");
});

test("an interrupted change of keys continues at the next start", async () => {
  const stage = await prepared();
  stage.database.exec(`create temp trigger full before update on chats
    when new.id = 'chat_04321' begin select raise(abort, 'interrupted'); end`);
  assert.throws(() => moveThreadKeys(stage.database), /interrupted/);
  stage.database.exec("drop trigger full");
  moveThreadKeys(stage.database);
  await assertMoved(stage);
});
