/** A write-ahead log that ends anywhere: the service opens it, has every acknowledged transaction, and continues. */

import assert from "node:assert/strict";
import { cpSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import type { AnyEvent, Delivery, Message } from "../../sdk/wire.ts";
import { emptyDirectory } from "../support/cli.ts";
import { seeded } from "../support/load.ts";
import { ADMIN_KEY, allPages, ask, KEY, type Running, startProcess } from "../support/process.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { startTestService } from "../support/service.ts";
import { until } from "../support/wait.ts";
import { framesOf, type TornLog, tear } from "../support/write-ahead-log.ts";

/** Each run of the tests has others. */
const TORN = Number(process.env.TB_TORN_LOGS ?? 80);
/** Tests, since a run without the end of a test is taken to hang. */
const PARTS = 4;
const SEED = Number(process.env.TB_TORN_SEED ?? Date.now() % 2 ** 31);
/** Of so many openings, one has the database's threads, as in production. */
const THREADS_EVERY = 10;
const MESSAGES = 200;
const WORKERS = 8;
/** The log must not begin again: a checkpoint comes after 4,000 frames. */
const LOG_BYTES_MAX = 3_600 * 4_120;
const LOG = "tightbeam.db-wal";
const EVENTS = ["message.queued", "message.sent", "message.delivered"];

/** A message that was answered with 202 when the log had this size. */
interface Acknowledged {
  id: string;
  text: string;
  logBytes: number;
}

interface Written {
  dataDir: string;
  log: Buffer;
  acknowledged: Acknowledged[];
}

test(`${TORN} torn logs open, each with every acknowledged transaction whole`, { timeout: 3_600_000 }, async (t) => {
  t.diagnostic(`TB_TORN_SEED=${SEED}`);
  const chance = seeded(SEED);
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  const written = await writeUnderLoad(t, receiver);
  const frames = framesOf(written.log);
  const commits = frames.filter(({ isCommit }) => isCommit).length;
  t.diagnostic(`${written.acknowledged.length} messages, ${frames.length} frames, ${commits} commits`);
  assert.ok(commits >= 50 && written.log.length < LOG_BYTES_MAX);
  for (let part = 0; part < PARTS; part += 1) {
    await t.test(`part ${part + 1} of ${PARTS}`, { timeout: 800_000 }, async (inner) => {
      const counts = { kept: 0, inFlight: 0 };
      for (let index = part; index < TORN; index += PARTS) {
        const torn = tear(written.log, frames, chance);
        const { kept, all } = await openTorn(inner, { written, torn, inThreads: index % THREADS_EVERY === 0 });
        counts.kept += kept;
        counts.inFlight += all - kept;
      }
      inner.diagnostic(JSON.stringify(counts));
      assert.ok(counts.kept > 0);
    });
  }
});

/** A data directory that the real service wrote under load, until it was killed. Its log begins with the load. */
async function writeUnderLoad(t: TestContext, receiver: Receiver): Promise<Written> {
  const dataDir = join(emptyDirectory(t), "data");
  const first = await startProcess(t, { dataDir });
  const set = await first.ask("PUT", "/v1/webhooks", { url: receiver.url, events: ["*"] });
  assert.equal(set.status, 200);
  await first.end("SIGTERM");
  const service = await startProcess(t, { dataDir });
  const log = join(dataDir, LOG);
  const acknowledged: Acknowledged[] = [];
  let sent = 0;
  const work = async () => {
    while (sent < MESSAGES && statSync(log).size < LOG_BYTES_MAX * 0.9) {
      sent += 1;
      const text = `message ${sent}`;
      const to = `+1500555${String(2_000 + (sent % 50))}`;
      const { status, data } = await service.ask("POST", "/v1/messages", { to, content: { text } });
      assert.equal(status, 202);
      acknowledged.push({ id: data.id, text, logBytes: statSync(log).size });
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  await service.end("SIGKILL");
  return { dataDir, log: readFileSync(log), acknowledged };
}

/** Opens the data with a torn log, and checks its content. Returns the expected and the actual number of messages. */
async function openTorn(
  t: TestContext,
  { written, torn, inThreads }: { written: Written; torn: TornLog; inThreads: boolean },
): Promise<{ kept: number; all: number }> {
  const dataDir = join(emptyDirectory(t), "data");
  const others = (path: string) => !/-wal$|-shm$/.test(basename(path));
  cpSync(written.dataDir, dataDir, { recursive: true, filter: others });
  writeFileSync(join(dataDir, LOG), torn.log);
  const api = await startTestService({ TB_API_KEY: KEY, TB_ADMIN_KEY: ADMIN_KEY }, { dataDir, inThreads });
  try {
    const service = { ask: (method: string, path: string, body?: unknown) => ask(api.url, KEY, method, path, body) };
    const kept = written.acknowledged.filter(({ logBytes }) => logBytes <= torn.keptTo);
    const first = await messagesOf(service);
    for (const { id, text } of kept) assert.equal(first.get(id)?.content.text, text, `${torn.how}: ${id}`);
    const next = await service.ask("POST", "/v1/messages", { to: "+15005550100", content: { text: "goes on" } });
    assert.equal(next.status, 202, torn.how);
    await checkWhole(service, torn.how);
    return { kept: kept.length, all: first.size };
  } finally {
    await api.service.stop();
    assert.deepEqual(integrityOf(dataDir), [{ integrity_check: "ok" }], torn.how);
    await api.stop();
  }
}

async function messagesOf(service: Pick<Running, "ask">): Promise<Map<string, Message>> {
  const pages = await allPages<Message>(service, "/v1/messages", "messages");
  return new Map(pages.flatMap(({ items }) => items).map((message) => [message.id, message]));
}

/** Each message is delivered, has each of its events once and in order, and each event has its one delivery. */
async function checkWhole(service: Pick<Running, "ask">, how: string): Promise<void> {
  const isQuiet = async () => {
    const messages = [...(await messagesOf(service)).values()];
    const open = await service.ask("GET", "/v1/webhooks/deliveries?status=pending&limit=1");
    return messages.every(({ status }) => status === "delivered") && open.data.deliveries.length === 0;
  };
  await until(isQuiet, { limitMs: 60_000, what: `${how}: every message and every webhook to be delivered` });
  const messages = await messagesOf(service);
  const events = (await allPages<AnyEvent>(service, "/v1/events", "events")).flatMap(({ items }) => items).reverse();
  for (const id of messages.keys()) {
    const own = events.filter(({ data }) => data.messageId === id);
    assert.deepEqual(own.map(({ type }) => type).sort(), EVENTS.toSorted(), `${how}: ${id}`);
  }
  assert.equal(events.length, messages.size * EVENTS.length, `${how}: events without a message`);
  const pages = await allPages<Delivery>(service, "/v1/webhooks/deliveries", "deliveries");
  const deliveries = pages.flatMap(({ items }) => items);
  for (const { id, status } of deliveries) assert.equal(status, "succeeded", `${how}: ${id}`);
  assert.deepEqual(deliveries.map(({ eventId }) => eventId).sort(), events.map(({ id }) => id).sort(), how);
}

function integrityOf(dataDir: string): unknown[] {
  const database = new DatabaseSync(join(dataDir, "tightbeam.db"));
  const rows = database.prepare("pragma integrity_check").all();
  database.close();
  return rows.map((row) => ({ ...row }));
}
