/** PostgreSQL dies, ends connections and is out of reach under load: nothing acknowledged is lost, and nothing is done twice. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import pg from "pg";
import { median } from "../../bench/report.ts";
import { emptyDirectory } from "../support/cli.ts";
import { Load, seeded } from "../support/load.ts";
import { checkPromises, RECIPIENTS, RETRY_SCHEDULE, readWhenQuiet, SECRET } from "../support/oracle.ts";
import { createDatabase, type EmbeddedServer, startEmbedded } from "../support/postgres.ts";
import { type Running, startProcess } from "../support/process.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { until } from "../support/wait.ts";

/** How often the server is killed, and how often all connections are ended. */
const KILLS = Number(process.env.TB_POSTGRES_KILLS ?? 20);
const ENDS = Number(process.env.TB_POSTGRES_ENDS ?? 50);
/** How long the server refuses connections, and how long an old snapshot is held, in milliseconds. */
const REFUSED_MS = Number(process.env.TB_POSTGRES_REFUSED_MS ?? 10_000);
const SNAPSHOT_MS = Number(process.env.TB_POSTGRES_SNAPSHOT_MS ?? 20_000);
const SEED = Number(process.env.TB_CRASH_SEED ?? Date.now() % 2 ** 31);
/** From the moment that the server takes connections until the service takes requests. A busy machine may be late for some of them. */
const BACK_MS_MAX = 5_000;

interface Stage {
  server: EmbeddedServer;
  databaseUrl: string;
  receiver: Receiver;
  service: Running;
  load: Load;
  chance: () => number;
}

async function stageOf(t: TestContext, plan: { workers: number; pauseMs: number }): Promise<Stage> {
  t.diagnostic(`TB_CRASH_SEED=${SEED}`);
  const chance = seeded(SEED);
  const server = await startEmbedded();
  t.after(() => server.stop());
  const { url: databaseUrl } = await createDatabase(server);
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  const service = await startProcess(t, {
    dataDir: join(emptyDirectory(t), "data"),
    env: { DATABASE_URL: databaseUrl, TB_WEBHOOK_RETRY_SCHEDULE: RETRY_SCHEDULE, TB_WEBHOOK_ALLOW: "loopback" },
  });
  const set = await service.ask("PUT", "/v1/webhooks", { url: receiver.url, events: ["*"], secret: SECRET });
  assert.equal(set.status, 200);
  const callbackUrl = receiver.url.replace("/hook", "/callback");
  const load = new Load({ chance, recipients: RECIPIENTS, callbackUrl, ...plan, repeatUnavailable: true });
  t.after(() => load.stop());
  void service.exited.then(({ signal }) => {
    if (signal !== "SIGKILL") t.diagnostic(`the service ended: ${tail(service)}`);
  });
  return { server, databaseUrl, receiver, service, load, chance };
}

const tail = ({ output }: Running) => (output.stdout + output.stderr).slice(-3_000);

/** A connection of the test, which the end of the server ends. */
async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  client.on("error", () => {});
  await client.connect();
  return client;
}

const afterMs = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

const statusOf = async ({ url }: Running, path: string) => (await fetch(`${url}${path}`)).status;

/** Lines of the log that are not about a request. */
const notices = ({ output }: Running) =>
  output.stdout.split("\n").filter((line) => line !== "" && !line.includes('"event":"request"'));

/** Resolves when the service says that the database is gone: on `/readyz`, `/health` and under `/v1`. */
async function assertSaysSo(service: Running): Promise<void> {
  await until(async () => (await statusOf(service, "/readyz")) === 503, { what: "/readyz to say so" });
  assert.equal(await statusOf(service, "/healthz"), 200);
  const refused = await service.ask("POST", "/v1/messages", { to: "+15005550100", content: { text: "x" } });
  assert.deepEqual([refused.status, refused.error?.code], [503, "SERVICE_UNAVAILABLE"], refused.text);
  assert.ok(Number(refused.headers.get("retry-after")) >= 1);
  assert.equal((await service.ask("GET", "/v1/messages")).status, 503);
}

/** Resolves when the service takes requests again; returns after how many milliseconds. */
async function back(service: Running): Promise<number> {
  const startedAt = performance.now();
  await until(async () => (await statusOf(service, "/readyz")) === 200, { what: "/readyz" });
  await until(async () => (await service.ask("GET", "/v1/messages?limit=1")).status === 200);
  return Math.round(performance.now() - startedAt);
}

async function assertPromises(t: TestContext, { service, load, receiver }: Stage): Promise<void> {
  await load.stop();
  await load.settle(service.url);
  const found = await readWhenQuiet(service, load.orders, []);
  const { messages, events, inbound } = found;
  t.diagnostic(`${messages.size} messages, ${events.size} events, ${inbound.length} replies`);
  t.diagnostic(`without a response: ${JSON.stringify(load.unanswered)}`);
  checkPromises(found, { orders: load.orders, payments: [], received: receiver.received });
  const log = service.output.stdout + service.output.stderr;
  assert.ok(!log.includes("postgres://"), "the log has no URL of the database");
}

test(`${KILLS} deaths of PostgreSQL under load lose nothing acknowledged and double nothing`, {
  timeout: 300_000 + KILLS * 20_000,
}, async (t) => {
  const stage = await stageOf(t, { workers: 6, pauseMs: 60 });
  const { server, service, load, chance } = stage;
  const backMs: number[] = [];
  load.start(service.url);
  for (let kill = 0; kill < KILLS; kill += 1) {
    await afterMs(200 + chance() * 1_300);
    await server.kill();
    if (kill % 5 === 0) await assertSaysSo(service);
    await server.start();
    backMs.push(await back(service));
  }
  const countBefore = notices(service).length;
  await server.kill();
  await assertSaysSo(service);
  await afterMs(REFUSED_MS);
  const lines = notices(service).slice(countBefore);
  t.diagnostic(`${lines.length} lines in the log while it was out of reach for ${REFUSED_MS} ms`);
  assert.ok(lines.length < 60, lines.slice(0, 100).join("\n"));
  await server.start();
  backMs.push(await back(service));
  t.diagnostic(`back after ${backMs} ms`);
  assert.ok(median(backMs) < BACK_MS_MAX, `back after ${backMs} ms`);
  await assertPromises(t, stage);
});

test(`${ENDS} ends of all connections under load lose nothing acknowledged and double nothing`, {
  timeout: 300_000 + ENDS * 5_000,
}, async (t) => {
  const stage = await stageOf(t, { workers: 6, pauseMs: 60 });
  const { databaseUrl, service, load, chance } = stage;
  const admin = await connect(databaseUrl);
  load.start(service.url);
  let ended = 0;
  for (let round = 0; round < ENDS; round += 1) {
    await afterMs(chance() * 400);
    const { rowCount } = await admin.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tightbeam'",
    );
    ended += rowCount ?? 0;
  }
  await admin.end();
  t.diagnostic(`${ended} connections were ended`);
  await assertPromises(t, stage);
});

test(`a snapshot that is held for ${SNAPSHOT_MS / 1_000} s stops nothing, and loses nothing`, {
  timeout: 300_000 + SNAPSHOT_MS * 3,
}, async (t) => {
  const stage = await stageOf(t, { workers: 16, pauseMs: 2 });
  const { databaseUrl, service, load } = stage;
  /** Accepted messages a second. */
  const measure = async (ms: number) => {
    const before = load.orders.length;
    await afterMs(ms);
    return Math.round(((load.orders.length - before) * 1_000) / ms);
  };
  load.start(service.url);
  await measure(2_000);
  const rates = [await measure(SNAPSHOT_MS / 2)];
  const holder = await connect(databaseUrl);
  await holder.query("begin isolation level repeatable read");
  await holder.query("select count(*) from messages");
  rates.push(await measure(SNAPSHOT_MS / 2), await measure(SNAPSHOT_MS / 2));
  await holder.end();
  await measure(2_000);
  rates.push(await measure(SNAPSHOT_MS / 2));
  t.diagnostic(`messages a second before, twice while it is held, and after: ${rates}`);
  const [before = 0, , held = 0, after = 0] = rates;
  // Rates depend on what else the machine does: they are asserted where somebody asks for them.
  if (process.env.TB_POSTGRES_SNAPSHOT_MS !== undefined) {
    assert.ok(held > before / 2, `${rates}`);
    assert.ok(after > before * 0.7, `${rates}`);
  }
  assert.ok(after > 0, `${rates}`);
  await assertPromises(t, stage);
});
