/** A backup whose database has triggers or views of its own is refused: the next write would run them. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { emptyDirectory } from "../../test/support/cli.ts";
import { oneLine } from "../../test/support/one-line.ts";
import { readConfig } from "../config.ts";
import { makeTables } from "../store/sqlite/make-tables.ts";
import { SQLITE_SCHEMA } from "../store/sqlite/schema.ts";
import { verifyBackup } from "./backup.ts";
import { formatManifest } from "./backup-manifest.ts";
import { restoreBackup } from "./restore.ts";

const quiet = () => {};

/** A backup of an empty database, which `change` has changed; the manifest fits it. */
function backupOf(t: TestContext, change: (database: DatabaseSync) => void, schema = SQLITE_SCHEMA.id): string {
  const path = emptyDirectory(t);
  const file = join(path, "tightbeam.db");
  const database = new DatabaseSync(file);
  makeTables(database);
  change(database);
  database.close();
  const bytes = readFileSync(file);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const files = [{ name: "tightbeam.db", bytes: bytes.length, sha256 }];
  const takenAt = "2026-11-22T12:00:00.000Z";
  const more = { counts: {}, secretKey: null, secretKeyFingerprint: null };
  writeFileSync(join(path, "manifest.json"), formatManifest({ version: "test", takenAt, schema, ...more, files }));
  return path;
}

function restore(dataDir: string, path: string) {
  const options = { now: 0, moveAside: false, progress: quiet };
  return restoreBackup(readConfig({ TB_DATA_DIR: dataDir }), path, options);
}

const FOREIGN: [what: string, sql: string, name: string][] = [
  [
    "a trigger",
    "create trigger copies after insert on settings begin insert into settings values (new.name || '2', new.value); end",
    "trigger copies",
  ],
  ["a view", "create view everything as select * from messages", "view everything"],
  [
    "a view in the place of a table",
    "alter table messages rename to m; create view messages as select * from m",
    "view messages",
  ],
  [
    "another trigger by the name of our own",
    "drop trigger events_newest; create trigger events_newest before delete on events begin delete from keys; end",
    "trigger events_newest",
  ],
  ["a virtual table", "create virtual table words using fts5(text)", "table words"],
  ["a trigger with a name of two lines", 'create trigger "a\nb" after insert on keys begin select 1; end', "trigger a"],
];

for (const [what, sql, name] of FOREIGN) {
  test(`a backup whose database has ${what} is refused by restore and --verify, with its name`, async (t) => {
    const path = backupOf(t, (database) => database.exec(sql));
    const dataDir = emptyDirectory(t);
    await assert.rejects(verifyBackup(path, quiet), oneLine(path, name, "not of Tightbeam"));
    await assert.rejects(restore(dataDir, path), oneLine(path, name, "not of Tightbeam"));
    assert.deepEqual(
      readdirSync(dataDir).filter((file) => file !== "lock.db"),
      [],
    );
  });
}

test("a backup with nothing but our own trigger is restored", async (t) => {
  const path = backupOf(t, quiet);
  await verifyBackup(path, quiet);
  assert.equal((await restore(emptyDirectory(t), path)).takenAt, "2026-11-22T12:00:00.000Z");
});

test("a backup of another version is refused in one line, and says which version took it", async (t) => {
  const path = backupOf(t, quiet, "0123456789abcdef");
  const dataDir = emptyDirectory(t);
  await assert.rejects(restore(dataDir, path), oneLine(path, "another version", "(test)"));
  assert.deepEqual(readdirSync(dataDir), []);
});
