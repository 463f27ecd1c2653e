/** The statements of the queue of messages on PostgreSQL, and its looks, each as the writer or a reader of a process runs it. */

import type { MessageId } from "../../server/core/id.ts";
import type { Message } from "../../server/core/message.ts";
import { STEPS_MAX } from "../../server/store/claim-walk.ts";
import type { Job, LeasedRow } from "../../server/store/jobs/jobs.ts";
import { queryDatabase } from "../../server/store/postgres/driver.ts";
import { timedDueLanesQuery } from "../../server/store/postgres/due-lanes.ts";
import { listOpenAttempts } from "../../server/store/postgres/open-attempts.ts";
import { readLook } from "../../server/store/postgres/readers.ts";
import { type Database, LAYOUT } from "../../server/store/rows.ts";
import type { Operation } from "../../server/store/store.ts";
import { idempotencyOf, LEASE_MS, NOW, type Stage } from "../conformance/store-stage.ts";
import {
  attemptBy,
  commitEach,
  type Ground,
  HANDLED,
  leaseTo,
  type QueueStatement,
  runGroup,
  WITH_RECORDS,
} from "./queue-ground.ts";

/** The statements in an order in which each finds what it needs. */
export function messageStatements(ground: Ground): QueueStatement[] {
  return [...looks(ground), ...groups(ground), ...claims(ground), ...leases(ground)];
}

const lookOf = ({ pool }: Ground) => queryDatabase<Database>((query) => readLook(pool, query));

function looks(ground: Ground): QueueStatement[] {
  const look = lookOf(ground);
  return (["messages", "deliveries"] as const).map((queue) => {
    const run = async () => {
      const { rows } = await timedDueLanesQuery(queue, NOW).execute(look);
      return rows.filter(({ lane }) => lane !== null).length;
    };
    // The first look marks the entries of deleted rows, which later ones pass by.
    return { name: `the look at lanes with due ${queue}`, prepare: run, run, pagesMax: 1 };
  });
}

const indexOf = (property: string) => LAYOUT.messages.findIndex((column) => column.property === property);
const [ID, VERSION] = [indexOf("id"), indexOf("version")] as const;

/** New messages, each to a recipient of its own. */
function newMessages({ stage, template }: Ground): Message[] {
  const customer = { id: template.customerId } as Parameters<Stage["message"]>[0];
  return Array.from({ length: HANDLED }, () => {
    const message = stage.message(customer, { dueAt: NOW });
    return { ...message, to: `+1777${message.id.slice(-8)}` };
  });
}

function groups(ground: Ground): QueueStatement[] {
  const { stage, template } = ground;
  let attempted: { id: MessageId; version: number }[] = [];
  const event = (message: Message): Operation => ({ op: "event", event: stage.event(message), callbackUrl: null });
  return [
    {
      name: "a group of accepted messages",
      pagesMax: WITH_RECORDS,
      run: () =>
        commitEach(ground, newMessages(ground), (record) => [
          { op: "insertUnique", table: "idempotency", record: idempotencyOf(record.id) },
          { op: "insert", table: "messages", record },
          event(record),
        ]),
    },
    {
      name: "a group of send attempts",
      async prepare() {
        const [claimed] = await runGroup(ground, [claimOf(ground)]);
        const { rows } = claimed as { rows: LeasedRow[] };
        attempted = rows.map(({ values }) => ({ id: values[ID] as MessageId, version: Number(values[VERSION]) }));
        if (attempted.length === 0) attempted.push({ id: "msg_none" as MessageId, version: 1 });
      },
      run: () =>
        commitEach(ground, attempted, ({ id, version }) => {
          const set = { status: "pending", dueAt: null, claimedUntil: NOW + LEASE_MS } as const;
          return [{ op: "update", table: "messages", id, version, set }];
        }),
    },
    {
      name: "a group of outcomes of send attempts",
      run: () =>
        commitEach(ground, attempted, ({ id, version }) => {
          const set = { status: "sent", claimedUntil: null } as const;
          return [{ op: "update", table: "messages", id, version: version + 1, set }, event(template)];
        }),
    },
    {
      name: "a group of messages with deliveries of lanes that have caught up",
      pagesMax: WITH_RECORDS,
      async prepare() {
        const { rows } = await ground.pool.query("select id from endpoints");
        const lanes = rows.map(({ id: lane }) => ({ lane, after: { dueAt: NOW, row: 0 }, limit: 1 }));
        await runGroup(ground, [
          ["hold", true],
          ["dueDeliveries", { lanes, now: NOW, bytesMax: 1 }],
        ]);
      },
      run: () =>
        commitEach(ground, newMessages(ground), (record) => [
          { op: "insert", table: "messages", record },
          event(record),
        ]),
    },
    {
      name: "a group that requires that no message of some pairs is leased",
      run: () =>
        commitEach(ground, newMessages(ground), ({ instanceId: lane, from, to }) => [
          { op: "requireUnleased", lane, from, to },
          { op: "put", table: "memory", record: { instanceId: lane, key: to, value: "1" } },
        ]),
    },
  ];
}

function claimOf({ stage }: Ground, permits = HANDLED): Job {
  return ["claimMessages", { lanes: [{ lane: stage.instanceId, permits }], now: NOW, leaseMs: LEASE_MS }];
}

function claims(ground: Ground): QueueStatement[] {
  const { pool, stage, writer } = ground;
  const { instanceId: lane } = stage;
  let leases: number[] = [];
  const claim = async () => {
    const [claimed] = await runGroup(ground, [claimOf(ground)]);
    leases = (claimed as { rows: LeasedRow[] }).rows.map(({ lease }) => lease);
    return leases.length;
  };
  /** It reads the next pairs too. */
  const claimBehind = async () => STEPS_MAX + (await claim());
  const release = async () => {
    await runGroup(ground, [["release", leases.length === 0 ? [1] : leases]]);
    return leases.length;
  };
  const front = `select id from due_messages where lane = '${lane}' and lease is null order by due_at, id limit 200`;
  return [
    { name: "a claim of messages from the start of a lane", prepare: async () => writer.noteRestart(), run: claim },
    { name: "a claim of messages from the floor of a lane", run: claim },
    { name: "a release of messages", run: release },
    {
      name: "a release of messages whose leases the process does not know",
      async prepare() {
        const ids = await leaseTo(ground, ground.owner);
        const { rows } = await pool.query("select lease from due_messages where id = any($1)", [ids]);
        leases = rows.map(({ lease }) => lease);
      },
      run: release,
    },
    {
      name: "a claim behind messages of a busy pair",
      prepare: () => pool.query(`update due_messages set "to" = '+1' where id in (${front})`),
      run: claimBehind,
    },
    {
      name: "a claim that ends leases whose time is over",
      async prepare() {
        writer.noteRestart();
        await leaseTo(ground, "dead", lane);
        await pool.query("update due_messages set leased_until = clock_timestamp() where owner = 'dead'");
      },
      run: async () => HANDLED + (await claimBehind()),
    },
  ];
}

function leases(ground: Ground): QueueStatement[] {
  const { stage, writer, pool } = ground;
  const { instanceId: lane } = stage;
  const run = async (job: Job) => (await runGroup(ground, [job]))[0];
  let leased = 0;
  const reads = queryDatabase<Database>(async ({ sql, parameters }) => (await pool.query(sql, parameters)).rows);
  return [
    {
      name: "the pairs with a leased message",
      prepare: () => leaseTo(ground, "other", lane),
      run: async () => ((await run(["leasedPairs", lane])) as unknown[]).length,
    },
    {
      name: "the send attempts of other processes",
      prepare: () => attemptBy(ground, "other", lane),
      run: async () => (await listOpenAttempts(reads, lane, "none")).length,
    },
    {
      name: "the end of leases that the process does not know",
      async prepare() {
        writer.noteRestart();
        await leaseTo(ground, ground.owner);
      },
      run: async () => {
        await run(claimOf(ground, 1));
        return HANDLED + STEPS_MAX;
      },
    },
    {
      name: "the end of a member",
      async prepare() {
        await leaseTo(ground, "dead");
        await attemptBy(ground, "dead");
      },
      run: async () => {
        await run(["endMember", "dead", NOW]);
        return 2 * HANDLED;
      },
    },
    ...[NOW, Number.POSITIVE_INFINITY].map((until) => ({
      name: `the release of leases until ${until === NOW ? "a time" : "the end of time"}`,
      async prepare() {
        await leaseTo(ground, "gone");
        await attemptBy(ground, "gone");
        leased = (await pool.query("select from due_messages where lease is not null")).rowCount ?? 0;
      },
      run: async () => {
        await run(["releaseLeases", until, NOW]);
        return leased;
      },
    })),
    {
      name: "the beat that finds a process dead",
      async prepare() {
        await pool.query("insert into members (id, role, lag_ms, beat_at) values ('dead', 'all', 0, '-infinity')");
        await pool.query(
          "insert into member_leases (lease, owner, epoch, until) select 'shard ' || i, 'dead', 1, 'infinity' from generate_series(1, $1::int) i on conflict (lease) do update set owner = 'dead', until = 'infinity'",
          [HANDLED],
        );
      },
      run: async () => {
        const member = { id: ground.owner, role: "all", url: null } as const;
        const leases = Array.from({ length: HANDLED }, (_, n) => ({
          lease: `shard ${n}`,
          state: null,
          isLifelong: true as const,
        }));
        await run(["beat", { member, leases, leaseMs: LEASE_MS, deadAfterMs: LEASE_MS }]);
        return HANDLED;
      },
    },
  ];
}
