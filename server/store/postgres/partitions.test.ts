/** Tests of the daily partitions: when they are made, when they are dropped, and that neither stops commits. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type pg from "pg";
import { attemptAt, Stage } from "../../../test/conformance/store-stage.ts";
import { sharedPostgresForFile } from "../../../test/support/postgres.ts";
import type { Delivery } from "../../core/delivery.ts";
import { hashedId, idBeside } from "../../core/id.ts";
import { DAY_MS, dayOf, isNear, positionsNear } from "../positions.ts";
import { listPartitions, Partitions, partitionOf } from "./partitions.ts";
import { createPool } from "./pool.ts";
import { sqlOn } from "./sql.ts";
import { openPostgres } from "./store.ts";

const postgres = sharedPostgresForFile(async (url) => {
  await (await open(url, "member_0")).close();
});

const RETENTION_MS = 30 * DAY_MS;

function open(url: string, member: string) {
  return openPostgres(url, member, { retentionMs: RETENTION_MS });
}

/** A day that no process has made partitions for. */
const DAY = dayOf(Date.now()) + 10;
const AT = DAY * DAY_MS;

interface Deps {
  stage: Stage;
  pool: pg.Pool;
  partitions: Partitions;
  days(table: "events" | "deliveries"): Promise<number[]>;
  /** Commits an event that was made at a time, with one delivery. */
  add(at: number, changes?: Partial<Delivery>): Promise<{ eventId: string; deliveryId: string }>;
  /** Adds a replay of an event. */
  replay(eventId: string, at: number, changes: Partial<Delivery>): Promise<void>;
  /** Prunes until there is nothing more to remove. Returns how many rows were removed one by one. */
  prune(before: number): Promise<number>;
}

async function withStore(run: (deps: Deps) => Promise<void>): Promise<void> {
  const { url, drop } = await postgres.create();
  const stage = new Stage(await open(url, "member_1"));
  const pool = createPool(url, 3);
  const partitions = new Partitions(pool, RETENTION_MS);
  const customer = stage.customer();
  try {
    await run({
      stage,
      pool,
      partitions,
      async days(table) {
        const sql = sqlOn(pool, () => {});
        return (await listPartitions(sql, table)).map(({ first }) => first);
      },
      async add(at, changes = {}) {
        const event = stage.event(customer, { id: hashedId("evt", at, stage.newId("evt")) });
        const settled = { status: "succeeded", dueAt: null, attempts: [attemptAt(at)] } as const;
        const record = stage.delivery(event, { ...settled, id: idBeside("dlv", event.id, "lane"), ...changes });
        await stage.ok([
          { op: "insert", table: "events", record: event },
          { op: "insert", table: "deliveries", record },
        ]);
        return { eventId: event.id, deliveryId: record.id };
      },
      async replay(eventId, at, changes) {
        const event = (await stage.all("events")).find(({ id }) => id === eventId);
        if (event === undefined) throw new Error("the event is gone");
        const id = hashedId("dlv", at, stage.newId("dlv"));
        await stage.ok([{ op: "insert", table: "deliveries", record: stage.delivery(event, { id, ...changes }) }]);
      },
      async prune(until) {
        let removed = 0;
        for (let look = 0; look < 4; look += 1) {
          removed += await stage.store.prune(until, 100);
          await partitions.drop(until);
        }
        return removed;
      },
    });
  } finally {
    await stage.store.close();
    await pool.end();
    await drop();
  }
}

const PENDING = { status: "pending", dueAt: AT } as const;

test("partitions of today and two days ahead are made once, and each day's positions begin at a number of their own", async (t) => {
  await withStore(async ({ partitions, pool, days, add }) => {
    const opened = dayOf(Date.now());
    t.assert.deepEqual(await days("events"), [opened, opened + 1, opened + 2]);
    await Promise.all([partitions.keep(AT), new Partitions(pool, RETENTION_MS).keep(AT)]);
    await partitions.keep(AT);
    for (const table of ["events", "deliveries"] as const)
      t.assert.deepEqual((await days(table)).slice(3), [DAY, DAY + 1, DAY + 2]);
    const ids = [(await add(AT + 5)).eventId];
    await partitions.keep(AT + DAY_MS);
    ids.push((await add(AT + DAY_MS + 5)).eventId);
    const isIn = "tableoid::regclass::text as place from events where id = any($1) order by position";
    const { rows } = await pool.query(`select id, ${isIn}`, [ids]);
    t.assert.deepEqual(
      rows.map(({ place }) => place),
      [partitionOf("events", { first: DAY, days: 1 }), partitionOf("events", { first: DAY + 1, days: 1 })],
    );
    for (const id of ids) {
      const { from, to } = positionsNear([id]);
      const near = await pool.query(`select 1 from events where id = $1 and ${isNear("position", "$2", "$3")}`, [
        id,
        from,
        to,
      ]);
      t.assert.equal(near.rows.length, 1);
    }
  });
});

test("a day is dropped whole once all of it is past retention, with later replays of its events", async (t) => {
  await withStore(async ({ partitions, stage, days, add, replay, prune }) => {
    await partitions.keep(AT);
    const old = await add(AT + 1_000);
    await add(AT + DAY_MS - 1_000);
    await partitions.keep(AT + DAY_MS);
    await replay(old.eventId, AT + DAY_MS + 500, { status: "succeeded", dueAt: null });
    const kept = await add(AT + DAY_MS + 1_000);
    t.assert.equal(await prune(AT + DAY_MS / 2), 0);
    t.assert.equal((await stage.all("events")).length, 3, "a day leaves as a whole");
    t.assert.equal(await prune(AT + DAY_MS), 0);
    t.assert.deepEqual(
      (await stage.all("events")).map(({ id }) => id),
      [kept.eventId],
    );
    t.assert.deepEqual(
      (await stage.all("deliveries")).map(({ id }) => id),
      [kept.deliveryId],
    );
    for (const table of ["events", "deliveries"] as const)
      t.assert.deepEqual((await days(table)).slice(0, 2), [DAY + 1, DAY + 2]);
  });
});

for (const [what, isReplay] of [
  ["delivery", false],
  ["replay made on a later day", true],
] as const) {
  test(`a day with an open ${what} stays, and its other events are pruned one by one`, async (t) => {
    await withStore(async ({ partitions, stage, days, add, replay, prune }) => {
      await partitions.keep(AT);
      const open = await add(AT + 1_000, isReplay ? {} : PENDING);
      const others = [await add(AT + 2_000), await add(AT + 3_000)];
      await partitions.keep(AT + DAY_MS);
      if (isReplay) await replay(open.eventId, AT + DAY_MS + 500, PENDING);
      t.assert.equal(await prune(AT + DAY_MS), others.length);
      t.assert.deepEqual(
        (await stage.all("events")).map(({ id }) => id),
        [open.eventId],
      );
      assert.ok((await days("events")).includes(DAY));
      const waiting = (await stage.all("deliveries")).find(({ dueAt }) => dueAt !== null);
      assert.ok(waiting);
      t.assert.equal(await stage.update("deliveries", waiting, { status: "succeeded", dueAt: null }), "ok");
      await prune(AT + DAY_MS);
      t.assert.deepEqual(await stage.all("events"), []);
      assert.ok(!(await days("events")).includes(DAY));
    });
  });
}

test("an event whose clock was years behind its day is pruned by its own time", async (t) => {
  await withStore(async ({ partitions, stage, add, prune }) => {
    await partitions.keep(AT);
    await add(AT - 400 * DAY_MS);
    const kept = await add(AT + 1_000);
    t.assert.equal(await prune(AT - DAY_MS), 1);
    t.assert.deepEqual(
      (await stage.all("events")).map(({ id }) => id),
      [kept.eventId],
    );
  });
});

test("deliveries of a day without a partition are kept, and that day gets none", async (t) => {
  await withStore(async ({ partitions, stage, days, add }) => {
    const { deliveryId } = await add(AT + 1_000);
    await partitions.keep(AT);
    t.assert.deepEqual((await days("deliveries")).slice(3), [DAY + 1, DAY + 2]);
    await add(AT + 2_000);
    assert.ok((await stage.all("deliveries")).some(({ id }) => id === deliveryId));
  });
});

test("deliveries of a day without a partition leave with the events of the day", async (t) => {
  await withStore(async ({ partitions, stage, days, add, prune }) => {
    await add(AT + 1_000);
    await partitions.keep(AT);
    assert.ok(!(await days("deliveries")).includes(DAY));
    await add(AT + 2_000);
    await partitions.keep(AT + DAY_MS);
    const kept = await add(AT + DAY_MS + 1_000);
    t.assert.equal(await prune(AT + DAY_MS), 0);
    assert.ok(!(await days("events")).includes(DAY));
    t.assert.deepEqual(
      (await stage.all("deliveries")).map(({ id }) => id),
      [kept.deliveryId],
    );
  });
});

test("a transaction that reads events for long stops neither commits nor the next look", async (t) => {
  await withStore(async ({ partitions, pool, days, add, prune }) => {
    await partitions.keep(AT);
    await add(AT + 1_000);
    await partitions.keep(AT + DAY_MS);
    const reader = await pool.connect();
    const committed: number[] = [];
    try {
      await reader.query("begin");
      await reader.query("select count(*) from events");
      const dropping = partitions.drop(AT + DAY_MS);
      for (let count = 0; count < 5; count += 1) {
        const begun = performance.now();
        await add(AT + DAY_MS + count);
        committed.push(performance.now() - begun);
      }
      await dropping;
      assert.ok((await days("events")).includes(DAY), "it waits for the reader");
      await reader.query("commit");
    } finally {
      reader.release(true);
    }
    assert.ok(Math.max(...committed) < 10_000);
    t.assert.equal(await prune(AT + DAY_MS), 0);
    assert.ok(!(await days("events")).includes(DAY));
  });
});

test("while a transaction reads events for long, the prunes of a minute try once to drop the oldest day", async (t) => {
  await withStore(async ({ partitions, pool, days, add }) => {
    await partitions.keep(AT);
    await add(AT + 1_000);
    await partitions.keep(AT + DAY_MS);
    let [tries, now] = [0, 0];
    const connect = () => {
      tries += 1;
      return pool.connect();
    };
    const looking = new Partitions({ connect } as pg.Pool, RETENTION_MS, () => now);
    /** How often prunes that follow one another use a connection: to see what there is, and for each try. */
    const triesOfPrunes = async () => {
      tries = 0;
      for (let prunes = 0; prunes < 3; prunes += 1) looking.beginDrop(AT + DAY_MS);
      await looking.idle();
      return tries;
    };
    const reader = await pool.connect();
    try {
      await reader.query("begin");
      await reader.query("select count(*) from events");
      t.assert.equal(await triesOfPrunes(), 2);
      t.assert.equal(await triesOfPrunes(), 0);
      now = 60_000;
      t.assert.equal(await triesOfPrunes(), 2);
      await reader.query("commit");
    } finally {
      reader.release(true);
    }
    assert.ok((await days("events")).includes(DAY));
    now = 120_000;
    await triesOfPrunes();
    assert.ok(!(await days("events")).includes(DAY));
  });
});

test("partitions have more days if rows are kept for long, beside those of a shorter retention", async (t) => {
  await withStore(async ({ pool, stage, add }) => {
    const sql = sqlOn(pool, () => {});
    const forEver = new Partitions(pool, null);
    await forEver.keep(AT);
    const [opened, ...long] = [await listPartitions(sql, "events"), await listPartitions(sql, "deliveries")].map(
      (all) => all.filter(({ first }) => first > dayOf(Date.now()) + 2),
    );
    assert.ok(opened);
    t.assert.deepEqual(long, [opened], "both tables have the same partitions");
    assert.ok(opened.every(({ first, days }) => days <= 30 && (first + days) % 30 === 0));
    const { eventId } = await add(AT + 1_000);
    await new Partitions(pool, 365 * DAY_MS).keep(AT + 90 * DAY_MS);
    const last = (await listPartitions(sql, "events")).at(-1);
    t.assert.equal(last?.days, 13);
    await forEver.drop(AT + 89 * DAY_MS);
    assert.ok(!(await stage.all("events")).some(({ id }) => id === eventId), "dropped with its partition");
  });
});
