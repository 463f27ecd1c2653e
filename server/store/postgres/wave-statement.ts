/** Writes the statement of a wave: it checks all transactions, and makes the changes of those whose checks hold. Pure. */

import type { EncodedOperation } from "../jobs/jobs.ts";
import { LAYOUT } from "../rows.ts";
import { addChange, addUniqueInserts } from "./changes.ts";
import { addChecks, type Unmet, type UsedRouting } from "./checks.ts";
import { Clauses, type SqlStatement } from "./clauses.ts";
import { isLeasedByOther } from "./delivery-queue.ts";
import { addDueRows, type ChangedQueues } from "./due-rows.ts";
import { columnValue, inputColumn, numberColumn } from "./json-rows.ts";
import { type LaneFloor, startOf } from "./lane-floors.ts";
import type { MadeDelivery } from "./made-deliveries.ts";
import { type PlacedOperation, ShapeInputs, shapesOf } from "./shapes.ts";

/** The content of a statement. */
export interface WaveContent {
  checked: readonly PlacedOperation[];
  /** The operations that are applied if all those of their transaction that are checked hold. */
  applied: readonly PlacedOperation[];
  /** The deliveries of the events, in order. */
  deliveries: readonly MadeDelivery[];
  routing: readonly UsedRouting[];
  /** Operations whose requirement does not hold. */
  unmet: readonly Unmet[];
  /** The member that gets the leases of deliveries, and how long they last. */
  owner: string;
  leaseMs: number | null;
  /** The first row that the last claim of a lane of deliveries found. */
  floorOf(lane: string): LaneFloor | null;
}

/** The rows that the statement returns: a refusal (transaction, number of the operation, why), or the lease of a delivery (lease, id). */
export const REFUSAL_ROW = 0;
export const LEASE_ROW = 1;

export function writeWave(content: WaveContent): SqlStatement {
  const clauses = new Clauses();
  const inputs = new ShapeInputs(clauses);
  const changed: ChangedQueues = { messages: [], deliveries: [], inserted: { messages: [], deliveries: [] } };
  const shapes = shapesOf(content.applied);
  const checked = content.checked === content.applied ? shapes : shapesOf(content.checked);
  addChecks(clauses, inputs, checked, content);
  addUniqueInserts(clauses, inputs, shapes, changed);
  for (const shape of shapes) addChange(clauses, inputs, shape, changed, checked.length > 0);
  const leases = addDeliveries(clauses, content);
  addDueRows(clauses, changed);
  const returned = clauses.refused.map(
    (clause) => `select ${REFUSAL_ROW} as kind, tx, op, why, null as id from ${clause}`,
  );
  if (leases !== null) returned.push(`select ${LEASE_ROW} as kind, null, null, lease, id from ${leases}`);
  return clauses.statement(returned.join("\nunion all\n") || "select null where false");
}

const DELIVERY_COLUMNS = LAYOUT.deliveries.map(({ property }, index) =>
  inputColumn("deliveries", property, `v${index}`),
);
const indexOf = (name: string) => LAYOUT.deliveries.findIndex(({ property }) => property === name);
const [ID, LANE, DUE_AT] = [indexOf("id"), indexOf("lane"), indexOf("dueAt")];

/**
 * Adds the deliveries of events, with their rows in the queue. Those that are offered are leased if no other delivery of their lane
 * could be claimed before them: of each lane one row is asked for, since the planner would walk through the index of all leases
 * if it made joins of `not exists`. Returns the clause of those that are leased: `id`, `lease`.
 */
function addDeliveries(clauses: Clauses, { deliveries, owner, leaseMs, floorOf }: WaveContent): string | null {
  if (deliveries.length === 0) return null;
  const columns = [numberColumn("tx"), numberColumn("offered"), ...DELIVERY_COLUMNS];
  const rows = deliveries.map(({ transaction, delivery }) => [
    transaction,
    delivery.isOffered ? 1 : null,
    ...delivery.values,
  ]);
  const given = clauses.addRows(columns, rows);
  const names = LAYOUT.deliveries.map(({ column }) => `"${column}"`).join(", ");
  const made = clauses.add(`insert into deliveries (${names})
    select ${DELIVERY_COLUMNS.map((column) => columnValue("i", column)).join(", ")} from ${given} i
    where ${clauses.isAccepted("i")} returning id, rowid, lane, due_at`);
  const queue = "insert into due_deliveries (id, row, lane, due_at";
  if (leaseMs === null || !deliveries.some(({ delivery }) => delivery.isOffered)) {
    clauses.add(`${queue}) select * from ${made}`);
    return null;
  }
  const lanes = new Set(deliveries.flatMap(({ delivery }) => (delivery.isOffered ? [delivery.lane] : [])));
  const floors = [...lanes].map((lane) => ({ lane, floor: floorOf(lane)?.dueAt, since: floorOf(lane)?.since }));
  const start = startOf("due_deliveries", "f.lane", "f.floor", "f.since");
  // Retries that wait for a later time do not keep new deliveries on disk.
  const free = clauses.add(
    `select f.lane from json_to_recordset(${clauses.parameter(JSON.stringify(floors))}::json) as f (lane text, floor bigint, since xid8)
       cross join lateral (select ${start} as start, (select max(v${DUE_AT}) from ${given} where offered = 1 and v${LANE} = f.lane) as due_at
         offset 0) i
     where coalesce((select true from due_deliveries q where q.lane = f.lane and q.lease is null and q.due_at >= i.start
         and q.due_at <= i.due_at limit 1), false) is false
       and not ${isLeasedByOther("f.lane", `${clauses.parameter(owner)}::text`)}`,
    "materialized",
  );
  const ifLeased = (value: string) => `case when l.lane is not null and i.offered = 1 then ${value} end`;
  const queued = clauses.add(`${queue}, lease, owner, leased_until)
    select t.*, ${ifLeased("nextval('leases')")}, ${ifLeased(`${clauses.parameter(owner)}::text`)},
      ${ifLeased(`clock_timestamp() + ${clauses.parameter(leaseMs)}::int * interval '1 ms'`)}
    from ${made} t join ${given} i on i.v${ID} = t.id left join ${free} l on l.lane = t.lane
    returning id, lease`);
  return clauses.add(`select id, lease from ${queued} where lease is not null`);
}

/** The operations of a transaction at their places. */
export function placed(transaction: number, operations: readonly EncodedOperation[]): PlacedOperation[] {
  return operations.map((operation, number) => ({ transaction, number, operation }));
}
