/** Restores: nothing is sent twice, nothing that the backup had is lost, and the data directory has the old or the new data. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { COMMAND, emptyDirectory } from "../../test/support/cli.ts";
import { oneLine } from "../../test/support/one-line.ts";
import { startTestService, type TestService } from "../../test/support/service.ts";
import { contact, startTwilioService } from "../../test/support/twilio/texting.ts";
import { until } from "../../test/support/wait.ts";
import { readConfig } from "../config.ts";
import { commitStaging, finishRestore, listOwnFiles, makeStaging } from "../store/sqlite/restored-files.ts";
import { takeBackup } from "./backup.ts";
import { type RestoreOptions, restoreBackup } from "./restore.ts";

const quiet = () => {};

function take(dataDir: string, to: string) {
  const options = { version: "test", now: Date.now(), withKey: true, progress: quiet };
  return takeBackup(readConfig({ TB_DATA_DIR: dataDir }), to, options);
}

function restore(dataDir: string, from: string, more: Partial<RestoreOptions> = {}, env = {}) {
  const options = { now: Date.now(), moveAside: true, progress: quiet, ...more };
  return restoreBackup(readConfig({ TB_DATA_DIR: dataDir, ...env }), from, options);
}

/** Restarts the service on a backup. */
async function restartOn(service: TestService, backup: string) {
  let result: Awaited<ReturnType<typeof restore>> | undefined;
  await service.restart(async () => {
    result = await restore(service.dataDir, backup);
    return {};
  });
  return result ?? assert.fail();
}

const isHeld = (message: { timeline: { reason?: string }[]; status: string }) =>
  message.status === "pending" && message.timeline.some(({ reason }) => reason?.startsWith("restored: "));

test("backed up while sending, a thousand sent since, restored: the provider gets none twice, and none of the backup is lost", {
  timeout: 400_000,
}, async (t) => {
  const { fake, service, send, get } = await startTwilioService(t);
  for (let index = 0; index < 20; index += 1) fake.behaviours.set(contact(index), { slowMs: 30, callbacks: false });
  const first = Array.from({ length: 150 }, (_, index) => send(contact(index % 20), `before ${index}`));
  await until(() => fake.messages.length > 20);
  const backup = join(emptyDirectory(t), "backup");
  const { manifest } = await take(service.dataDir, backup);
  const ids = await Promise.all(first);
  for (let batch = 0; batch < 10; batch += 1) {
    await Promise.all(Array.from({ length: 100 }, (_, index) => send(contact(index), `since ${batch} ${index}`)));
  }
  await until(() => fake.messages.length === 1_150, { limitMs: 120_000, what: "1,150 messages at Twilio" });
  const result = await restartOn(service, backup);
  assert.ok(result.work.held > 0, `${result.work.held} of ${manifest.counts.messages} held`);
  const known = ids.filter((_, index) => index < (manifest.counts.messages ?? 0));
  const records = await Promise.all(known.map(get));
  const stored = records.filter((record) => record?.id !== undefined);
  assert.ok(stored.length >= result.work.held);
  const rest = async () => {
    const now = await Promise.all(stored.map(({ id }) => get(id)));
    return now.filter(({ status }) => status !== "sent" && status !== "delivered");
  };
  await until(async () => (await rest()).length === 0, { limitMs: 180_000 }).catch(async (error: Error) => {
    const left = await rest();
    const timelines = left.slice(0, 3).map(({ timeline }) => timeline);
    assert.fail(`${error.message}: ${left.length} are not found: ${JSON.stringify(timelines)}`);
  });
  const bodies = fake.messages.map(({ body }) => body);
  assert.equal(new Set(bodies).size, bodies.length, "no text was sent twice");
  assert.equal(bodies.length, 1_150);
});

test("a message that its provider does not know stays held, and is neither sent nor failed by itself", {
  timeout: 300_000,
}, async (t) => {
  const { fake, service, send, get } = await startTwilioService(t);
  fake.behaviours.set(contact(1), { refuse: { status: 503, body: { code: 20503, message: "busy" } } });
  const id = await send(contact(1), "Hello");
  const backup = join(emptyDirectory(t), "backup");
  await until(async () => (await get(id)).timeline.length > 1);
  await take(service.dataDir, backup);
  fake.behaviours.delete(contact(1));
  const { work } = await restartOn(service, backup);
  assert.equal(work.held, 1);
  const message = await until(
    async () => {
      const found = await get(id);
      return found.timeline.some(({ reason = "" }) => reason.includes("list does not contain the message"))
        ? found
        : null;
    },
    { limitMs: 60_000, what: "the lookup" },
  );
  assert.ok(isHeld(message));
  assert.equal(fake.taken({ to: contact(1) }).length, 0);
});

test("scheduled for later goes as planned; scheduled and due by the restart is held", {
  timeout: 300_000,
}, async (t) => {
  const { fake, service, send, get } = await startTwilioService(t);
  fake.behaviours.set(contact(1), { callbacks: false });
  const soon = await send(contact(1), "soon", { scheduledAt: new Date(Date.now() + 10_000).toISOString() });
  const later = await send(contact(1), "later", { scheduledAt: new Date(Date.now() + 3_600_000).toISOString() });
  const backup = join(emptyDirectory(t), "backup");
  await take(service.dataDir, backup);
  await until(async () => (await get(soon)).status === "sent", { limitMs: 60_000 });
  const { work } = await restartOn(service, backup);
  assert.deepEqual([work.held, work.scheduled], [1, 1]);
  assert.equal((await get(later)).status, "scheduled");
  await until(async () => (await get(soon)).status === "sent", { limitMs: 60_000 });
  assert.equal(fake.taken({ to: contact(1) }).length, 1);
});

test("positions of events go on after those that were given since the backup, so that a feed's cursor skips nothing", async (t) => {
  const service = await startTestService({}, { inThreads: true });
  t.after(() => service.stop());
  const sendOne = () => service.ask("POST", "/v1/messages", { body: { to: "+15005550100", content: { text: "Hi" } } });
  await sendOne();
  const backup = join(emptyDirectory(t), "backup");
  await take(service.dataDir, backup);
  for (let index = 0; index < 5; index += 1) await sendOne();
  const feed = (query: string) => service.ask("GET", `/v1/messages?updatedAfter=2020-01-01T00:00:00Z&${query}`);
  const { nextCursor } = (await feed("limit=100")).data.pagination;
  await restartOn(service, backup);
  const { data } = await sendOne();
  const changes = await feed(`cursor=${nextCursor}`);
  assert.ok(changes.data.messages.some(({ id }: { id: string }) => id === data.id));
});

test("keys, secrets and settings are those of the backup, and a restored service starts", async (t) => {
  const service = await startTestService({}, { inThreads: true });
  t.after(() => service.stop());
  const backup = join(emptyDirectory(t), "backup");
  await take(service.dataDir, backup);
  const made = await service.ask("POST", "/v1/contacts", { body: { phoneNumber: "+15005550100" } });
  assert.equal(made.status, 201);
  const before = readFileSync(join(service.dataDir, "secret.key"), "utf8");
  const { movedTo } = await restartOn(service, backup);
  assert.match(basename(movedTo ?? ""), /^before-restore-\d{8}T\d{6}Z$/);
  for (const name of ["credentials.json", "secret.key", "tightbeam.db"])
    assert.ok(existsSync(join(movedTo ?? "", name)));
  assert.equal(readFileSync(join(service.dataDir, "secret.key"), "utf8"), before);
  assert.deepEqual((await service.ask("GET", "/v1/contacts")).data.contacts, []);
});

/** A data directory with a database and a key, and a backup of it. Nothing runs. */
async function dataOf(t: TestContext): Promise<{ dataDir: string; backup: string }> {
  const service = await startTestService({}, { inThreads: true });
  const { dataDir } = service;
  const kept = join(emptyDirectory(t), "data");
  await service.restart(async () => {
    mkdirSync(kept);
    for (const name of listOwnFiles(dataDir)) writeFileSync(join(kept, name), readFileSync(join(dataDir, name)));
    return {};
  });
  await service.stop();
  const backup = join(emptyDirectory(t), "backup");
  await take(kept, backup);
  return { dataDir: kept, backup };
}

test("a restore is refused with one line beside a running service, on other data, and from a bad backup", async (t) => {
  const { dataDir, backup } = await dataOf(t);
  await assert.rejects(restore(dataDir, backup, { moveAside: false }), oneLine("There is data in", "--move-aside"));
  const service = await startTestService({}, { inThreads: true });
  t.after(() => service.stop());
  await assert.rejects(restore(service.dataDir, backup), oneLine("another Tightbeam runs"));
  await assert.rejects(restore(dataDir, dataDir), oneLine("is no backup"));
  const other = Buffer.alloc(32, 9).toString("base64");
  await assert.rejects(restore(dataDir, backup, {}, { TB_SECRET_KEY: other }), oneLine("TB_SECRET_KEY"));
  const manifest = JSON.parse(readFileSync(join(backup, "manifest.json"), "utf8"));
  const rewrite = (more: object) =>
    writeFileSync(join(backup, "manifest.json"), JSON.stringify({ ...manifest, ...more }));
  rewrite({ schema: "0123456789abcdef" });
  await assert.rejects(restore(dataDir, backup), oneLine("another version"));
  rewrite({});
  const database = readFileSync(join(backup, "tightbeam.db"));
  database[9_000] = (database[9_000] ?? 0) ^ 1;
  writeFileSync(join(backup, "tightbeam.db"), database);
  const names = readdirSync(dataDir);
  await assert.rejects(restore(dataDir, backup), oneLine(`The backup ${backup} is damaged`, "SHA-256"));
  rmSync(join(backup, "tightbeam.db"));
  await assert.rejects(restore(dataDir, backup), oneLine("tightbeam.db is missing"));
  mkdirSync(join(backup, "tightbeam.db"));
  await assert.rejects(restore(dataDir, backup), oneLine("tightbeam.db cannot be read"));
  assert.deepEqual(readdirSync(dataDir), names);
});

test("a backup without its key takes over the key that fits, or says that one is missing", async (t) => {
  const { dataDir, backup } = await dataOf(t);
  rmSync(backup, { recursive: true });
  const options = { version: "test", now: Date.now(), withKey: false, progress: quiet };
  await takeBackup(readConfig({ TB_DATA_DIR: dataDir }), backup, options);
  const empty = emptyDirectory(t);
  assert.match((await restore(empty, backup)).warnings[0] ?? "", /has no secret key/);
  const key = readFileSync(join(dataDir, "secret.key"), "utf8");
  assert.deepEqual((await restore(dataDir, backup)).warnings, []);
  assert.equal(readFileSync(join(dataDir, "secret.key"), "utf8"), key);
});

test("two restores within a second keep the previous data of both", async (t) => {
  const { dataDir, backup } = await dataOf(t);
  const now = Date.now();
  const moved: string[] = [];
  for (let count = 0; count < 2; count += 1) moved.push((await restore(dataDir, backup, { now })).movedTo ?? "");
  assert.equal(new Set(moved).size, 2);
  for (const path of moved) assert.ok(existsSync(join(path, "tightbeam.db")), path);
});

test("a restore that is killed at any step leaves the old data, or the new data after the next lock", {
  timeout: 300_000,
}, async (t) => {
  const { dataDir, backup } = await dataOf(t);
  mark(join(dataDir, "tightbeam.db"), "old");
  for (const afterMs of [50, 200, 400, 600, 800, 1_000, 1_200, 1_500, 2_000]) {
    const place = join(emptyDirectory(t), "data");
    mkdirSync(place);
    for (const name of listOwnFiles(dataDir)) writeFileSync(join(place, name), readFileSync(join(dataDir, name)));
    const [program = "", ...args] = [...COMMAND, "restore", backup, "--move-aside", "--tb-data-dir", place];
    const child = spawn(program, args, { stdio: "ignore", env: {} });
    const timer = setTimeout(() => child.kill("SIGKILL"), afterMs);
    await once(child, "exit");
    clearTimeout(timer);
    finishRestore(place);
    const isOld = isMarked(join(place, "tightbeam.db"));
    assert.equal(
      readdirSync(place).some((name) => name.startsWith("before-restore-")),
      !isOld,
      `${afterMs} ms`,
    );
    for (const name of ["secret.key", "credentials.json"]) assert.ok(existsSync(join(place, name)), name);
  }
});

test("a restore that was committed is finished from every step of it", async (t) => {
  const { backup } = await dataOf(t);
  const names = ["tightbeam.db", "secret.key"];
  for (let moved = 0; moved <= names.length; moved += 1) {
    for (let placed = 0; placed <= (moved < names.length ? 0 : names.length); placed += 1) {
      const place = emptyDirectory(t);
      for (const name of names) writeFileSync(join(place, name), "old");
      const staging = makeStaging(place);
      for (const name of names) writeFileSync(join(staging, name), readFileSync(join(backup, name)));
      commitStaging(place, "before-restore-x");
      breakOff(place, names, moved, placed);
      finishRestore(place);
      finishRestore(place);
      assert.deepEqual(readdirSync(place).toSorted(), ["before-restore-x", ...names].toSorted());
      for (const name of names) {
        assert.equal(readFileSync(join(place, "before-restore-x", name), "utf8"), "old");
        assert.deepEqual(readFileSync(join(place, name)), readFileSync(join(backup, name)));
      }
    }
  }
});

/** Does the first steps of a restore, as a process that was killed did. */
function breakOff(place: string, names: readonly string[], moved: number, placed: number): void {
  const move = (from: string, to: string) => {
    writeFileSync(join(place, to), readFileSync(join(place, from)));
    rmSync(join(place, from));
  };
  if (moved > 0) mkdirSync(join(place, "before-restore-x"));
  for (const name of names.slice(0, moved)) move(name, join("before-restore-x", name));
  if (placed === 0) return;
  mkdirSync(join(place, "restore.placing"));
  for (const name of readdirSync(join(place, "restore.ready")))
    move(join("restore.ready", name), join("restore.placing", name));
  rmSync(join(place, "restore.ready"), { recursive: true });
  for (const name of names.toReversed().slice(0, placed)) move(join("restore.placing", name), name);
}

function mark(path: string, name: string): void {
  const database = new DatabaseSync(path);
  database.exec(`create table ${name} (id)`);
  database.close();
}

function isMarked(path: string): boolean {
  const database = new DatabaseSync(path);
  const found = database.prepare("select 1 from sqlite_schema where name = 'old'").get();
  database.close();
  return found !== undefined;
}
