/** Writes the changes of a wave, for the transactions that are not refused. Pure. */

import { idsInPostgres } from "../deliveries-of-event.ts";
import type { TableName } from "../records.ts";
import { columnOf, LAYOUT } from "../rows.ts";
import { assignmentsOf } from "../split-timeline.ts";
import { TABLES } from "../tables.ts";
import { DUPLICATE } from "./checks.ts";
import type { Clauses } from "./clauses.ts";
import { type ChangedQueues, changesQueue, QUEUE_COLUMNS } from "./due-rows.ts";
import { columnValue, type InputColumn } from "./json-rows.ts";
import type { Shape, ShapeInputs } from "./shapes.ts";
import { uniqueColumns, uniquePlaces } from "./touched-keys.ts";

const quoted = (names: readonly string[]) => names.map((name) => `"${name}"`).join(", ");
const columnsOf = (table: TableName) => LAYOUT[table].map(({ column }) => column);

/** The start of an insert of the rows `i` of a clause. Events get the next positions, in the order of their rows. */
function insertion(table: TableName, clause: string, properties: readonly InputColumn[]) {
  const [position, next] = table === "events" ? ["position, ", "nextval('event_positions'), "] : ["", ""];
  const assigned = properties.flatMap((property, index) =>
    assignmentsOf(table, columnsOf(table)[index] ?? "", columnValue("i", property)),
  );
  return `insert into ${TABLES[table].name} (${position}${quoted(assigned.map(([column]) => column))})
    select ${next}${assigned.map(([, value]) => value).join(", ")} from ${clause} i`;
}

type QueueTable = "messages" | "deliveries";

function isQueueTable(table: TableName): table is QueueTable {
  return table === "messages" || table === "deliveries";
}

/** Adds the inserts of records whose keys must be new. Refuses a transaction if another process has just inserted its key. */
export function addUniqueInserts(
  clauses: Clauses,
  inputs: ShapeInputs,
  shapes: readonly Shape[],
  changed: ChangedQueues,
): void {
  const unique = shapes.filter(({ kind }) => kind === "insertUnique");
  if (unique.length === 0) return;
  const inserted = unique.map((shape) => {
    const { table } = shape;
    const { clause, properties } = inputs.of(shape);
    const columns = uniqueColumns(table);
    const made = clauses.add(
      `${insertion(table, clause, properties)} where ${clauses.isAccepted("i")}
        on conflict (${quoted(columns)}) do nothing returning ${isQueueTable(table) ? QUEUE_COLUMNS[table] : quoted(columns)}`,
    );
    const key = uniquePlaces(table).map((place) => properties[place]?.name ?? "");
    const isSame = columns.map((column, index) => `t."${column}" = i.${key[index]}`).join(" and ");
    return { table, clause, made, isSame };
  });
  const late = inserted.map(
    ({ clause, made, isSame }) => `select i.tx, i.op, ${DUPLICATE} as why from ${clause} i
      where ${clauses.isAccepted("i")} and not exists (select 1 from ${made} t where ${isSame})`,
  );
  clauses.refuse(clauses.add(late.join("\nunion all\n"), "materialized"));
  for (const { table, clause, made, isSame } of inserted) {
    if (!isQueueTable(table)) continue;
    const accepted = `${made} t join ${clause} i on ${isSame} where ${clauses.isAccepted("i")}`;
    changed.inserted[table].push(queueRows(table, accepted));
  }
}

/** The columns that keep a record in its queue. */
const QUEUED_BY = new Set(["due_at", "claimed_until"]);

/** A query of changed records `t` of a queue. `effect`: SQL for the effect of the change on the lease of a message. */
function queueRows(table: QueueTable, from: string, effect = "'ends'", isGone = false): string {
  const names = QUEUE_COLUMNS[table].split(", ");
  const columns = names.map((name) => (isGone && QUEUED_BY.has(name) ? `null::bigint as ${name}` : `t.${name}`));
  if (table === "messages") columns.push(`${effect} as lease_effect`);
  return `select ${columns.join(", ")} from ${from}`;
}

/** Adds the change of a shape. `isChecked`: the statement has locked the records, and they have the versions that the shape names. */
export function addChange(
  clauses: Clauses,
  inputs: ShapeInputs,
  shape: Shape,
  changed: ChangedQueues,
  isChecked: boolean,
): void {
  const sql = changeOf(inputs, shape, clauses, isChecked);
  if (sql === null) return;
  const { kind, table, properties } = shape;
  if (!isQueueTable(table) || (kind === "update" && !changesQueue(table, properties))) {
    clauses.add(sql);
    if (kind === "rewrite") clauses.add(eraseResponses(inputs.of(shape).clause, clauses));
    return;
  }
  const made = clauses.add(`${sql} returning ${QUEUE_COLUMNS[table]}`);
  if (kind === "insert") changed.inserted[table].push(`select * from ${made}`);
  else changed[table].push(changedRows(inputs, shape, table, made));
}

function changedRows(inputs: ShapeInputs, shape: Shape, table: QueueTable, made: string): string {
  if (shape.kind === "delete") return queueRows(table, `${made} t`, "'ends'", true);
  const claimedUntil = shape.kind === "update" ? shape.properties.indexOf("claimedUntil") : -1;
  if (claimedUntil === -1) return queueRows(table, `${made} t`);
  const effect = `case when i.v${claimedUntil} is null then 'ends' else 'holds' end`;
  return queueRows(table, `${made} t join ${inputs.of(shape).clause} i on i.k0 = t.id`, effect);
}

function changeOf(inputs: ShapeInputs, shape: Shape, clauses: Clauses, isChecked: boolean): string | null {
  const { kind, table } = shape;
  const { name, key } = TABLES[table];
  const { clause, properties, where } = inputs.of(shape);
  const isAccepted = clauses.isAccepted("i");
  const sets = shape.properties.flatMap((property, index) => {
    const value = columnValue("i", properties[index] as InputColumn);
    const assigned = assignmentsOf(table, columnOf(property), value);
    return assigned.map(([column, sql]) => `"${column}" = ${sql}`);
  });
  const isFound = shape.where
    .map((property, index) => `t."${columnOf(property)}" = i.${where[index]?.name}`)
    .join(" and ");
  switch (kind) {
    case "insertUnique":
    case "require":
    case "requireNone":
    case "requireUnleased":
    case "requireEpoch":
      return null;
    case "insert":
    case "event":
      return `${insertion(table, clause, properties)} where ${isAccepted}`;
    case "put": {
      const replaced = columnsOf(table)
        .flatMap((column) => assignmentsOf(table, column, ""))
        .map(([column]) => `"${column}" = excluded."${column}"`);
      return `${insertion(table, clause, properties)} where ${isAccepted}
        on conflict (${quoted(key.map(columnOf))}) do update set ${replaced.join(", ")}`;
    }
    case "update":
      return `update ${name} t set ${[...sets, "version = t.version + 1"].join(", ")} from ${clause} i
        where ${isFound} and ${isAccepted}${isChecked ? " and t.version = i.version" : ""}`;
    case "set":
    case "rewrite":
      return `update ${name} t set ${sets.join(", ")} from ${clause} i where ${isFound} and ${isAccepted}`;
    case "delete":
      return `delete from ${name} t using ${clause} i where ${isFound} and ${isAccepted}`;
  }
}

/**
 * SQL for the attempts of a delivery as JSON. A response may have NUL, which only the type `json` can hold
 * and no function accepts. So each escape by number becomes a line break: only responses have such escapes,
 * and responses are erased anyway. If a backslash stands before the escape, it remains one of two.
 */
const ATTEMPTS = String.raw`regexp_replace(d.attempts, '\\u[0-9a-f]{4}', '\\n', 'gi')::json`;

/**
 * Erases the responses to rewritten events, since a response may quote the text of its event. The new version of the
 * delivery keeps an attempt in flight from writing its response back. The fourth value of an attempt is the response.
 */
function eraseResponses(clause: string, clauses: Clauses): string {
  return `update deliveries d set version = d.version + 1, attempts = (
      select json_agg(case json_typeof(one) when 'array' then jsonb_set(one::jsonb, '{3}', 'null')
        else one::jsonb end order by place)::text
      from json_array_elements(${ATTEMPTS}) with ordinality as attempts (one, place))
    where d.attempts <> '[]' and d.id = any(array(${idsInPostgres(`(select k0 as id from ${clause} i where ${clauses.isAccepted("i")}) e`)}))`;
}
