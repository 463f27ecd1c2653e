/**
 * Faults of the embedded store: full and failing disks, damaged and newer files, directories that are taken, dead
 * threads.
 */

import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { sql } from "kysely";
import { until } from "../../../test/support/wait.ts";
import type { Job } from "../jobs/jobs.ts";
import { type Store, StoreFull, StoreUnusable, type Transaction } from "../store.ts";
import { errorCode, isLost, openWriter } from "./connection.ts";
import { openSqlite, openSqliteInProcess } from "./store.ts";
import { ReaderThread } from "./thread.ts";
import { DiskFailed, SqliteWriter } from "./writer.ts";

function scratch(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "tightbeam-faults-"));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

/** Opens the store in threads, and closes it with the test, if the test does not. Unless told, it must not be lost. */
async function openThreads(t: TestContext, path: string, lost: (reason: string) => void = assert.fail): Promise<Store> {
  const store = await openSqlite(path, lost);
  const close = store.close.bind(store);
  let closed: Promise<void> | null = null;
  store.close = () => {
    closed ??= close();
    return closed;
  };
  t.after(() => store.close());
  return store;
}

const setting = (name: string, bytes = 1): Transaction => [
  { op: "put", table: "settings", record: { name, value: "x".repeat(bytes) } },
];

async function namesIn(store: Store): Promise<string[]> {
  return (await store.db.selectFrom("settings").select("name").orderBy("name").execute()).map(({ name }) => name);
}

async function outcomesOf(commits: readonly Promise<unknown>[]): Promise<(string | Error)[]> {
  return (await Promise.allSettled(commits)).map((one) =>
    one.status === "fulfilled" ? "kept" : (one.reason as Error),
  );
}

/** Refused by one line that says the path. */
function oneLine(...parts: (string | RegExp)[]): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof StoreUnusable, String(error));
    assert.doesNotMatch(error.message, /\n/);
    for (const part of parts) {
      if (typeof part === "string") assert.ok(error.message.includes(part), error.message);
      else assert.match(error.message, part);
    }
    return true;
  };
}

test("a full disk refuses every transaction of the group; the store works again when there is room", async (t) => {
  const store = await openSqliteInProcess(join(scratch(t), "tightbeam.db"));
  t.after(() => store.close());
  await store.commit(setting("before"));
  const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(store.db);
  const room = (pages: number) =>
    sql.raw(`pragma max_page_count = ${(rows[0]?.page_count ?? 0) + pages}`).execute(store.db);
  await room(4);
  const group = ["a", "b", "large", "c"].map((name) => store.commit(setting(name, name === "large" ? 100_000 : 1)));
  for (const refused of await outcomesOf(group)) assert.ok(refused instanceof StoreFull, String(refused));
  assert.deepEqual(await namesIn(store), ["before"]);
  assert.deepEqual(await store.commit(setting("small")), { result: "ok", lanes: [] });
  await assert.rejects(store.commit(setting("large", 100_000)), StoreFull);
  await room(1_000);
  assert.deepEqual(await store.commit(setting("large", 100_000)), { result: "ok", lanes: [] });
  assert.deepEqual(await namesIn(store), ["before", "large", "small"]);
});

test("a file that may not grow refuses transactions, loses no committed one, and works again when it may grow", async (t) => {
  if (spawnSync("prlimit", ["--version"]).status !== 0)
    return t.skip("there is no prlimit (util-linux) to set the limit");
  const path = scratch(t);
  const child = startChild(
    t,
    `const store = await openSqlite(dir, (reason) => process.send({ lost: reason }));
     let next = 0;
     process.on("message", async () => {
       const names = Array.from({ length: 40 }, () => "n" + String(next++).padStart(4, "0"));
       const answers = await Promise.allSettled(names.map((name) => store.commit(
         [{ op: "put", table: "settings", record: { name, value: "x".repeat(10_000) } }])));
       const kept = names.filter((_, index) => answers[index].status === "fulfilled");
       const why = [...new Set(answers.flatMap(({ reason }) => reason === undefined ? [] : [reason.constructor.name]))];
       process.send({ kept, why });
     });
     process.send("ready");`,
    path,
  );
  assert.equal(await child.nextMessage(), "ready");
  const limit = (bytes: string) => execFileSync("prlimit", [`--pid=${child.pid}`, `--fsize=${bytes}:`]);
  const kept: string[] = [];
  const round = async () => {
    child.sendMessage("go");
    const said = (await child.nextMessage()) as { kept: string[]; why: string[] };
    assert.ok("kept" in said, JSON.stringify(said));
    kept.push(...said.kept);
    return said;
  };
  assert.equal((await round()).kept.length, 40);
  limit("600000");
  assert.deepEqual(await round(), { kept: [], why: ["StoreFull"] });
  assert.deepEqual(await round(), { kept: [], why: ["StoreFull"] });
  limit("unlimited");
  assert.equal((await round()).kept.length, 40);
  await child.kill();
  const store = await openThreads(t, path);
  assert.deepEqual(await namesIn(store), kept);
  await store.close();
});

test("a database of another version is refused by one line, and its directory is free again", async (t) => {
  const path = scratch(t);
  await (await openThreads(t, path)).close();
  const database = new DatabaseSync(join(path, "tightbeam.db"));
  const id = database.prepare("select id from schema_id").get()?.id as string;
  database.exec("update schema_id set id = 'another'");
  await assert.rejects(openThreads(t, path), oneLine(/another version of Tightbeam/));
  database.prepare("update schema_id set id = ?").run(id);
  database.close();
  await (await openThreads(t, path)).close();
});

test("an unusable data directory is refused by one line that names it", async (t) => {
  const path = scratch(t);
  const file = join(path, "file");
  writeFileSync(file, "in the way");
  const inTheWay = join(path, "a", "tightbeam.db");
  mkdirSync(inTheWay, { recursive: true });
  const lockInTheWay = join(path, "b", "lock.db");
  mkdirSync(lockInTheWay, { recursive: true });
  const notADatabase = join(path, "c");
  mkdirSync(notADatabase);
  writeFileSync(join(notADatabase, "tightbeam.db"), "this is no database ".repeat(1_000));
  await assert.rejects(openThreads(t, file), oneLine(file));
  await assert.rejects(openThreads(t, join(file, "below")), oneLine(join(file, "below")));
  await assert.rejects(openThreads(t, join(path, "a")), oneLine(inTheWay));
  await assert.rejects(openThreads(t, join(path, "b")), oneLine(lockInTheWay));
  await assert.rejects(openThreads(t, notADatabase), oneLine(join(notADatabase, "tightbeam.db"), /not a database/));
});

test("a data directory in use is refused with advice, and its present process continues", async (t) => {
  const path = scratch(t);
  const store = await openThreads(t, path);
  for (let round = 0; round < 3; round += 1) {
    await assert.rejects(openThreads(t, path), oneLine(join(path, "lock.db"), /another Tightbeam runs/, /TB_DATA_DIR/));
  }
  assert.equal((await store.commit(setting("mine"))).result, "ok");
  await store.close();
  const again = await openThreads(t, path);
  assert.deepEqual(await namesIn(again), ["mine"]);
  await again.close();
});

test("after kill -9 the data directory is free at once and holds every committed transaction", async (t) => {
  const path = scratch(t);
  const child = startChild(
    t,
    `const store = await openSqlite(dir, () => {});
     for (let next = 0; ; next += 1) {
       const name = "n" + String(next).padStart(6, "0");
       await store.commit([{ op: "put", table: "settings", record: { name, value: "" } }]);
       process.send(name);
     }`,
    path,
  );
  const answered: unknown[] = [await child.nextMessage()];
  await assert.rejects(openThreads(t, path), oneLine(/another Tightbeam runs/));
  while (answered.length < 200) answered.push(await child.nextMessage());
  await child.kill();
  answered.push(...child.left());
  const store = await openThreads(t, path);
  const names = await namesIn(store);
  assert.deepEqual(names.slice(0, answered.length), answered);
  await store.close();
});

test("the writer's connection syncs every commit to a write-ahead log, and readers keep the journal mode", async (t) => {
  const path = scratch(t);
  const database = openWriter(join(path, "one.db"));
  const read = (name: string) => Object.values(database.prepare(`pragma ${name}`).get() ?? {})[0];
  assert.equal(read("synchronous"), 2);
  assert.equal(read("journal_mode"), "wal");
  assert.equal(read("fullfsync"), 1);
  assert.equal(read("checkpoint_fullfsync"), 1);
  database.close();
  const store = await openThreads(t, join(path, "data"));
  const { rows } = await sql<{ journal_mode: string }>`pragma journal_mode`.execute(store.db);
  assert.deepEqual(rows, [{ journal_mode: "wal" }]);
  await assert.rejects(sql`delete from settings`.execute(store.db), /readonly/);
  await store.close();
});

test("a dead thread is reported once, and no request or stop waits for it", async (t) => {
  const lost: string[] = [];
  const thread = new ReaderThread(join(scratch(t), "none", "x.db"), (reason) => lost.push(reason));
  await assert.rejects(thread.ask([]), /cannot be opened/);
  await assert.rejects(thread.ask([]), /cannot be opened/);
  await thread.stop();
  await thread.stop();
  await assert.rejects(thread.ask([]), /cannot be opened/);
  assert.equal(lost.length, 1);
  assert.match(lost[0] ?? "", /cannot be opened/);
});

/** A data directory whose table `memory` is damaged, as a disk that forgets would leave it. */
async function damaged(t: TestContext): Promise<string> {
  const path = scratch(t);
  await (await openThreads(t, path)).close();
  const file = join(path, "tightbeam.db");
  const database = new DatabaseSync(file, { readOnly: true });
  const root = database.prepare("select rootpage from sqlite_schema where name = 'memory'").get()?.rootpage;
  const size = database.prepare("pragma page_size").get()?.page_size;
  database.close();
  const handle = openSync(file, "r+");
  writeSync(handle, Buffer.alloc(Number(size), 0xff), 0, Number(size), (Number(root) - 1) * Number(size));
  closeSync(handle);
  return path;
}

test("a damaged database ends the store: it is reported as lost, and no later transaction is acknowledged", async (t) => {
  const path = await damaged(t);
  const lost: string[] = [];
  const store = await openThreads(t, path, (reason) => lost.push(reason));
  assert.equal((await store.commit(setting("well"))).result, "ok");
  const touching: Transaction = [
    { op: "put", table: "memory", record: { instanceId: "inst_1", key: "k", value: "v" } },
  ];
  const answers = await outcomesOf([store.commit(setting("beside")), store.commit(touching)]);
  assert.ok(answers.every((answer) => answer instanceof Error));
  assert.equal(lost.length, 1);
  assert.match(lost[0] ?? "", /malformed/);
  await assert.rejects(store.commit(setting("after")));
  await store.close();
  const database = new DatabaseSync(join(path, "tightbeam.db"), { readOnly: true });
  assert.deepEqual(
    database
      .prepare("select name from settings")
      .all()
      .map(({ name }) => name),
    ["well"],
  );
  database.close();
});

test("the engine throws DiskFailed if the state on disk is unknown", async (t) => {
  const engine = new SqliteWriter(join(await damaged(t), "tightbeam.db"));
  t.after(() => engine.close());
  const touching: Job = ["commit", [["insert", "memory", ["inst_1", "k", "v"]]]];
  assert.throws(() => engine.run([touching]), DiskFailed);
  assert.equal(engine.database.isTransaction, false);
});

test("a failed fsync and a damaged file are lost; a full disk, a failed write and a bug are not", () => {
  const failed = (errcode: number) => Object.assign(new Error("SQLite says"), { errcode });
  const [full, corrupt, notUnique] = [13, 11, 2067];
  const ioError = (kind: number) => 10 | (kind << 8);
  const [read, write, fsync, directoryFsync] = [1, 3, 4, 5].map(ioError);
  assert.ok([fsync, directoryFsync, corrupt, corrupt | (1 << 8)].every((code) => isLost(failed(code ?? 0))));
  assert.ok(![full, read, write, notUnique].some((code) => isLost(failed(code ?? 0))));
  assert.ok(!isLost(new Error("x")) && !isLost("x") && !isLost(undefined));
  assert.deepEqual([errorCode(failed(write ?? 0)), errorCode(failed(full)), errorCode(new Error())], [10, 13, null]);
});

/** A child process that runs `script` on a data directory, and tells by messages. */
function startChild(t: TestContext, script: string, path: string) {
  const file = join(path, "child.mjs");
  const lines = [`import { openSqlite } from ${JSON.stringify(import.meta.resolve("./store.ts"))};`, script];
  writeFileSync(file, [`const dir = ${JSON.stringify(path)};`, ...lines].join("\n"));
  const child = spawn(process.execPath, [file], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const messages: unknown[] = [];
  child.on("message", (message) => messages.push(message));
  const exited = once(child, "exit");
  const kill = async () => {
    child.kill("SIGKILL");
    await exited;
  };
  t.after(kill);
  return {
    pid: child.pid,
    sendMessage: (message: string) => void child.send(message),
    nextMessage: async (): Promise<unknown> => {
      await until(() => messages.length > 0 || child.exitCode !== null, {
        limitMs: 60_000,
        what: "a word of the child",
      });
      assert.ok(messages.length > 0, "the child ended");
      return messages.shift();
    },
    /** Messages that came and were not asked for. */
    left: () => messages.splice(0),
    kill,
  };
}
