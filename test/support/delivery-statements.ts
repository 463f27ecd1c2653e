/** The statements of the queue of deliveries on PostgreSQL, and the reads of both queues, each as the writer or a reader of a process runs it. */

import type { CustomerId, DeliveryId, InstanceId, MessageId, ReplayId } from "../../server/core/id.ts";
import { listDeliveriesAhead } from "../../server/store/deliveries.ts";
import type { DueRead } from "../../server/store/due-deliveries.ts";
import type { DueRow, DueRows, Job } from "../../server/store/jobs/jobs.ts";
import {
  findLanesWithDueTimers,
  listAttempted,
  listDeferred,
  listInterrupted,
  listMessagesAhead,
  listWaiting,
} from "../../server/store/messages.ts";
import { queryDatabase } from "../../server/store/postgres/driver.ts";
import { readLook } from "../../server/store/postgres/readers.ts";
import { countDue, countWaiting } from "../../server/store/replays.ts";
import type { Database } from "../../server/store/rows.ts";
import { findPendingDeliveries } from "../../server/store/wire.ts";
import { NOW } from "../conformance/store-stage.ts";
import { idOf, outcomeOf } from "./delivery-members.ts";
import { FRONT } from "./due.ts";
import { LANES, laneOf, REPLAY } from "./filled-queues.ts";
import {
  commitEach,
  type Ground,
  HANDLED,
  type QueueStatement,
  recordsOf,
  runGroup,
  WITH_RECORDS,
} from "./queue-ground.ts";

/** Rows of a page, and of a window of a queue. */
const [PAGE, WINDOW_ROWS] = [50, 500] as const;

/** The statements in an order in which each finds what it needs. */
export function deliveryStatements(ground: Ground): QueueStatement[] {
  return [...claims(ground), ...changes(ground), ...rareJobs(ground), ...reads(ground)];
}

/** Pages for the end of an attempt that is followed by another: 34 were read for a row by a plan that the server kept. */
const WITH_ANOTHER = 36;

/** A delivery that was claimed; one that is not there if none was, so that the statement runs for something. */
const NONE: DueRow = [1, ["dlv_none", 1], "{}", null];

/** A read of the first lane. */
const ONE = { lane: laneOf(0), after: FRONT, limit: HANDLED };

function claims(ground: Ground): QueueStatement[] {
  const { writer, pool } = ground;
  let claimed: DueRow[] = [];
  const claim = async (changes: Partial<DueRead> = {}) => {
    const lanes = [ONE];
    const read = { lanes, now: NOW, bytesMax: 2 ** 30, ...changes };
    const [value] = await runGroup(ground, [["dueDeliveries", read]]);
    claimed = (value as DueRows).rows;
    return claimed.length;
  };
  const end = async (dueAt: number | null, version?: number) => {
    const ended = claimed.length === 0 ? [NONE] : claimed;
    const outcomes = ended.map((row) =>
      outcomeOf(version === undefined ? row : [row[0], [idOf(row), version], null, null], dueAt),
    );
    await runGroup(ground, [["finishDeliveries", outcomes]]);
    return claimed.length;
  };
  const free = `select id from due_deliveries where lane = '${laneOf(0)}' order by due_at, row limit ${HANDLED}`;
  let atOnce: DeliveryId[] = [];
  return [
    {
      name: "a read of deliveries from the start of a lane",
      prepare: async () => writer.noteRestart(),
      run: () => claim(),
    },
    { name: "the end of the last attempts", run: () => end(null) },
    {
      name: "a read of deliveries from a place of a lane",
      run: () => claim({ lanes: [{ ...ONE, after: { dueAt: 1, row: 0 } }] }),
    },
    {
      name: "a read of deliveries that others have put before its place",
      async prepare() {
        const { rows } = await pool.query(free);
        const ids = rows.map(({ id }) => id);
        await pool.query("update deliveries set due_at = due_at - 1 where id = any($1)", [ids]);
        await pool.query(
          "update due_deliveries set due_at = due_at - 1, put_by = 7, changed_in = pg_current_xact_id() where id = any($1)",
          [ids],
        );
      },
      run: () => claim({ lanes: [{ ...ONE, after: { dueAt: NOW, row: 0 } }] }),
    },
    { name: "ends of attempts of which the deliveries have changed", run: () => end(null, 99) },
    { name: "the end of attempts with another one", run: () => end(NOW + 1), pagesMax: WITH_ANOTHER },
    {
      name: "a read of deliveries that go at once",
      async prepare() {
        atOnce = (await recordsOf(ground, free, "dlv_none")).map(({ id }) => id as DeliveryId);
        await pool.query("update deliveries set by_hand = 1 where id = any($1)", [atOnce]);
      },
      run: () => claim({ atOnce }),
    },
    {
      name: "a read of deliveries of several lanes",
      run: () =>
        claim({
          lanes: Array.from({ length: LANES }, (_, n) => ({ lane: laneOf(n), after: FRONT, limit: HANDLED / LANES })),
        }),
    },
    {
      name: "a read of deliveries whose records are gone",
      async prepare() {
        await pool.query(`delete from deliveries where id in (${free})`);
      },
      run: async () => HANDLED + (await claim()),
    },
  ];
}

function changes(ground: Ground): QueueStatement[] {
  let found: { id: string; version: number }[] = [];
  const find = async () => {
    const waiting = `select d.id, d.version from due_deliveries q join deliveries d using (id) order by id limit ${HANDLED}`;
    found = await recordsOf(ground, waiting, "dlv_none");
  };
  return [
    {
      name: "retries of deliveries by hand",
      pagesMax: WITH_RECORDS,
      prepare: find,
      run: () =>
        commitEach(ground, found, ({ id, version }) => {
          const set = { byHand: true, retriesAsked: 1, resumeAt: null, dueAt: NOW } as const;
          return [{ op: "update", table: "deliveries", id: id as DeliveryId, version, set }];
        }),
    },
    {
      name: "a group that cancels deliveries",
      prepare: find,
      run: () =>
        commitEach(ground, found, ({ id, version }) => {
          const set = { dueAt: null, status: "cancelled" } as const;
          return [{ op: "update", table: "deliveries", id: id as DeliveryId, version, set }];
        }),
    },
  ];
}

/** Jobs that are SQL transactions of their own. */
function rareJobs(ground: Ground): QueueStatement[] {
  const { template, pool } = ground;
  const run = async (job: Job) => (await runGroup(ground, [job]))[0];
  let parked: { table: "messages" | "deliveries"; id: string }[] = [];
  const cancel = async (replayId: string | null) =>
    Number(await run(["cancelDeliveries", laneOf(0), HANDLED, replayId]));
  return [
    { name: "the cancellation of an endpoint's deliveries", run: () => cancel(null) },
    { name: "the cancellation of a replay's deliveries", run: () => cancel(REPLAY) },
    {
      name: "the quarantine of rows",
      async prepare() {
        const text = (queue: string) => `select id from due_${queue} order by id limit 5`;
        const of = async (table: "messages" | "deliveries") =>
          (await recordsOf(ground, text(table), "none")).map(({ id }) => ({ table, id }));
        parked = [...(await of("messages")), ...(await of("deliveries"))];
      },
      async run() {
        const row = { customerId: null, reason: "text", isLeased: true };
        await run(["quarantine", parked.map((one) => ({ ...one, ...row }))]);
        return parked.length;
      },
    },
    {
      name: "the return of rows from quarantine",
      pagesMax: WITH_RECORDS,
      run: async () => ((await run(["recheck", null, PAGE, NOW])) as { mended: unknown[] }).mended.length,
    },
    {
      name: "the reset of a customer",
      async prepare() {
        for (const table of ["messages", "deliveries"])
          await pool.query(
            `update ${table} set customer_id = 'cust_gone' where id in (select id from due_${table} order by id limit ${HANDLED})`,
          );
      },
      async run() {
        await run(["reset", "cust_gone", HANDLED, true]);
        await run(["reset", "cust_gone", HANDLED, false]);
        return template.version + 2 * HANDLED;
      },
    },
  ];
}

function reads(ground: Ground): QueueStatement[] {
  const { pool, template } = ground;
  const lane = template.instanceId as InstanceId;
  const customerId = template.customerId as CustomerId;
  const db = queryDatabase<Database>(async ({ sql, parameters }) => (await pool.query(sql, parameters)).rows);
  const look = queryDatabase<Database>((query) => readLook(pool, query));
  const last = { dueAt: NOW, id: "msg_9" as MessageId };
  const window = async (read: Promise<unknown>) => {
    await read;
    return WINDOW_ROWS;
  };
  return [
    { name: "the lanes with a due timer", run: async () => (await findLanesWithDueTimers(look, [lane], NOW)).length },
    {
      name: "interrupted messages",
      run: async () => (await listInterrupted(db, lane, { now: NOW, withinMs: 60_000 })).length,
    },
    { name: "messages that were put off", run: () => window(listAttempted(db, lane, last)) },
    { name: "waiting messages", run: async () => (await listWaiting(db, lane, NOW, null, PAGE)).length },
    {
      name: "deferred messages of a customer",
      run: () => window(listDeferred(db, { customerId, instanceId: lane }, { from: 1, until: NOW }, null)),
    },
    {
      name: "messages ahead of the clock",
      run: () => window(listMessagesAhead(db, lane, { now: 1, lookupsUntil: NOW }, null)),
    },
    {
      name: "deliveries ahead of the clock",
      run: () => window(listDeliveriesAhead(db, laneOf(0), { now: 1, from: 1 }, PAGE)),
    },
    {
      name: "the pending deliveries of a customer",
      async prepare() {
        const columns = "version, created_at, updated_at, kind, url, events";
        await pool.query(
          `insert into endpoints (${columns}, id, customer_id, active)
           select ${columns}, $1, 'cust_wire', 0 from endpoints limit 1 on conflict do nothing`,
          [laneOf(0)],
        );
      },
      run: async () => (await findPendingDeliveries(db, "cust_wire" as CustomerId, PAGE)).length,
    },
    {
      name: "the number of a replay's waiting deliveries",
      run: () => countWaiting(look, REPLAY as ReplayId, WINDOW_ROWS),
    },
    { name: "the number of due deliveries of a lane", run: () => countDue(look, laneOf(0), NOW, WINDOW_ROWS) },
  ];
}
