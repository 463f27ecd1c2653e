/** Pages through the Mac's message table, oldest row first. Skips rows that BlueBubbles answers with 500. */

import { setBounded } from "../../core/bounded-map.ts";
import { PeerFault } from "../provider.ts";
import { describeFailure, type Failure, isServerError, type Limits } from "./client.ts";
import { ROW_PARTS } from "./fetch-rows.ts";
import type { Mac } from "./mac.ts";
import { type MacMessage, newestOf, parseMessages } from "./records.ts";

/** Rows of one request: the Mac's own maximum (`messageValidator`), and fewer if such a response gets lost. */
const ROWS_MAX = 1_000;
const ROWS_MIN = 25;
/** Rows tried after a broken row, to find one that the Mac can return. */
const LOOKAHEAD_MAX = 100;
/** Broken rows remembered, so that each is logged once. */
const BROKEN_ROWS_MAX = 1_000;

/** Filter of a query. */
export interface RowQuery {
  /** Earliest date, by the Mac's clock. */
  after: number;
  where?: readonly { statement: string; args: Readonly<Record<string, number>> }[];
}

/** Position in a query's rows: those from `after` on, without the first `offset`. */
export interface PagePosition {
  after: number;
  offset: number;
  limit: number;
  /** Guid of the last row read; null at the beginning. */
  last: string | null;
}

export interface RowPage {
  rows: readonly MacMessage[];
  isLast: boolean;
  next: PagePosition;
}

/** Rows of one response. `count` includes entries that are no rows. */
interface RowsResponse {
  kind: "ok";
  rows: readonly MacMessage[];
  count: number;
}

/** Page reader of one Mac. Learns how many rows a response may have. */
export class RowPages {
  readonly #mac: Mac;
  readonly #limits: Limits;
  readonly #isStopped: () => boolean;
  #rowsMax = ROWS_MAX;
  /** Broken rows, each identified by the next row that the Mac could return. */
  readonly #brokenBefore = new Map<string, true>();

  constructor(mac: Mac, limits: Limits, isStopped: () => boolean) {
    this.#mac = mac;
    this.#limits = limits;
    this.#isStopped = isStopped;
  }

  /** Position of a query's first page. */
  firstPage({ after }: RowQuery): PagePosition {
    return { after, offset: 0, limit: this.#rowsMax, last: null };
  }

  /** The last page was read: the next query may use larger pages again. */
  finished(): void {
    this.#rowsMax = Math.min(ROWS_MAX, this.#rowsMax * 2);
  }

  /** Returns the `ROWID` of the newest row, 0 if there is none, or a failure. */
  async newestRowId(): Promise<number | Failure> {
    const response = await this.#fetch({ after: 0 }, { limit: 1, offset: 0, sort: "DESC" });
    return response.kind === "ok" ? (response.rows[0]?.rowId ?? 0) : response;
  }

  /**
   * Reads the page at a position. If the Mac fails at the page, reads smaller pages down to single rows. A single row at
   * which the Mac fails is skipped if the Mac fails again right after it returned a later row: then the row is broken, not
   * the Mac. Returns `gaps` if no later row can be read, and `unread` if the Mac did not respond.
   */
  async read(query: RowQuery, position: PagePosition): Promise<RowPage | "unread" | "gaps"> {
    const { after } = position;
    let { offset, limit } = position;
    /** The next row that the Mac returned, after the broken ones. */
    let readable = { guid: "", offset };
    while (!this.#isStopped()) {
      const response = await this.#fetch({ ...query, after }, { limit, offset, sort: "ASC" });
      if (response.kind === "ok") return this.#pageOf(response, { ...position, offset, limit });
      if (!isServerError(response)) return "unread";
      if (limit > 1) {
        limit = Math.floor(limit / 4) || 1;
      } else if (offset < readable.offset) {
        this.#logBrokenRow(readable.guid);
        offset += 1;
      } else {
        const next = await this.#findReadable({ ...query, after }, offset);
        if (next === "unread") return "unread";
        if (next === null) {
          if (position.last === null) this.#logUnread(response);
          else this.#logBrokenRow(position.last);
          return "gaps";
        }
        readable = next;
      }
    }
    return "unread";
  }

  #pageOf({ rows, count }: RowsResponse, { after, offset, limit, last }: PagePosition): RowPage {
    // The Mac compares dates with a finer resolution than it returns.
    const newest = newestOf(rows, ({ dateCreated }) => dateCreated) - 1;
    const from = newest > after ? { after: newest, offset: 0 } : { after, offset: offset + limit };
    const next = { ...from, limit: Math.min(this.#rowsMax, limit * 4), last: rows.at(-1)?.guid ?? last };
    return { rows, isLast: count < limit, next };
  }

  /** Finds the first row after the one at `offset` that the Mac returns by itself; null if there is none. */
  async #findReadable(query: RowQuery, offset: number): Promise<{ guid: string; offset: number } | null | "unread"> {
    for (let ahead = 1; ahead <= LOOKAHEAD_MAX; ahead += 1) {
      const response = await this.#fetch(query, { limit: 1, offset: offset + ahead, sort: "ASC" });
      if (response.kind === "ok" && response.count === 0) return null;
      if (response.kind === "ok") return { guid: response.rows[0]?.guid ?? "", offset: offset + ahead };
      if (!isServerError(response)) return "unread";
    }
    return null;
  }

  /** Logs a broken row once. The row has no guid here: the neighbour's guid stands for it. */
  #logBrokenRow(neighbour: string): void {
    if (this.#brokenBefore.has(neighbour)) return;
    setBounded(this.#brokenBefore, neighbour, true, BROKEN_ROWS_MAX);
    this.#mac.context.fault(new PeerFault("BlueBubbles fails to read one row of its messages; the row is skipped"));
  }

  #logUnread(failure: Failure): void {
    this.#mac.context.fault(new PeerFault(`rows could not be read: ${describeFailure(failure)}`));
  }

  async #fetch(
    { after, where = [] }: RowQuery,
    page: { limit: number; offset: number; sort: "ASC" | "DESC" },
  ): Promise<RowsResponse | Failure> {
    const body = { ...page, after: Math.max(0, after), with: ROW_PARTS, where };
    const response = await this.#mac.client.query("/message/query", body, this.#limits);
    if (response.kind === "ok") {
      const count = Array.isArray(response.data) ? response.data.length : 0;
      return { kind: "ok", rows: parseMessages(response.data), count };
    }
    // A response that is too long or too slow would get lost each time.
    if (response.kind === "noResponse") this.#rowsMax = Math.max(ROWS_MIN, Math.floor(page.limit / 4));
    // An unreachable Mac is not logged: its health shows that.
    if (response.kind === "errorResponse" && !isServerError(response)) this.#logUnread(response);
    return response;
  }
}
