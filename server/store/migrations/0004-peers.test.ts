/** A database from before accounts were recorded keeps its open send attempts, with an unknown account. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { Kysely } from "kysely";
import { findMessage } from "../messages.ts";
import { queryDatabase } from "../sqlite/driver.ts";
import { createReader } from "../sqlite/query.ts";
import { MIGRATIONS } from "./list.ts";

/** Values that columns of enumerations get, so that the rows can be read. */
const FILLERS: Readonly<Record<string, string>> = { direction: "outbound", channel: "sms", message_type: "text" };

test("a message with an open or unknown send attempt is unchanged by the migration, and its account is null", async () => {
  const database = new DatabaseSync(":memory:");
  const read = createReader(database);
  const db = queryDatabase(async (query) => read(query));
  const migrated = db as unknown as Kysely<unknown>;
  for (const name of Object.keys(MIGRATIONS).filter((one) => one < "0004")) await MIGRATIONS[name]?.up(migrated);
  const rows = [
    { id: "msg_1", claimed_until: 5_000, due_at: null, unknown_since: null },
    { id: "msg_2", claimed_until: null, due_at: 7_000, unknown_since: 6_000 },
  ];
  const columns = database.prepare("pragma table_info(messages)").all() as {
    name: string;
    type: string;
    notnull: number;
  }[];
  const needed = columns.filter(({ notnull }) => notnull === 1).map(({ name }) => name);
  const filler = new Map(columns.map(({ name, type }) => [name, FILLERS[name] ?? (type === "bigint" ? 0 : "[]")]));
  for (const row of rows) {
    const values: Record<string, string | number | null> = { status: "pending", hand_overs: 1, ...row };
    const names = [...new Set([...needed, ...Object.keys(values)])];
    const given = names.map((name) => values[name] ?? (name in values ? null : (filler.get(name) ?? null)));
    const quoted = names.map((name) => `"${name}"`).join(", ");
    database.prepare(`insert into messages (${quoted}) values (${names.map(() => "?").join(", ")})`).run(...given);
  }
  for (const name of Object.keys(MIGRATIONS).filter((one) => one >= "0004")) await MIGRATIONS[name]?.up(migrated);
  for (const row of rows) {
    const message = await findMessage(db, row.id as "msg_1");
    assert.ok(message !== null);
    const { id, status, account, sendAttempts, claimedUntil, dueAt, unknownSince } = message;
    const then = { id, claimed_until: claimedUntil, due_at: dueAt, unknown_since: unknownSince };
    assert.deepEqual([then, status, sendAttempts, account], [row, "pending", 1, null]);
  }
});
