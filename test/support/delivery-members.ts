/** Processes that claim and finish deliveries of one PostgreSQL database, for tests of its queue. */

import assert from "node:assert/strict";
import type pg from "pg";
import type { DueRead } from "../../server/store/due-deliveries.ts";
import type { DueRow, DueRows, EncodedOutcome } from "../../server/store/jobs/jobs.ts";
import { DeliveryLeases } from "../../server/store/postgres/delivery-leases.ts";
import { readDueDeliveries } from "../../server/store/postgres/delivery-queue.ts";
import { finishDeliveries } from "../../server/store/postgres/outcomes.ts";
import { type Sql, sqlOn } from "../../server/store/postgres/sql.ts";
import { LAYOUT, type SqlValue } from "../../server/store/rows.ts";
import { DUE_AT, laneName } from "./delivery-rows.ts";
import { FRONT } from "./due.ts";

export const NOW = DUE_AT + 86_400_000;
export const LEASE_MS = 45_000;

/** A read of due deliveries of lanes. */
export function dueReadOf(lanes: readonly { lane: string; limit: number }[], inHandMs = LEASE_MS): DueRead {
  return { lanes: lanes.map((one) => ({ ...one, after: FRONT })), now: NOW, inHandMs, bytesMax: 2 ** 30 };
}

/** A process on the database. */
export class Member {
  readonly leases: DeliveryLeases;
  readonly sql: Sql;
  now = 0;

  constructor(pool: pg.Pool, name: string) {
    this.leases = new DeliveryLeases(name, () => this.now);
    this.sql = sqlOn(pool, () => {});
  }

  async claim(lane: string, permits: number, leaseMs = LEASE_MS): Promise<DueRow[]> {
    return (await this.read([{ lane, limit: permits }], leaseMs)).rows;
  }

  read(lanes: readonly { lane: string; limit: number }[], inHandMs = LEASE_MS): Promise<DueRows> {
    return readDueDeliveries(this.sql, this.leases, dueReadOf(lanes, inHandMs));
  }

  async finish(rows: readonly DueRow[], dueAt: number | null = null) {
    const finished = await finishDeliveries(
      this.sql,
      this.leases,
      rows.map((row) => outcomeOf(row, dueAt)),
    );
    this.leases.apply();
    return finished;
  }
}

export const idOf = ([, values]: DueRow) => String(values[0]);

const VERSION = LAYOUT.deliveries.findIndex(({ property }) => property === "version");

/** The end of an attempt of a delivery. */
export function outcomeOf([row, values]: DueRow, dueAt: number | null): EncodedOutcome {
  const set: SqlValue[] = [
    "https://receiver.example/",
    dueAt === null ? "succeeded" : "pending",
    1,
    "[]",
    1,
    dueAt,
    0,
    null,
  ];
  return [row, String(values[0]), Number(values[VERSION]), set];
}

/** Pages that a claim of 128 deliveries reads, which is rolled back. */
export async function claimBuffers(pool: pg.Pool, owner = "reader"): Promise<number> {
  let buffers = 0;
  const client = await pool.connect();
  const sql = sqlOn(client, () => {});
  const explaining: Sql = {
    ...sql,
    async values(text, parameters = []) {
      const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, [...parameters]);
      const [{ Plan: plan }] = rows[0]["QUERY PLAN"];
      buffers += plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
      // A server with a just-in-time compiler compiles statements of a greater estimated cost, which takes longer than they do.
      assert.ok(plan["Total Cost"] < 100_000, `the estimated cost is ${plan["Total Cost"]}`);
      return await sql.values("select lease, id from due_deliveries where owner = $1 order by row desc limit 128", [
        owner,
      ]);
    },
  };
  await client.query("begin");
  const read = dueReadOf([{ lane: laneName(0), limit: 128 }]);
  await readDueDeliveries(explaining, new DeliveryLeases(owner, () => 0), read);
  await client.query("rollback");
  client.release();
  return buffers;
}

/** Processes claim and finish the deliveries of some lanes until none is left: each is claimed once, by one of them. */
export async function raceFor(
  pool: pg.Pool,
  { members, count, lanes }: { members: number; count: number; lanes: number },
): Promise<void> {
  const claimed = new Set<string>();
  const race = async (index: number) => {
    const member = new Member(pool, `member ${index}`);
    for (let lane = index; claimed.size < count; lane += 1) {
      const rows = await member.claim(laneName(lane % lanes), 128);
      for (const row of rows) {
        assert.ok(!claimed.has(idOf(row)), "a delivery is claimed once");
        claimed.add(idOf(row));
      }
      assert.ok((await member.finish(rows)).every((result) => result === "ok"));
    }
    assert.equal(member.leases.count, 0);
  };
  await Promise.all(Array.from({ length: members }, (_, index) => race(index)));
  const { rows } = await pool.query("select status, count(*) from deliveries group by status");
  assert.deepEqual(rows, [{ status: "succeeded", count }]);
  assert.equal((await pool.query("select from due_deliveries")).rowCount, 0);
}
