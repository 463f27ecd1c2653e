/** Inbound messages of a database of before: `delivered` in status and timeline becomes `received`. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { Kysely } from "kysely";
import { findMessage } from "../messages.ts";
import { queryDatabase } from "../sqlite/driver.ts";
import { createReader } from "../sqlite/query.ts";
import { up as received } from "./0007-received.ts";
import { MIGRATIONS } from "./list.ts";

interface Stored {
  id: string;
  direction: "inbound" | "outbound";
  status: string;
  timeline: string;
  [column: string]: string | number | null;
}

/** Values that columns of enumerations get, so that the rows can be read. */
const FILLERS: Readonly<Record<string, string>> = { channel: "imessage", message_type: "text" };

/** A database as version 0.1.0 left it, with these messages. */
async function databaseOfBefore(rows: readonly Stored[]) {
  const database = new DatabaseSync(":memory:");
  const read = createReader(database);
  const db = queryDatabase(async (query) => read(query));
  const migrated = db as unknown as Kysely<unknown>;
  for (const name of Object.keys(MIGRATIONS).filter((one) => one < "0007")) await MIGRATIONS[name]?.up(migrated);
  const columns = database.prepare("pragma table_info(messages)").all() as {
    name: string;
    type: string;
    notnull: number;
  }[];
  const needed = columns.filter(({ notnull }) => notnull === 1).map(({ name }) => name);
  const filler = new Map(columns.map(({ name, type }) => [name, FILLERS[name] ?? (type === "bigint" ? 0 : "[]")]));
  for (const row of rows) {
    const names = [...new Set([...needed, ...Object.keys(row)])];
    const given = names.map((name) => row[name] ?? (name in row ? null : (filler.get(name) ?? null)));
    const quoted = names.map((name) => `"${name}"`).join(", ");
    database.prepare(`insert into messages (${quoted}) values (${names.map(() => "?").join(", ")})`).run(...given);
  }
  return { database, db, migrated };
}

function timeline(...statuses: string[]): string {
  return JSON.stringify(statuses.map((status, index) => ({ status, at: 1_000 + index, channel: "imessage" })));
}

test("the migration makes the status and the timeline of an inbound message `received`, and leaves outbound messages unchanged", async () => {
  const { db, migrated } = await databaseOfBefore([
    { id: "msg_1", direction: "inbound", status: "delivered", timeline: timeline("delivered"), text: "Grüße 👋" },
    { id: "msg_2", direction: "inbound", status: "unsent", timeline: timeline("delivered", "unsent") },
    { id: "msg_3", direction: "outbound", status: "delivered", timeline: timeline("queued", "sent", "delivered") },
    { id: "msg_4", direction: "inbound", status: "delivered", timeline: timeline("delivered"), deleted_at: 5_000 },
  ]);
  await received(migrated);
  const found = await Promise.all((["msg_1", "msg_2", "msg_3", "msg_4"] as const).map((id) => findMessage(db, id)));
  assert.deepEqual(
    found.map((message) => [message?.status, message?.timeline.map(({ status }) => status)]),
    [
      ["received", ["received"]],
      ["unsent", ["received", "unsent"]],
      ["delivered", ["queued", "sent", "delivered"]],
      ["received", ["received"]],
    ],
  );
  assert.deepEqual(found[0]?.timeline, [{ status: "received", at: 1_000, channel: "imessage" }]);
});

test("the migration leaves a timeline that is not JSON unchanged, and completes", async () => {
  const rows = ["[", "null", "[]", '{"status":"delivered"}'].map(
    (text, index): Stored => ({ id: `msg_${index}`, direction: "inbound", status: "delivered", timeline: text }),
  );
  const { database, migrated } = await databaseOfBefore(rows);
  await received(migrated);
  assert.deepEqual(
    database
      .prepare("select id, status, timeline from messages order by id")
      .all()
      .map((row) => ({ ...row })),
    rows.map(({ id, timeline }) => ({ id, status: "received", timeline })),
  );
});

test("the migration leaves rows that it has already changed as they are", async () => {
  const { database, migrated } = await databaseOfBefore([
    { id: "msg_1", direction: "inbound", status: "delivered", timeline: timeline("delivered") },
  ]);
  await received(migrated);
  const once = database.prepare("select status, timeline from messages").get();
  await received(migrated);
  assert.deepEqual(database.prepare("select status, timeline from messages").get(), once);
});
