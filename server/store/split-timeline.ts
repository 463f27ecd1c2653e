/**
 * PostgreSQL stores the first entry of a message's timeline apart, at the end of its row. The entry never changes. But
 * the log of a change has the row from its first changed byte to its last, and the reason in this entry was half of
 * that. Pure.
 */

/** The column of the first entry; null if the timeline has no entry. */
const START = "timeline_start";

/** Columns with their new values, both SQL. */
export type Assignments = readonly (readonly [column: string, value: string])[];

/** How a column of a table gets its value. */
export function assignmentsOf(table: string, column: string, value: string): Assignments {
  if (!isTimeline(table, column)) return [[column, value]];
  const start = `(${value}::json -> 0)::text`;
  const rest = `'[' || coalesce(nullif(substr(${value}, length(${start}) + 3), ''), ']')`;
  return [
    [column, rest],
    [START, start],
  ];
}

/** SQL for the value of a column on PostgreSQL. `row`: the name of the row. */
export function storedColumn(table: string, column: string, row: string): string {
  const value = `${row}."${column}"`;
  if (!isTimeline(table, column)) return value;
  const start = `${row}.${START}`;
  const rest = `case ${value} when '[]' then ']' else ',' || substr(${value}, 2) end`;
  return `case when ${start} is null then ${value} else '[' || ${start} || ${rest} end`;
}

/** The value of a timeline by its two columns, which a row may lack. */
export function wholeTimeline<Value>(timeline: Value, start: unknown): Value | string {
  if (typeof start !== "string" || typeof timeline !== "string") return timeline;
  return `[${start}${timeline === "[]" ? "]" : `,${timeline.slice(1)}`}`;
}

function isTimeline(table: string, column: string): boolean {
  return table === "messages" && column === "timeline";
}
