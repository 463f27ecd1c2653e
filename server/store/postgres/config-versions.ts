/**
 * The versions of the configuration (`SharedDatabase.configVersions`). The commit of a change
 * raises the version of its part, so that every process learns of the change. The versions are
 * locked last and in order, so that changes of one part wait for one another only at the end.
 */

import { type Kysely, sql as text } from "kysely";
import type { EncodedOperation } from "../jobs/jobs.ts";
import type { TableName } from "../records.ts";
import type { Database } from "../rows.ts";
import { CONFIG_PARTS, type ConfigPart, type ConfigVersions } from "../shared-database.ts";
import type { PendingTransaction } from "./decisions.ts";
import type { Sql } from "./sql.ts";

/** The parts that a change of a table belongs to. */
const PARTS: Partial<Record<TableName, readonly ConfigPart[]>> = {
  keys: ["keys"],
  customers: ["routing", "receivers"],
  numbers: ["routing"],
  instances: ["routing"],
  endpoints: ["receivers"],
  optOuts: ["optOuts"],
  settings: ["settings"],
};

/** Further parts that a delete of a record belongs to: caches keep values that never change until the record is deleted. */
const DELETED_PARTS: Partial<Record<TableName, readonly ConfigPart[]>> = { chats: ["threads"] };

/** Properties that change all the time, and that no cache keeps. */
const NOT_CACHED = new Set(["lastUsedAt"]);

/** The versions of all parts. */
export async function readVersions(db: Kysely<Database>): Promise<ConfigVersions> {
  const { rows } = await text<{ part: ConfigPart; version: number }>`select part, version from config_versions`.execute(
    db,
  );
  const versions = new Map(rows.map(({ part, version }) => [part, version]));
  return Object.fromEntries(CONFIG_PARTS.map((part) => [part, versions.get(part) ?? 0])) as ConfigVersions;
}

/** The parts that transactions change. */
export function partsOf(transactions: readonly PendingTransaction[]): Set<ConfigPart> {
  return new Set(transactions.flatMap(({ operations }) => operations.flatMap(partsOfOperation)));
}

function partsOfOperation(operation: EncodedOperation): readonly ConfigPart[] {
  switch (operation[0]) {
    case "insert":
    case "insertUnique":
    case "put":
      return PARTS[operation[1]] ?? [];
    case "delete":
      return partsOfDeleted(operation[1]);
    case "update":
      return operation[2].split(",").every((property) => NOT_CACHED.has(property)) ? [] : (PARTS[operation[1]] ?? []);
    default:
      return [];
  }
}

function partsOfDeleted(table: TableName): readonly ConfigPart[] {
  return [...(PARTS[table] ?? []), ...(DELETED_PARTS[table] ?? [])];
}

/** The parts of a customer's records that a reset removes. */
export const RESET_PARTS: ReadonlySet<ConfigPart> = new Set(["optOuts", "threads"]);

/** The parts that change if rows of some tables leave the quarantine. */
export function partsOfMended(tables: readonly TableName[]): Set<ConfigPart> {
  return new Set(tables.flatMap((table): ConfigPart[] => ["quarantine", ...(PARTS[table] ?? [])]));
}

/** Raises the versions of parts, in the SQL transaction of their changes. */
export async function raiseVersions(sql: Sql, parts: ReadonlySet<ConfigPart>): Promise<void> {
  if (parts.size === 0) return;
  await sql.values(
    // A part that a later version of the service added has no row until its first change.
    `insert into config_versions (part, version) select part, 1 from unnest($1::text[]) part order by part
     on conflict (part) do update set version = config_versions.version + 1`,
    [[...parts]],
  );
}
