/** Opens the store on PostgreSQL: a pool of connections, the writer of this process, and readers. */

import { GroupWriter } from "../jobs/group-writer.ts";
import type { Job } from "../jobs/jobs.ts";
import { type Reads, StoreClient, type StoreDialect, type StoreParts } from "../jobs/store-client.ts";
import type { CommitObserver, Store } from "../store.ts";
import { announceDeliveries, announcedDeliveries } from "./announced-deliveries.ts";
import { readVersions } from "./config-versions.ts";
import { requireNoPartialCopy } from "./copy-target.ts";
import { queryDatabase } from "./driver.ts";
import { dueLanesQuery } from "./due-lanes.ts";
import { migrateDatabase } from "./migrate.ts";
import { LIFE_OF_PLANS } from "./named-statements.ts";
import { listOpenAttempts } from "./open-attempts.ts";
import { Partitions } from "./partitions.ts";
import { createPool, QUERY_MS_MAX } from "./pool.ts";
import { takeRate } from "./rate-windows.ts";
import { Reachability } from "./reachability.ts";
import { openReads } from "./readers.ts";
import { sqlOn } from "./sql.ts";
import { vacuumQueues } from "./vacuum.ts";
import { PostgresWriter } from "./writer.ts";

/** Connections of the writer. */
const CONNECTIONS_MAX = 4;
/** How often the partitions of the days ahead are looked at. */
const PARTITIONS_EVERY_MS = 60_000;

/** How PostgreSQL spells queries. */
const POSTGRES: StoreDialect = {
  database: queryDatabase,
  dueLanes: dueLanesQuery,
};

/** Monotonic milliseconds, and a timer on them, by which groups are paced. */
const TIMER = {
  now: () => performance.now(),
  after: (ms: number, action: () => void) => setTimeout(action, ms),
};

/**
 * Opens the database at a URL and migrates it. `member` names this process in the leases that it holds; no other process ever
 * has the same name. `reachable` gets the reason when the database cannot be reached any more, and null when it can be again.
 * `retentionMs`: how long events are kept, null for ever.
 * Throws `StoreUnusable` with a one-line message if it cannot be opened.
 */
export async function openPostgres(
  url: string,
  member: string,
  observe: CommitObserver = () => {},
  reachable: (trouble: string | null) => void = () => {},
  retentionMs: number | null = null,
): Promise<Store> {
  const pool = createPool(url, CONNECTIONS_MAX, QUERY_MS_MAX, LIFE_OF_PLANS);
  const reachability = new Reachability(pool, reachable);
  const partitions = new Partitions(pool, retentionMs);
  // Before the pool opens a connection.
  const writer = new PostgresWriter(pool, member, partitions);
  const keeping = setInterval(() => partitions.beginKeep(), PARTITIONS_EVERY_MS).unref();
  const readers = openReads(url, (read) => reachability.during(read));
  const close = async () => {
    clearInterval(keeping);
    reachability.close();
    await partitions.idle();
    await Promise.all([pool.end(), readers.close()]);
  };
  try {
    await migrateDatabase(url);
    await requireNoPartialCopy(pool);
    await partitions.keep();
  } catch (error) {
    await close();
    throw error;
  }
  const write = async (jobs: Job[]) => {
    const written = await writer.runGroup(jobs);
    if (written.results.some((result) => "error" in result && result.error === "unavailable")) reachability.suspect();
    return written;
  };
  const groups = new GroupWriter(write, TIMER, { isServer: true });
  const reads: Reads = { ...readers, close };
  const db = queryDatabase((query) => reads.read(query));
  const parts: StoreParts = {
    openPort: (reply) => groups.open(reply),
    reads,
    observe,
    dialect: POSTGRES,
    fork: () => new StoreClient({ ...parts, reads: { ...reads, close: async () => {} } }),
    openPorts: () => null,
    shared: {
      announceDeliveries: (announced) => announceDeliveries(db, announced),
      announcedDeliveries: (customerIds, withinMs) => announcedDeliveries(db, customerIds, withinMs),
      configVersions: () => readVersions(db),
      listOpenAttempts: (instanceId) => listOpenAttempts(db, instanceId, member),
      takeRate: (take) => takeRate(db, take),
      vacuumQueues: () => reachability.during(() => vacuumQueues(sqlOn(pool, () => {}))),
    },
    setHomes: (isHome) => writer.setHomes(isHome),
    isAvailable: () => reachability.isAvailable,
  };
  return new StoreClient(parts);
}
