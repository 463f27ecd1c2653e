/** Puts rows that cannot be decoded into quarantine, whichever part of the service reports them. */

import type { Log } from "../log.ts";
import { RowUnreadable } from "../store/rows.ts";
import type { Store } from "../store/store.ts";

/** A log that also puts the row of each logged `RowUnreadable` into quarantine, whether a request or a loop read it. */
export function settingAside(log: Log, store: Pick<Store, "quarantine">): Log {
  return {
    ...log,
    error(event, fields) {
      if (fields?.error instanceof RowUnreadable) store.quarantine(fields.error.row);
      log.error(event, fields);
    },
  };
}
