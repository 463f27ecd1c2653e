/** Catches up with a Mac: what it did not tell, or told nobody, is asked for; how far that got is kept in memory. */

import { setBounded } from "../../core/bounded-map.ts";
import { recordOf } from "../../core/loose-json.ts";
import { PeerFault } from "../provider.ts";
import { describeFailure, type Failure, isServerError, type Limits } from "./client.ts";
import { ROW_PARTS } from "./fetch-rows.ts";
import type { Mac } from "./mac.ts";
import { type MacMessage, parseMessages } from "./records.ts";
import { clockOffMs } from "./status.ts";

const KEY = "catch-up";

/** Real milliseconds from the end of one pass to the next. */
const EVERY_MS = 60_000;
/** Passes that were called for begin so far apart, however often they are called for. */
const CALLED_EVERY_MS = 5_000;
/** Each pass begins so far before what was seen last: rows come to be a little late, and clocks differ. */
const OVERLAP_MS = 600_000;
/** A contact's message that is older than this when it is first seen came late from iCloud, unless we were away. */
const NEWS_MS = 86_400_000;
/** Deliveries and reads of older messages are asked for this often, for messages of the last seven days. */
const RECEIPTS_EVERY_MS = 300_000;
const RECEIPTS_OF_MS = 7 * 86_400_000;
/** Rows that came late, with old dates, are looked for this often. */
const LATE_EVERY_MS = 600_000;
/** How old the word of the last whole pass may get on disk. */
const KEPT_EVERY_MS = 300_000;

/** Rows of one request: as many as the Mac gives (`messageValidator`); fewer where an answer of so many gets lost. */
const ROWS_MAX = 1_000;
const ROWS_MIN = 25;
/** A Mac that always has more than this to say is not right. */
const ROWS_READ_MAX = 5_000_000;
/** Rows after one that the Mac breaks at among which one is looked for that it does not break at. */
const AHEAD_MAX = 100;
/** Places of such rows that are remembered, so that each is said once. */
const PLACES_MAX = 1_000;
/** Rows that are told of at once. */
const TOGETHER = 50;

/** 2001-01-01T00:00:00Z, where Apple's time begins, in epoch milliseconds. */
const APPLE_EPOCH_MS = 978_307_200_000;

/** How far it got. Instants are epoch milliseconds: `passedAt` and `bornAt` by our clock, the others by the Mac's. */
interface BackfillCursor {
  /** When the instance was first started: what came before is none of its business. */
  bornAt: number;
  /** The newest row of which everything told is on disk, as are all before it. */
  rowsAt: number;
  /** The newest receipt, likewise. */
  receiptsAt: number;
  /** The last row that was looked at for having come late; null: none yet. */
  rowId: number | null;
  /** When everything there was had been told of. */
  passedAt: number;
}

/** What came of reading: all that the Mac can give is told of, or not all, or there was no answer. */
type ReadResult = "whole" | "gaps" | "unread";

/** What a query of rows asks for, beside its page. */
interface RowQuery {
  after: number;
  where?: readonly { statement: string; args: Readonly<Record<string, number>> }[];
}

/** Where among them, by date: those from `after` on but for the first `offset`. `last`: the guid read before, if any. */
interface PagePosition {
  after: number;
  offset: number;
  limit: number;
  last: string | null;
}

/** What a query answered: `count` with those that are no rows. */
interface RowsResponse {
  kind: "ok";
  rows: readonly MacMessage[];
  count: number;
}

interface RowPage {
  rows: readonly MacMessage[];
  isLast: boolean;
  next: PagePosition;
}

export interface MacBackfillOptions {
  mac: Mac;
  /** Of what is asked of the Mac. */
  limits: Limits;
  ingest: (row: MacMessage) => Promise<boolean>;
  /** Done with each pass, before its rows: the hook is where it should be. */
  beforePass: () => Promise<void>;
}

export class MacBackfill {
  readonly #options: MacBackfillOptions;
  #state: BackfillCursor = { bornAt: 0, rowsAt: 0, receiptsAt: 0, rowId: null, passedAt: 0 };
  #kept = "";
  #keptPassedAt = 0;
  #receiptsReadAt = Number.NEGATIVE_INFINITY;
  #lateReadAt = Number.NEGATIVE_INFINITY;
  #rowsMax = ROWS_MAX;
  readonly #brokenBeside = new Map<string, true>();
  #running: Promise<void> | null = null;
  #isCalled = false;
  #calledAt = Number.NEGATIVE_INFINITY;
  #stopTimer = () => {};
  #stopped = false;

  constructor(options: MacBackfillOptions) {
    this.#options = options;
  }

  get bornAt(): number {
    return this.#state.bornAt - this.#apartMs();
  }

  /** Contacts' rows from before are no news: a day old, and older than the last time when all was told. */
  freshFrom(): number {
    const { passedAt } = this.#state;
    return Math.max(this.bornAt, Math.min(this.#now() - NEWS_MS, passedAt - OVERLAP_MS - this.#apartMs()));
  }

  /** Reads how far it got, or begins with now; the first pass begins at once. */
  async start(): Promise<void> {
    const { memory } = this.#options.mac.context;
    const now = this.#now();
    const entry = (await memory.list(KEY)).find(({ key }) => key === KEY);
    const stored = entry === undefined ? null : parseState(entry.value);
    this.#state = stored ?? { bornAt: now, rowsAt: now, receiptsAt: now, rowId: null, passedAt: now };
    if (stored === null) await this.#keep(true);
    this.#begin();
  }

  /** Begins a pass now, when the one under way ends, or as soon as the last one that was called for is a while ago. */
  trigger(): void {
    if (this.#stopped) return;
    this.#isCalled = true;
    if (this.#running !== null) return;
    const waitMs = Math.min(CALLED_EVERY_MS, this.#calledAt + CALLED_EVERY_MS - this.#now());
    if (waitMs <= 0) this.#begin();
    else this.#plan(waitMs);
  }

  #begin(): void {
    this.#stopTimer();
    if (this.#isCalled) this.#calledAt = this.#now();
    this.#isCalled = false;
    this.#running = this.#passed().finally(() => {
      this.#running = null;
      if (this.#isCalled) this.trigger();
      else this.#plan(EVERY_MS);
    });
  }

  #plan(afterMs: number): void {
    this.#stopTimer();
    if (!this.#stopped) this.#stopTimer = this.#options.mac.context.clock.after(afterMs, () => this.#begin());
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopTimer();
    await this.#running;
  }

  async #passed(): Promise<void> {
    try {
      await this.#pass();
    } catch (error) {
      this.#options.mac.context.fault(error);
    }
  }

  async #pass(): Promise<void> {
    await this.#options.beforePass();
    const beganAt = this.#now();
    const rows = await this.#readRows();
    if (rows === "unread") return;
    if (beganAt - this.#receiptsReadAt >= RECEIPTS_EVERY_MS && (await this.#readReceipts()) !== "unread") {
      this.#receiptsReadAt = beganAt;
    }
    if (beganAt - this.#lateReadAt >= LATE_EVERY_MS && (await this.#readLate()) !== "unread") {
      this.#lateReadAt = beganAt;
    }
    if (rows === "whole") this.#state.passedAt = beganAt;
    await this.#keep();
  }

  /** Rows since the last one. */
  async #readRows(): Promise<ReadResult> {
    return this.#read({ after: this.#state.rowsAt - OVERLAP_MS - this.#apartMs() }, async (rows) => {
      // A date in the future would hide all that comes before it.
      const newest = Math.min(
        this.#now(),
        newestOf(rows, ({ dateCreated }) => dateCreated),
      );
      this.#state.rowsAt = Math.max(this.#state.rowsAt, newest);
      await this.#keep();
    });
  }

  /** Our own messages of the last week that were delivered or read since the last look. */
  async #readReceipts(): Promise<ReadResult> {
    const where = [
      { statement: "message.is_from_me = :m", args: { m: 1 } },
      {
        statement: "(message.date_delivered >= :d OR message.date_read >= :d)",
        args: { d: appleTime(this.#state.receiptsAt - OVERLAP_MS - this.#apartMs()) },
      },
    ];
    let newest = this.#state.receiptsAt;
    const read = await this.#read({ after: this.#now() - RECEIPTS_OF_MS, where }, (rows) => {
      newest = Math.max(
        newest,
        newestOf(rows, (row) => Math.max(row.dateDelivered ?? 0, row.dateRead ?? 0)),
      );
    });
    // They come by the date of their message: of some of them there is no saying which were the newest.
    if (read === "whole") this.#state.receiptsAt = Math.min(this.#now(), newest);
    return read;
  }

  /** Rows that came to the Mac since the last look, whatever their date says. */
  async #readLate(): Promise<ReadResult> {
    const { rowId } = this.#state;
    if (rowId === null) {
      const newest = await this.#ask({ after: 0 }, { limit: 1, offset: 0, sort: "DESC" });
      if (newest.kind !== "ok") return "unread";
      this.#state.rowId = newest.rows[0]?.rowId ?? 0;
      return "whole";
    }
    const where = [{ statement: "message.ROWID > :r", args: { r: rowId } }];
    let last = rowId;
    const read = await this.#read({ after: this.freshFrom(), where }, (rows) => {
      last = Math.max(
        last,
        newestOf(rows, (row) => row.rowId),
      );
    });
    if (read === "whole") this.#state.rowId = last;
    return read;
  }

  /**
   * Reads page by page, oldest first, and tells. `progressed` is given, page by page, the rows that are told of with
   * none left out before them, but for such as the Mac breaks at. Each page begins with the date that the one before it
   * ended with: rows that are deleted meanwhile move no others out of sight.
   */
  async #read(
    wanted: RowQuery,
    progressed: (rows: readonly MacMessage[]) => Promise<void> | void,
  ): Promise<ReadResult> {
    let place: PagePosition = { after: wanted.after, offset: 0, limit: this.#rowsMax, last: null };
    let isGapless = true;
    for (let read = 0; read < ROWS_READ_MAX && !this.#stopped; read += place.limit) {
      const page = await this.#page(wanted, place);
      if (page === "unread" || page === "gaps") return page;
      const told: MacMessage[] = [];
      for (let start = 0; start < page.rows.length; start += TOGETHER) {
        const rows = page.rows.slice(start, start + TOGETHER);
        const done = await Promise.all(rows.map((row) => this.#options.ingest(row)));
        const first = done.indexOf(false);
        if (isGapless) told.push(...(first < 0 ? rows : rows.slice(0, first)));
        if (first >= 0) isGapless = false;
      }
      await progressed(told);
      if (page.isLast) {
        this.#rowsMax = Math.min(ROWS_MAX, this.#rowsMax * 2);
        return isGapless ? "whole" : "gaps";
      }
      place = page.next;
    }
    return "unread";
  }

  /**
   * The rows at a place: fewer, and at last one alone, where the Mac breaks at them. One that it broke at alone is passed
   * by if it breaks at it again after it gave another that comes later: so it is the row, and not the Mac. Where it
   * gives none that does, nothing is passed by, and there are gaps.
   */
  async #page(wanted: RowQuery, place: PagePosition): Promise<RowPage | "unread" | "gaps"> {
    const { after } = place;
    let { offset, limit } = place;
    /** The next row that it gave, after such as it broke at. */
    let sound = { guid: "", offset };
    while (!this.#stopped) {
      const answer = await this.#ask({ ...wanted, after }, { limit, offset, sort: "ASC" });
      if (answer.kind === "ok") return this.#pageOf(answer, { ...place, offset, limit });
      if (!isServerError(answer)) return "unread";
      if (limit > 1) {
        limit = Math.floor(limit / 4) || 1;
      } else if (offset < sound.offset) {
        this.#brokeAt(answer, sound.guid);
        offset += 1;
      } else {
        const next = await this.#soundAfter({ ...wanted, after }, offset);
        if (next === "unread") return "unread";
        if (next === null) {
          this.#brokeAt(answer, place.last);
          return "gaps";
        }
        sound = next;
      }
    }
    return "unread";
  }

  #pageOf({ rows, count }: RowsResponse, { after, offset, limit, last }: PagePosition): RowPage {
    // Dates are finer on the Mac than they are told.
    const next = newestOf(rows, ({ dateCreated }) => dateCreated) - 1;
    const from = next > after ? { after: next, offset: 0 } : { after, offset: offset + limit };
    const then = { ...from, limit: Math.min(this.#rowsMax, limit * 4), last: rows.at(-1)?.guid ?? last };
    return { rows, isLast: count < limit, next: then };
  }

  /** The first row after the one at `offset` that the Mac gives when it is asked for it alone; null: there is none. */
  async #soundAfter(wanted: RowQuery, offset: number): Promise<{ guid: string; offset: number } | null | "unread"> {
    for (let ahead = 1; ahead <= AHEAD_MAX; ahead += 1) {
      const answer = await this.#ask(wanted, { limit: 1, offset: offset + ahead, sort: "ASC" });
      if (answer.kind === "ok" && answer.count === 0) return null;
      if (answer.kind === "ok") return { guid: answer.rows[0]?.guid ?? "", offset: offset + ahead };
      if (!isServerError(answer)) return "unread";
    }
    return null;
  }

  /** Says it once of each place, which is known by a row beside it; where the Mac gives no row at all, each time. */
  #brokeAt(failure: Failure, beside: string | null): void {
    if (beside === null) this.#unread(failure);
    if (beside === null || this.#brokenBeside.has(beside)) return;
    setBounded(this.#brokenBeside, beside, true, PLACES_MAX);
    this.#options.mac.context.fault(new PeerFault("the Mac breaks at a row of its messages, which is not told of"));
  }

  #unread(failure: Failure): void {
    this.#options.mac.context.fault(new PeerFault(`rows were not read: ${describeFailure(failure)}`));
  }

  async #ask(
    { after, where = [] }: RowQuery,
    page: { limit: number; offset: number; sort: "ASC" | "DESC" },
  ): Promise<RowsResponse | Failure> {
    const { mac, limits } = this.#options;
    const body = { ...page, after: Math.max(0, after), with: ROW_PARTS, where };
    const answer = await mac.client.query("/message/query", body, limits);
    if (answer.kind === "ok") {
      const count = Array.isArray(answer.data) ? answer.data.length : 0;
      return { kind: "ok", rows: parseMessages(answer.data), count };
    }
    // An answer that is too long, or too slow on its way, would be so each time.
    if (answer.kind === "lost") this.#rowsMax = Math.max(ROWS_MIN, Math.floor(page.limit / 4));
    // A Mac that cannot be reached is no news: its health says so.
    if (answer.kind === "answered" && !isServerError(answer)) this.#unread(answer);
    return answer;
  }

  async #keep(now = false): Promise<void> {
    const { passedAt, ...far } = this.#state;
    const text = JSON.stringify(far);
    if (!now && text === this.#kept && passedAt - this.#keptPassedAt < KEPT_EVERY_MS) return;
    await this.#options.mac.context.memory.put(KEY, JSON.stringify(this.#state));
    this.#kept = text;
    this.#keptPassedAt = passedAt;
  }

  #apartMs(): number {
    return clockOffMs(this.#options.mac.health.info);
  }

  #now(): number {
    return this.#options.mac.context.clock.real();
  }
}

function parseState(text: string): BackfillCursor | null {
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

/** Apple's nanoseconds: whole ones, as far as a number holds them. */
function appleTime(ms: number): number {
  return (ms - APPLE_EPOCH_MS) * 1_000_000;
}

function newestOf(rows: readonly MacMessage[], at: (row: MacMessage) => number | null): number {
  return rows.reduce((newest, row) => Math.max(newest, at(row) ?? 0), 0);
}
