/** A list as its reader sees it: rows that came in since wait until they are asked for, so that no row jumps. Pure. */

/** A page of records, and the cursor of the next one; null at the end. */
export interface RecordPage<Row> {
  rows: readonly Row[];
  next: string | null;
}

/** The rows of a list that are shown. */
export interface HeldRows<Row> {
  /** The first page, as it was read last. */
  head: RecordPage<Row>;
  rows: readonly Row[];
  /** Cursor of the page after the last row; null at the end. */
  next: string | null;
  /** Number of rows of the first page that are not shown. */
  freshCount: number;
}

type RowId<Row> = (row: Row) => string;

/** A list that begins with its first page. */
export function beginRows<Row>(head: RecordPage<Row>): HeldRows<Row> {
  return { head, rows: head.rows, next: head.next, freshCount: 0 };
}

/**
 * The list after its first page was read again: rows that both have are replaced, and rows that the page has no more are removed as far as
 * the page goes. Rows that are new wait; with `showsNew` they are shown. An empty list shows them in any case.
 */
export function takeHead<Row>(
  held: HeldRows<Row>,
  head: RecordPage<Row>,
  rowId: RowId<Row>,
  showsNew = false,
): HeldRows<Row> {
  const shownIds = new Set(held.rows.map(rowId));
  const known = head.rows.filter((row) => shownIds.has(rowId(row)));
  const isApart = known.length === 0;
  if (held.rows.length === 0 || (isApart && (showsNew || head.next === null))) return beginRows(head);
  const headIds = new Set(head.rows.map(rowId));
  const covered = head.next === null ? held.rows.length : held.rows.findLastIndex((row) => headIds.has(rowId(row))) + 1;
  const older = held.rows.slice(covered);
  const newest = showsNew ? head.rows : known;
  return {
    head,
    rows: [...newest, ...older],
    next: older.length === 0 ? head.next : held.next,
    freshCount: head.rows.length - newest.length,
  };
}

/** The list with the page that its cursor named; the same list if it has begun anew meanwhile. */
export function addPage<Row>(
  held: HeldRows<Row>,
  cursor: string,
  page: RecordPage<Row>,
  rowId: RowId<Row>,
): HeldRows<Row> {
  if (held.next !== cursor) return held;
  const ids = new Set(held.rows.map(rowId));
  const rows = [...held.rows, ...page.rows.filter((row) => !ids.has(rowId(row)))];
  return { ...held, rows, next: page.next };
}

/** The list with changes of some of its rows, by id. */
export function patchRows<Row>(
  held: HeldRows<Row>,
  changes: ReadonlyMap<string, Partial<Row>>,
  rowId: RowId<Row>,
): HeldRows<Row> {
  if (!held.rows.some((row) => changes.has(rowId(row)))) return held;
  return { ...held, rows: held.rows.map((row) => ({ ...row, ...changes.get(rowId(row)) })) };
}
