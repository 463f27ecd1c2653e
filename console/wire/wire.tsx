/** The Wire: requests, hops, events, deliveries and retries in order of real time, cause beside effect. Rows never jump while somebody reads. */

import { useVirtualizer } from "@tanstack/react-virtual";
import {
  type KeyboardEvent,
  lazy,
  type ReactNode,
  type RefObject,
  Suspense,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import type { WireRow } from "../../sdk/wire-rows.ts";
import { useWireRows } from "../api/context.ts";
import { IconButton } from "../parts/button.tsx";
import { Loading } from "../parts/empty.tsx";
import { isTyping } from "../parts/keys.ts";
import { clockSetAt, countNew, relatedKeys } from "./order.ts";
import { WireLine } from "./wire-line.tsx";

const RowDetail = lazy(async () => ({ default: (await import("./row-detail.tsx")).RowDetail }));

const ROW_PX = 28;
const NONE: ReadonlySet<string> = new Set();

/** The pane; `aside` are the buttons of its dock. With `takesFocus` the keys go to the rows once it is shown. */
export function Wire({ aside, takesFocus = false }: { aside?: ReactNode; takesFocus?: boolean }) {
  const { rows, fresh, cleared, clear, freeze, follow, isFrozen } = useReading();
  const [cursorKey, setCursorKey] = useState<string | null>(null);
  const [isOpen, setOpen] = useState(false);
  const scroller = useRef<HTMLDivElement>(null);
  const cursor = cursorKey === null ? -1 : rows.findIndex(({ key }) => key === cursorKey);
  const row = rows[cursor];
  const related = useMemo(() => (row === undefined ? NONE : relatedKeys(rows, row)), [rows, row]);
  const moveTo = (index: number) => {
    const next = rows[Math.min(rows.length - 1, Math.max(0, index))];
    if (next === undefined) return;
    freeze();
    setCursorKey(next.key);
  };
  const showNew = () => {
    setCursorKey(null);
    setOpen(false);
    follow();
  };
  const leave = () => {
    if (isOpen) setOpen(false);
    else if (cursorKey !== null || isFrozen) showNew();
    else document.getElementById("screen")?.focus();
  };
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const { key, target } = event;
    if (event.metaKey || event.ctrlKey || event.altKey || !(target instanceof HTMLElement)) return;
    if (target.closest("input") !== null) return;
    const isList = target === scroller.current;
    if (key === "Enter" && !isList) return;
    const last = cursor === -1 ? rows.length : cursor;
    const actions: Record<string, () => void> = {
      j: () => moveTo(cursor === -1 ? rows.length - 1 : cursor + 1),
      k: () => moveTo(last - 1),
      Enter: () => row !== undefined && setOpen(true),
      Escape: leave,
      n: () => fresh > 0 && showNew(),
      ...(isList
        ? { ArrowDown: () => moveTo(last + 1), ArrowUp: () => moveTo(last - 1), Home: () => moveTo(0), End: showNew }
        : {}),
    };
    const action = actions[key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
  useEffect(() => {
    // Somebody who began to write while the code of the Wire was loaded goes on writing.
    if (takesFocus && !isTyping(document.activeElement)) scroller.current?.focus();
  }, [takesFocus]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the list inside.
    <div className="@container flex min-h-0 flex-1 flex-col" onKeyDown={onKeyDown}>
      <header className="flex h-9 shrink-0 items-center gap-1 border-b pr-2 pl-4">
        <h2 className="font-semibold">Wire</h2>
        <span className="ml-1 text-xs text-faint tabular-nums">{rows.length}</span>
        <div className="flex-1" />
        <IconButton
          label="Clear"
          icon="stop"
          onClick={() => {
            clear();
            showNew();
          }}
        />
        {aside}
      </header>
      <div className="relative flex min-h-0 flex-1">
        <div className="@container relative flex min-h-0 min-w-0 flex-1 flex-col">
          <Rows
            scroller={scroller}
            rows={rows}
            cursor={cursor}
            related={related}
            isFollowing={!isFrozen}
            onScrolled={(isAtEnd) => {
              if (!isAtEnd) freeze();
              else if (cursorKey === null) follow();
            }}
            onOpen={(index) => {
              moveTo(index);
              setOpen(true);
              scroller.current?.focus();
            }}
          />
          {rows.length === 0 && (
            <p className="absolute inset-x-0 top-0 p-4 text-soft">
              {cleared ? "Cleared. " : "Nothing yet. "}Requests, events and deliveries appear here as they happen.
            </p>
          )}
          {fresh > 0 && <NewPill count={fresh} onShow={showNew} />}
        </div>
        {isOpen && row !== undefined && (
          <section
            aria-label="Row of the Wire"
            className="absolute inset-0 z-10 flex flex-col bg-back @3xl:static @3xl:w-1/2 @3xl:shrink-0 @3xl:border-l"
          >
            <Suspense fallback={<Loading />}>
              <RowDetail key={row.key} row={row} onClose={() => setOpen(false)} />
            </Suspense>
          </section>
        )}
      </div>
    </div>
  );
}

/** The rows that are shown: those of now, or while somebody reads, those of when the reading began. */
function useReading() {
  const all = useWireRows();
  const [cleared, setCleared] = useState(NONE);
  const [frozen, setFrozen] = useState<readonly WireRow[] | null>(null);
  const current = useMemo(
    () => (cleared.size === 0 ? all : all.filter(({ key }) => !cleared.has(key))),
    [all, cleared],
  );
  const fresh = useMemo(() => (frozen === null ? 0 : countNew(current, frozen)), [current, frozen]);
  return {
    rows: frozen ?? current,
    fresh,
    isFrozen: frozen !== null,
    cleared: cleared.size > 0,
    clear: () => setCleared(new Set(all.map(({ key }) => key))),
    freeze: () => setFrozen((before) => before ?? current),
    follow: () => setFrozen(null),
  };
}

interface RowsProps {
  scroller: RefObject<HTMLDivElement | null>;
  rows: readonly WireRow[];
  cursor: number;
  related: ReadonlySet<string>;
  /** Whether the end stays in view when rows are added. */
  isFollowing: boolean;
  onScrolled: (isAtEnd: boolean) => void;
  onOpen: (index: number) => void;
}

function Rows({ scroller, rows, cursor, related, isFollowing, onScrolled, onOpen }: RowsProps) {
  const base = useId();
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  });
  const height = virtual.scrollRect?.height;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the end is elsewhere whenever rows or height change.
  useLayoutEffect(() => {
    if (isFollowing) scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  }, [isFollowing, rows, height, scroller]);
  useEffect(() => {
    if (cursor >= 0) virtual.scrollToIndex(cursor, { align: "auto" });
  }, [cursor, virtual]);
  return (
    <div
      ref={scroller}
      role="listbox"
      tabIndex={0}
      aria-label="Rows of the Wire"
      aria-activedescendant={cursor === -1 ? undefined : `${base}-${cursor}`}
      className="min-h-0 flex-1 overflow-y-auto font-mono text-xs outline-offset-[-2px] scroll-thin"
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) =>
        onScrolled(scrollHeight - scrollTop - clientHeight < ROW_PX)
      }
    >
      <div role="presentation" className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const row = rows[index];
          if (row === undefined) return null;
          return (
            <WireLine
              key={row.key}
              id={`${base}-${index}`}
              row={row}
              start={start}
              clockSet={clockSetAt(rows, index)}
              state={index === cursor ? "cursor" : related.has(row.key) ? "related" : null}
              onOpen={() => onOpen(index)}
            />
          );
        })}
      </div>
    </div>
  );
}

/** The number of rows that came in while somebody read. A click shows them. */
function NewPill({ count, onShow }: { count: number; onShow: () => void }) {
  return (
    <button
      type="button"
      onClick={onShow}
      className="absolute bottom-3 left-1/2 z-10 h-7 -translate-x-1/2 rounded-full bg-accent-solid px-3 text-xs font-medium text-white shadow-lg"
    >
      {count > 999 ? "999+" : count} new
    </button>
  );
}
