/** Lists of any noun, page after page. Only the first page is read again: what came in since waits, so that no row jumps. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { Tightbeam } from "../../sdk/client.ts";
import type { Event } from "../../sdk/wire.ts";
import { useConnected, useLiveEvents } from "./context.ts";
import { addPage, beginRows, type HeldRows, patchRows, type RecordPage, takeHead } from "./held-rows.ts";
import type { Noun } from "./queries.ts";

/** Reads the page that starts at a cursor. */
export type ReadPage<Row> = (
  api: Tightbeam,
  cursor: string | undefined,
  options: { signal?: AbortSignal },
) => Promise<RecordPage<Row>>;

/** A list of a noun. */
export interface PageSource<Row> {
  noun: Noun;
  /** Filters: another one is another list. */
  query?: object;
  read: ReadPage<Row>;
  rowId: (row: Row) => string;
  /** The first page is read again after this time, for what changes without an event. */
  refreshMs?: number | ((rows: readonly Row[]) => number | false);
  /** Changes of rows that events tell, by id: they are shown at once, in older pages too. */
  changesOf?: (events: readonly Event[]) => ReadonlyMap<string, Partial<Row>>;
}

/** The first page of a list. */
export function useFirstPage<Row>({ noun, query = {}, read, refreshMs }: PageSource<Row>) {
  const { api } = useConnected();
  return useQuery({
    queryKey: [noun, "pages", query],
    queryFn: ({ signal }) => read(api, undefined, { signal }),
    refetchInterval: ({ state }) =>
      typeof refreshMs === "function" ? refreshMs(state.data?.rows ?? []) : (refreshMs ?? false),
  });
}

/** How a list is shown. */
interface Reading {
  /** The open record: what is open is shown. */
  openId: string | null;
  /** Whether rows that come in are shown at once, as in a list that changes by the reader's own hand. */
  showsNew: boolean;
}

/** The part of a list that is shown. If it `isStale`, the first page that is read next takes its place, even if it is unchanged. */
interface Shown<Row> {
  held: HeldRows<Row>;
  isStale: boolean;
  /** When the first page was read, in epoch milliseconds. */
  readAt: number;
}

/** A list as far as it was read. A component that shows another list needs another `key`. */
export function usePages<Row>(source: PageSource<Row>, { openId, showsNew }: Reading) {
  const { api, live } = useConnected();
  const { read, rowId, changesOf } = source;
  const first = useFirstPage(source);
  const [shown, setShown] = useState<Shown<Row> | null>(null);
  const { data, dataUpdatedAt: readAt } = first;
  // A page that has not changed since is the same object.
  if (data !== undefined && (shown?.held.head !== data || shown.readAt !== readAt)) setShown(shownAfter(shown, data));
  function shownAfter(before: Shown<Row> | null, head: RecordPage<Row>): Shown<Row> {
    // The page in the cache may be that of an earlier visit.
    if (before === null || before.isStale) return { held: beginRows(head), isStale: first.isFetching, readAt };
    if (before.held.head === head) return { ...before, readAt };
    const isNew = (row: Row) => rowId(row) === openId && !before.held.rows.some((one) => rowId(one) === openId);
    return { held: takeHead(before.held, head, rowId, showsNew || head.rows.some(isNew)), isStale: false, readAt };
  }
  const change = (next: (held: HeldRows<Row>) => HeldRows<Row>) =>
    setShown((before) => before && { ...before, held: next(before.held) });
  useLiveEvents((events) => {
    const changes = changesOf?.(events);
    if (changes !== undefined && changes.size > 0) change((held) => patchRows(held, changes, rowId));
  });
  // Nobody knows how much was missed: the list begins anew.
  useEffect(() => live.onGap(() => setShown((before) => before && { ...before, isStale: true })), [live]);
  const older = useMutation({
    mutationFn: (cursor: string) => read(api, cursor, {}),
    onSuccess: (page, cursor) => change((held) => addPage(held, cursor, page, rowId)),
  });
  const next = shown?.held.next ?? null;
  return {
    /** Null until the first page was read. */
    rows: shown?.held.rows ?? null,
    error: first.error,
    refetch: () => void first.refetch(),
    hasMore: next !== null,
    olderError: older.error,
    readOlder: () => {
      if (next !== null && !older.isPending) older.mutate(next);
    },
    freshCount: shown?.held.freshCount ?? 0,
    showFresh: () => change(({ head }) => beginRows(head)),
  };
}
