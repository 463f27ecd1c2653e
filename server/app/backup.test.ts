/** Backups: consistent while the service writes, complete or absent, and refused when damaged. */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { COMMAND, emptyDirectory, runCli } from "../../test/support/cli.ts";
import { oneLine } from "../../test/support/one-line.ts";
import { startTestService, type TestService } from "../../test/support/service.ts";
import { until } from "../../test/support/wait.ts";
import { ConfigError, readConfig } from "../config.ts";
import { ERASED_SINCE_VACUUM } from "../store/settings.ts";
import { takeBackup, verifyBackup } from "./backup.ts";
import { restoreBackup } from "./restore.ts";

const NOW = Date.parse("2026-11-22T12:00:00.000Z");
const quiet = () => {};

async function startService(t: TestContext, inThreads = false): Promise<TestService> {
  const service = await startTestService({}, { inThreads });
  t.after(() => service.stop());
  return service;
}

function sendOne(service: TestService, text = "Hello") {
  return service.ask("POST", "/v1/messages", { body: { to: "+15005550100", content: { text } } });
}

function take(dataDir: string, to: string, more: Partial<Parameters<typeof takeBackup>[2]> = {}, env = {}) {
  const config = readConfig({ TB_DATA_DIR: dataDir, ...env });
  return takeBackup(config, to, { version: "test", now: NOW, withKey: true, progress: quiet, ...more });
}

test("a backup taken while the service writes is one snapshot: every message has its events, and every event its deliveries", async (t) => {
  const service = await startService(t, true);
  await service.ask("PUT", "/v1/webhooks", { body: { url: "http://127.0.0.1:9/", events: ["*"] } });
  let isDone = false;
  const load = Array.from({ length: 3 }, async () => {
    while (!isDone) assert.equal((await sendOne(service, "x".repeat(2_000))).status, 202);
  });
  const place = emptyDirectory(t);
  await until(async () => countIn(join(service.dataDir, "tightbeam.db"), "messages") > 100, { limitMs: 60_000 });
  const paths = [join(place, "first"), join(place, "second")];
  for (const path of paths) await take(service.dataDir, path);
  isDone = true;
  await Promise.all(load);
  for (const path of paths) {
    const { manifest } = await verifyBackup(path, quiet);
    const database = new DatabaseSync(join(path, "tightbeam.db"));
    const one = (sql: string) => Number(Object.values(database.prepare(sql).get() ?? {})[0]);
    assert.equal(one("select count(*) from messages"), manifest.counts.messages);
    assert.ok((manifest.counts.messages ?? 0) > 100);
    const wrong =
      "select count(*) from messages m where sequence <> (select count(*) from events where message_id = m.id)";
    assert.equal(one(wrong), 0);
    assert.equal(
      one("select count(*) from events e where not exists (select 1 from deliveries where event_id = e.id)"),
      0,
    );
    database.close();
  }
});

function countIn(path: string, table: string): number {
  const database = new DatabaseSync(path, { readOnly: true });
  const count = database.prepare(`select count(*) as count from ${table}`).get()?.count;
  database.close();
  return Number(count);
}

test("a backup after an erasure is vacuumed: it has no copies of texts in unused parts of pages, and the database keeps the mark", async (t) => {
  const service = await startService(t);
  const database = new DatabaseSync(join(service.dataDir, "tightbeam.db"));
  database.exec("create table texts (text); insert into texts values ('Zanzibar at noon'); delete from texts");
  database.prepare("insert into settings values (?, '0')").run(ERASED_SINCE_VACUUM);
  const path = join(emptyDirectory(t), "backup");
  const { warnings } = await take(service.dataDir, path);
  assert.equal(warnings.length, 1);
  const copy = readFileSync(join(path, "tightbeam.db")).toString("latin1");
  assert.ok(!copy.includes("Zanzibar") && !copy.includes(ERASED_SINCE_VACUUM));
  assert.deepEqual(readdirSync(path).sort(), ["credentials.json", "manifest.json", "secret.key", "tightbeam.db"]);
  await verifyBackup(path, quiet);
  assert.equal(database.prepare("select value from settings where name = ?").get(ERASED_SINCE_VACUUM)?.value, "0");
  // After two vacuums that did not end the backup is whole, and says what may be in it.
  database.prepare("update settings set value = '2' where name = ?").run(ERASED_SINCE_VACUUM);
  database.close();
  const warned = await take(service.dataDir, `${path}-2`);
  assert.match(
    warned.warnings.at(-1) ?? "",
    /may have copies of texts of erased contacts, since 2 vacuums .* take another one\.$/,
  );
});

test("a backup holds the database, the key and the keys of the command line, readable by its owner only", async (t) => {
  const service = await startService(t);
  const path = join(emptyDirectory(t), "backup");
  const { manifest, warnings } = await take(service.dataDir, path);
  assert.deepEqual(
    manifest.files.map(({ name }) => name),
    ["tightbeam.db", "secret.key", "credentials.json"],
  );
  for (const name of readdirSync(path)) assert.equal(statSync(join(path, name)).mode & 0o777, 0o600, name);
  assert.equal(statSync(path).mode & 0o777, 0o700);
  assert.equal(
    readFileSync(join(path, "secret.key"), "utf8"),
    readFileSync(join(service.dataDir, "secret.key"), "utf8"),
  );
  assert.deepEqual(
    [manifest.secretKey, manifest.takenAt, warnings.length],
    ["included", "2026-11-22T12:00:00.000Z", 1],
  );
  const without = await take(service.dataDir, `${path}-2`, { withKey: false });
  assert.ok(!existsSync(join(`${path}-2`, "secret.key")));
  assert.deepEqual([without.manifest.secretKey, without.manifest.secretKeyFingerprint?.length], ["elsewhere", 32]);
});

test("a backup in the middle of a change of the key takes the key that fits; a key that fits nothing is refused", async (t) => {
  const service = await startService(t);
  const [key, next] = [join(service.dataDir, "secret.key"), join(service.dataDir, "secret.key.next")];
  const fitting = readFileSync(key, "utf8");
  const other = `${Buffer.alloc(32, 7).toString("base64")}\n`;
  renameSync(key, next);
  writeFileSync(key, other);
  const path = join(emptyDirectory(t), "backup");
  await take(service.dataDir, path);
  assert.equal(readFileSync(join(path, "secret.key"), "utf8"), fitting);
  rmSync(next);
  await assert.rejects(take(service.dataDir, `${path}-2`), oneLine("does not fit"));
  assert.ok(!existsSync(`${path}-2`));
  const given = await take(service.dataDir, `${path}-3`, {}, { TB_SECRET_KEY: fitting.trim() });
  assert.equal(given.manifest.secretKey, "elsewhere");
  writeFileSync(key, fitting);
});

test("a bad target is refused with one line, and nothing is left of the backup", async (t) => {
  const service = await startService(t);
  const place = emptyDirectory(t);
  mkdirSync(join(place, "taken"));
  await assert.rejects(take(service.dataDir, join(place, "taken")), oneLine(join(place, "taken"), "exists"));
  await assert.rejects(
    take(service.dataDir, join(place, "none", "backup")),
    oneLine(join(place, "none"), "does not exist"),
  );
  await assert.rejects(take(service.dataDir, "/proc/backup"), oneLine("/proc"));
  await assert.rejects(take(place, join(place, "backup")), oneLine("no database", place));
  const interrupted = take(service.dataDir, join(place, "backup"), {
    progress: () => {
      throw new ConfigError("Interrupted.");
    },
  });
  await assert.rejects(interrupted, oneLine("Interrupted"));
  assert.deepEqual(readdirSync(place), ["taken"]);
});

test("the progress of a backup and of its restore goes from nothing to all for each piece of work, over all files", async (t) => {
  const service = await startService(t);
  const place = emptyDirectory(t);
  const shown = new Map<string, { done: number; total: number }[]>();
  const progress = (doing: string, done: number, total: number) => {
    shown.set(doing, [...(shown.get(doing) ?? []), { done, total }]);
  };
  const assertWhole = (...works: string[]) => {
    assert.deepEqual([...shown.keys()], works);
    for (const steps of shown.values()) {
      assert.equal(steps[0]?.done, 0);
      assert.equal(steps.at(-1)?.done, steps.at(-1)?.total);
      assert.equal(new Set(steps.map(({ total }) => total)).size, 1);
    }
    shown.clear();
  };
  const path = join(place, "backup");
  await take(service.dataDir, path, { progress });
  assertWhole("copying", "checking");
  await verifyBackup(path, progress);
  assertWhole("verifying");
  const config = readConfig({ TB_DATA_DIR: join(place, "restored") });
  await restoreBackup(config, path, { now: NOW, moveAside: false, progress });
  assertWhole("copying", "checking");
});

test("a backup that was killed leaves nothing that looks complete", async (t) => {
  const service = await startService(t);
  fill(join(service.dataDir, "tightbeam.db"), 60);
  const place = emptyDirectory(t);
  const [program = "", ...args] = [
    ...COMMAND,
    "backup",
    "--to",
    join(place, "backup"),
    "--tb-data-dir",
    service.dataDir,
  ];
  const child = spawn(program, args, { stdio: "ignore", env: {} });
  await until(() => readdirSync(place).length > 0, { limitMs: 60_000 });
  child.kill("SIGKILL");
  await once(child, "exit");
  const [left = "", ...others] = readdirSync(place);
  assert.match(left, /^backup\.partial-/);
  assert.deepEqual(others, []);
  await assert.rejects(verifyBackup(join(place, left), quiet), oneLine("is no backup"));
  await take(service.dataDir, join(place, "backup"));
  await verifyBackup(join(place, "backup"), quiet);
});

/** Makes the database this many megabytes larger, in a table of its own. */
function fill(path: string, megabytes: number): void {
  const database = new DatabaseSync(path);
  database.exec(`create table filling as with recursive rows (n) as (select 1 union all select n + 1 from rows
    where n < ${megabytes}) select zeroblob(1000000) as zeros from rows`);
  database.close();
}

test("a backup with a flipped byte, a file cut off or a file missing is refused", async (t) => {
  const service = await startService(t);
  const place = emptyDirectory(t);
  const damage = async (name: string, work: (path: string) => void) => {
    const path = join(place, name);
    await take(service.dataDir, path);
    await verifyBackup(path, quiet);
    work(path);
    await assert.rejects(verifyBackup(path, quiet), oneLine(path, "damaged"));
  };
  await damage("flipped", (path) => flipByte(join(path, "tightbeam.db"), 70_001));
  await damage("key", (path) => flipByte(join(path, "secret.key"), 3));
  await damage("short", (path) => truncateSync(join(path, "tightbeam.db"), 8_192));
  await damage("missing", (path) => rmSync(join(path, "secret.key")));
  await damage("manifest", (path) => truncateSync(join(path, "manifest.json"), 100));
});

function flipByte(path: string, at: number): void {
  const file = openSync(path, "r+");
  const byte = Buffer.alloc(1);
  readSync(file, byte, 0, 1, at);
  writeSync(file, Buffer.of((byte[0] ?? 0) ^ 1), 0, 1, at);
  closeSync(file);
}

test("a manifest cannot name a file outside of its directory", async (t) => {
  const service = await startService(t);
  const path = join(emptyDirectory(t), "backup");
  await take(service.dataDir, path);
  const manifest = JSON.parse(readFileSync(join(path, "manifest.json"), "utf8"));
  manifest.files = [{ ...manifest.files[0], name: "../tightbeam.db" }];
  writeFileSync(join(path, "manifest.json"), JSON.stringify(manifest));
  await assert.rejects(verifyBackup(path, quiet), oneLine("damaged"));
});

test("a manifest names only the three files of a backup, each once: a restore writes no other", async (t) => {
  const service = await startService(t);
  const path = join(emptyDirectory(t), "backup");
  await take(service.dataDir, path);
  const manifest = JSON.parse(readFileSync(join(path, "manifest.json"), "utf8"));
  for (const name of ["lock.db", "restore.ready", "restore.placing", "aside.txt", "tightbeam.db", "notes.txt"]) {
    const files = [...manifest.files, { ...manifest.files[0], name }];
    writeFileSync(join(path, "manifest.json"), JSON.stringify({ ...manifest, files }));
    copyFileSync(join(path, "tightbeam.db"), join(path, name === "tightbeam.db" ? "copy.db" : name));
    const dataDir = emptyDirectory(t);
    const restored = restoreBackup(readConfig({ TB_DATA_DIR: dataDir }), path, {
      now: NOW,
      moveAside: false,
      progress: quiet,
    });
    await assert.rejects(restored, oneLine("damaged"), name);
    assert.deepEqual(readdirSync(dataDir), [], name);
  }
});

test("without space the backup ends with one line and leaves nothing", async (t) => {
  const service = await startService(t);
  fill(join(service.dataDir, "tightbeam.db"), 30);
  const place = emptyDirectory(t);
  const command = [...COMMAND, "backup", "--to", `${place}/backup`, "--tb-data-dir", service.dataDir].join(" ");
  const script = `mount -t tmpfs -o size=20m none ${place} && ${command}; echo "code $?"; ls ${place}`;
  const { stdout, stderr } = spawnSync("unshare", ["-rm", "sh", "-c", script], {
    encoding: "utf8",
    env: { PATH: process.env.PATH ?? "" },
  });
  if (!stdout.includes("code")) return t.skip("a file system of its own is not permitted here");
  assert.equal(stdout, "code 1\n");
  assert.match(stderr, /^error: There is no space for the backup: .* are needed.*\n$/);
});

test("without a terminal tightbeam backup prints the manifest as JSON and nothing else; --verify exits with 0 or 1", async (t) => {
  const service = await startService(t);
  await sendOne(service);
  const path = join(emptyDirectory(t), "backup");
  const taken = await runCli(["backup", "--to", path, "--tb-data-dir", service.dataDir]);
  assert.deepEqual([taken.code, taken.stderr], [0, ""]);
  const shown = JSON.parse(taken.stdout);
  assert.deepEqual([shown.path, shown.counts.messages, shown.secretKey], [path, 1, "included"]);
  const verified = await runCli(["backup", "--verify", path]);
  assert.deepEqual([verified.code, verified.stderr], [0, ""]);
  flipByte(join(path, "tightbeam.db"), 5_000);
  const refused = await runCli(["backup", "--verify", path]);
  assert.deepEqual([refused.code, refused.stdout], [1, ""]);
  assert.match(refused.stderr, /^error: .*SHA-256.*\n$/);
  assert.equal((await runCli(["backup"])).code, 2);
});
