/** The table of results: what was measured, against what, and whether the goal is met. */

/** A line of the table. */
export interface Row {
  what: string;
  /** With its unit. */
  measured: string;
  /** The comparison in the same run, with its unit; empty if the goal stands by itself. */
  against?: string;
  /** The figure of the goal, if there is a goal. */
  ratio?: number;
  goal?: string;
  /** Undefined: there is no goal. */
  met?: boolean;
}

/** The median of the values; 0 without values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  const half = sorted.length / 2;
  const upper = sorted[Math.floor(half)] ?? 0;
  return Number.isInteger(half) ? (upper + (sorted[half - 1] ?? upper)) / 2 : upper;
}

/** `12,345`, or with decimals below 100. */
export function count(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(value < 10 ? 2 : 1);
}

/** A rate, with the lowest and highest of its rounds: the machine is shared, so the spread belongs to the figure. */
export function rate(values: readonly number[], unit: string): string {
  const spread = values.length < 2 ? "" : ` (${count(Math.min(...values))}–${count(Math.max(...values))})`;
  return `${count(median(values))}${unit}${spread}`;
}

/** A row whose goal is a ratio of two medians, at least `goal`. */
export function ratioRow(
  what: string,
  unit: string,
  measured: readonly number[],
  against: readonly number[],
  goal: number | null,
): Row {
  const ratio = median(measured) / median(against);
  const row = { what, measured: rate(measured, unit), against: rate(against, unit), ratio };
  return goal === null ? row : { ...row, goal: `≥ ${goal}`, met: ratio >= goal };
}

/** A row whose goal is an upper limit in its own unit. */
export function limitRow(what: string, unit: string, measured: readonly number[], goal: number | null): Row {
  const row = { what, measured: rate(measured, unit) };
  return goal === null ? row : { ...row, goal: `≤ ${goal}${unit}`, met: median(measured) <= goal };
}

const HEAD = ["", "measured", "against", "ratio", "goal", "met"];

/** The rows as a table of text. */
export function tableOf(rows: readonly Row[]): string {
  const cells = rows.map((row) => [
    row.what,
    row.measured,
    row.against ?? "",
    row.ratio === undefined ? "" : row.ratio.toFixed(2),
    row.goal ?? "",
    row.met === undefined ? "" : row.met ? "yes" : "no",
  ]);
  const lines = [HEAD, ...cells];
  const widths = HEAD.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
