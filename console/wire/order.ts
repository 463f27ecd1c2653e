/** Relations between the rows of the Wire: what belongs together, and what is new to a reader. Pure. */

import { clockSetBetween } from "../../sdk/wire-clock.ts";
import type { WireRow } from "../../sdk/wire-rows.ts";

/** The keys of the rows that a row led to or came from: those of its message, or of the request behind it. */
export function relatedKeys(rows: readonly WireRow[], row: WireRow): ReadonlySet<string> {
  const { message, correlation } = row.ids;
  const ofCorrelation = (id: string | undefined) =>
    id !== undefined && rows.filter(({ ids }) => ids.correlation === id);
  const messages = new Set([message, ...(ofCorrelation(correlation) || []).map(({ ids }) => ids.message)]);
  const correlations = new Set([
    correlation,
    ...rows
      .filter(({ ids }) => ids.message !== undefined && messages.has(ids.message))
      .map(({ ids }) => ids.correlation),
  ]);
  const isRelated = ({ ids }: WireRow) =>
    (ids.message !== undefined && messages.has(ids.message)) ||
    (ids.correlation !== undefined && correlations.has(ids.correlation)) ||
    (ids.event !== undefined && ids.event === row.ids.event);
  return new Set(rows.filter(isRelated).map(({ key }) => key));
}

/** How many rows somebody has not seen who still looks at the rows of a moment ago. */
export function countNew(rows: readonly WireRow[], seen: readonly WireRow[]): number {
  const known = new Set(seen.map(({ key }) => key));
  return rows.filter(({ key }) => !known.has(key)).length;
}

/** How the sandbox's clock was set between the row before and this one, in words; null if it was not. A planned retry tells nothing of it. */
export function clockSetAt(rows: readonly WireRow[], index: number): string | null {
  const row = rows[index];
  if (row === undefined || row.kind === "retry") return null;
  const before = rows.findLast(({ kind }, place) => place < index && kind !== "retry");
  return clockSetBetween(before?.shiftMs ?? 0, row.shiftMs);
}
