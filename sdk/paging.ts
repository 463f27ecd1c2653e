/** What all lists and paths of the client have in common. Knows no route. */

import type { Pagination } from "./wire.ts";

/** Where in a list to start, and how much of it: `limit` is 1 to 100, 50 when left out. */
export interface Page {
  limit?: number | undefined;
  cursor?: string | undefined;
}

/** Settings of one call: the last argument of every method. They count before those of the client. */
export interface CallOptions {
  /** Makes a POST safe to repeat across restarts of the caller too. Without it, a POST carries a random one. */
  idempotencyKey?: string | undefined;
  /** Ends the call when it is aborted; the call throws its reason. */
  signal?: AbortSignal | undefined;
  /** Milliseconds that one try may take. */
  timeoutMs?: number | undefined;
  /** How often the call is tried again if that is safe; 0 for never. */
  maxRetries?: number | undefined;
  /** Sent beside those of the client, and in place of those with the same name. */
  headers?: Readonly<Record<string, string | undefined>> | undefined;
}

/** An id as one segment of a path. Throws `TypeError` for what would make another path of it. */
export function segment(id: string): string {
  if (/^\.{0,2}$/.test(id)) throw new TypeError(`${JSON.stringify(id)} is not an id.`);
  return encodeURIComponent(id);
}

/** Walks a list from `query` on to its end, one page at a time, each asked for when the one before is used up. */
export async function* pages<Query extends Page, List extends { pagination: Pagination }, Item>(
  list: (query: Query, options?: CallOptions) => Promise<List>,
  query: Query,
  options: CallOptions | undefined,
  itemsOf: (page: List) => Item[],
): AsyncGenerator<Item, void, undefined> {
  for (let page = await list(query, options); ; ) {
    yield* itemsOf(page);
    const { hasMore, nextCursor } = page.pagination;
    if (!hasMore || nextCursor === null) return;
    page = await list({ ...query, cursor: nextCursor }, options);
  }
}
