/**
 * Vacuums after an erasure: nothing of the texts is left in any file, and a vacuum that cannot be made, or does not
 * end, holds up no start.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { ERASED_SINCE_VACUUM } from "../settings.ts";
import { openWriter } from "./connection.ts";
import { makeTables } from "./make-tables.ts";
import { openSqlite, type VacuumLog } from "./store.ts";
import { vacuum, vacuumAfterErasure } from "./vacuum.ts";

const TEXT = "Zanzibar at noon";
const ROWS = 3_000;

/** A closed database that was full of texts, of which each is erased. The setting says so. */
async function erased(t: TestContext): Promise<{ directory: string; path: string }> {
  const directory = mkdtempSync(join(tmpdir(), "tightbeam-vacuum-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, "tightbeam.db");
  const database = openWriter(path);
  makeTables(database);
  database.exec("create table texts (id text primary key, text text) without rowid; begin");
  const insert = database.prepare("insert into texts values (?, ?)");
  // In the middle of pages, which SQLite then splits.
  for (let row = 0; row < ROWS; row += 1) insert.run(`${(row * 7_919) % ROWS}`, `${TEXT} ${row} `.repeat(5));
  database.exec("update texts set text = null; commit");
  setBegun(database, "0");
  database.close();
  assert.ok(countIn(directory) > 0, "SQLite leaves copies where it moves rows");
  return { directory, path };
}

function setBegun(database: DatabaseSync, value: string): void {
  database.prepare("insert or replace into settings values (?, ?)").run(ERASED_SINCE_VACUUM, value);
}

/** The vacuums that were begun since the erasure; null if none is asked for. */
function begunIn(path: string): string | null {
  const database = new DatabaseSync(path, { readOnly: true });
  const row = database.prepare("select value from settings where name = ?").get(ERASED_SINCE_VACUUM);
  database.close();
  return row === undefined ? null : String(row.value);
}

/** How often the text is in the files of a directory, in used parts of pages or not. */
function countIn(directory: string): number {
  const texts = readdirSync(directory).map((name) => readFileSync(join(directory, name)).toString("latin1"));
  return texts.reduce((sum, text) => sum + text.split(TEXT).length - 1, 0);
}

function collect(): { lines: string[]; log: VacuumLog } {
  const lines: string[] = [];
  return { lines, log: { info: (line) => lines.push(line), warn: (line) => lines.push(`warning: ${line}`) } };
}

async function start(directory: string): Promise<string[]> {
  const { lines, log } = collect();
  const store = await openSqlite(directory, assert.fail, undefined, log);
  await store.close();
  return lines;
}

test("a start after an erasure leaves no text in any file of the data directory; a command's start leaves it to the service", async (t) => {
  const { directory, path } = await erased(t);
  await (await openSqlite(directory, assert.fail)).close();
  assert.equal(begunIn(path), "0");
  const lines = await start(directory);
  assert.match(lines.join("\n"), /^a contact was erased: vacuuming [\d.]+ MB, which takes less than a second$/);
  assert.deepEqual([countIn(directory), begunIn(path)], [0, null]);
  assert.deepEqual(await start(directory), [], "once");
});

test("a vacuum keeps every row of every table, and the numbers of messages and deliveries, by which lists and claims go", async (t) => {
  const { path } = await erased(t);
  const database = openWriter(path);
  const tables = database
    .prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite%' order by name")
    .all()
    .map(({ name }) => String(name));
  for (const table of tables) fill(database, table);
  for (const table of ["messages", "deliveries", "events"]) database.exec(`delete from ${table} where rowid % 3 = 0`);
  const content = () => [
    database.prepare("select type, name, sql from sqlite_schema order by type, name").all(),
    ...tables.map((table) => database.prepare(`select * from "${table}"`).all()),
    ...["messages", "deliveries", "contents", "send_attempts"].map((table) => numbersIn(database, table)),
  ];
  database.prepare("delete from settings where name = ?").run(ERASED_SINCE_VACUUM);
  const before = content();
  assert.ok(numbersIn(database, "messages").length > 10);
  vacuum(database, path);
  assert.deepEqual(content(), before);
  assert.deepEqual(database.prepare("pragma integrity_check").all().map(Object.values), [["ok"]]);
  database.close();
});

/** Inserts rows whose values need no meaning. A table with a rule for its rows stays as it is. */
function fill(database: DatabaseSync, table: string): void {
  const columns = database.prepare(`pragma table_info("${table}")`).all();
  const names = columns.map(({ name }) => `"${name}"`).join(", ");
  const values = columns.map(({ name }, index) =>
    /id$|^key|reference|name/.test(String(name)) ? "'a' || n" : `n + ${index}`,
  );
  database.exec(`with recursive counted (n) as (select 1 union all select n + 1 from counted where n < 40)
    insert or ignore into "${table}" (${names}) select ${values.join(", ")} from counted`);
}

function numbersIn(database: DatabaseSync, table: string): unknown[] {
  const hasNumbers = !/without rowid/i.test(
    String(database.prepare("select sql from sqlite_schema where name = ?").get(table)?.sql),
  );
  return hasNumbers ? database.prepare(`select rowid from "${table}" order by rowid`).all() : [];
}

test("a database above the bound is not vacuumed, and keeps the mark", async (t) => {
  const { directory, path } = await erased(t);
  const database = openWriter(path);
  assert.match(String(vacuumAfterErasure(database, path, assert.fail, 1e5)), /^it is too large .*\([\d.]+ MB\)$/);
  database.close();
  assert.equal(begunIn(path), "0");
  assert.ok(countIn(directory) > 0);
});

test("after two vacuums that did not end a start says what to run, and serves; the next erasure asks again", async (t) => {
  const { directory, path } = await erased(t);
  const set = (value: string) => {
    const database = openWriter(path);
    setBegun(database, value);
    database.close();
  };
  set("2");
  const [line = "", ...more] = await start(directory);
  assert.match(
    line,
    /^warning: copies .* since 2 vacuums were begun and did not end: stop the service and run tightbeam vacuum$/,
  );
  assert.deepEqual([more, begunIn(path)], [[], "2"]);
  set("0");
  await start(directory);
  assert.deepEqual([countIn(directory), begunIn(path)], [0, null]);
});

test("while a backup reads the database, the vacuum counts as not ended, and the next one ends it", async (t) => {
  const { directory, path } = await erased(t);
  const other = new DatabaseSync(path, { readOnly: true });
  other.exec("begin");
  other.prepare("select count(*) from settings").get();
  const database = openWriter(path);
  database.exec("pragma busy_timeout = 1");
  const reason = vacuumAfterErasure(database, path, () => {});
  assert.equal(reason, "it could not be vacuumed (another program, such as a backup, is reading it)");
  other.close();
  database.close();
  assert.equal(begunIn(path), "1");
  await start(directory);
  assert.deepEqual([countIn(directory), begunIn(path)], [0, null]);
});

test("a file that may not grow is a vacuum that failed: the start says so, and serves with every row", async (t) => {
  if (spawnSync("prlimit", ["--version"]).status !== 0)
    return t.skip("there is no prlimit (util-linux) to set the limit");
  const { directory, path } = await erased(t);
  const script = `(async () => {
    const { openSqlite } = await import(${JSON.stringify(new URL("store.ts", import.meta.url).href)});
    const say = (line) => console.log(line);
    const store = await openSqlite(process.argv[1], say, undefined, { info: say, warn: say });
    console.log((await store.db.selectFrom("settings").select("value").execute()).length);
    await store.close();
  })();`;
  const limited = ["--fsize=150000", process.execPath, "--eval", script, directory];
  const { stdout, stderr, status } = spawnSync("prlimit", limited, { encoding: "utf8" });
  assert.equal(status, 0, stdout + stderr);
  assert.match(
    stdout,
    /^a contact was erased: vacuuming .*\n.* since it could not be vacuumed \(.+\): stop .*\n\d+\n$/,
  );
  assert.equal(begunIn(path), "1");
  assert.deepEqual((await start(directory)).length, 1);
  assert.deepEqual([countIn(directory), begunIn(path)], [0, null]);
});
