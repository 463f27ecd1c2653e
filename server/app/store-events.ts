/** Tells the log, the metrics and the process what happens to the store. */

import type { Log } from "../log.ts";
import type { CommitObserver } from "../store/store.ts";
import type { StoreEvents } from "./open-store.ts";

/** Listeners that write to the log. `lost`: the process must end, for this reason. */
export function logged(log: Log, lost: (reason: string) => void, committed: CommitObserver): StoreEvents {
  return {
    lost: (reason) =>
      lost(
        `the thread of the database failed (${reason}): start again; if that fails, look at the disk of the database`,
      ),
    committed,
    waiting: (progress) => log.info("tables", { reason: progress }),
    vacuum: {
      info: (reason) => log.info("vacuum", { reason }),
      warn: (reason) => log.warn("vacuum", { reason }),
    },
    warn: (reason) => log.warn("database", { reason }),
    reachable(trouble) {
      if (trouble === null) log.info("database", { reason: "PostgreSQL can be reached again" });
      else log.error("database", { reason: `PostgreSQL cannot be reached: ${trouble}` });
    },
  };
}
