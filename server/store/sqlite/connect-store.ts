/** Makes the store of a further thread, over ports to the threads of the database. */

import { openOver } from "../jobs/database-thread.ts";
import { PendingReads } from "../jobs/pending-reads.ts";
import { readBatched } from "../jobs/queries.ts";
import { type Reads, StoreClient, type StoreDialect } from "../jobs/store-client.ts";
import type { CommitObserver, Store, StorePorts } from "../store.ts";
import { queryDatabase } from "./driver.ts";
import { dueLanesQuery } from "./due-lanes.ts";

/** How SQLite spells queries. */
export const SQLITE: StoreDialect = {
  database: queryDatabase,
  dueLanes: dueLanesQuery,
};

/**
 * Makes a store over the ports that the first store opened. This store reads no lists. The first store must outlive it.
 */
export function connectStore({ writer, reader }: StorePorts, observe: CommitObserver): Store {
  const pending = new PendingReads((queries) => reader.postMessage(queries));
  reader.on("message", (rows) => pending.complete(rows));
  const reads: Reads = {
    read: readBatched((queries) => pending.ask(queries)),
    lists: [],
    async close() {
      writer.close();
      reader.close();
    },
  };
  const fork = () => {
    throw new Error("a store of a thread opens no further ports");
  };
  return new StoreClient({ openPort: openOver(writer), reads, observe, dialect: SQLITE, fork, openPorts: () => null });
}
