/** Writes the statements of the changes of a group: one for all operations of a shape, with their rows as a parameter. Pure. */

import { idsInPostgres } from "../deliveries-of-event.ts";
import type { EncodedOperation } from "../jobs/jobs.ts";
import type { TableName } from "../records.ts";
import { columnOf, LAYOUT } from "../rows.ts";
import { assignmentsOf } from "../split-timeline.ts";
import { TABLES } from "../tables.ts";
import { dueRowsOf, keepDueMessages } from "./due-messages.ts";
import { changesQueue, keepDueDeliveries, putDeliveries, QUEUE_COLUMNS } from "./due-rows.ts";
import { columnValue, recordset } from "./json-rows.ts";
import {
  columnsOfShape,
  isBetween,
  isById,
  isListed,
  listsOf,
  rowsOfShape,
  type Shape,
  type ShapeColumns,
  shapesOf,
} from "./shapes.ts";
import type { SqlParameter, SqlStatement } from "./sql.ts";

/** A statement that changes records. If `returnsDue`, its rows are the deliveries with another due time: `due_at` (null: not due), `id`, `lane`. */
export interface ChangeStatement extends SqlStatement {
  returnsDue: boolean;
}

/** The statements of operations, in the order in which they run. `putBy`: the number of this process in the queue of deliveries. */
export function changesOf(operations: readonly EncodedOperation[], putBy: number): ChangeStatement[] {
  return shapesOf(operations).flatMap((shape) => {
    const { text, columns } = writtenOf(shape);
    const parameters: SqlParameter[] = [rowsOfShape(shape, columns), ...listsOf(shape)];
    if (putsDue(shape)) parameters.push(putBy);
    const change = { text, parameters, returnsDue: putsDue(shape) && !INSERTING.has(shape.kind) };
    return shape.kind === "rewrite" ? [change, eraseResponses(shape)] : [change];
  });
}

const INSERTING: ReadonlySet<Shape["kind"]> = new Set(["insert", "insertUnique"]);

/** Whether the statement of a shape changes the queue of deliveries. */
function putsDue({ kind, table, properties }: Shape): boolean {
  if (table !== "deliveries") return false;
  return INSERTING.has(kind) || kind === "delete" || (kind === "update" && changesQueue(table, properties));
}

/** The text of a shape, and the columns of its rows, which are the first parameter. */
interface WrittenShape {
  text: string;
  columns: ShapeColumns;
}

/** The texts so far, by the names of the shapes. The engine has some dozens of shapes. */
const TEXTS = new Map<string, WrittenShape>();

function writtenOf(shape: Shape): WrittenShape {
  const known = TEXTS.get(shape.name);
  if (known !== undefined) return known;
  const columns = columnsOfShape(shape);
  const written = { columns, text: textOf(shape, columns, recordset("$1", [...columns.set, ...columns.where])) };
  TEXTS.set(shape.name, written);
  return written;
}

/** The parameter for the number of this process: the last one. */
const putByOf = (shape: Shape) => `$${2 + listsOf({ ...shape, operations: [] }).length}::int`;

const quoted = (names: readonly string[]) => names.map((name) => `"${name}"`).join(", ");
const columnsOf = (table: TableName) => LAYOUT[table].map(({ column }) => column);

function textOf(shape: Shape, columns: ShapeColumns, rows: string): string {
  const { name } = TABLES[shape.table];
  switch (shape.kind) {
    case "insert":
    case "insertUnique":
    case "event":
      return inserting(shape, insertion(shape, columns, rows));
    case "put":
      return `${insertion(shape, columns, rows)} ${replacing(shape.table)}`;
    case "update":
      return updating(shape, columns, rows);
    case "set":
    case "rewrite":
      return `update ${name} t set ${assigned(shape, columns).join(", ")} from ${rows} where ${matching(shape, columns)}`;
    case "delete":
      return deleting(shape, `delete from ${name} t using ${rows} where ${matching(shape, columns)}`);
  }
}

/** An insert of the rows. Events get the next positions, in the order of their rows. */
function insertion({ table }: Shape, { set }: ShapeColumns, rows: string): string {
  const [position, next] = table === "events" ? ["position, ", "nextval('event_positions'), "] : ["", ""];
  const values = set.flatMap((column, index) =>
    assignmentsOf(table, columnsOf(table)[index] ?? "", columnValue("r", column)),
  );
  return `insert into ${TABLES[table].name} (${position}${quoted(values.map(([column]) => column))})
    select ${next}${values.map(([, value]) => value).join(", ")} from ${rows}`;
}

/** The end of an insert that replaces records with the same key. */
function replacing(table: TableName): string {
  const columns = columnsOf(table)
    .flatMap((column) => assignmentsOf(table, column, ""))
    .map(([column]) => `"${column}" = excluded."${column}"`);
  return `on conflict (${quoted(TABLES[table].key.map(columnOf))}) do update set ${columns.join(", ")}`;
}

/** An insert with the rows in the queue. */
function inserting(shape: Shape, insert: string): string {
  if (shape.table === "messages")
    return `with made as (${insert} returning ${QUEUE_COLUMNS.messages})
      insert into due_messages (id, lane, "from", "to", due_at, is_queued) ${dueRowsOf("made")}`;
  if (shape.table === "deliveries")
    return `with made as (${insert} returning ${QUEUE_COLUMNS.deliveries}) ${putDeliveries("made", putByOf(shape))}`;
  return insert;
}

/** An update. Its records are locked and have the versions that the operations name: the checks saw to that. */
function updating(shape: Shape, columns: ShapeColumns, rows: string): string {
  const { table, properties } = shape;
  const sets = [...assigned(shape, columns), "version = t.version + 1"].join(", ");
  const update = `update ${TABLES[table].name} t set ${sets} from ${rows}
    where ${matching(shape, columns)}`;
  if ((table !== "messages" && table !== "deliveries") || !changesQueue(table, properties)) return update;
  const returned = QUEUE_COLUMNS[table].split(", ").map((name) => `t.${name}`);
  if (table === "deliveries") return keepingDeliveries(shape, `${update} returning ${returned.join(", ")}`);
  const claimed = columns.set[properties.indexOf("claimedUntil")];
  const effect = claimed === undefined ? "'ends'" : `case when r.${claimed.name} is null then 'ends' else 'holds' end`;
  return keepingMessages(`${update} returning ${returned.join(", ")}, ${effect} as lease_effect`);
}

/** The columns that keep a record in its queue. A removed record has neither. */
const QUEUED_BY = new Set(["due_at", "claimed_until"]);

function deleting(shape: Shape, remove: string): string {
  const { table } = shape;
  if (table !== "messages" && table !== "deliveries") return remove;
  const gone = QUEUE_COLUMNS[table]
    .split(", ")
    .map((name) => (QUEUED_BY.has(name) ? `null::bigint as ${name}` : `t.${name}`))
    .join(", ");
  if (table === "deliveries") return keepingDeliveries(shape, `${remove} returning ${gone}`);
  return keepingMessages(`${remove} returning ${gone}, 'ends' as lease_effect`);
}

function keepingMessages(change: string): string {
  return `with changed as (${change}), ${keepDueMessages("changed")} select`;
}

/** The end of a statement that returns the deliveries with another due time. */
const DUE = "select due_at, id, lane from changed";

function keepingDeliveries(shape: Shape, change: string): string {
  return `with changed as (${change}), ${keepDueDeliveries("changed", putByOf(shape))} ${DUE}`;
}

/** SQL for the new values of the properties. */
function assigned({ table, properties }: Shape, { set }: ShapeColumns): string[] {
  return set.flatMap((column, index) =>
    assignmentsOf(table, columnOf(properties[index] ?? ""), columnValue("r", column)).map(
      ([name, value]) => `"${name}" = ${value}`,
    ),
  );
}

/**
 * SQL for whether a record is the one that a row names. The lists of the values are the parameters behind
 * the rows: by them the planner looks records up, also if it takes the table for empty.
 */
function matching({ table, where }: Shape, columns: ShapeColumns): string {
  const matches = columns.where.map(({ name, type }, index) => {
    const column = `t."${columnOf(where[index] ?? "")}"`;
    return `${column} = r.${name} and ${isListed(column, type, 2 + index)}`;
  });
  const between = isById(table, where) ? [isBetween("t.id", 3)] : [];
  return [...matches, ...between].join(" and ");
}

/**
 * SQL for the attempts of a delivery as JSON. A response may have NUL, which only the type `json` can hold
 * and no function accepts. So each escape by number becomes a line break: only responses have such escapes,
 * and responses are erased anyway. If a backslash stands before the escape, it remains one of two.
 */
const ATTEMPTS = String.raw`regexp_replace(d.attempts, '\\u[0-9a-f]{4}', '\\n', 'gi')::json`;

/** The ids of the deliveries of the events of a list. */
const OF_EVENTS = idsInPostgres("unnest($1::text[]) as e (id)");

/**
 * Erases the responses to rewritten events, since a response may quote the text of its event. The new version of the
 * delivery keeps an attempt in flight from writing its response back. The fourth value of an attempt is the response.
 */
function eraseResponses({ operations }: Shape): ChangeStatement {
  return {
    text: `update deliveries d set version = d.version + 1, attempts = (
      select json_agg(case json_typeof(one) when 'array' then jsonb_set(one::jsonb, '{3}', 'null')
        else one::jsonb end order by place)::text
      from json_array_elements(${ATTEMPTS}) with ordinality as attempts (one, place))
    where d.attempts <> '[]' and d.id = any(array(${OF_EVENTS}))`,
    parameters: [operations.map(([, eventId]) => String(eventId))],
    returnsDue: false,
  };
}
