/** Benchmark: one process on PostgreSQL against one on SQLite, and two workers against one. The server is on the same machine. */

import { randomBytes } from "node:crypto";
import { cpus } from "node:os";
import pg from "pg";
import { createDatabase, type PostgresServer, startPostgres } from "../test/support/postgres.ts";
import { endOfLog, LOG_BYTES_MAX, logBetween } from "./log-bytes.ts";
import { bindTo, idleShare, machineTicks, parentOf, processorSeconds, secondsOfEnded } from "./machine.ts";
import { webhookRound } from "./pipeline.ts";
import { limitRow, median, type Row, rate, ratioRow } from "./report.ts";
import type { Target } from "./rounds.ts";
import { addCustomer, type Service, subscribe } from "./service.ts";
import type { Stage } from "./stage.ts";

const AGAINST_SQLITE_MIN = 0.7;
const TWO_WORKERS_MIN = 1.6;
/** Customers with an endpoint each, where two workers are measured. */
const ENDPOINTS_OF_WORKERS = 8;
/** Messages of a round, as a share of those of other runs. */
const ROUND_SHARE = 1 / 2;

/** The measurements of one arrangement, a value a round. */
interface Side {
  perSecond: number[];
  /**
   * Processor time a message, in microseconds: of the service's processes, of the database server, and of the load generator and the
   * receiver of webhooks.
   */
  serviceUs: number[];
  serverUs: number[];
  loadUs: number[];
  /** The share of the machine's processors without work, in percent. */
  idlePercent: number[];
  /** Bytes of the server's log a message: without images of whole pages and receipts of the sandbox, and those two. */
  walBytes: number[];
  imageBytes: number[];
  receiptBytes: number[];
}

/** One way to run the service: the process that accepts, the keys of its customers, all of its processes, and its database server. */
interface Arrangement {
  front: Service;
  keys: string[];
  all: readonly Service[];
  database: pg.Client | null;
  side: Side;
}

export async function measurePostgres(stage: Stage): Promise<Row[]> {
  const server = await startPostgres();
  try {
    return [...(await measureAgainstSqlite(stage, server)), ...(await measureTwoWorkers(stage, server))];
  } finally {
    await server.stop();
  }
}

async function measureAgainstSqlite(stage: Stage, server: PostgresServer): Promise<Row[]> {
  const sqlite = await stage.start("sqlite");
  const embedded: Arrangement = {
    front: sqlite,
    keys: [sqlite.apiKey],
    all: [sqlite],
    database: null,
    side: newSide(),
  };
  const one = await arrange(stage, server, "one", ["all"]);
  try {
    await measureRounds(stage, [embedded, one]);
    return [...rowsAgainstSqlite(one.side, embedded.side), ...(await measureBound(stage, embedded, one))];
  } finally {
    await end([embedded, one]);
  }
}

async function measureTwoWorkers(stage: Stage, server: PostgresServer): Promise<Row[]> {
  const one = await arrange(stage, server, "api1", ["api", "worker"]);
  const two = await arrange(stage, server, "api2", ["api", "worker", "worker"]);
  try {
    // The deliveries of an endpoint have one worker: several endpoints share them out.
    for (const { front, keys } of [one, two])
      for (let index = 1; index < ENDPOINTS_OF_WORKERS; index += 1) keys.push(await addCustomer(front, index));
    await measureRounds(stage, [one, two]);
    const what = "webhooks, two workers against one";
    const rates = ratioRow(what, "/s", two.side.perSecond, one.side.perSecond, TWO_WORKERS_MIN);
    return [rates, ...processorRows(two.side, one.side)];
  } finally {
    await end([one, two]);
  }
}

/** Rounds of arrangements in turns, so that both have the machine at the same speed. Nothing else runs: others would take a share of it. */
async function measureRounds(stage: Stage, arrangements: readonly Arrangement[]): Promise<void> {
  for (const { front, keys } of arrangements)
    for (const [index, key] of keys.entries()) await subscribe(front, key, await stage.webhookUrl(`hook-${index}`));
  for (let round = -1; round < stage.extent.rounds; round += 1) {
    // The first round warms up.
    for (const each of arrangements) await measureRound(stage, each, round < 0 ? newSide() : each.side);
  }
}

async function end(arrangements: readonly Arrangement[]): Promise<void> {
  for (const { all, database } of arrangements) {
    for (const service of all) await service.stop();
    await database?.end();
  }
}

/**
 * The same with the service on one processor and everything else on the others, as where the server is another machine: otherwise the
 * server and the service share the processors that the service on SQLite has for itself.
 */
async function measureBound(stage: Stage, embedded: Arrangement, shared: Arrangement): Promise<Row[]> {
  const processors = cpus().length;
  if (processors < 2 || shared.database === null || machineTicks() === null) return [];
  const { rows } = await shared.database.query<{ pid: number }>("select pid from pg_stat_activity");
  const server = rows.map(({ pid }) => pid);
  const beside = [stage.generator.pid, stage.receiver.pid];
  const bound = [embedded, shared].map((each) => ({ ...each, side: newSide() }));
  bindTo(
    "0",
    bound.flatMap(({ all }) => all.map(({ pid }) => pid)),
  );
  bindTo(`1-${processors - 1}`, [...server, ...new Set(server.map(parentOf)), ...beside]);
  for (let round = -1; round < stage.extent.rounds; round += 1)
    for (const each of bound) await measureRound(stage, each, round < 0 ? newSide() : each.side);
  // Other benchmarks of this run use them as well.
  bindTo(`0-${processors - 1}`, beside);
  const [sqlite = newSide(), one = newSide()] = bound.map(({ side }) => side);
  const what = "webhooks, on PostgreSQL against SQLite, each service on one processor";
  return [ratioRow(what, "/s", one.perSecond, sqlite.perSecond, AGAINST_SQLITE_MIN), ...processorRows(one, sqlite)];
}

function newSide(): Side {
  return {
    ...{ perSecond: [], serviceUs: [], serverUs: [], loadUs: [], idlePercent: [] },
    ...{ walBytes: [], imageBytes: [], receiptBytes: [] },
  };
}

/** Starts processes with these roles on a database of their own; the first one accepts. */
async function arrange(
  stage: Stage,
  server: PostgresServer,
  name: string,
  roles: readonly ("all" | "api" | "worker")[],
): Promise<Arrangement> {
  const { url } = await createDatabase(server);
  const TB_SECRET_KEY = randomBytes(32).toString("base64");
  const all: Service[] = [];
  for (const [index, role] of roles.entries()) {
    all.push(await stage.start(`${name}-${index}`, { env: { DATABASE_URL: url, TB_ROLE: role, TB_SECRET_KEY } }));
  }
  const [front] = all;
  if (front === undefined) throw new Error("an arrangement needs a process");
  const database = new pg.Client({ connectionString: url });
  await database.connect();
  await database.query("create extension pg_walinspect");
  return { front, keys: [front.apiKey], all, database, side: newSide() };
}

async function measureRound(
  stage: Stage,
  { front, keys, all, database, side }: Arrangement,
  into: Side,
): Promise<void> {
  const target: Target = { ...front, keys };
  const messages = stage.extent.messages * ROUND_SHARE;
  const spent = async () => ({
    service: secondsOf(all.map(({ pid }) => pid)),
    load: secondsOf([stage.generator.pid, stage.receiver.pid]),
    server: await spentBy(database),
    machine: machineTicks(),
  });
  const before = await spent();
  const { perSecond } = await webhookRound(stage, target, messages);
  const after = await spent();
  if (into !== side) return;
  const each = (seconds: number) => (seconds * 1e6) / messages;
  const idle = idleShare(before.machine, after.machine);
  into.perSecond.push(perSecond);
  into.serviceUs.push(each(after.service - before.service));
  into.serverUs.push(each(after.server.seconds - before.server.seconds));
  into.loadUs.push(each(after.load - before.load));
  if (idle !== null) into.idlePercent.push(100 * idle);
  if (database === null) return;
  const { all: written, images, receipts } = await logBetween(database, before.server.log, after.server.log);
  into.walBytes.push((written - images - receipts) / messages);
  into.imageBytes.push(images / messages);
  into.receiptBytes.push(receipts / messages);
}

function secondsOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + (processorSeconds(pid)?.all ?? 0), 0);
}

/** The processor time by now of the server for a database, and the end of its log. It includes processes of the server for all databases, and ended ones. */
async function spentBy(database: pg.Client | null): Promise<{ seconds: number; log: string }> {
  if (database === null) return { seconds: 0, log: "" };
  const { rows } = await database.query<{ pid: number }>(
    "select pid from pg_stat_activity where datname is null or datname = current_database()",
  );
  const pids = rows.map(({ pid }) => pid);
  const seconds = secondsOf(pids) + secondsOfEnded(pids);
  return { seconds, log: await endOfLog(database) };
}

function rowsAgainstSqlite(one: Side, sqlite: Side): Row[] {
  const what = "webhooks, one process on PostgreSQL against SQLite";
  return [
    ratioRow(what, "/s", one.perSecond, sqlite.perSecond, AGAINST_SQLITE_MIN),
    ...processorRows(one, sqlite),
    limitRow("  bytes of PostgreSQL's log a message, without the next two", " B", one.walBytes, LOG_BYTES_MAX),
    { what: "  images of pages that were changed first since a checkpoint", measured: rate(one.imageBytes, " B") },
    { what: "  receipts that the sandbox owes: other providers write none", measured: rate(one.receiptBytes, " B") },
  ];
}

/** Processor time by whom, and the ratio of webhooks a second that both sides would have if no processor were ever idle. */
function processorRows(side: Side, against: Side): Row[] {
  const row = (what: string, name: "serviceUs" | "serverUs" | "loadUs"): Row => ({
    what: `  processor time of a message, ${what}`,
    measured: rate(side[name], " µs"),
    against: rate(against[name], " µs"),
    ...(median(side[name]) > 0 && { ratio: median(against[name]) / median(side[name]) }),
  });
  return [
    {
      ...ratioRow("  the same by processor time of all of them", " µs", totalUs(side), totalUs(against), null),
      ratio: median(totalUs(against)) / median(totalUs(side)),
    },
    row("service", "serviceUs"),
    row("server", "serverUs"),
    row("load and receiver of webhooks", "loadUs"),
    {
      what: "  share of the machine's processors without work",
      measured: rate(side.idlePercent, " %"),
      against: rate(against.idlePercent, " %"),
    },
  ];
}

/** Processor time of a message in each round. */
function totalUs({ serviceUs, serverUs, loadUs }: Side): number[] {
  return serviceUs.map((us, round) => us + (serverUs[round] ?? 0) + (loadUs[round] ?? 0));
}
