import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openWriter } from "./connection.ts";
import { openSqlite } from "./store.ts";
import { WriteCounts } from "./write-counts.ts";

const WAL_HEADER_BYTES = 32;
const FRAME_BYTES = 4_096 + 24;

test("the counted frames are those of the log, also after a checkpoint restarts it; a group without writes is no commit", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "tightbeam-write-counts-"));
  const path = join(directory, "a.db");
  const database = openWriter(path);
  t.after(() => {
    database.close();
    rmSync(directory, { recursive: true });
  });
  database.exec("create table t (a)");
  database.exec("pragma wal_checkpoint(truncate)");
  const counted = new WriteCounts(database);
  const framesOfLog = () => (statSync(`${path}-wal`).size - WAL_HEADER_BYTES) / FRAME_BYTES;
  const commit = (rows: number) => {
    database.exec("begin immediate");
    for (let row = 0; row < rows; row += 1) database.prepare("insert into t values (?)").run("a".repeat(3_000));
    database.exec("commit");
    counted.addGroup(2);
  };

  commit(20);
  commit(1);
  const first = framesOfLog();
  assert.ok(first > 20);
  assert.deepEqual(counted.counts, { transactions: 4, groups: 2, commits: 2, statements: 0, walFrames: first });

  database.exec("pragma wal_checkpoint(truncate)");
  commit(3);
  counted.addStatement();
  commit(0);
  const walFrames = first + framesOfLog();
  assert.deepEqual(counted.counts, { transactions: 8, groups: 4, commits: 3, statements: 1, walFrames });
});

test("a store on threads returns the counts of its writer", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "tightbeam-write-counts-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const store = await openSqlite(directory, assert.fail);
  await store.commit([{ op: "put", table: "settings", record: { name: "a", value: "b" } }]);
  const { walFrames, ...counts } = await store.counts();
  await store.close();
  assert.deepEqual(counts, { transactions: 1, groups: 1, commits: 1, statements: 1 });
  assert.ok(walFrames >= 1);
});
