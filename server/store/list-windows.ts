/**
 * Lists read a window of rows at a time, so that no statement is long: SQLite cannot interrupt a statement, and on
 * PostgreSQL a statement keeps a connection. If the filter finds too little in a few windows, the page is short and has
 * the start of the next page.
 */

import { type Expression, type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import { hasWords } from "../core/search.ts";
import { decodeAll } from "./quarantine.ts";
import { type DailyPositions, daysToAsk } from "./recent-days.ts";
import type { Database } from "./rows.ts";
import { narrowedId, perDialect, unindexed, valuesOf } from "./sql-dialects.ts";

/** The most rows that one statement reads: about 10 ms of a reader. */
const WINDOW_ROWS = 5_000;
/** The first window of a page is small: most pages are filled from it. */
const FIRST_WINDOW_ROWS = 500;
/** The most windows that one page reads. */
const WINDOWS_MAX = 20;
/** Texts that one statement reads for a search in this process. */
const TEXTS_AT_ONCE = 250;

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
  /** Words (`core/search.ts`) that the column `text` must have. `filter` may leave out rows that do not. */
  words?: string | undefined;
  /** May throw `RowUnreadable`; the row is then left out. */
  decode: (row: object) => Record_;
  /** The columns that are read, if not all. */
  columns?: readonly string[];
  placeOf: (record: Record_) => At;
  /** If the rows are in partitions (`onPartitions`): how positions tell days. */
  days?: DailyPositions<At>;
  /** Rows of a window, if a row costs more than usual. */
  windowRows?: number;
  /** Windows of one page, if not the usual number. */
  windowsMax?: number;
}

/** `column = value`, for `narrow`: the index is used. */
export function indexed(column: string, value: ListPosition): RawBuilder<SqlBool> {
  return sql<SqlBool>`${sql.ref(column)} = ${value}`;
}

/** `column = value`, for `filter`; empty without a value. */
export function is(column: string, value: ListPosition | undefined): RawBuilder<SqlBool>[] {
  return value === undefined ? [] : [sql<SqlBool>`${unindexed(column)} = ${value}`];
}

/** `column >= value`, for `filter`. */
export function since(column: string, value: number | undefined): RawBuilder<SqlBool>[] {
  return value === undefined ? [] : [sql<SqlBool>`${unindexed(column)} >= ${value}`];
}

/** `column < value`, for `filter`. */
export function until(column: string, value: number | undefined): RawBuilder<SqlBool>[] {
  return value === undefined ? [] : [sql<SqlBool>`${unindexed(column)} < ${value}`];
}

interface RowWindow<At> {
  from: At | null;
  /** The last row of the window; null: to the end of the list. */
  to: At | null;
  /** The end of the days that the window is in; null or none: of any days. */
  day?: At | null;
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
  const days = await endsOfDays(list, from);
  let place: PageStart<At> = { from, skip };
  let endsWithDay = false;
  for (let read = 0; endsWithDay || (read < windowsMax && records.length < limit); ) {
    const day = days[0] ?? null;
    const end = await endOf(
      list,
      { from: place.from, day },
      read === 0 ? Math.min(FIRST_WINDOW_ROWS, windowRows) : windowRows,
    );
    // A window that ends with a day is none of those that a page is limited to, and no page ends with it.
    endsWithDay = end === null && day !== null;
    if (endsWithDay) days.shift();
    else read += 1;
    const to = end ?? day;
    const window = { from: place.from, to, day };
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
 * Reads a page of a list whose rows are named: `ids` is a query with a small result. `narrow` is checked row by row
 * too.
 */
export async function readNamed<Record_, At extends ListPosition>(
  list: IndexedList<Record_, At>,
  ids: RawBuilder<unknown>,
  { from }: Pick<PageStart<At>, "from">,
  limit: number,
): Promise<ListPage<Record_, At>> {
  const named = sql<SqlBool>`id in (${ids})`;
  const namedList = { ...list, narrow: [named, ...list.narrow], isNamed: true };
  const found = await readIn(namedList, { from, to: null }, limit + 1, 0);
  const records = found.slice(0, limit);
  const last = records.at(-1);
  return { records, next: found.length > limit && last !== undefined ? { from: list.placeOf(last), skip: 0 } : null };
}

/** Counts the rows of a list that match, window by window, to the end. */
export async function countAll<Record_, At extends ListPosition>(list: IndexedList<Record_, At>): Promise<number> {
  let count = 0;
  for (let from: At | null = null; ; ) {
    const to: At | null = await endOf(list, { from }, WINDOW_ROWS);
    count += await countIn(list, { from, to });
    if (to === null) return count;
    from = to;
  }
}

/**
 * Whether the message `m` of a subquery is among the `rows` newest that match `theirs`. Bounds a subquery with further
 * filters: an index finds these rows.
 */
export function amongNewest(rows: number, theirs: RawBuilder<unknown>): RawBuilder<SqlBool> {
  return sql<SqlBool>`m.rowid >= coalesce((
    select m.rowid from messages m where ${theirs} order by m.rowid desc limit 1 offset ${sql.lit(rows - 1)}), 0)`;
}

type WindowQuery = Pick<
  IndexedList<unknown, ListPosition>,
  "db" | "table" | "column" | "columns" | "order" | "narrow" | "filter" | "words"
> & {
  days?: DailyPositions<ListPosition>;
  stop?: ListPosition;
  /** `narrow` names the rows. */
  isNamed?: boolean;
};

/** Where the days end that a page asks for first, in the order of the list. */
async function endsOfDays<Record_, At extends ListPosition>(
  { db, order, days }: IndexedList<Record_, At>,
  from: At | null,
): Promise<At[]> {
  if (days === undefined) return [];
  const found = await daysToAsk({ db, order }, from === null ? null : days.dayOf(from));
  return found.map((day) => days.beginningOf(day));
}

/**
 * The position of the row `rows` after `from`, up to the end of `day`; null if there are fewer. Reads only the index.
 */
async function endOf<At extends ListPosition>(
  list: WindowQuery,
  { from, day = null }: Pick<RowWindow<At>, "from" | "day">,
  rows: number,
): Promise<At | null> {
  const { db, table, column } = list;
  const query = sql<{ place: At }>`select ${sql.ref(column)} as place from ${sql.table(table)}
    where ${allOf([...list.narrow, ...rangeOf(list, { from, to: day, day })])}
    ${orderOf(list)} limit 1 offset ${rows - 1} + 0`;
  const { rows: found } = await query.execute(db);
  return found[0]?.place ?? null;
}

async function countIn<At extends ListPosition>(list: WindowQuery, window: RowWindow<At>): Promise<number> {
  if (list.words !== undefined) return (await matchingIds(list, window, Number.POSITIVE_INFINITY)).length;
  const { db, table } = list;
  const query = sql<{
    count: number;
  }>`select count(*) as count from ${sql.table(table)} where ${conditionsOf(list, window)}`;
  const { rows } = await query.execute(db);
  return Number(rows[0]?.count ?? 0);
}

async function readIn<Record_, At extends ListPosition>(
  list: IndexedList<Record_, At> & Pick<WindowQuery, "isNamed">,
  window: RowWindow<At>,
  limit: number,
  offset: number,
): Promise<Record_[]> {
  const { db, decode } = list;
  const records: Record_[] = [];
  for (let skipped = offset; ; ) {
    const wanted = limit - records.length;
    const rows = await (list.words === undefined ? rowsIn : searchedRowsIn)(list, window, wanted, skipped);
    records.push(...decodeAll(db, rows, decode));
    // Further rows replace rows that cannot be decoded, so that a short result is the end of the window.
    if (records.length === limit || rows.length < wanted) return records;
    skipped += rows.length;
  }
}

async function rowsIn(
  list: WindowQuery,
  window: RowWindow<ListPosition>,
  limit: number,
  offset: number,
): Promise<object[]> {
  const query = sql<object>`select ${columnsOf(list)} from ${sql.table(list.table)} where ${conditionsOf(list, window)}
      ${orderOf(list)} limit ${limit} + 0 offset ${offset} + 0`;
  return (await query.execute(list.db)).rows;
}

async function searchedRowsIn(
  list: WindowQuery,
  window: RowWindow<ListPosition>,
  limit: number,
  offset: number,
): Promise<object[]> {
  const ids = (await matchingIds(list, window, offset + limit)).slice(offset);
  if (ids.length === 0) return [];
  const query = sql<{
    id: string;
  }>`select ${columnsOf(list)} from ${sql.table(list.table)} where id in ${valuesOf(ids)}`;
  const { rows } = await query.execute(list.db);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** The ids of up to `limit` rows of a window whose text has the words, in order. */
async function matchingIds(list: WindowQuery, { from, to }: RowWindow<ListPosition>, limit: number): Promise<string[]> {
  const ids: string[] = [];
  for (let behind = from; ; ) {
    const query = sql<{ id: string; place: ListPosition; text: string | null }>`
      select id, ${sql.ref(list.column)} as place, text from ${sql.table(list.table)}
      where ${conditionsOf(list, { from: behind, to })} ${orderOf(list)} limit ${TEXTS_AT_ONCE} + 0`;
    const { rows } = await query.execute(list.db);
    for (const { id, text } of rows) {
      if (text !== null && hasWords(text, list.words ?? "")) ids.push(id);
      if (ids.length === limit) return ids;
    }
    behind = rows.at(-1)?.place ?? null;
    if (rows.length < TEXTS_AT_ONCE) return ids;
  }
}

function columnsOf({ column, columns }: WindowQuery): RawBuilder<unknown> {
  if (columns !== undefined) return sql.join(columns.map((name) => sql.ref(name)));
  return column === "rowid" ? sql`rowid as row_number, *` : sql`*`;
}

function conditionsOf(list: WindowQuery, window: RowWindow<ListPosition>): RawBuilder<unknown> {
  return allOf([...list.narrow, ...rangeOf(list, window), ...list.filter]);
}

/** At most one bound at either end: given two, SQLite would seek by one and compare the other row by row. */
function rangeOf(list: WindowQuery, window: RowWindow<ListPosition>): RawBuilder<SqlBool>[] {
  return [...boundsOf(list, window), ...partitionsOf(list, window)];
}

/** Bounds that name the partitions of PostgreSQL. A position as `placeOf` spells it does so only if it is a number. */
function partitionsOf(list: WindowQuery, { from, day = null }: RowWindow<ListPosition>): RawBuilder<SqlBool>[] {
  const { table, order, column, days } = list;
  if (days === undefined || column !== "id") return [];
  const [behind, before] = order === "newest" ? [1, 0] : [0, 1];
  const id = sql.ref(`${table}.id`);
  const begin = from === null ? Number.NaN : days.dayOf(from) + behind;
  const bound = (isBelow: number, at: ListPosition) => sql<SqlBool>`${id} ${sql.raw(isBelow === 1 ? "<" : ">=")} ${at}`;
  return [
    ...(Number.isNaN(begin) ? [] : [bound(behind, days.beginningOf(begin))]),
    ...(day === null ? [] : [bound(before, day)]),
  ];
}

function boundsOf(list: WindowQuery, { from, to }: RowWindow<ListPosition>): RawBuilder<SqlBool>[] {
  const { order, stop } = list;
  const [behind, before] = order === "newest" ? ["<", ">"] : [">", "<"];
  const place = placeOf(list);
  const bound = (operator: string, at: ListPosition) => sql<SqlBool>`${place} ${sql.raw(operator)} ${at}`;
  const begins = from === null ? [] : [bound(behind, from)];
  if (to !== null) return [...begins, bound(`${before}=`, to)];
  return stop === undefined ? begins : [...begins, bound(before, stop)];
}

function orderOf(list: WindowQuery): RawBuilder<unknown> {
  return sql`order by ${placeOf(list)} ${sql.raw(list.order === "newest" ? "desc" : "asc")}`;
}

/**
 * The column that orders the list, as its index has it. Rows that are named are sorted: no index is read in order for
 * them.
 */
function placeOf({ table, column, isNamed = false }: WindowQuery): RawBuilder<unknown> {
  const named = sql.ref(column);
  if (isNamed) return perDialect<unknown>(named, sql`${named} || ''`);
  return column === "id" ? narrowedId(table) : named;
}

function allOf(conditions: readonly Expression<SqlBool>[]): RawBuilder<unknown> {
  return sql.join(conditions, sql` and `);
}
