/**
 * Reads of the request log: lists by filters, one request with its bodies, the errors in groups, the shares of
 * customers.
 */

import { type Expression, type Kysely, type SqlBool, sql } from "kysely";
import type { ErrorCode } from "../../sdk/wire.ts";
import type { LoggedTexts } from "../core/erased-request.ts";
import type { CustomerId, KeyId } from "../core/id.ts";
import type { ErrorGroup, LoggedRequest, RequestHead } from "../core/logged-request.ts";
import { type IndexedList, indexed, is, type ListPage, readPage, since, until } from "./list-windows.ts";
import { type Database, decode, LAYOUT } from "./rows.ts";
import { unindexed } from "./sql-dialects.ts";

/** Rows of a window: some have bodies, which a filter reads past. */
const WINDOW_ROWS = 2_000;
/** One page looks at the whole log: it has at most 50,000 requests. */
const WINDOWS_MAX = 25;
/** Errors that one statement groups. */
const ERRORS_AT_ONCE = 5_000;
const GROUPS_MAX = 100;

/** The requests of a customer, of one key, of both; neither: all. */
export interface RequestsOf {
  customerId?: CustomerId | undefined;
  keyId?: KeyId | undefined;
}

/** Times of the service's clock; `untilAt` is exclusive. */
interface RequestPeriod {
  sinceAt?: number | undefined;
  untilAt?: number | undefined;
}

/** A filter of the list. `statusMax` is exclusive. */
export interface RequestFilter extends RequestsOf, RequestPeriod {
  statusMin?: number | undefined;
  statusMax?: number | undefined;
  method?: string | undefined;
  /** The beginning of the path. */
  path?: string | undefined;
  code?: ErrorCode | undefined;
  correlationId?: string | undefined;
  /** Requests with this correlation id (null: none), or with a path that begins so. */
  about?: { correlationId: string | null; path: string } | undefined;
}

/** A request of a list, with its position. */
export interface PositionedRequest extends RequestHead {
  position: number;
}

/** A direction of reading, from a position (exclusive; null: from the end). */
interface RequestPage {
  order: "newest" | "oldest";
  from: number | null;
  limit: number;
}

const HEAD_COLUMNS = [
  "position",
  ...LAYOUT.requests.map(({ column }) => column).filter((column) => !/^(request|response)(_cut)?$/.test(column)),
];

/** A page of the log, without bodies. */
export function listRequests(
  db: Kysely<Database>,
  filter: RequestFilter,
  { order, from, limit }: RequestPage,
): Promise<ListPage<PositionedRequest, number>> {
  const { customerId, statusMin, statusMax, method, code, correlationId, path, about } = filter;
  const list: IndexedList<PositionedRequest, number> = {
    db,
    table: "requests",
    column: "position",
    columns: HEAD_COLUMNS,
    order,
    narrow: [customerId === undefined ? sql<SqlBool>`true` : indexed("customer_id", customerId)],
    filter: [
      ...is("key_id", filter.keyId),
      ...during(filter),
      ...since("status", statusMin),
      ...until("status", statusMax),
      ...is("method", method),
      ...is("error_code", code),
      ...is("correlation_id", correlationId),
      ...(path === undefined ? [] : [beginsWith(path)]),
      ...(about === undefined ? [] : [isAbout(about)]),
    ],
    decode: (row) => ({ ...decode("requests", row), position: (row as { position: number }).position }),
    placeOf: ({ position }) => position,
    windowRows: WINDOW_ROWS,
    windowsMax: WINDOWS_MAX,
  };
  return readPage(list, { from, skip: 0 }, limit);
}

/** The newest request with this id, and its position; null if there is none. May throw `RowUnreadable`. */
export async function findRequest(
  db: Kysely<Database>,
  id: string,
  whose: RequestsOf,
): Promise<(LoggedRequest & { position: number }) | null> {
  const conditions = [sql<SqlBool>`id = ${id}`, ...ofOwner(whose)];
  const { rows } = await sql<object & { position: number }>`select * from requests
    where ${sql.join(conditions, sql` and `)} order by position desc limit 1`.execute(db);
  const [row] = rows;
  return row === undefined ? null : { ...decode("requests", row), position: row.position };
}

/** The errors of the log in groups, the largest first. */
export async function groupErrors(
  db: Kysely<Database>,
  whose: RequestsOf,
  period: RequestPeriod,
): Promise<ErrorGroup[]> {
  const groups = new Map<string, GroupRow>();
  for (let from: number | null = null; ; ) {
    const to: number | null = await endOfErrors(db, from);
    for (const row of await groupsIn(db, { from, to }, [...ofOwner(whose), ...during(period)])) addTo(groups, row);
    if (to === null) break;
    from = to;
  }
  const largest = [...groups.values()].sort((a, b) => b.count - a.count || b.position - a.position);
  return withLast(db, largest.slice(0, GROUPS_MAX));
}

interface GroupRow extends Pick<ErrorGroup, "code" | "method" | "route" | "status" | "count"> {
  /** That of its newest request. */
  position: number;
}

/** Positions, newest first: after `from` (null: from the newest), up to `to` (null: to the oldest). */
interface PositionRange {
  from: number | null;
  to: number | null;
}

function within({ from, to }: PositionRange): Expression<SqlBool>[] {
  return [
    sql<SqlBool>`error_code is not null`,
    ...(from === null ? [] : [sql<SqlBool>`position < ${from}`]),
    ...(to === null ? [] : [sql<SqlBool>`position >= ${to}`]),
  ];
}

async function endOfErrors(db: Kysely<Database>, from: number | null): Promise<number | null> {
  const { rows } = await sql<{ position: number }>`select position from requests
    where ${sql.join(within({ from, to: null }), sql` and `)}
    order by position desc limit 1 offset ${ERRORS_AT_ONCE - 1} + 0`.execute(db);
  return rows[0]?.position ?? null;
}

async function groupsIn(db: Kysely<Database>, range: PositionRange, filter: Expression<SqlBool>[]) {
  const { rows } = await sql<GroupRow>`select error_code as code, method, route, status, count(*) as count,
      max(position) as position from requests where ${sql.join([...within(range), ...filter], sql` and `)}
    group by error_code, method, route, status`.execute(db);
  return rows.map((row) => ({ ...row, count: Number(row.count), position: Number(row.position) }));
}

function addTo(groups: Map<string, GroupRow>, row: GroupRow): void {
  const name = JSON.stringify([row.code, row.method, row.route, row.status]);
  const known = groups.get(name);
  if (known === undefined) groups.set(name, row);
  else groups.set(name, { ...known, count: known.count + row.count, position: Math.max(known.position, row.position) });
}

/** Groups whose newest request was removed meanwhile are left out. */
async function withLast(db: Kysely<Database>, groups: readonly GroupRow[]): Promise<ErrorGroup[]> {
  if (groups.length === 0) return [];
  const positions = sql.join(groups.map(({ position }) => sql.lit(position)));
  const { rows } = await sql<{ position: number; id: string; created_at: number }>`select position, id, created_at
    from requests where position in (${positions})`.execute(db);
  const lasts = new Map(rows.map((row) => [Number(row.position), row]));
  return groups.flatMap(({ position, ...group }) => {
    const last = lasts.get(position);
    return last === undefined ? [] : [{ ...group, lastAt: Number(last.created_at), lastId: last.id }];
  });
}

/** The texts of a request of the log, and its position. */
export type RequestTexts = LoggedTexts & { position: number };

/**
 * Texts of a customer's requests (null: of admin keys) after a position, the oldest first, even if the rest of their
 * rows cannot be decoded.
 */
export async function listRequestTexts(
  db: Kysely<Database>,
  customerId: CustomerId | null,
  after: number,
  limit: number,
): Promise<RequestTexts[]> {
  const owner = customerId === null ? sql<SqlBool>`customer_id is null` : indexed("customer_id", customerId);
  const { rows } = await sql<
    Record<string, unknown>
  >`select position, path, route, request, response, request_cut, response_cut
    from requests where ${owner} and position > ${after} order by position limit ${limit} + 0`.execute(db);
  return rows.map(({ position, path, route, request, response, request_cut, response_cut }) => ({
    position: Number(position),
    path: String(path),
    route: textOrNull(route),
    request: textOrNull(request),
    response: textOrNull(response),
    requestCut: Number(request_cut) !== 0,
    responseCut: Number(response_cut) !== 0,
  }));
}

function textOrNull(value: unknown): string | null {
  return value === null ? null : String(value);
}

/** How many requests of the log each customer has; null: admin keys. */
export async function countRequests(db: Kysely<Database>): Promise<Map<CustomerId | null, number>> {
  const { rows } = await sql<{ customer_id: CustomerId | null; count: number }>`select customer_id, count(*) as count
    from requests group by customer_id`.execute(db);
  return new Map(rows.map((row) => [row.customer_id, Number(row.count)]));
}

function ofOwner({ customerId, keyId }: RequestsOf): Expression<SqlBool>[] {
  return [...is("customer_id", customerId), ...is("key_id", keyId)];
}

function during({ sinceAt, untilAt }: RequestPeriod): Expression<SqlBool>[] {
  return [...since("created_at", sinceAt), ...until("created_at", untilAt)];
}

function beginsWith(path: string): Expression<SqlBool> {
  return sql<SqlBool>`substr(path, 1, ${[...path].length}) = ${path}`;
}

function isAbout({ correlationId, path }: { correlationId: string | null; path: string }): Expression<SqlBool> {
  if (correlationId === null) return beginsWith(path);
  return sql<SqlBool>`(${unindexed("correlation_id")} = ${correlationId} or ${beginsWith(path)})`;
}
