/** Threads and contacts of older versions, of which one phone had one for each form. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import fc from "fast-check";
import { Kysely, PostgresDialect, sql } from "kysely";
import { sharedPostgresForFile } from "../../../test/support/postgres.ts";
import { FORM_ROWS, phoneKey } from "../../core/phone-forms.ts";
import { migrate } from "../postgres/migrate.ts";
import { createPool } from "../postgres/pool.ts";
import { queryDatabase } from "../sqlite/driver.ts";
import { createReader } from "../sqlite/query.ts";
import { MIGRATIONS } from "./list.ts";
import { movePhoneKeys } from "./move-phone-keys.ts";

const postgres = sharedPostgresForFile();
const [FORMER, PRESENT, ALONE, OTHER] = ["+5215512345678", "+525512345678", "+22995123456", "+15005550100"];

/** Adds what an older version wrote: a thread and a contact for each form, and those of other phones. */
async function fill(db: Kysely<unknown>): Promise<void> {
  const threads = [FORMER, PRESENT, ALONE, OTHER];
  for (const [index, contact] of threads.entries()) {
    const key = `cust_1/${contact}/+1`;
    await sql`insert into chats (id, version, customer_id, "key", is_group, "from", contact, instance_id, channel, participants, created_at, updated_at)
      values (${`chat_${index}`}, 1, 'cust_1', ${key}, 0, '+1', ${contact}, 'inst_1', 'sms', '[]', 0, 0)`.execute(db);
  }
  for (const [address, id] of [
    [PRESENT, "con_2"],
    [FORMER, "con_1"],
    [ALONE, "con_3"],
    ["a@b.example", "con_3"],
    [OTHER, "con_4"],
  ]) {
    await sql`insert into contact_addresses (customer_id, address, contact_id) values ('cust_1', ${address}, ${id})`.execute(
      db,
    );
  }
}

async function check(db: Kysely<unknown>): Promise<void> {
  await movePhoneKeys(db);
  const chats = await sql`select "key", contact from chats order by id`.execute(db);
  assert.deepEqual(
    chats.rows.map((row) => Object.values(row as object)),
    [
      // The key of the older thread is that of the newer one, so both stay: what names an address finds the newer.
      [`cust_1/${FORMER}/+1`, FORMER],
      [`cust_1/${PRESENT}/+1`, PRESENT],
      [`cust_1/+2290195123456/+1`, ALONE],
      [`cust_1/${OTHER}/+1`, OTHER],
    ],
  );
  const addresses = await sql`select address, contact_id from contact_addresses order by contact_id, address`.execute(
    db,
  );
  assert.deepEqual(
    addresses.rows.map((row) => Object.values(row as object)),
    [
      [FORMER, "con_1"],
      [PRESENT, "con_2"],
      ["+2290195123456", "con_3"],
      ["a@b.example", "con_3"],
      [OTHER, "con_4"],
    ],
  );
}

test("SQLite: a thread and a contact of an older version get the key of their phone, unless another row has it", async () => {
  const read = createReader(new DatabaseSync(":memory:"));
  const db = queryDatabase(async (query) => read(query)) as unknown as Kysely<unknown>;
  for (const { up } of Object.values(MIGRATIONS)) await up(db);
  await fill(db);
  await check(db);
});

test("PostgreSQL: a thread and a contact of an older version get the key of their phone, unless another row has it", async () => {
  const { url, drop } = await postgres.create();
  const pool = createPool(url, 2);
  try {
    await migrate(pool);
    const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
    await fill(db);
    await check(db);
  } finally {
    await pool.end();
    await drop();
  }
});

test("PostgreSQL: the function phone_key is phoneKey, for both forms of every row and for other addresses", async () => {
  const { url, drop } = await postgres.create();
  const pool = createPool(url, 1);
  try {
    await migrate(pool);
    const rows = FORM_ROWS.flatMap((row) =>
      [row.former, row.present].map((digits) => `^${row.head}${digits}${row.rest}$`),
    );
    const written = rows.flatMap((pattern) => fc.sample(fc.stringMatching(new RegExp(pattern)), 20));
    const others = fc.sample(fc.stringMatching(/^\+(?:5[0-9]|22[0-9])\d{6,12}$/), 200);
    const addresses = [...written, ...others, "chat_1", "a@b.example", ""];
    const found = await pool.query(
      "select phone_key(one) as key from unnest($1::text[]) with ordinality t (one, place) order by place",
      [addresses],
    );
    assert.deepEqual(
      found.rows.map(({ key }) => key),
      addresses.map(phoneKey),
    );
  } finally {
    await pool.end();
    await drop();
  }
});
