/** Pages of lists whose cursor is an id. Ids sort by creation, so pages stay the same while records are added. */

import type { Pagination } from "../../sdk/wire.ts";
import type { ListPage, PageStart } from "../store/list-windows.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";

/**
 * Reads one page, newest first. `read` returns up to `limit` records; `prefix` is the prefix of the ids. Without a cursor
 * the first `skip` matches are left out. Throws 400 for a cursor of another list.
 */
export async function pageOf<Record_>(
  prefix: string,
  query: { limit: number; cursor?: string },
  read: (start: PageStart, limit: number) => Promise<ListPage<Record_>>,
  skip = 0,
): Promise<{ records: Record_[]; pagination: Pagination }> {
  const { records, next } = await read(startOf(prefix, query.cursor) ?? { from: null, skip }, query.limit);
  const hasMore = next !== null;
  const nextCursor = next === null ? null : encodeCursor(next.skip === 0 ? next.from : next);
  return { records, pagination: { hasMore, nextCursor } };
}

/** Reads one page of an unfiltered list. `read` returns up to `limit` records older than an id (null: the newest). */
export function pageOfAll<Record_ extends { id: string }>(
  prefix: string,
  query: { limit: number; cursor?: string },
  read: (before: string | null, limit: number) => Promise<Record_[]>,
): Promise<{ records: Record_[]; pagination: Pagination }> {
  return pageOf(prefix, query, async ({ from }, limit) => {
    const found = await read(from, limit + 1);
    const records = found.slice(0, limit);
    const last = records.at(-1);
    return { records, next: found.length > limit && last !== undefined ? { from: last.id, skip: 0 } : null };
  });
}

/** The start of the page by its cursor; null without a cursor. Throws 400 for a cursor of another list. */
export function startOf(prefix: string, cursor: string | undefined): PageStart | null {
  if (cursor === undefined) return null;
  const isId = (value: unknown): value is string => typeof value === "string" && value.startsWith(prefix);
  const isStart = (value: unknown): value is string | PageStart =>
    isId(value) ||
    (typeof value === "object" &&
      value !== null &&
      "from" in value &&
      "skip" in value &&
      isId(value.from) &&
      Number.isSafeInteger(value.skip) &&
      Number(value.skip) > 0);
  const start = decodeCursor(cursor, isStart);
  return typeof start === "string" ? { from: start, skip: 0 } : start;
}
