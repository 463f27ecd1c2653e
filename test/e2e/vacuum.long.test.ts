/** After an erasure the next start vacuums the database, also if it is killed meanwhile: no file of the data directory has a text any more. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { emptyDirectory, runCli } from "../support/cli.ts";
import { type Running, type StartFailed, spawnService, startProcess } from "../support/process.ts";
import { until } from "../support/wait.ts";

const TO = "+15005554001";
const WORD = "Zanzibar";
const MESSAGES = 60;
/** The vacuum of so many bytes takes so long that a process can be killed in the middle. */
const FILLED_BYTES = 48 * 1024 * 1024;
const ENDED = { code: 0, signal: null };

/** Loaded into the service: kills it when the vacuum has copied the last table. */
const KILL_AT_THE_COPY = `
  import { DatabaseSync } from "node:sqlite";
  const { exec } = DatabaseSync.prototype;
  const SQLITE_INSERT = 18;
  DatabaseSync.prototype.exec = function (sql) {
    let isCopied = false;
    if (sql === "vacuum") this.setAuthorizer((action, table) => {
      if (action === SQLITE_INSERT && isCopied && table === "sqlite_master") process.kill(process.pid, "SIGKILL");
      isCopied ||= action === SQLITE_INSERT && table !== "sqlite_master";
      return 0;
    });
    return exec.call(this, sql);
  };`;

/** Texts in the files of a data directory, in used parts of pages or not. */
function countIn(dataDir: string): number {
  const texts = readdirSync(dataDir).map((name) => readFileSync(join(dataDir, name)).toString("latin1"));
  return texts.reduce((sum, text) => sum + text.split(WORD).length - 1, 0);
}

/** A data directory whose service was stopped after it erased a contact with many messages. */
async function erased(t: TestContext): Promise<string> {
  const dataDir = join(emptyDirectory(t), "data");
  const service = await startProcess(t, { dataDir });
  const { data: contact } = await service.ask("POST", "/v1/contacts", { phoneNumber: TO, firstName: WORD });
  const send = () => service.ask("POST", "/v1/messages", { to: TO, content: { text: `${WORD} by text` } });
  const sent = await Promise.all(Array.from({ length: MESSAGES }, send));
  for (const { data } of sent)
    await until(async () => (await service.ask("GET", `/v1/messages/${data.id}`)).data.status === "delivered", {
      limitMs: 60_000,
    });
  const erase = () => service.ask("DELETE", `/v1/contacts/${contact.id}?erase=true`);
  await until(async () => (await erase()).data.erasedAt !== null, { limitMs: 60_000 });
  assert.deepEqual(await service.end("SIGTERM"), ENDED);
  leaveCopies(join(dataDir, "tightbeam.db"));
  assert.ok(countIn(dataDir) > 0);
  return dataDir;
}

/** The service leaves a text in an unused part of a page in some runs only. */
function leaveCopies(path: string): void {
  const database = new DatabaseSync(path);
  database.exec(
    `create table filler (bytes); insert into filler values ('${WORD} in an unused part'); delete from filler`,
  );
  database.close();
}

function vacuumsOf({ output }: Pick<Running, "output">): string[] {
  const lines = output.stdout.split("\n").filter((line) => line.includes('"event":"vacuum"'));
  return lines.map((line) => (JSON.parse(line) as { reason: string }).reason);
}

test("after an erasure the next start leaves no text in any file of the data directory, and says that it vacuums", async (t) => {
  const dataDir = await erased(t);
  const service = await startProcess(t, { dataDir });
  assert.equal(countIn(dataDir), 0);
  assert.match(
    vacuumsOf(service).join("\n"),
    /^a contact was erased: vacuuming [\d.]+ MB, which takes less than a second$/,
  );
  assert.deepEqual(await service.end("SIGTERM"), ENDED);
  const next = await startProcess(t, { dataDir });
  assert.deepEqual(vacuumsOf(next), []);
});

test("a start that is killed in the middle of its vacuum has changed nothing, and the next start ends it", async (t) => {
  const dataDir = await erased(t);
  const path = join(dataDir, "tightbeam.db");
  const filled = new DatabaseSync(path);
  const insert = filled.prepare("insert into filler values (zeroblob(?))");
  for (let bytes = 0; bytes < FILLED_BYTES; bytes += 1 << 20) insert.run(1 << 20);
  filled.close();
  const before = contentOf(path);
  const preload = `data:text/javascript,${encodeURIComponent(KILL_AT_THE_COPY)}`;
  const copying = startProcess(t, { dataDir, env: { NODE_OPTIONS: `--import=${preload}` } });
  await assert.rejects(copying, ({ exit }: StartFailed) => exit.signal === "SIGKILL");
  assert.deepEqual(contentOf(path), { ...before, begun: "1" });
  // The write-ahead log grows while the pages are written back.
  await killedWhile(t, dataDir, () => bytesOf(`${path}-wal`) > 1 << 20);
  assert.deepEqual(contentOf(path), { ...before, begun: "2" });
  const given = await startProcess(t, { dataDir });
  assert.match(
    vacuumsOf(given).join("\n"),
    /^copies .* since 2 vacuums were begun and did not end: stop the service and /,
  );
  assert.deepEqual(await given.end("SIGTERM"), ENDED);
  const { code, stdout, stderr } = await runCli(["vacuum", "--tb-data-dir", dataDir]);
  assert.equal(code, 0, stderr);
  const { bytesBefore, bytesAfter } = JSON.parse(stdout);
  assert.ok(bytesBefore >= bytesAfter && bytesAfter > FILLED_BYTES, stdout);
  assert.deepEqual(contentOf(path), { ...before, begun: undefined });
  assert.equal(countIn(dataDir), 0);
});

async function killedWhile(t: TestContext, dataDir: string, isThere: () => boolean): Promise<void> {
  const service = spawnService(t, { dataDir });
  let hasEnded = false;
  void service.exited.then(() => {
    hasEnded = true;
  });
  while (!isThere()) {
    assert.ok(!hasEnded, JSON.stringify(service.output));
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(await service.end("SIGKILL"), { code: null, signal: "SIGKILL" });
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Whether the database is sound, its rows, and how many vacuums were begun since the erasure. */
function contentOf(path: string): Record<string, unknown> {
  const database = new DatabaseSync(path);
  const one = (sql: string) => Object.values(database.prepare(sql).get() ?? {})[0];
  const tables = ["messages", "events", "contacts", "erasures", "filler"];
  const rows = tables.map((table) => [table, one(`select count(*) from ${table}`)]);
  const begun = one("select value from settings where name = 'erased-since-vacuum'");
  const found = { integrity: one("pragma integrity_check"), ...Object.fromEntries(rows), begun };
  database.close();
  return found;
}
