/**
 * Lists read a window of rows at a time: SQLite statements cannot be interrupted, so none may be long. A page whose filter
 * finds too little in a few windows is returned short, with the start of the next page.
 */

import { type Expression, type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import { decodeAll } from "./quarantine.ts";
import type { Database } from "./rows.ts";

/** The most rows that one statement reads: about 10 ms of a reader. */
const WINDOW_ROWS = 5_000;
/** The first window of a page is small: most pages are filled from it. */
const FIRST_WINDOW_ROWS = 500;
/** The most windows that one page reads. */
const WINDOWS_MAX = 20;

/** The position of a row in its list: an id, a row number, or the position of an event. */
export type ListPosition = string | number;

/** Where a page begins: after the row at `from` (null: at the first row), and after `skip` further matches. */
export interface PageStart<At extends ListPosition = string> {
  from: At | null;
  skip: number;
}

/** The beginning of a list. */
export const FIRST_PAGE = { from: null, skip: 0 } as const;

/** One page, and the start of the next one; null at the end of the list. */
export interface ListPage<Record_, At extends ListPosition = string> {
  records: Record_[];
  next: PageStart<At> | null;
}

/** A list in the order of an index. */
export interface IndexedList<Record_, At extends ListPosition = string> {
  db: Kysely<Database>;
  table: keyof Database & string;
  /** The unique column that orders the list, last in its index. */
  column: "id" | "position" | "rowid";
  order: "newest" | "oldest";
  /** Equalities with the columns of the index before `column`. A window counts rows that match them. */
  narrow: readonly Expression<SqlBool>[];
  /** The list ends before this position. */
  stop?: At;
  /** Conditions checked row by row. `is`, `since` and `until` keep SQLite from using another index for them. */
  filter: readonly Expression<SqlBool>[];
  /** May throw `RowUnreadable`; the row is then left out. */
  decode: (row: object) => Record_;
  placeOf: (record: Record_) => At;
  /** Rows of a window, if a row costs more than usual. */
  windowRows?: number;
  /** Windows of one page, if not the usual number. */
  windowsMax?: number;
}

/** A column with a unary plus, so that SQLite uses no index for it. */
function plain(column: string): RawBuilder<unknown> {
  return sql`+${sql.ref(column)}`;
}

/** `column = value`, for `narrow`: SQLite uses the index. */
export function indexed(column: string, value: ListPosition): RawBuilder<SqlBool> {
  return sql<SqlBool>`${sql.ref(column)} = ${value}`;
}

/** `column = value`, for `filter`; empty without a value. */
export function is(column: string, value: ListPosition | undefined): RawBuilder<SqlBool>[] {
  return value === undefined ? [] : [sql<SqlBool>`${plain(column)} = ${value}`];
}

/** `column >= value`, for `filter`. */
export function since(column: string, value: number | undefined): RawBuilder<SqlBool>[] {
  return value === undefined ? [] : [sql<SqlBool>`${plain(column)} >= ${value}`];
}

/** `column < value`, for `filter`. */
export function until(column: string, value: number | undefined): RawBuilder<SqlBool>[] {
  return value === undefined ? [] : [sql<SqlBool>`${plain(column)} < ${value}`];
}

interface RowWindow<At> {
  from: At | null;
  /** The last row of the window; null: to the end of the list. */
  to: At | null;
}

/**
 * Reads a page of up to `limit` records. A page may be shorter before the end of the list, if its windows hold no more
 * matches: `next` is not null then.
 */
export async function readPage<Record_, At extends ListPosition>(
  list: IndexedList<Record_, At>,
  { from, skip }: PageStart<At>,
  limit: number,
): Promise<ListPage<Record_, At>> {
  const { windowRows = WINDOW_ROWS, windowsMax = WINDOWS_MAX, placeOf } = list;
  const records: Record_[] = [];
  let place: PageStart<At> = { from, skip };
  for (let read = 0; read < windowsMax && records.length < limit; read += 1) {
    const to = await endOf(list, place.from, read === 0 ? Math.min(FIRST_WINDOW_ROWS, windowRows) : windowRows);
    const window = { from: place.from, to };
    const matching = place.skip === 0 ? null : await countIn(list, window);
    if (matching !== null && matching <= place.skip) {
      if (to === null) return { records, next: null };
      place = { from: to, skip: place.skip - matching };
      continue;
    }
    // Reads one record more, to know whether there is a next page.
    records.push(...(await readIn(list, window, limit + 1 - records.length, place.skip)));
    const last = records[limit - 1];
    if (records.length > limit && last !== undefined) {
      return { records: records.slice(0, limit), next: { from: placeOf(last), skip: 0 } };
    }
    if (to === null) return { records, next: null };
    place = { from: to, skip: 0 };
  }
  return { records, next: place };
}

/**
 * Reads a page of a list whose rows are named: `ids` is a query with a small result. `narrow` is checked row by row too.
 */
export async function readNamed<Record_, At extends ListPosition>(
  list: IndexedList<Record_, At>,
  ids: RawBuilder<unknown>,
  { from }: Pick<PageStart<At>, "from">,
  limit: number,
): Promise<ListPage<Record_, At>> {
  const named = sql<SqlBool>`id in (${ids})`;
  const found = await readIn({ ...list, narrow: [named, ...list.narrow] }, { from, to: null }, limit + 1, 0);
  const records = found.slice(0, limit);
  const last = records.at(-1);
  return { records, next: found.length > limit && last !== undefined ? { from: list.placeOf(last), skip: 0 } : null };
}

/** Counts the rows of a list that match, window by window, to the end. */
export async function countAll<Record_, At extends ListPosition>(list: IndexedList<Record_, At>): Promise<number> {
  let count = 0;
  for (let from: At | null = null; ; ) {
    const to: At | null = await endOf(list, from, WINDOW_ROWS);
    count += await countIn(list, { from, to });
    if (to === null) return count;
    from = to;
  }
}

/**
 * Whether the message `m` of a subquery is among the `rows` newest that match `theirs`, by an index without further columns.
 * It bounds a subquery that filters further.
 */
export function amongNewest(rows: number, theirs: RawBuilder<unknown>): RawBuilder<SqlBool> {
  return sql<SqlBool>`m.rowid >= coalesce((
    select m.rowid from messages m where ${theirs} order by m.rowid desc limit 1 offset ${sql.lit(rows - 1)}), 0)`;
}

type WindowQuery = Pick<
  IndexedList<unknown, ListPosition>,
  "db" | "table" | "column" | "order" | "narrow" | "filter"
> & {
  stop?: ListPosition;
};

/** The position of the row `rows` after `from`; null if there are fewer. Reads only the index. */
async function endOf<At extends ListPosition>(list: WindowQuery, from: At | null, rows: number): Promise<At | null> {
  const { db, table, column } = list;
  const query = sql<{ place: At }>`select ${sql.ref(column)} as place from ${sql.table(table)}
    where ${allOf([...list.narrow, ...rangeOf(list, { from, to: null })])}
    ${orderOf(list)} limit 1 offset ${rows - 1} + 0`;
  const { rows: found } = await query.execute(db);
  return found[0]?.place ?? null;
}

async function countIn<At extends ListPosition>(list: WindowQuery, window: RowWindow<At>): Promise<number> {
  const { db, table } = list;
  const query = sql<{
    count: number;
  }>`select count(*) as count from ${sql.table(table)} where ${conditionsOf(list, window)}`;
  const { rows } = await query.execute(db);
  return Number(rows[0]?.count ?? 0);
}

async function readIn<Record_, At extends ListPosition>(
  list: IndexedList<Record_, At>,
  window: RowWindow<At>,
  limit: number,
  offset: number,
): Promise<Record_[]> {
  const { db, table, decode } = list;
  const records: Record_[] = [];
  for (let skipped = offset; ; ) {
    const wanted = limit - records.length;
    const number = list.column === "rowid" ? sql`rowid as row_number, ` : sql``;
    const query = sql<object>`select ${number}* from ${sql.table(table)} where ${conditionsOf(list, window)}
      ${orderOf(list)} limit ${wanted} + 0 offset ${skipped} + 0`;
    const { rows } = await query.execute(db);
    records.push(...decodeAll(db, rows, decode));
    // Further rows replace rows that cannot be decoded, so that a short result is the end of the window.
    if (records.length === limit || rows.length < wanted) return records;
    skipped += rows.length;
  }
}

function conditionsOf(list: WindowQuery, window: RowWindow<ListPosition>): RawBuilder<unknown> {
  return allOf([...list.narrow, ...rangeOf(list, window), ...list.filter]);
}

/** At most one bound at either end: given two, SQLite would seek by one and compare the other row by row. */
function rangeOf({ column, order, stop }: WindowQuery, { from, to }: RowWindow<ListPosition>): RawBuilder<SqlBool>[] {
  const [behind, before] = order === "newest" ? ["<", ">"] : [">", "<"];
  const bound = (operator: string, at: ListPosition) => sql<SqlBool>`${sql.ref(column)} ${sql.raw(operator)} ${at}`;
  const begins = from === null ? [] : [bound(behind, from)];
  if (to !== null) return [...begins, bound(`${before}=`, to)];
  return stop === undefined ? begins : [...begins, bound(before, stop)];
}

function orderOf({ column, order }: WindowQuery): RawBuilder<unknown> {
  return sql`order by ${sql.ref(column)} ${sql.raw(order === "newest" ? "desc" : "asc")}`;
}

function allOf(conditions: readonly Expression<SqlBool>[]): RawBuilder<unknown> {
  return sql.join(conditions, sql` and `);
}
