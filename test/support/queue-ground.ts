/** A statement of a queue for tests, and how one makes what it finds. */

import assert from "node:assert/strict";
import type pg from "pg";
import type { Message } from "../../server/core/message.ts";
import { encodeTransaction, type Job } from "../../server/store/jobs/jobs.ts";
import type { PostgresWriter } from "../../server/store/postgres/writer.ts";
import type { Operation } from "../../server/store/store.ts";
import { NOW, type Stage } from "../conformance/store-stage.ts";

/** Pages of a row that a statement inserts with its records, or changes in an SQL transaction of its own, at most. */
export const WITH_RECORDS = 50;

/** Rows that a statement is to handle. */
export const HANDLED = 40;

/** A statement, or a few that belong together. */
export interface QueueStatement {
  name: string;
  /** Makes what the statement is to find. It is not counted. */
  prepare?: () => Promise<unknown>;
  /** Returns how many rows the statement has handled. It runs on an empty queue too, where it finds nothing. */
  run(): Promise<number>;
  /** Pages that it reads for a row at most, if not `PAGES_MAX`. */
  pagesMax?: number;
}

/** The database and the writer that statements work with. */
export interface Ground {
  /** Its one connection is the writer's and the readers'. */
  pool: pg.Pool;
  writer: PostgresWriter;
  /** The name of the writer in its leases. */
  owner: string;
  stage: Stage;
  /** A message of the queue's lane of messages. */
  template: Message;
}

/** Runs jobs as one group. Returns their values. */
export async function runGroup({ writer }: Ground, jobs: readonly Job[]): Promise<unknown[]> {
  const { results } = await writer.runGroup(jobs);
  return results.map((result) => ("value" in result ? result.value : assert.fail(JSON.stringify(result))));
}

/** Commits a transaction for each of some items, as one group. Returns their number. */
export async function commitEach<Item>(
  ground: Ground,
  items: readonly Item[],
  operationsOf: (item: Item) => readonly Operation[],
): Promise<number> {
  await runGroup(
    ground,
    items.map((item): Job => ["commit", encodeTransaction(operationsOf(item))]),
  );
  return items.length;
}

/** The records of a query, or one that is not there, so that the statement runs for something. */
export async function recordsOf(
  { pool }: Ground,
  text: string,
  none: string,
): Promise<{ id: string; version: number }[]> {
  const { rows } = await pool.query<{ id: string; version: number }>(text);
  return rows.length === 0 ? [{ id: none, version: 1 }] : rows;
}

/** Leases the first free messages, those of a lane if it is named. Returns their ids. */
export async function leaseTo({ pool }: Ground, owner: string, lane: string | null = null): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `update due_messages set lease = nextval('leases'), owner = $1, leased_until = clock_timestamp() + interval '1 hour'
     where id in (select id from due_messages where lease is null and ($2::text is null or lane = $2) order by id limit ${HANDLED})
     returning id`,
    [owner, lane],
  );
  return rows.map(({ id }) => id);
}

/** Leases messages as for their send attempts. */
export async function attemptBy(ground: Ground, owner: string, lane: string | null = null): Promise<void> {
  const ids = await leaseTo(ground, owner, lane);
  await ground.pool.query("update due_messages set is_held = 1 where id = any($1)", [ids]);
  const attempted = "update messages set claimed_until = $1, due_at = null, status = 'pending' where id = any($2)";
  await ground.pool.query(attempted, [NOW - 1, ids]);
}
