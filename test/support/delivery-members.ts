/** Processes that read and finish deliveries of one PostgreSQL database, for tests of its queue. */

import assert from "node:assert/strict";
import type pg from "pg";
import type { DueRead, LanePlace } from "../../server/store/due-deliveries.ts";
import type { DueRow, DueRows, EncodedOutcome } from "../../server/store/jobs/jobs.ts";
import { DeliveryQueue } from "../../server/store/postgres/delivery-queue.ts";
import { endsOf, standingOf } from "../../server/store/postgres/outcomes.ts";
import { type Sql, sendAll, sqlOn } from "../../server/store/postgres/sql.ts";
import { LAYOUT, type SqlValue } from "../../server/store/rows.ts";
import { DUE_AT, laneName } from "./delivery-rows.ts";
import { FRONT } from "./due.ts";

const NOW = DUE_AT + 86_400_000;

/** A lane to read, from its front if it says no place. */
interface ReadLane {
  lane: string;
  limit: number;
  after?: LanePlace;
}

function dueReadOf(lanes: readonly ReadLane[], bytesMax = 2 ** 30): DueRead {
  return { lanes: lanes.map((one) => ({ after: FRONT, ...one })), now: NOW, bytesMax };
}

/** A process on the database. */
export class Member {
  readonly queue: DeliveryQueue;
  readonly sql: Sql;

  constructor(pool: pg.Pool, name: string) {
    this.queue = new DeliveryQueue(name);
    this.sql = sqlOn(pool, () => {});
  }

  async readOne(lane: string, limit: number, after: LanePlace = FRONT): Promise<DueRow[]> {
    return (await this.read([{ lane, limit, after }])).rows;
  }

  read(lanes: readonly ReadLane[], bytesMax?: number): Promise<DueRows> {
    return this.queue.read(this.sql, dueReadOf(lanes, bytesMax));
  }

  async finish(rows: readonly DueRow[], dueAt: number | null = null) {
    const outcomes = rows.map((row) => outcomeOf(row, dueAt));
    const ended = (await sendAll(this.sql, endsOf(outcomes, this.queue.putBy))).flat();
    const written = new Set(ended.map(([n]) => n));
    const standing = await standingOf(
      this.sql,
      outcomes.filter((_, n) => !written.has(n)),
    );
    return outcomes.map((_, n) => (written.has(n) ? "ok" : (standing.shift() ?? "gone")));
  }
}

/** The place of a row. */
export function placeOf([row, values]: DueRow): LanePlace {
  return { dueAt: Number(values[DUE_AT_PLACE]), row };
}

const DUE_AT_PLACE = LAYOUT.deliveries.findIndex(({ property }) => property === "dueAt");

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

/** Pages that a read of 128 deliveries reads. */
export async function readBuffers(pool: pg.Pool, after: LanePlace = FRONT): Promise<number> {
  let buffers = 0;
  const client = await pool.connect();
  const sql = sqlOn(client, () => {});
  const explaining: Sql = {
    ...sql,
    async values(text, parameters = []) {
      const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, [...parameters]);
      const [{ Plan: plan }] = rows[0]["QUERY PLAN"];
      buffers += plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
      return await sql.values(text, parameters);
    },
  };
  const read = dueReadOf([{ lane: laneName(0), limit: 128, after }]);
  try {
    assert.equal((await new DeliveryQueue("reader").read(explaining, read)).rows.length, 128);
  } finally {
    client.release();
  }
  return buffers;
}

/** Processes read and finish the deliveries of the lanes that they own until none is left. */
export async function finishAll(
  pool: pg.Pool,
  { members, count, lanes }: { members: number; count: number; lanes: number },
): Promise<void> {
  const work = async (index: number) => {
    const member = new Member(pool, `member ${index}`);
    for (let lane = index; lane < lanes; lane += members) {
      let after: LanePlace = FRONT;
      for (;;) {
        const rows = await member.readOne(laneName(lane), 128, after);
        assert.ok((await member.finish(rows)).every((result) => result === "ok"));
        const last = rows.at(-1);
        if (last === undefined) break;
        after = placeOf(last);
      }
    }
  };
  await Promise.all(Array.from({ length: members }, (_, index) => work(index)));
  const { rows } = await pool.query("select status, count(*) from deliveries group by status");
  assert.deepEqual(rows, [{ status: "succeeded", count }]);
  assert.equal((await pool.query("select from due_deliveries")).rowCount, 0);
}
