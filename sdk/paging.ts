/** What all lists and paths of the client have in common. Knows no route. */

import type { Pagination } from "./wire.ts";

/** Where in a list to start, and how much of it: `limit` is 1 to 100, 50 when left out. */
export interface Page {
  limit?: number | undefined;
  cursor?: string | undefined;
}

/** Per-call settings of a POST: its own key makes it safe to repeat across restarts of the caller too. */
export interface CallOptions {
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** An id as one segment of a path. Throws `TypeError` for what would make another path of it. */
export function segment(id: string): string {
  if (/^\.{0,2}$/.test(id)) throw new TypeError(`${JSON.stringify(id)} is not an id.`);
  return encodeURIComponent(id);
}

/** Walks a list from `query` on to its end, one page at a time, each asked for when the one before is used up. */
export async function* pages<Query extends Page, List extends { pagination: Pagination }, Item>(
  list: (query: Query) => Promise<List>,
  query: Query,
  itemsOf: (page: List) => Item[],
): AsyncGenerator<Item, void, undefined> {
  for (let page = await list(query); ; ) {
    yield* itemsOf(page);
    const { hasMore, nextCursor } = page.pagination;
    if (!hasMore || nextCursor === null) return;
    page = await list({ ...query, cursor: nextCursor });
  }
}
