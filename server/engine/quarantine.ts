/** Watches the quarantine: rechecks its rows, and reports the new ones. */

import { listQuarantined } from "../store/quarantine.ts";
import type { QuarantinedRow } from "../store/rows.ts";
import type { RowKey } from "../store/store.ts";
import type { With } from "./engine-deps.ts";
import { holdMended } from "./messages/held.ts";

/** Rows rechecked in one commit. */
const RECHECKED_AT_ONCE = 200;
/** Limit of rows reported by one check. */
const REPORTED_MAX = 1_000;

/** Watches the quarantine: the log names each new row once, and repaired rows leave the quarantine. */
export class QuarantineMonitor {
  readonly #deps: With<"configCache" | "link" | "messageCache">;
  /** Rows already reported, by table and id. */
  #reported = new Set<string>();

  constructor(deps: With<"configCache" | "link" | "messageCache">) {
    this.#deps = deps;
  }

  /** Rechecks all rows and reports the new ones. */
  async check(): Promise<void> {
    const { store } = this.#deps;
    if ((await listQuarantined(store.db, 1)).length === 0) {
      this.#reported.clear();
      return;
    }
    await holdMended(this.#deps);
    await this.#recheck();
    this.#report(await listQuarantined(store.db, REPORTED_MAX));
  }

  async #recheck(): Promise<void> {
    const { clock, configCache, store, wake } = this.#deps;
    let after: RowKey | null = null;
    do {
      const { mended, next } = await store.recheck(after, RECHECKED_AT_ONCE, clock.now());
      // The caches were filled without the row. The loops find rows that are due by themselves.
      if (mended.length > 0) {
        configCache.clear();
        wake.repaired();
      }
      after = next;
    } while (after !== null);
  }

  #report(rows: readonly QuarantinedRow[]): void {
    for (const { table, id, reason } of rows) {
      if (this.#reported.has(`${table} ${id}`)) continue;
      const error = new Error(`the row ${id} of ${table} is in quarantine: ${reason}; tightbeam quarantine shows it`);
      this.#deps.observer.fault("quarantine", error);
    }
    this.#reported = new Set(rows.map(({ table, id }) => `${table} ${id}`));
  }
}
