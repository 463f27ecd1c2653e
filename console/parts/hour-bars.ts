/** Bars of a chart by the hour: stacked values as shares of its height. Pure. */

/** An hour, and the value of each series in it. */
export interface HourPoint {
  /** Start of the hour, ISO 8601. */
  at: string;
  values: readonly number[];
}

/** A part of a bar: `from` and `height` are shares of the chart, from its foot. */
export interface BarPart {
  from: number;
  height: number;
}

/** The smallest of 1, 2 and 5 times a power of ten that holds the tallest bar. */
export function topOf(points: readonly HourPoint[]): number {
  const tallest = Math.max(1, ...points.map(({ values }) => sum(values)));
  const power = 10 ** Math.floor(Math.log10(tallest));
  return [1, 2, 5, 10].map((step) => step * power).find((top) => top >= tallest) ?? tallest;
}

/** The parts of an hour's bar, the first series at its foot. */
export function partsOf({ values }: HourPoint, top: number): BarPart[] {
  return values.map((value, index) => ({ from: sum(values.slice(0, index)) / top, height: value / top }));
}

/** Each series in a few words: `Sent: 120, at most 30 in an hour`. */
export function describe(names: readonly string[], points: readonly HourPoint[]): string {
  const words = names.map((name, index) => {
    const values = points.map((point) => point.values[index] ?? 0);
    const total = sum(values);
    return total === 0 ? `${name}: none` : `${name}: ${total}, at most ${Math.max(...values)} in an hour`;
  });
  return words.join("; ");
}

/** How many instants are in each hour of a series that begins with these. */
export function countByHour(hours: readonly string[], instants: readonly string[]): number[] {
  const starts = hours.map((at) => Date.parse(at));
  const counts = hours.map(() => 0);
  for (const instant of instants) {
    const at = Date.parse(instant);
    const hour = starts.findLastIndex((start) => start <= at);
    if (hour >= 0) counts[hour] = (counts[hour] ?? 0) + 1;
  }
  return counts;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
