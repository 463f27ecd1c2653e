/** Pages of lists whose cursor is an id: ids sort by creation, so a page stays the same while records are added. */

import type { Pagination } from "../../sdk/wire.ts";
import { decodeCursor, encodeCursor } from "./schemas/common.ts";

/**
 * One page, newest first. `read` gives up to `limit` records older than an id (all when null); `prefix` is that of the
 * ids. A cursor that is none of this list is a 400 on `cursor`.
 */
export async function pageOf<Record_ extends { id: string }>(
  prefix: string,
  query: { limit: number; cursor?: string },
  read: (before: string | null, limit: number) => Promise<Record_[]>,
): Promise<{ records: Record_[]; pagination: Pagination }> {
  const isId = (value: unknown): value is string => typeof value === "string" && value.startsWith(prefix);
  const before = query.cursor === undefined ? null : decodeCursor(query.cursor, isId);
  const found = await read(before, query.limit + 1);
  const records = found.slice(0, query.limit);
  const last = records.at(-1);
  const hasMore = found.length > query.limit && last !== undefined;
  return { records, pagination: { hasMore, nextCursor: hasMore ? encodeCursor(last.id) : null } };
}
