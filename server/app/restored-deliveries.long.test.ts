/** A backup of PostgreSQL, taken with open deliveries and restored into the embedded database: each is sent again, once, as the backup has it. */

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { emptyDirectory } from "../../test/support/cli.ts";
import { postgresForFile } from "../../test/support/postgres.ts";
import { type Receiver, startReceiver } from "../../test/support/receiver.ts";
import { startTestService } from "../../test/support/service.ts";
import { until } from "../../test/support/wait.ts";
import { readConfig } from "../config.ts";
import { takeBackup } from "./backup.ts";
import { restoreBackup } from "./restore.ts";

const postgres = postgresForFile(["fsync=off"]);
const quiet = () => {};
const MESSAGES = 4;
const TYPES = ["message.queued", "message.sent", "message.delivered"];
/** Between two attempts: the next one comes after the restore. */
const RETRIES = Array.from({ length: 9 }, () => "20s").join();
const LIMIT_MS = 60_000;

/** A delivery as a backup has it. */
interface CopiedDelivery {
  eventId: string;
  url: string;
  status: string;
  attemptCount: number;
  dueAt: number | null;
}

function deliveriesIn(dataDir: string): CopiedDelivery[] {
  const database = new DatabaseSync(join(dataDir, "tightbeam.db"));
  try {
    return database
      .prepare(
        `select event_id as eventId, url, status, attempt_count as attemptCount, due_at as dueAt from deliveries
         where lane in (select id from endpoints) order by rowid`,
      )
      .all() as unknown as CopiedDelivery[];
  } finally {
    database.close();
  }
}

async function receiverOf(t: TestContext): Promise<Receiver> {
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  return receiver;
}

test("deliveries that a backup of PostgreSQL has open are each sent once after it is restored, in order and by their schedule", {
  timeout: 400_000,
}, async (t) => {
  const { url, drop } = await postgres.create();
  t.after(drop);
  const env = { TB_WEBHOOK_RETRY_SCHEDULE: RETRIES };
  const service = await startTestService(env, { shared: { url, sql: async () => [] } });
  t.after(() => service.stop());
  const [takes, refuses, hangs] = [await receiverOf(t), await receiverOf(t), await receiverOf(t)];
  const open: ServerResponse[] = [];
  refuses.answer = (_, response) => void response.writeHead(500).end();
  hangs.answer = (_, response) => void open.push(response);
  for (const [receiver, more] of [
    [takes, {}],
    [refuses, {}],
    [hangs, { maxInFlight: 1 }],
  ] as const) {
    const body = { url: receiver.url, events: TYPES, ...more };
    const { status } = await service.ask("POST", "/v1/webhooks", { body });
    assert.equal(status, 201);
  }
  for (let index = 0; index < MESSAGES; index += 1) {
    const body = { to: `+1500557000${index}`, content: { text: "Hi" } };
    assert.equal((await service.ask("POST", "/v1/messages", { body })).status, 202);
  }
  const all = MESSAGES * TYPES.length;
  // An event that was refused lets the next one of its message go on.
  await until(() => takes.received.length === all && refuses.received.length >= all && open.length === 1, {
    limitMs: LIMIT_MS,
    what: "an attempt of each delivery that may have one",
  });
  const attempted = async () => {
    const { data } = await service.ask("GET", "/v1/webhooks/deliveries?status=pending&limit=100");
    return data.deliveries.filter(({ attempts }: { attempts: unknown[] }) => attempts.length > 0).length;
  };
  await until(async () => (await attempted()) === all, { limitMs: LIMIT_MS, what: "the refused attempts on disk" });
  const backup = join(emptyDirectory(t), "backup");
  const config = readConfig({ TB_DATA_DIR: service.dataDir, DATABASE_URL: url });
  await takeBackup(config, backup, { version: "test", now: Date.now(), withKey: true, progress: quiet });
  const copied = deliveriesIn(backup);
  const openIn = (receiver: Receiver) => copied.filter((one) => one.url === receiver.url && one.status === "pending");
  assert.deepEqual(
    [takes, refuses, hangs].map((receiver) => openIn(receiver).length),
    [0, all, all],
  );

  // They reach their receiver after the backup, which does not know it.
  hangs.answer = (_, response) => void response.end("ok");
  for (const response of open) response.end("ok");
  await until(() => hangs.received.length === all, {
    limitMs: LIMIT_MS,
    what: "the deliveries behind the one in flight",
  });
  const before = new Map<Receiver, number>();
  const dataDir = join(emptyDirectory(t), "data");
  await service.restart(async () => {
    for (const receiver of [takes, refuses, hangs]) before.set(receiver, receiver.received.length);
    refuses.answer = (_, response) => void response.end("ok");
    const options = { now: Date.now(), moveAside: false, progress: quiet };
    const { work } = await restoreBackup(readConfig({ TB_DATA_DIR: dataDir }), backup, options);
    assert.equal(work.deliveries, 2 * all);
    return { DATABASE_URL: "", TB_DATA_DIR: dataDir };
  });
  const isOver = () => deliveriesIn(dataDir).every(({ status }) => status === "succeeded");
  await until(isOver, { limitMs: LIMIT_MS, what: "the end of every delivery" });

  const after = (receiver: Receiver) => receiver.received.slice(before.get(receiver));
  const idsOf = (deliveries: readonly { eventId: string }[]) => deliveries.map(({ eventId }) => eventId).toSorted();
  assert.deepEqual(after(takes), [], "what had ended is not sent again");
  for (const receiver of [refuses, hangs]) {
    const sent = after(receiver).map(({ event }) => ({ eventId: event.id }));
    assert.deepEqual(idsOf(sent), idsOf(openIn(receiver)), "none is lost and none is sent twice");
  }
  for (const { event } of after(hangs)) {
    const own = after(hangs).filter((one) => one.event.data.messageId === event.data.messageId);
    assert.deepEqual(
      own.map((one) => one.event.type),
      TYPES,
    );
  }
  for (const { at, event } of after(refuses)) {
    const { dueAt } = openIn(refuses).find(({ eventId }) => eventId === event.id) ?? assert.fail();
    assert.ok(at >= (dueAt ?? 0), `${event.id} is retried ${(dueAt ?? 0) - at} ms before its time`);
  }
  for (const { eventId, url: at, attemptCount } of deliveriesIn(dataDir)) {
    const copy = copied.find((one) => one.eventId === eventId && one.url === at) ?? assert.fail();
    const more = copy.status === "pending" ? 1 : 0;
    assert.equal(attemptCount, copy.attemptCount + more, "attempts are counted on");
  }
});
