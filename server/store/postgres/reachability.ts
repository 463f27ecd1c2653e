/** Notices when PostgreSQL cannot be reached or takes no writes, and probes until it does again. */

import pg from "pg";
import { StoreUnavailable } from "../store.ts";
import { APPLICATION_NAME, CONNECT_MS_MAX } from "./pool.ts";
import { failureOf } from "./sql.ts";

/** The pause between two probes, in milliseconds. */
const PROBE_EVERY_MS = 250;

/** Whether the database of a pool takes writes, as far as this process knows. */
export class Reachability {
  readonly #settings: pg.ClientConfig;
  readonly #changed: (trouble: string | null) => void;
  #isAvailable = true;
  #isProbing = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  /** Probes the database of a pool. `changed` gets the reason when the database is out of reach, and null when it is back. */
  constructor(pool: pg.Pool, changed: (trouble: string | null) => void) {
    this.#settings = pool.options;
    this.#changed = changed;
    // The server ended an idle connection: it may be going away.
    pool.on("error", () => this.suspect());
  }

  get isAvailable(): boolean {
    return this.#isAvailable;
  }

  /** The rows of a read. Throws `StoreUnavailable` if the database cannot be reached. */
  async during<Rows>(read: () => Promise<Rows>): Promise<Rows> {
    try {
      return await read();
    } catch (error) {
      if (failureOf(error) !== "unavailable") throw error;
      this.suspect();
      throw new StoreUnavailable((error as Error).message, { cause: error });
    }
  }

  /** A failure suggests that the database cannot be reached: probes at once. */
  suspect(): void {
    if (this.#isProbing || this.#isClosed) return;
    this.#isProbing = true;
    void this.#probe();
  }

  /** Ends the probes. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #probe(): Promise<void> {
    const trouble = await this.#findTrouble();
    if (this.#isClosed) return;
    this.#isProbing = trouble !== null;
    this.#set(trouble);
    if (trouble !== null) this.#timer = setTimeout(() => void this.#probe(), PROBE_EVERY_MS);
  }

  /** Why the database takes no writes now; null if it does. The probe opens a new connection, since one of the pool may be broken. */
  async #findTrouble(): Promise<string | null> {
    const client = new pg.Client({
      ...this.#settings,
      application_name: `${APPLICATION_NAME} probe`,
      query_timeout: CONNECT_MS_MAX,
    });
    client.on("error", () => {});
    try {
      await client.connect();
      const { rows } = await client.query<{ transaction_read_only: string }>("show transaction_read_only");
      return rows[0]?.transaction_read_only === "on" ? "it takes no writes" : null;
    } catch (error) {
      const { message, code } = error as NodeJS.ErrnoException;
      return message === "" ? (code ?? "no connection") : message;
    } finally {
      await client.end().catch(() => {});
    }
  }

  #set(trouble: string | null): void {
    const isAvailable = trouble === null;
    if (this.#isAvailable === isAvailable) return;
    this.#isAvailable = isAvailable;
    this.#changed(trouble);
  }
}
