/** Opens the store that the settings name: the embedded database, or PostgreSQL. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Config, ConfigError } from "../config.ts";
import { checkServer, requireAlone } from "../store/postgres/check-server.ts";
import { openPostgres } from "../store/postgres/store.ts";
import { openSqlite, type VacuumLog } from "../store/sqlite/store.ts";
import { type CommitObserver, type Store, StoreUnusable } from "../store/store.ts";
import { newMemberId } from "./members.ts";
import { refuseMigrated } from "./migrated-mark.ts";

/** The listeners to a store. */
export interface StoreEvents {
  /** A thread of the embedded database ended: the process must end. `reason` is a sentence without a point. */
  lost(reason: string): void;
  committed: CommitObserver;
  /** Another process makes the tables of PostgreSQL, and this one waits for it. */
  waiting(progress: string): void;
  /** Vacuums of the embedded database that an erasure asks for; null: the next start of the service does them. */
  vacuum: VacuumLog | null;
  /** A setting of the server or of the data directory that deserves a look. */
  warn(reason: string): void;
  /** PostgreSQL cannot be reached any more, for this reason; null: it can be reached again. */
  reachable(trouble: string | null): void;
}

/** Opens the database. `memberId` names this process in its leases. Throws `ConfigError` with one line if it cannot be used. */
export async function openStore(
  { databaseUrl, dataDir, retentionMs }: Config,
  events: StoreEvents,
  memberId: string,
): Promise<Store> {
  return await refusing(async () => {
    if (databaseUrl === null) {
      refuseMigrated(dataDir);
      const { lost, committed, vacuum } = events;
      return await openSqlite(dataDir, lost, committed, vacuum);
    }
    for (const warning of await checkServer(databaseUrl)) events.warn(warning);
    if (existsSync(join(dataDir, "tightbeam.db")))
      events.warn(`DATABASE_URL is set: the embedded database in ${dataDir} is not used`);
    const { committed: observe, reachable, waiting, lost } = events;
    return await openPostgres(databaseUrl, memberId, {
      observe,
      reachable,
      waiting,
      retentionMs,
      lost,
    });
  });
}

const NO_EVENTS: StoreEvents = {
  lost(reason) {
    throw new Error(reason);
  },
  committed() {},
  waiting() {},
  vacuum: null,
  warn() {},
  reachable() {},
};

/** Opens the database for a command. Throws `ConfigError` if a service uses it: PostgreSQL has no lock of a data directory. */
export async function openStoreAlone(config: Config): Promise<Store> {
  const { databaseUrl } = config;
  if (databaseUrl !== null) await refusing(() => requireAlone(databaseUrl));
  return await openStore(config, NO_EVENTS, newMemberId());
}

/** Runs work on the store. Throws `ConfigError` with one line if the store cannot be used. */
export async function refusing<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof StoreUnusable ? new ConfigError(error.message) : error;
  }
}
