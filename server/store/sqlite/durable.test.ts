/**
 * Tests that the writer's thread syncs each commit: the settings that its connection has when it commits, and not after
 * it was opened.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

/** Loaded into all threads of the child: notes the settings of a connection at each COMMIT of a file with messages. */
const NOTE_COMMITS = `
  import { appendFileSync } from "node:fs";
  import { DatabaseSync } from "node:sqlite";
  const { exec, prepare } = DatabaseSync.prototype;
  DatabaseSync.prototype.exec = function (sql) {
    const read = (text) => Object.values(prepare.call(this, text).get() ?? {})[0];
    if (/^\\s*(commit|end)/i.test(sql) && read("select 1 from sqlite_schema where name = 'messages'") === 1) {
      const settings = ["synchronous", "journal_mode", "fullfsync"].map((name) => read("pragma " + name));
      appendFileSync(process.env.COMMITS, settings.join(" ") + "\\n");
    }
    return exec.call(this, sql);
  };`;

/** Commits in threads, one transaction after the other and many at once. */
const COMMIT = `
  const { openSqlite } = await import(${JSON.stringify(import.meta.resolve("./store.ts"))});
  const store = await openSqlite(process.env.DIRECTORY, (reason) => { throw new Error(reason); });
  const commit = (name) => store.commit([{ op: "put", table: "settings", record: { name, value: "" } }]);
  for (let next = 0; next < 5; next += 1) await commit("n" + next);
  await Promise.all(Array.from({ length: 50 }, (_, next) => commit("m" + next)));
  await store.close();`;

test("the writer's thread syncs its write-ahead log at every commit (synchronous=FULL)", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "tightbeam-durable-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const commits = join(directory, "commits");
  const program = join(directory, "commit.mjs");
  writeFileSync(program, COMMIT);
  const child = spawn(
    process.execPath,
    [`--import=data:text/javascript,${encodeURIComponent(NOTE_COMMITS)}`, program],
    { env: { ...process.env, DIRECTORY: join(directory, "data"), COMMITS: commits }, stdio: "inherit" },
  );
  assert.deepEqual(await once(child, "exit"), [0, null]);
  const noted = readFileSync(commits, "utf8").trim().split("\n");
  // Migrations and groups: the five transactions that waited for each other are five groups.
  assert.ok(noted.length >= 5, noted.join("\n"));
  assert.deepEqual([...new Set(noted)], ["2 wal 1"]);
});
