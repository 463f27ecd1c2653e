/**
 * Writes the checks of a wave. The statement locks its rows table by table, in the order
 * of their keys, so that two processes never wait for each other in a circle. Pure.
 */

import type { TableName } from "../records.ts";
import { columnOf } from "../rows.ts";
import { TABLES } from "../tables.ts";
import type { Clauses } from "./clauses.ts";
import type { PlacedOperation, Shape, ShapeInputs } from "./shapes.ts";
import { uniqueColumns, uniquePlaces } from "./touched-keys.ts";

/** Why a transaction is refused, as the statement returns it. `STALE`: its endpoints have changed, and the transaction is repeated. */
export const STALE = 0;
export const CONFLICT = 1;
export const DUPLICATE = 2;
const UNMET = 3;

/** The endpoints from which the deliveries of a transaction were made. */
export interface UsedRouting {
  transaction: number;
  customerId: string;
  version: number;
}

/** An operation whose requirement does not hold. */
export interface Unmet {
  transaction: number;
  number: number;
}

/** Adds a clause with the first refusal of each refused transaction: `tx`, `op`, `why`. */
export function addChecks(
  clauses: Clauses,
  inputs: ShapeInputs,
  shapes: readonly Shape[],
  { routing, unmet }: { routing: readonly UsedRouting[]; unmet: readonly Unmet[] },
): void {
  const locked = lockTables(clauses, shapes);
  const refusals = shapes.flatMap((shape) => refusalOf(clauses, inputs, shape, locked) ?? []);
  if (routing.length > 0) refusals.push(staleRouting(clauses, routing));
  for (const { transaction, number } of unmet)
    refusals.push(`select ${transaction} as tx, ${number} as op, ${UNMET} as why`);
  if (refusals.length === 0) return;
  const all = refusals.join("\nunion all\n");
  clauses.refuse(
    clauses.add(`select distinct on (tx) tx, op, why from (${all}) refusals order by tx, op`, "materialized"),
  );
}

/** Locks the records whose versions are required. Returns the clause of each table, with `id` and `version`. */
function lockTables(clauses: Clauses, shapes: readonly Shape[]): Map<TableName, string> {
  const ids = new Map<TableName, string[]>();
  for (const { kind, table, placed } of shapes) {
    if (kind !== "update") continue;
    const known = ids.get(table) ?? [];
    for (const one of placed) known.push(idOf(one));
    ids.set(table, known);
  }
  const locked = new Map<TableName, string>();
  for (const [table, of] of ids) {
    const parameter = clauses.parameter(of);
    const isOne = `id = any(${parameter}::text[])${table === "deliveries" ? betweenEnds(clauses, of) : ""}`;
    const lock = `select id, version from ${TABLES[table].name} where ${isOne} order by id for update`;
    locked.set(table, clauses.add(lock, "materialized"));
  }
  return locked;
}

/** SQL that bounds a list of ids by its first and its last id. The bounds name the partitions to the planner; the list alone does not. */
function betweenEnds(clauses: Clauses, ids: readonly string[]): string {
  const sorted = ids.toSorted();
  return ` and id between ${clauses.parameter(sorted[0] ?? "")} and ${clauses.parameter(sorted.at(-1) ?? "")}`;
}

function idOf({ operation }: PlacedOperation): string {
  if (operation[0] === "update") return operation[4];
  throw new Error(`${operation[0]} requires no version`);
}

/** SQL for whether a row is found. With the limit the planner looks each row up, and never reads the whole table to join it. */
function isThere(from: string): string {
  return `(select true from ${from} limit 1)`;
}

/** The query of the refused transactions of a shape; null if its operations require nothing. */
function refusalOf(
  clauses: Clauses,
  inputs: ShapeInputs,
  shape: Shape,
  locked: ReadonlyMap<TableName, string>,
): string | null {
  const { kind, table } = shape;
  switch (kind) {
    case "update":
      return `select i.tx, i.op, ${CONFLICT} as why from ${inputs.of(shape).clause} i
        left join ${locked.get(table)} l on l.id = i.k0 where l.version is distinct from i.version`;
    case "insertUnique": {
      const { clause, properties } = inputs.of(shape);
      const key = uniquePlaces(table).map((place) => properties[place]?.name ?? "");
      const isSame = uniqueColumns(table).map((column, index) => `t."${column}" = i.${key[index]}`);
      return `select i.tx, i.op, ${DUPLICATE} as why from ${clause} i
        where ${isThere(`${TABLES[table].name} t where ${isSame.join(" and ")}`)}`;
    }
    case "require":
    case "requireNone": {
      const { clause, where } = inputs.of(shape);
      const matches = shape.where.map((property, index) => `t."${columnOf(property)}" = i.${where[index]?.name}`);
      const match = isThere(`${TABLES[table].name} t where ${matches.join(" and ")}`);
      return `select i.tx, i.op, ${CONFLICT} as why from ${clause} i
        where ${match} is ${kind === "require" ? "null" : "not null"}`;
    }
    case "requireEpoch": {
      const { clause } = inputs.of(shape);
      const kept = clauses.add(
        `select lease, epoch from member_leases where lease in (select k0 from ${clause}) order by lease for share`,
        "materialized",
      );
      return `select i.tx, i.op, ${UNMET} as why from ${clause} i
        left join ${kept} l on l.lease = i.k0 where l.epoch is distinct from i.version`;
    }
    default:
      return null;
  }
}

function staleRouting(clauses: Clauses, routing: readonly UsedRouting[]): string {
  const given = clauses.parameter(
    JSON.stringify(
      routing.map(({ transaction, customerId, version }) => ({ tx: transaction, c: customerId, v: version })),
    ),
  );
  return `select i.tx, -1 as op, ${STALE} as why from json_to_recordset(${given}::json) as i(tx int, c text, v bigint)
    left join endpoint_versions r on r.customer_id = i.c where coalesce(r.version, 0) <> i.v`;
}
