/** A process that migrates a large database is killed again and again; the migration goes on and loses nothing. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { openWriter } from "../../server/store/sqlite/connection.ts";
import { migrate } from "../../server/store/sqlite/migrate.ts";
import { emptyDirectory } from "../support/cli.ts";

/** A database of version 11. */
const DUMP = new URL("../fixtures/in-flight.sql", import.meta.url);
const CHILD = fileURLToPath(new URL("../support/migrate-process.ts", import.meta.url));
/** Rows of each large table: several batches. */
const ROWS = 9_000;

/** The process is killed once at each of these lines, `at once` before it goes on, or while it does what comes next. */
const KILLS: readonly [line: RegExp, when: "at once" | "while it goes on"][] = [
  [/attempts of 2\d{3} deliveries/, "at once"],
  [/attempts of \d+ deliveries/, "while it goes on"],
  [/rows into their new tables/, "at once"],
  [/rows into their new tables/, "while it goes on"],
  [/rows into their new tables/, "while it goes on"],
  [/rows into their new tables/, "at once"],
  [/keys of \d+ threads/, "while it goes on"],
  [/keys of [4-9]\d{3} threads/, "at once"],
  [/made 2 indexes/, "while it goes on"],
  [/made 1 indexes/, "at once"],
];

/** Tables of which the database gets more rows, with what makes them unique. `n` is the number of the row. */
const MORE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  deliveries: { id: "printf('dlv_%08d', n)", sequence: "n", due_at: "iif(n % 7 = 0, 5 + n, null)" },
  attempts: { delivery_id: "printf('dlv_%08d', n / 2)", number: "1 + n % 2", at: "n" },
  hand_overs: { reference: "printf('reference %d', n * 7919 % 100003)" },
  chats: {
    id: "printf('chat_%08d', n)",
    is_group: "0",
    reference: "null",
    peer: "printf('+1555%07d', n)",
    key: `customer_id || ' ' || "from" || ' ' || printf('+1555%07d', n)`,
  },
  idempotency: { key: "printf('key %d', n)" },
  messages: { id: "printf('msg_%08d', n)", external_message_id: "printf('more %d', n)", due_at: "null" },
};

function multiply(database: DatabaseSync): void {
  for (const [table, unique] of Object.entries(MORE)) {
    const columns = database.prepare(`pragma table_info(${table})`).all();
    const names = columns.map(({ name }) => `"${name}"`).join(", ");
    const values = columns.map(({ name }) => unique[String(name)] ?? `"${name}"`).join(", ");
    database.exec(`with recursive counted (n) as (select 1 union all select n + 1 from counted where n < ${ROWS})
      insert into ${table} (${names}) select ${values} from counted, (select * from ${table} order by rowid desc limit 1)`);
  }
}

/** Every row of every table in the order of the table, and the schema. */
function contentOf(path: string): Record<string, unknown> {
  const database = new DatabaseSync(path);
  const schema = database.prepare("select type, name, sql from sqlite_schema order by type, name").all();
  const tables = schema.filter(({ type, name }) => type === "table" && !/^(sqlite|kysely)_/.test(String(name)));
  const rows = tables.map(({ name }) => [name, database.prepare(`select * from "${name}"`).all()]);
  const integrity = database.prepare("pragma integrity_check").all();
  database.close();
  return { schema, integrity, ...Object.fromEntries(rows) };
}

/** Migrates in a process, and kills it at a line that matches. Returns the lines; the last one is empty if it was not killed. */
async function migrateUntil(path: string, [line, when]: (typeof KILLS)[number]): Promise<string[]> {
  const child = spawn(process.execPath, [CHILD, path], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise<NodeJS.Signals | null>((resolve) => child.on("close", (_code, signal) => resolve(signal)));
  child.stdin.on("error", () => {});
  const lines: string[] = [];
  for await (const progress of createInterface({ input: child.stdout })) {
    lines.push(progress);
    const isHere = line.test(progress);
    if (!isHere || when === "while it goes on") child.stdin.write("\n");
    if (isHere) {
      child.kill("SIGKILL");
      break;
    }
  }
  return (await ended) === "SIGKILL" ? lines : [...lines, ""];
}

test("a migration that is killed again and again ends like one that is not", async (t) => {
  const directory = emptyDirectory(t);
  const [killed, whole] = [join(directory, "killed.db"), join(directory, "whole.db")];
  const older = new DatabaseSync(killed);
  older.exec(`begin; ${readFileSync(DUMP, "utf8")} commit; begin`);
  multiply(older);
  older.exec("commit");
  older.close();
  copyFileSync(killed, whole);
  const uninterrupted = openWriter(whole);
  await migrate(uninterrupted);
  uninterrupted.close();

  for (const kill of KILLS) {
    const lines = await migrateUntil(killed, kill);
    assert.match(lines.at(-1) ?? "", kill[0], `it was killed at ${kill[0]}, after ${lines.length} lines`);
  }
  const last = await migrateUntil(killed, [/^nothing$/, "at once"]);
  assert.equal(last.pop(), "", "the last process ends by itself");
  assert.ok(last.length > 0, "it had something left to do");
  const [found, wanted] = [contentOf(killed), contentOf(whole)];
  for (const name of Object.keys(wanted)) assert.deepEqual(found[name], wanted[name], name);
  assert.deepEqual(Object.keys(found), Object.keys(wanted));
});
