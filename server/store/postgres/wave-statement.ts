/** Writes the statement of a wave. It checks all transactions, and makes the changes of each transaction whose checks hold. Pure. */

import type { EncodedOperation } from "../jobs/jobs.ts";
import { LAYOUT } from "../rows.ts";
import { addChange, addUniqueInserts } from "./changes.ts";
import { addChecks, type Unmet, type UsedRouting } from "./checks.ts";
import { Clauses, type SqlStatement } from "./clauses.ts";
import type { CaughtUpLane } from "./delivery-queue.ts";
import { putByOthers } from "./due-reads.ts";
import { addDueRows, type ChangedQueues } from "./due-rows.ts";
import { columnValue, inputColumn, numberColumn } from "./json-rows.ts";
import type { MadeDelivery } from "./made-deliveries.ts";
import { type PlacedOperation, ShapeInputs, shapesOf } from "./shapes.ts";

/** The content of a statement. */
export interface WaveContent {
  checked: readonly PlacedOperation[];
  /** The operations to apply, for each transaction if all of its checked operations hold. */
  applied: readonly PlacedOperation[];
  /** The deliveries of the events, in order. */
  deliveries: readonly MadeDelivery[];
  routing: readonly UsedRouting[];
  /** Operations whose requirement does not hold. */
  unmet: readonly Unmet[];
  /** The number of this process in the rows that it puts into the queue of deliveries. */
  putBy: number;
  /** Lanes of new deliveries. The statement asks for each whether another process has put something there. */
  caughtUp: readonly CaughtUpLane[];
}

/**
 * The kinds of rows that the statement returns. A refusal has the transaction, the number of the operation, and why. A delivery
 * that existed before and has changed has its due time (null: it is no longer due), id and lane. A lane in which another
 * process has put something has its name. The snapshot in which the statement looked for such lanes is in the place of an id.
 */
export const REFUSAL_ROW = 0;
export const CHANGED_ROW = 1;
export const PASSED_ROW = 2;
export const SNAPSHOT_ROW = 3;

export function writeWave(content: WaveContent): SqlStatement {
  const clauses = new Clauses();
  const inputs = new ShapeInputs(clauses);
  const changed: ChangedQueues = { messages: [], deliveries: [], inserted: { messages: [], deliveries: [] } };
  const shapes = shapesOf(content.applied);
  const checked = content.checked === content.applied ? shapes : shapesOf(content.checked);
  addChecks(clauses, inputs, checked, content);
  addUniqueInserts(clauses, inputs, shapes, changed);
  for (const shape of shapes) addChange(clauses, inputs, shape, changed, checked.length > 0);
  addDeliveries(clauses, content);
  const due = addDueRows(clauses, changed, content.putBy);
  const returned = clauses.refused.map(
    (clause) => `select ${REFUSAL_ROW} as kind, tx, op, why::bigint, null as id, null as lane from ${clause}`,
  );
  if (due !== null) returned.push(`select ${CHANGED_ROW} as kind, null, null, due_at, id, lane from ${due}`);
  returned.push(...passed(clauses, content));
  return clauses.statement(returned.join("\nunion all\n") || "select null where false");
}

const DELIVERY_COLUMNS = LAYOUT.deliveries.map(({ property }, index) =>
  inputColumn("deliveries", property, `v${index}`),
);

/** Adds the deliveries of events, with their rows in the queue. */
function addDeliveries(clauses: Clauses, { deliveries, putBy }: WaveContent): void {
  if (deliveries.length === 0) return;
  const columns = [numberColumn("tx"), ...DELIVERY_COLUMNS];
  const given = clauses.addRows(
    columns,
    deliveries.map(({ transaction, values }) => [transaction, ...values]),
  );
  const names = LAYOUT.deliveries.map(({ column }) => `"${column}"`).join(", ");
  const made = clauses.add(`insert into deliveries (${names})
    select ${DELIVERY_COLUMNS.map((column) => columnValue("i", column)).join(", ")} from ${given} i
    where ${clauses.isAccepted("i")} returning id, rowid, lane, due_at`);
  clauses.add(`insert into due_deliveries (id, row, lane, due_at, put_by) select *, ${putBy} from ${made}`);
}

/** SQL for the lanes in which another process has put something, and for the snapshot of that look. */
function passed(clauses: Clauses, { caughtUp, putBy }: WaveContent): string[] {
  if (caughtUp.length === 0) return [];
  const others = putByOthers("f.lane", "f.seen", { putBy, limit: 1 });
  return [
    `select ${PASSED_ROW} as kind, null, null, null, null, f.lane
       from json_to_recordset(${clauses.parameter(JSON.stringify(caughtUp))}::json) as f (lane text, seen pg_snapshot)
       where coalesce((select true from ${others} limit 1), false)`,
    `select ${SNAPSHOT_ROW} as kind, null, null, null, pg_current_snapshot()::text, null`,
  ];
}

/** The operations of a transaction at their places. */
export function placed(transaction: number, operations: readonly EncodedOperation[]): PlacedOperation[] {
  return operations.map((operation, number) => ({ transaction, number, operation }));
}
