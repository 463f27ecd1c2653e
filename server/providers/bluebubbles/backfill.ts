/** Backfill: reads the rows that no event reported, once a minute. A cursor in the instance's memory marks how far it got. */

import { recordOf } from "../../core/loose-json.ts";
import { RepeatingTask } from "../../core/repeating-task.ts";
import type { Limits } from "./client.ts";
import type { Mac } from "./mac.ts";
import { type MacMessage, newestOf } from "./records.ts";
import { RowPages, type RowQuery } from "./row-pages.ts";
import { clockOffMs } from "./status.ts";

/** Key in the instance's memory. */
const KEY = "catch-up";

/** Real milliseconds from the end of one pass to the next. */
const EVERY_MS = 60_000;
/** Minimum time between two triggered passes. */
const TRIGGERED_EVERY_MS = 5_000;
/** Each pass begins this long before the newest row seen: rows appear a little late, and clocks differ. */
const OVERLAP_MS = 600_000;
/** A contact's message older than this came late from iCloud, and is not reported unless the service was away. */
const NEWS_MS = 86_400_000;
/** Interval of the receipt pass, which covers messages of the last seven days. */
const RECEIPTS_EVERY_MS = 300_000;
const RECEIPTS_OF_MS = 7 * 86_400_000;
/** Interval of the pass that finds new rows with old dates. */
const LATE_EVERY_MS = 600_000;
/** The end of the last pass is stored at least this often. */
const STORED_EVERY_MS = 300_000;

/** Limit of one pass: a Mac that always has more rows is faulty. */
const ROWS_READ_MAX = 5_000_000;
/** Rows ingested at once. */
const ROWS_AT_ONCE = 50;

/** 2001-01-01T00:00:00Z, the beginning of Apple's time, in epoch milliseconds. */
const APPLE_EPOCH_MS = 978_307_200_000;

/** Stored as JSON. Instants are epoch milliseconds: `bornAt` and `passedAt` by our clock, the others by the Mac's. */
interface BackfillCursor {
  /** First start of the instance. Rows from before are never reported. */
  bornAt: number;
  /** Date of the newest row that was ingested with all rows before it. */
  rowsAt: number;
  /** Date of the newest receipt that was ingested with all receipts before it. */
  receiptsAt: number;
  /** `ROWID` up to which rows with old dates were ingested; null before the first such pass. */
  rowId: number | null;
  /** Start of the last pass that ingested every row. */
  passedAt: number;
}

/** Result of reading rows: all were ingested, some are missing, or the Mac did not respond. */
type BackfillResult = "whole" | "gaps" | "unread";

export interface MacBackfillOptions {
  mac: Mac;
  limits: Limits;
  /** Ingests a row. Resolves false if the row must be read again. */
  ingest: (row: MacMessage) => Promise<boolean>;
  /** Called before each pass. */
  beforePass: () => Promise<void>;
}

export class MacBackfill {
  readonly #options: MacBackfillOptions;
  readonly #pages: RowPages;
  #cursor: BackfillCursor = { bornAt: 0, rowsAt: 0, receiptsAt: 0, rowId: null, passedAt: 0 };
  #storedText = "";
  #storedPassedAt = 0;
  #receiptsReadAt = Number.NEGATIVE_INFINITY;
  #lateReadAt = Number.NEGATIVE_INFINITY;
  readonly #passes: RepeatingTask;
  #isTriggered = false;
  #triggeredAt = Number.NEGATIVE_INFINITY;

  constructor(options: MacBackfillOptions) {
    this.#options = options;
    const { clock, fault } = options.mac.context;
    this.#passes = new RepeatingTask({ clock, run: () => this.#run(), fault, retryMs: EVERY_MS });
    this.#pages = new RowPages(options.mac, options.limits, () => this.#passes.isStopped);
  }

  get bornAt(): number {
    return this.#cursor.bornAt - this.#clockOffMs();
  }

  /** Contacts' rows from before this instant are not reported: they are a day old, and older than the last complete pass. */
  freshFrom(): number {
    const { passedAt } = this.#cursor;
    return Math.max(this.bornAt, Math.min(this.#now() - NEWS_MS, passedAt - OVERLAP_MS - this.#clockOffMs()));
  }

  /** Reads the stored cursor, or begins with now, and begins the first pass. */
  async start(): Promise<void> {
    const { memory } = this.#options.mac.context;
    const now = this.#now();
    const entry = (await memory.list(KEY)).find(({ key }) => key === KEY);
    const stored = entry === undefined ? null : parseCursor(entry.value);
    this.#cursor = stored ?? { bornAt: now, rowsAt: now, receiptsAt: now, rowId: null, passedAt: now };
    if (stored === null) await this.#store(true);
    void this.#passes.run();
  }

  /** Requests a pass. It begins now, or after the current pass, or when the last triggered pass is long enough ago. */
  trigger(): void {
    this.#isTriggered = true;
    if (this.#passes.isRunning) return;
    const waitMs = this.#untilTriggeredMs();
    if (waitMs <= 0) void this.#passes.run();
    else this.#passes.schedule(waitMs);
  }

  stop(): Promise<void> {
    return this.#passes.stop();
  }

  async #run(): Promise<number> {
    if (this.#isTriggered) this.#triggeredAt = this.#now();
    this.#isTriggered = false;
    await this.#pass().catch(this.#options.mac.context.fault);
    return this.#isTriggered ? Math.max(0, this.#untilTriggeredMs()) : EVERY_MS;
  }

  #untilTriggeredMs(): number {
    return Math.min(TRIGGERED_EVERY_MS, this.#triggeredAt + TRIGGERED_EVERY_MS - this.#now());
  }

  async #pass(): Promise<void> {
    await this.#options.beforePass();
    const beganAt = this.#now();
    const rows = await this.#readRows();
    if (rows === "unread") return;
    // A row that cannot be ingested holds back neither receipts nor late rows.
    if (beganAt - this.#receiptsReadAt >= RECEIPTS_EVERY_MS && (await this.#readReceipts()) !== "unread") {
      this.#receiptsReadAt = beganAt;
    }
    if (beganAt - this.#lateReadAt >= LATE_EVERY_MS && (await this.#readLate()) !== "unread") {
      this.#lateReadAt = beganAt;
    }
    if (rows === "whole") this.#cursor.passedAt = beganAt;
    await this.#store();
  }

  /** Reads the rows since the cursor. */
  async #readRows(): Promise<BackfillResult> {
    return this.#read({ after: this.#cursor.rowsAt - OVERLAP_MS - this.#clockOffMs() }, async (rows) => {
      // A date in the future would hide every row before it.
      const newest = Math.min(
        this.#now(),
        newestOf(rows, ({ dateCreated }) => dateCreated),
      );
      this.#cursor.rowsAt = Math.max(this.#cursor.rowsAt, newest);
      await this.#store();
    });
  }

  /** Reads our own messages of the last week that were delivered or read since the last look. */
  async #readReceipts(): Promise<BackfillResult> {
    const where = [
      { statement: "message.is_from_me = :m", args: { m: 1 } },
      {
        statement: "(message.date_delivered >= :d OR message.date_read >= :d)",
        args: { d: appleTime(this.#cursor.receiptsAt - OVERLAP_MS - this.#clockOffMs()) },
      },
    ];
    let newest = this.#cursor.receiptsAt;
    const result = await this.#read({ after: this.#now() - RECEIPTS_OF_MS, where }, (rows) => {
      newest = Math.max(
        newest,
        newestOf(rows, (row) => Math.max(row.dateDelivered ?? 0, row.dateRead ?? 0)),
      );
    });
    // Rows come in the order of their messages, not of their receipts: with a gap the newest ingested receipt is unknown.
    if (result === "whole") this.#cursor.receiptsAt = Math.min(this.#now(), newest);
    return result;
  }

  /** Reads the rows added to the Mac since the last look, whatever their dates. */
  async #readLate(): Promise<BackfillResult> {
    const { rowId } = this.#cursor;
    if (rowId === null) {
      const newest = await this.#pages.newestRowId();
      // If the Mac fails at its newest row, the next pass tries again.
      if (typeof newest !== "number") return "unread";
      this.#cursor.rowId = newest;
      return "whole";
    }
    const where = [{ statement: "message.ROWID > :r", args: { r: rowId } }];
    let last = rowId;
    const result = await this.#read({ after: this.freshFrom(), where }, (rows) => {
      last = Math.max(
        last,
        newestOf(rows, (row) => row.rowId),
      );
    });
    if (result === "whole") this.#cursor.rowId = last;
    return result;
  }

  /**
   * Reads page by page, oldest row first, and ingests the rows. After each page `progressed` receives the rows before which
   * every row was ingested; broken rows do not count. Each page begins with the last date of the page before, so that rows
   * deleted meanwhile hide no others.
   */
  async #read(
    query: RowQuery,
    progressed: (rows: readonly MacMessage[]) => Promise<void> | void,
  ): Promise<BackfillResult> {
    let position = this.#pages.firstPage(query);
    let isGapless = true;
    for (let read = 0; read < ROWS_READ_MAX && !this.#passes.isStopped; read += position.limit) {
      const page = await this.#pages.read(query, position);
      if (page === "unread" || page === "gaps") return page;
      const ingested: MacMessage[] = [];
      for (let start = 0; start < page.rows.length; start += ROWS_AT_ONCE) {
        const rows = page.rows.slice(start, start + ROWS_AT_ONCE);
        const done = await Promise.all(rows.map((row) => this.#options.ingest(row)));
        const first = done.indexOf(false);
        if (isGapless) ingested.push(...(first < 0 ? rows : rows.slice(0, first)));
        if (first >= 0) isGapless = false;
      }
      await progressed(ingested);
      if (page.isLast) {
        this.#pages.finished();
        return isGapless ? "whole" : "gaps";
      }
      position = page.next;
    }
    return "unread";
  }

  async #store(now = false): Promise<void> {
    const { passedAt, ...rest } = this.#cursor;
    const text = JSON.stringify(rest);
    if (!now && text === this.#storedText && passedAt - this.#storedPassedAt < STORED_EVERY_MS) return;
    await this.#options.mac.context.memory.put(KEY, JSON.stringify(this.#cursor));
    this.#storedText = text;
    this.#storedPassedAt = passedAt;
  }

  #clockOffMs(): number {
    return clockOffMs(this.#options.mac.health.info);
  }

  #now(): number {
    return this.#options.mac.context.clock.real();
  }
}

function parseCursor(text: string): BackfillCursor | null {
  const record = recordOf(JSON.parse(text));
  const { bornAt, rowsAt, receiptsAt, rowId, passedAt } = record ?? {};
  if (typeof bornAt !== "number" || typeof rowsAt !== "number" || typeof passedAt !== "number") return null;
  return {
    bornAt,
    rowsAt,
    passedAt,
    receiptsAt: typeof receiptsAt === "number" ? receiptsAt : rowsAt,
    rowId: typeof rowId === "number" ? rowId : null,
  };
}

/** Apple's nanoseconds, as precise as a number allows. */
function appleTime(ms: number): number {
  return (ms - APPLE_EPOCH_MS) * 1_000_000;
}
