/**
 * The row that lets a batch of usage count once. It records the last batch of its owner, among the idempotency keys.
 */

import type { UsageBatch } from "../core/usage.ts";
import type { Idempotency } from "./records.ts";
import { columnOf, LAYOUT } from "./rows.ts";

/** No customer has this id. */
const SCOPE = "usage";

/** The row of a batch. It is pruned like other idempotency keys, long after the owner has ended. */
export function rowOfBatch({ owner, number }: UsageBatch, now: number): Idempotency {
  return { scope: SCOPE, key: owner, fingerprint: String(number), result: "", createdAt: now };
}

/**
 * The statement that writes the row, and changes nothing if the batch is counted already. `placeholders`: the values of
 * the row.
 */
export function noteBatch(placeholders: string): string {
  const columns = LAYOUT.idempotency.map(({ column }) => `"${column}"`).join(", ");
  const changed = (["fingerprint", "createdAt"] as const).map(columnOf);
  return `insert into idempotency (${columns}) values (${placeholders}) on conflict (scope, "key")
    do update set ${changed.map((column) => `${column} = excluded.${column}`).join(", ")}
    where idempotency.fingerprint <> excluded.fingerprint`;
}
