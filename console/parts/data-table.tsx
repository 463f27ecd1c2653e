/** A table of any length: only what is in view is in the page. `j` and `k` move, Enter opens, and rows never jump. */

import { useVirtualizer } from "@tanstack/react-virtual";
import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { useKeys } from "./keys.ts";

/** A column. */
export interface Column<Row> {
  id: string;
  header: string;
  /** Whether its header is only read aloud, for a column of icons. */
  isQuiet?: boolean;
  /** Its track of the grid: `120px`, `minmax(0, 1fr)`. */
  width: string;
  align?: "right";
  /** Width of the table from which the column is shown; without it always. */
  from?: number;
  /** Width of the table below which the cell has the second line of its row; at most one column has it. */
  below?: number;
  cell: (row: Row) => ReactNode;
}

interface DataTableProps<Row> {
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  rowId: (row: Row) => string;
  /** The open row; while there is one, `j` and `k` open the next and the one before. */
  openId?: string | null;
  onOpen: (row: Row) => void;
  /** Called near the end of the rows, as long as there are more. */
  onEnd?: (() => void) | undefined;
  hasMore?: boolean;
  /** Shown above the rows that were not there when the list was read, such as `37 new`. */
  fresh?: { count: number; onShow: () => void } | undefined;
}

const ROW_PX = 36;
/** A row with a second line. */
const HIGH_ROW_PX = 60;
const HEAD_PX = 32;
const NEAR_END = 15;

/** A table. Its parent gives it its height. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, rows, rowId, openId = null, hasMore = false, fresh } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const base = useId();
  const width = useWidth(scroller);
  const columns = columnsAt(props.columns, width);
  const rowPx = columns.under.length === 0 ? ROW_PX : HIGH_ROW_PX;
  const { cursor, move, open } = useCursor(props);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPx,
    overscan: 12,
    scrollPaddingStart: rowPx,
    // The rows begin below the head, which stays in view.
    scrollPaddingEnd: HEAD_PX,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the rows are measured anew when they get another height.
  useLayoutEffect(() => virtual.measure(), [rowPx, virtual]);
  const items = virtual.getVirtualItems();
  useEnd(props, items.at(-1)?.index ?? 0);
  useEffect(() => {
    if (cursor >= 0) virtual.scrollToIndex(cursor, { align: "auto" });
  }, [cursor, virtual]);
  useKeys([
    { key: "j", label: "Next row", run: () => move(1) },
    { key: "k", label: "Previous row", run: () => move(-1) },
    { key: "Enter", label: "Open the row", run: () => open(cursor) },
    ...(fresh !== undefined && fresh.count > 0 ? [{ key: "n", label: "Show what is new", run: fresh.onShow }] : []),
  ]);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    move(step);
  };
  const active = rows[cursor];
  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      {fresh !== undefined && fresh.count > 0 && <FreshPill {...fresh} />}
      <div
        ref={scroller}
        role="grid"
        aria-label={label}
        aria-rowcount={hasMore ? -1 : rows.length + 1}
        aria-activedescendant={active === undefined ? undefined : `${base}-${rowId(active)}`}
        tabIndex={0}
        className="scroll-thin min-h-0 flex-1 overflow-y-auto overflow-x-hidden outline-offset-[-2px]"
        onKeyDown={onKeyDown}
      >
        <Head columns={columns} />
        <div role="rowgroup" className="relative" style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, start }) => {
            const row = rows[index];
            if (row === undefined) return null;
            const id = rowId(row);
            const state = id === openId ? "open" : index === cursor ? "cursor" : null;
            return (
              <Line
                key={id}
                id={`${base}-${id}`}
                row={row}
                columns={columns}
                index={index}
                start={start}
                state={state}
                onOpen={open}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}

/** The columns of a row at a width: those in its line, and those under it. */
interface Columns<Row> {
  beside: readonly Column<Row>[];
  under: readonly Column<Row>[];
}

function columnsAt<Row>(all: readonly Column<Row>[], width: number): Columns<Row> {
  const isUnder = ({ below = 0 }: Column<Row>) => width < below;
  return {
    beside: all.filter((column) => width >= (column.from ?? 0) && !isUnder(column)),
    under: all.filter(isUnder),
  };
}

function templateOf<Row>(columns: readonly Column<Row>[]) {
  return { gridTemplateColumns: columns.map(({ width }) => width).join(" ") };
}

function alignOf<Row>({ align }: Column<Row>): string {
  return align === "right" ? "text-right" : "";
}

function Head<Row>({ columns: { beside, under } }: { columns: Columns<Row> }) {
  return (
    <div role="rowgroup" className="sticky top-0 z-10 bg-back">
      <div
        role="row"
        aria-rowindex={1}
        className="grid h-8 items-center gap-3 border-b px-4 text-xs text-faint"
        style={templateOf(beside)}
      >
        {beside.map((column) => (
          <span key={column.id} role="columnheader" className={`truncate ${alignOf(column)}`}>
            {column.isQuiet === true ? <span className="sr-only">{column.header}</span> : column.header}
          </span>
        ))}
        {under.map(({ id, header }) => (
          <span key={id} role="columnheader" className="sr-only">
            {header}
          </span>
        ))}
      </div>
    </div>
  );
}

interface LineProps<Row> {
  id: string;
  row: Row;
  columns: Columns<Row>;
  index: number;
  start: number;
  state: "open" | "cursor" | null;
  onOpen: (index: number) => void;
}

const LINE_STATES = {
  open: "bg-accent-soft shadow-[inset_2px_0_0_var(--accent)]",
  cursor: "bg-hover shadow-[inset_2px_0_0_var(--accent)]",
};

function Line<Row>({ id, row, columns: { beside, under }, index, start, state, onOpen }: LineProps<Row>) {
  return (
    <div
      id={id}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={state === "open"}
      className={`absolute inset-x-0 cursor-pointer border-b px-4 ${state === null ? "hover:bg-hover" : LINE_STATES[state]}`}
      style={{ height: under.length === 0 ? ROW_PX : HIGH_ROW_PX, transform: `translateY(${start}px)` }}
      onClick={() => onOpen(index)}
    >
      <div
        role="presentation"
        className={`grid items-center gap-3 ${under.length === 0 ? "h-full" : "h-9"}`}
        style={templateOf(beside)}
      >
        {beside.map((column) => (
          <span key={column.id} role="gridcell" className={`min-w-0 truncate ${alignOf(column)}`}>
            {column.cell(row)}
          </span>
        ))}
      </div>
      {under.map((column) => (
        <span key={column.id} role="gridcell" className="block truncate leading-4">
          {column.cell(row)}
        </span>
      ))}
    </div>
  );
}

/** The number of rows that came in while the list was looked at. A click shows them, so that no row jumps. */
function FreshPill({ count, onShow }: { count: number; onShow: () => void }) {
  return (
    <button
      type="button"
      onClick={onShow}
      className="absolute top-10 left-1/2 z-20 h-7 -translate-x-1/2 rounded-full bg-accent-solid px-3 text-xs font-medium text-white shadow-lg"
    >
      {count > 999 ? "999+" : count} new
    </button>
  );
}

/** The row that the keys are on: the open row, or the one that was moved to. It stays with its row when rows are added. */
function useCursor<Row>({ rows, rowId, openId = null, onOpen }: DataTableProps<Row>) {
  const [movedTo, setMovedTo] = useState<string | null>(null);
  const at = openId ?? movedTo;
  const cursor = at === null ? -1 : rows.findIndex((row) => rowId(row) === at);
  const open = (index: number) => {
    const row = rows[index];
    if (row === undefined) return;
    setMovedTo(rowId(row));
    onOpen(row);
  };
  const move = (step: number) => {
    const next = Math.min(rows.length - 1, Math.max(0, cursor + step));
    const row = rows[next];
    if (row === undefined) return;
    if (openId !== null) open(next);
    else setMovedTo(rowId(row));
  };
  return { cursor, move, open };
}

/** Asks for more before the end is in view. */
function useEnd<Row>({ rows, hasMore = false, onEnd }: DataTableProps<Row>, lastIndex: number): void {
  const isNear = hasMore && lastIndex >= rows.length - NEAR_END;
  const latest = useRef(onEnd);
  latest.current = onEnd;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each page that arrives asks anew.
  useEffect(() => {
    if (isNear) latest.current?.();
  }, [isNear, rows.length]);
}

function useWidth(element: RefObject<HTMLDivElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (element.current === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(entry?.contentRect.width ?? 0));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return width;
}
