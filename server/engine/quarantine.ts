/** Rows that cannot be decoded: told of, looked at again, and passed by in loops. */

import { listQuarantined } from "../store/quarantine.ts";
import { type QuarantinedRow, RowUnreadable } from "../store/rows.ts";
import type { RowKey } from "../store/store.ts";
import type { Deps } from "./deps.ts";
import type { With } from "./engine-deps.ts";

/** Rows looked at again in one commit. */
const RECHECKED_AT_ONCE = 200;
/** Rows that one look tells of, at the most. */
const REPORTED_MAX = 1_000;

/** What `read` finds; null where a row cannot be decoded, which is told as a fault. */
export async function nullIfUnreadable<Value>(
  { observer }: Pick<Deps, "observer">,
  where: string,
  read: () => Promise<Value>,
): Promise<Value | null> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof RowUnreadable)) throw error;
    observer.fault(where, error);
    return null;
  }
}

/** Looks after the quarantine: the log names each row that is in it, once, and rows that were mended go back. */
export class QuarantineMonitor {
  readonly #deps: With<"configCache">;
  /** Rows that were told of, by table and id. */
  #told = new Set<string>();

  constructor(deps: With<"configCache">) {
    this.#deps = deps;
  }

  /** Looks at all rows again, and tells of those that are new. */
  async check(): Promise<void> {
    const { store } = this.#deps;
    if ((await listQuarantined(store.db, 1)).length === 0) {
      this.#told.clear();
      return;
    }
    await this.#recheck();
    this.#tell(await listQuarantined(store.db, REPORTED_MAX));
  }

  async #recheck(): Promise<void> {
    const { clock, configCache, store } = this.#deps;
    let after: RowKey | null = null;
    do {
      const { mended, next } = await store.recheck(after, RECHECKED_AT_ONCE, clock.now());
      // What was read without the row is read again; the loops find by themselves what is due by now.
      if (mended.length > 0) configCache.clear();
      after = next;
    } while (after !== null);
  }

  #tell(rows: readonly QuarantinedRow[]): void {
    for (const { table, id, reason } of rows) {
      if (this.#told.has(`${table} ${id}`)) continue;
      const error = new Error(`the row ${id} of ${table} is in quarantine: ${reason}; tightbeam quarantine shows it`);
      this.#deps.observer.fault("rows", error);
    }
    this.#told = new Set(rows.map(({ table, id }) => `${table} ${id}`));
  }
}
