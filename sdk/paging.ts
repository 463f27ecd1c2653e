/** Shared by all routes of the client: options of a call, ids in paths, and iteration over pages. */

import type { Pagination } from "./wire.ts";

/** Start and size of a page: `limit` is 1 to 100, by default 50. */
export interface Page {
  limit?: number | undefined;
  cursor?: string | undefined;
}

/** Settings of one call: the last argument of every method. They override those of the client. */
export interface CallOptions {
  /** Makes a POST safe to repeat, even after a restart of the caller. Default: a random key. */
  idempotencyKey?: string | undefined;
  /** Aborts the call, which then throws its reason. */
  signal?: AbortSignal | undefined;
  /** Milliseconds that one attempt may take. */
  timeoutMs?: number | undefined;
  /** Number of retries of a call that is safe to retry; 0 for none. */
  maxRetries?: number | undefined;
  /** Added to the headers of the client; a header of the same name replaces the client's. */
  headers?: Readonly<Record<string, string | undefined>> | undefined;
}

/** An id as one segment of a path. Throws `TypeError` for an empty id and for dots, which would change the path. */
export function segment(id: string): string {
  if (/^\.{0,2}$/.test(id)) throw new TypeError(`${JSON.stringify(id)} is not an id.`);
  return encodeURIComponent(id);
}

/** Iterates over a list from `query` on, and requests each page when the one before is used up. */
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
