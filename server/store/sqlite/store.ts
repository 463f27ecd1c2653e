/** Opens the embedded store: on database threads, or all of it in this thread. */

import { channel } from "node:diagnostics_channel";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { WriterThread } from "../jobs/database-thread.ts";
import type { PaceTimer } from "../jobs/group-pace.ts";
import { GroupWriter } from "../jobs/group-writer.ts";
import type { Job, WrittenGroup } from "../jobs/jobs.ts";
import { readBatched, readSingly } from "../jobs/queries.ts";
import { type Reads, StoreClient, type StoreParts } from "../jobs/store-client.ts";
import type { OpenPort } from "../jobs/writer-client.ts";
import { type CommitObserver, type Store, StoreUnusable } from "../store.ts";
import { connectStore, SQLITE } from "./connect-store.ts";
import { lockDirectory, openWriter } from "./connection.ts";
import { makeTables } from "./make-tables.ts";
import { createReader } from "./query.ts";
import { finishRestore } from "./restored-files.ts";
import { ReaderThread, startThread } from "./thread.ts";
import { vacuumAfterErasure } from "./vacuum.ts";
import { SqliteWriter } from "./writer.ts";

/** The channel that gets each store on threads, so that a benchmark inside the process can read its counts. */
const OPENED = channel("tightbeam:store");

/** Threads that read lists. A customer uses at most one of them at a time. */
const LIST_READERS = 2;

/** Is called with lines about the vacuum of a start. */
export interface VacuumLog {
  /** A vacuum begins. */
  info(line: string): void;
  /** There was no vacuum, or it failed. */
  warn(line: string): void;
}

/** The database, as a store of one process without threads uses it. */
export interface Ports extends Reads {
  /** Writes a group of jobs. */
  write(jobs: Job[]): Promise<WrittenGroup>;
  /** Paces groups of jobs; null: they never wait. */
  timer: PaceTimer | null;
  /** Wraps the ports of further stores (`Store.fork`), which may be slower than the first one. */
  forked(open: OpenPort): OpenPort;
}

/**
 * Opens the database in a data directory: locks the directory, makes the tables, and starts the threads. Throws
 * `StoreUnusable` with a one-line message if it cannot. `lost` is called if a database thread ends: then the process
 * has to end. With a `vacuumLog`, vacuums the database if an erasure asked for it; with null, leaves the vacuum to the
 * next start.
 */
export async function openSqlite(
  dataDir: string,
  lost: (reason: string) => void,
  observe: CommitObserver = () => {},
  vacuumLog: VacuumLog | null = null,
): Promise<Store> {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StoreUnusable(`the data directory ${dataDir} cannot be made: ${(error as Error).message}`);
  }
  const lock = lockDirectory(join(dataDir, "lock.db"));
  const path = join(dataDir, "tightbeam.db");
  try {
    finishRestore(dataDir);
    prepare(path, vacuumLog);
  } catch (error) {
    lock.close();
    throw error;
  }
  const writer = new WriterThread(startThread("writer", path), lost);
  const reader = new ReaderThread(path, lost);
  const listReaders = Array.from({ length: LIST_READERS }, () => new ReaderThread(path, lost));
  const reads: Reads = {
    read: readBatched((queries) => reader.ask(queries)),
    lists: listReaders.map((thread) => readSingly((queries) => thread.ask(queries))),
    async close() {
      await Promise.all([writer, reader, ...listReaders].map((thread) => thread.stop()));
      lock.close();
    },
  };
  const openPorts = () => ({ writer: writer.open(), reader: reader.open() });
  const fork = () => connectStore(openPorts(), observe);
  const store = new StoreClient({ openPort: writer.openPort, reads, observe, dialect: SQLITE, fork, openPorts });
  OPENED.publish(store);
  return store;
}

function prepare(path: string, vacuumLog: VacuumLog | null): void {
  const first = openWriter(path);
  try {
    makeTables(first, `the database ${path}`);
    const reason = vacuumLog === null ? null : vacuumAfterErasure(first, path, vacuumLog.info);
    if (reason !== null)
      vacuumLog?.warn(
        `copies of texts of erased contacts may be left in ${path}, since ${reason}: stop the service and run tightbeam vacuum`,
      );
  } finally {
    first.close();
  }
}

/**
 * Opens the same store without threads, on a file or `:memory:`, for tests with simulated time. `through` may insert
 * delays and faults between the store and its database; `now` is the monotonic clock, by which leases end.
 */
export async function openSqliteInProcess(
  path = ":memory:",
  observe: CommitObserver = () => {},
  through: (ports: Ports) => Ports = (ports) => ports,
  now?: () => number,
): Promise<Store> {
  const writer = new SqliteWriter(path, now);
  if (path === ":memory:") fillEmpty(writer.database);
  else makeTables(writer.database);
  const read = createReader(writer.database);
  const ports = through({
    write: async (jobs) => writer.runGroup(jobs),
    read: async (query) => read(query),
    lists: [async (query) => read(query)],
    timer: null,
    forked: (open) => open,
    close: async () => writer.close(),
  });
  const groups = new GroupWriter((jobs) => ports.write(jobs), ports.timer);
  const openPort: OpenPort = (reply) => groups.open(reply);
  const fork = () => new StoreClient({ ...whole, openPort: ports.forked(openPort), reads: sharedReads(ports) });
  const whole: StoreParts = { openPort, reads: ports, observe, dialect: SQLITE, fork, openPorts: () => null };
  return new StoreClient(whole);
}

/** The reads of a further store. Only the first store closes them. */
function sharedReads({ read, lists }: Reads): Reads {
  return { read, lists, close: async () => {} };
}

/**
 * A database with empty tables. Tests open hundreds in memory, and to make the tables costs four times as much as this
 * copy.
 */
let empty: Uint8Array | undefined;

function fillEmpty(database: DatabaseSync): void {
  if (empty !== undefined) {
    database.deserialize(empty);
    return;
  }
  makeTables(database);
  empty = database.serialize();
}
