/** Opens the store on PostgreSQL: the writer of this process, readers, and a connection for chores. */

import type pg from "pg";
import { type Reads, StoreClient, type StoreDialect, type StoreParts } from "../jobs/store-client.ts";
import type { SharedDatabase } from "../shared-database.ts";
import type { CommitObserver, Store } from "../store.ts";
import { announceDeliveries, announcedDeliveries } from "./announced-deliveries.ts";
import { readVersions } from "./config-versions.ts";
import { requireNoPartialCopy } from "./copy-target.ts";
import { queryDatabase } from "./driver.ts";
import { timedDueLanesQuery } from "./due-lanes.ts";
import { exchangeLag } from "./lag-exchange.ts";
import { makeTablesAt } from "./make-tables.ts";
import { listOpenAttempts } from "./open-attempts.ts";
import { type OwnWriter, writeHere, writeInThread } from "./own-writer.ts";
import { Partitions } from "./partitions.ts";
import { createPool } from "./pool.ts";
import { takeRate } from "./rate-windows.ts";
import { Reachability } from "./reachability.ts";
import { openReads } from "./readers.ts";
import { sqlOn } from "./sql.ts";
import { vacuumQueues } from "./vacuum.ts";

/** Connections for partitions and vacuums. */
const CHORES = 1;
/** The time between two checks for missing partitions of the days ahead, in milliseconds. */
const PARTITIONS_EVERY_MS = 60_000;

/** How PostgreSQL spells queries. */
const POSTGRES: StoreDialect = {
  database: queryDatabase,
  dueLanes: timedDueLanesQuery,
};

/** Options of an opening besides its database. */
export interface PostgresOptions {
  observe?: CommitObserver;
  /** Gets the reason when the database cannot be reached any more, and null when it can be again. */
  reachable?: (trouble: string | null) => void;
  /** Gets a sentence while another process makes the tables. */
  waiting?: (progress: string) => void;
  /** How long events are kept; null, the default: for ever. */
  retentionMs?: number | null;
  /** Called if the writer's thread ends by itself: the process has to end then. Without it the writer has no thread of its own. */
  lost?: (reason: string) => void;
}

/**
 * Opens the database at a URL, and makes its tables if it is empty. `member` names this process in the leases that it holds;
 * no other process ever has the same name. Throws `StoreUnusable` with a one-line message if the database cannot be opened.
 */
export async function openPostgres(
  url: string,
  member: string,
  { observe = () => {}, reachable = () => {}, waiting = () => {}, retentionMs = null, lost }: PostgresOptions = {},
): Promise<Store> {
  const pool = createPool(url, CHORES);
  const reachability = new Reachability(pool, reachable);
  const partitions = new Partitions(pool, retentionMs);
  const keeping = setInterval(() => partitions.beginKeep(), PARTITIONS_EVERY_MS).unref();
  const readers = openReads(url, (read) => reachability.during(read));
  let writer: OwnWriter | null = null;
  const close = async () => {
    clearInterval(keeping);
    reachability.close();
    await partitions.idle();
    await Promise.all([pool.end(), readers.close(), writer?.close()]);
  };
  try {
    await makeTablesAt(url, waiting);
    await requireNoPartialCopy(pool);
    await partitions.keep();
  } catch (error) {
    await close();
    throw error;
  }
  const start = { url, member, retentionMs };
  const doubt = () => reachability.suspect();
  writer = lost === undefined ? writeHere(start, doubt) : writeInThread(start, doubt, lost);
  const { openPort, openFurther } = writer;
  const reads: Reads = { ...readers, close };
  const parts: StoreParts = {
    openPort,
    reads,
    observe,
    dialect: POSTGRES,
    fork: () => new StoreClient({ ...parts, openPort: openFurther, reads: { ...reads, close: async () => {} } }),
    openPorts: () => null,
    shared: sharedDatabase(pool, reads, member, reachability),
    isAvailable: () => reachability.isAvailable,
  };
  return new StoreClient(parts);
}

/** The calls by which processes share the database. */
function sharedDatabase(pool: pg.Pool, reads: Reads, member: string, reachability: Reachability): SharedDatabase {
  const db = queryDatabase((query) => reads.read(query));
  return {
    announceDeliveries: (announced) => announceDeliveries(db, announced),
    announcedDeliveries: (customerIds, withinMs) => announcedDeliveries(db, customerIds, withinMs),
    configVersions: () => readVersions(db),
    exchangeLag: (lagMs, deadAfterMs) => exchangeLag(db, { member, lagMs, deadAfterMs }),
    listOpenAttempts: (instanceId) => listOpenAttempts(db, instanceId, member),
    takeRate: (take) => takeRate(db, take),
    vacuumQueues: () => reachability.during(() => vacuumQueues(sqlOn(pool, () => {}))),
  };
}
