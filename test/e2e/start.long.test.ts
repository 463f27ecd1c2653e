/** A failed start prints one line; a successful start does not reveal its keys. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, type TestContext, test } from "node:test";
import { emptyDirectory } from "../support/cli.ts";
import { seeded } from "../support/load.ts";
import {
  ADMIN_KEY,
  ask,
  KEY,
  type ProcessOptions,
  type Running,
  spawnCommand,
  spawnService,
  startProcess,
} from "../support/process.ts";
import { until } from "../support/wait.ts";

const ENDED = { code: 0, signal: null };
const WELL_FORMED = /^tb_[A-Za-z0-9]{32,}$/;
/** Keys are made by the start. */
const GENERATE = { TB_API_KEY: "", TB_ADMIN_KEY: "" };

describe("a failed start", { concurrency: 2 }, () => {
  test("for a port in use: one line, exit 1, and the next start still has keys to show", async (t) => {
    const port = await takePort(t);
    const dataDir = join(emptyDirectory(t), "data");
    const env = { ...GENERATE, PORT: String(port) };
    assert.match(await refusal(t, { dataDir, env }), new RegExp(`^error: Port ${port} on 127.0.0.1 is in use`));
    const service = await startProcess(t, { dataDir, env: GENERATE });
    await assertKeysWork(service, credentials(dataDir));
  });

  test("for a file in the place of the data directory, or of the one above: one line, exit 1", async (t) => {
    const file = join(emptyDirectory(t), "file");
    writeFileSync(file, "kept");
    for (const dataDir of [file, join(file, "data")]) {
      assert.match(await refusal(t, { dataDir }), new RegExp(`^error: .*${file}.*`));
    }
    assert.equal(readFileSync(file, "utf8"), "kept");
  });

  test("for a data directory that cannot be written to: one line, exit 1", async (t) => {
    const dataDir = emptyDirectory(t);
    chmodSync(dataDir, 0o500);
    // Rights do not hold root back; a read-only file system does.
    const mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"';
    const behind = process.getuid?.() === 0 ? ["unshare", "-m", "sh", "-c", mount, dataDir] : [];
    if (behind.length > 0 && !runs(["unshare", "-m", "sh", "-c", mount, dataDir, "true"])) {
      t.skip("root writes in spite of rights, and a read-only mount is not permitted here");
      return;
    }
    assert.match(await refusal(t, { dataDir, behind }), new RegExp(`^error: .*${dataDir}`));
    assert.deepEqual(readdirSync(dataDir), []);
  });

  test("for a database that another version made: one line, exit 1, and an unchanged database", async (t) => {
    const dataDir = join(emptyDirectory(t), "data");
    await end(await startProcess(t, { dataDir }));
    const path = join(dataDir, "tightbeam.db");
    change(path, "update schema_id set id = 'x' || id");
    assert.match(
      await refusal(t, { dataDir }),
      new RegExp(`^error: the database ${path} has the tables of another version`),
    );
    change(path, "update schema_id set id = substr(id, 2)");
    await end(await startProcess(t, { dataDir }));
  });

  test("for a file that is no database: one line, exit 1, and an unchanged file", async (t) => {
    const dataDir = emptyDirectory(t);
    const garbage = "this is not a database\n".repeat(1_000);
    writeFileSync(join(dataDir, "tightbeam.db"), garbage);
    assert.match(await refusal(t, { dataDir }), /^error: .*tightbeam\.db/);
    assert.equal(readFileSync(join(dataDir, "tightbeam.db"), "utf8"), garbage);
  });

  test("for a data directory in use: one line, exit 1, and the first process goes on", async (t) => {
    const dataDir = join(emptyDirectory(t), "data");
    const first = await startProcess(t, { dataDir });
    assert.match(await refusal(t, { dataDir }), /^error: .*another Tightbeam/);
    assert.equal((await send(first)).status, 202);
    await first.end("SIGKILL");
    const next = await startProcess(t, { dataDir });
    await end(next);
  });

  test("for another secret key than the database's: one line without it, exit 1", async (t) => {
    const dataDir = join(emptyDirectory(t), "data");
    await end(await startProcess(t, { dataDir }));
    const other = "ab".repeat(32);
    const line = await refusal(t, { dataDir, env: { TB_SECRET_KEY: other } });
    assert.match(line, /^error: .*TB_SECRET_KEY/);
    assert.ok(!line.includes(other));
    rmSync(join(dataDir, "secret.key"));
    assert.match(
      await refusal(t, { dataDir }),
      /^error: .*secret\.key/,
      "nor with a new one in the place of a lost one",
    );
  });

  test("for an invalid setting: one line that names it and the allowed values, exit 1", async (t) => {
    const dataDir = join(emptyDirectory(t), "data");
    const bad: [name: string, value: string, shown: boolean][] = [
      ["PORT", "99999", true],
      ["TB_RATE_LIMIT", "many", true],
      ["TB_WEBHOOK_RETRY_SCHEDULE", "30s,soon", true],
      ["TB_API_KEY", "tb_short", false],
      ["TB_SECRET_KEY", "guess", false],
      ["DATABASE_URL", "mysql://user:hidden@db/tightbeam", false],
      ["TB_ROLE", "both", true],
    ];
    for (const [name, value, shown] of bad) {
      const line = await refusal(t, { dataDir, env: { [name]: value } });
      assert.match(line, new RegExp(`^error: ${name} is .*must be`));
      assert.equal(line.includes(value), shown, line);
    }
    assert.throws(() => statSync(dataDir), "a refused start makes nothing");
  });

  test("for credentials that cannot be read: one line, exit 1", async (t) => {
    const dataDir = emptyDirectory(t);
    writeFileSync(join(dataDir, "credentials.json"), "{");
    assert.match(await refusal(t, { dataDir }), /^error: .*credentials\.json/);
  });
});

describe("keys", { concurrency: 2 }, () => {
  test("a first start stores its generated keys in credentials.json, 0600, and nowhere else", async (t) => {
    const dataDir = join(emptyDirectory(t), "data");
    const service = await startProcess(t, { dataDir, env: GENERATE });
    const kept = credentials(dataDir);
    assert.deepEqual(Object.keys(kept), ["baseUrl", "apiKey", "adminKey"]);
    assert.equal(kept.baseUrl, service.url);
    assert.equal(statSync(join(dataDir, "credentials.json")).mode & 0o777, 0o600);
    assert.equal(statSync(dataDir).mode & 0o077, 0);
    await assertKeysWork(service, kept);

    const secret = "whsec_c2VjcmV0IG9mIGEgd2ViaG9vaywgMzIgYnl0ZXM=";
    const hook = { url: "http://127.0.0.1:9/hook", events: ["*"] };
    assert.equal((await service.ask("PUT", "/v1/webhooks", { ...hook, secret }, kept.apiKey)).status, 200);
    const other = await service.ask("POST", "/v1/webhooks", { ...hook, url: "http://127.0.0.1:9/b" }, kept.apiKey);
    const issued = await service.ask(
      "POST",
      "/v1/admin/keys",
      { name: "n", customerId: await customer(service, kept) },
      kept.adminKey,
    );
    assert.equal(issued.status, 201);
    const secrets = [kept.apiKey, kept.adminKey, secret, other.data.secret, issued.data.key];
    for (const clear of secrets) assert.match(clear, /^(tb_|whsec_)/);
    await service.end("SIGKILL");
    const files = readdirSync(dataDir).filter((name) => name.startsWith("tightbeam.db"));
    assert.ok(files.includes("tightbeam.db-wal"), "the log of the database was looked into as well");
    for (const file of files) {
      const bytes = readFileSync(join(dataDir, file));
      for (const clear of secrets) assert.equal(bytes.indexOf(clear), -1, `${file} holds ${clear}`);
    }
    for (const clear of secrets) {
      assert.ok(
        !`${service.output.stdout}${service.output.stderr}`.includes(clear),
        "no terminal, so no key is printed",
      );
    }
    const next = await startProcess(t, { dataDir, env: GENERATE });
    assert.deepEqual({ ...credentials(dataDir), baseUrl: "" }, { ...kept, baseUrl: "" });
    assert.equal(credentials(dataDir).baseUrl, next.url);
    await end(next);
  });

  test("keys from settings are not stored, and a changed key revokes the former", async (t) => {
    const dataDir = join(emptyDirectory(t), "data");
    const generated = await startProcess(t, { dataDir, env: GENERATE });
    const { apiKey, adminKey } = credentials(dataDir);
    await end(generated);
    const first = await startProcess(t, { dataDir });
    assert.deepEqual(credentials(dataDir), { baseUrl: first.url });
    assert.deepEqual(await statuses(first, [apiKey, KEY]), [401, 200]);
    assert.deepEqual(await statuses(first, [adminKey, ADMIN_KEY], "/v1/admin/keys"), [401, 200]);
    await end(first);
    const [changed, changedAdmin] = [`${KEY}x`, `${ADMIN_KEY}x`];
    const second = await startProcess(t, { dataDir, env: { TB_API_KEY: changed, TB_ADMIN_KEY: changedAdmin } });
    assert.deepEqual(await statuses(second, [apiKey, KEY, changed]), [401, 401, 200]);
    assert.deepEqual(await statuses(second, [ADMIN_KEY, changedAdmin], "/v1/admin/keys"), [401, 200]);
    await end(second);
    const third = await startProcess(t, { dataDir });
    assert.deepEqual(await statuses(third, [KEY, changed]), [200, 401], "a former one that is set again works again");
    await end(third);
  });

  test("a terminal is shown the keys by the start that generated them, and by no other", async (t) => {
    if (!runs(["script", "--version"])) {
      t.skip("util-linux's script, which makes a terminal, is not installed");
      return;
    }
    const dataDir = join(emptyDirectory(t), "data");
    const first = await onTerminal(t, dataDir);
    const { apiKey, adminKey, baseUrl } = credentials(dataDir);
    const curl = `curl -s ${baseUrl}/v1/messages`;
    for (const text of [apiKey, adminKey, baseUrl, curl]) assert.ok(first.includes(text), `${text} in ${first}`);
    const second = await onTerminal(t, dataDir);
    assert.ok(second.includes(credentials(dataDir).baseUrl));
    assert.ok(!second.includes(apiKey) && !second.includes(adminKey), second);
  });

  test("a first start that cannot store its keys creates none: one line, exit 1, and the next start creates them", async (t) => {
    const dataDir = emptyDirectory(t);
    // In the way of the file that is written before it takes its place.
    const obstacle = join(dataDir, "credentials.json.new");
    mkdirSync(obstacle);
    assert.match(await refusal(t, { dataDir, env: GENERATE }), /^error: .*credentials\.json cannot be written/);
    rmSync(obstacle, { recursive: true });
    const service = await startProcess(t, { dataDir, env: GENERATE });
    await assertKeysWork(service, credentials(dataDir));
    await end(service);
  });

  test("a first start that is killed at any moment leaves keys that somebody knows", {
    timeout: 300_000,
  }, async (t) => {
    const seed = Date.now() % 2 ** 31;
    t.diagnostic(`seed ${seed}`);
    const chance = seeded(seed);
    for (let round = 0; round < 5; round += 1) {
      const dataDir = join(emptyDirectory(t), "data");
      const killed = spawnService(t, { dataDir, env: GENERATE });
      const database = join(dataDir, "tightbeam.db");
      // From here on it creates the first customer, its keys, and the file with the keys.
      await until(() => statSync(database, { throwIfNoEntry: false }) !== undefined, { limitMs: 60_000 });
      await new Promise((resolve) => setTimeout(resolve, chance() * 150));
      await killed.end("SIGKILL");
      const service = await startProcess(t, { dataDir, env: GENERATE });
      await assertKeysWork(service, credentials(dataDir));
      await service.end("SIGKILL");
    }
  });
});

/** The one line that a failed start writes to standard error; it must exit with 1 and print nothing else. */
async function refusal(t: TestContext, options: ProcessOptions): Promise<string> {
  const spawned = spawnService(t, options);
  const limit = setTimeout(() => spawned.child.kill("SIGKILL"), 60_000);
  const exit = await spawned.exited;
  clearTimeout(limit);
  const { stdout, stderr } = spawned.output;
  assert.deepEqual(exit, { code: 1, signal: null }, `${stdout}${stderr}`);
  assert.match(stderr, /^error: [^\n]+\n$/, "one line");
  assert.doesNotMatch(stderr, /\n? +at |node:internal|\[object/, "and no stack");
  assert.equal(stdout, "");
  return stderr.trimEnd();
}

interface Credentials {
  baseUrl: string;
  apiKey: string;
  adminKey: string;
}

function credentials(dataDir: string): Credentials {
  return JSON.parse(readFileSync(join(dataDir, "credentials.json"), "utf8"));
}

async function assertKeysWork(service: Running, { apiKey, adminKey }: Credentials): Promise<void> {
  for (const key of [apiKey, adminKey]) assert.match(String(key), WELL_FORMED);
  assert.deepEqual(await statuses(service, [apiKey]), [200]);
  assert.deepEqual(await statuses(service, [adminKey], "/v1/admin/keys"), [200]);
}

function statuses({ url }: Running, keys: string[], path = "/v1/messages"): Promise<number[]> {
  return Promise.all(keys.map(async (key) => (await ask(url, key, "GET", path)).status));
}

async function customer(service: Running, { adminKey }: Credentials): Promise<string> {
  return (await service.ask("GET", "/v1/admin/customers", undefined, adminKey)).data.customers[0].id;
}

function send(service: Running) {
  return service.ask("POST", "/v1/messages", { to: "+15005550100", content: { text: "Hello" } });
}

async function end(service: Running): Promise<void> {
  assert.deepEqual(await service.end("SIGTERM"), ENDED);
}

/** A port on loopback that something else listens on until the test ends. */
async function takePort(t: TestContext): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

function change(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

/** The output of a start on a terminal until it is ready. */
async function onTerminal(t: TestContext, dataDir: string): Promise<string> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const command = `exec ${process.execPath} cli/bin.js serve`;
  const env = { PATH: process.env.PATH ?? "", PORT: "0", TB_DATA_DIR: dataDir, LOG_LEVEL: "silent", TERM: "dumb" };
  const spawned = spawnCommand(t, ["script", "-qec", command, "/dev/null"], env);
  await until(() => spawned.output.stdout.includes("Tightbeam is ready"), { limitMs: 60_000, what: "the welcome" });
  await until(() => spawned.output.stdout.trimEnd().length > 0);
  await spawned.end("SIGTERM");
  return spawned.output.stdout;
}

function runs([file = "", ...args]: readonly string[]): boolean {
  try {
    execFileSync(file, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
