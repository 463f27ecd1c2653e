/**
 * `npm run cluster`: the processes of `deploy/compose.postgres.yaml` against an embedded PostgreSQL, under a load, while each
 * process in turn is killed with SIGKILL and started again. Exits with 1 if a message, attempt, event or delivery is lost or doubled.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { FAULTS } from "../mutations/faults.ts";
import { CarrierLoad } from "../support/carrier-load.ts";
import { Load, seeded } from "../support/load.ts";
import { checkPromises, RECIPIENTS, RETRY_SCHEDULE, readWhenQuiet, SECRET } from "../support/oracle.ts";
import { createDatabase, startPostgres } from "../support/postgres.ts";
import type { Scope } from "../support/process.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { FakeTwilio } from "../support/twilio/fake-twilio.ts";
import { until } from "../support/wait.ts";
import { Arrangement, COUNTS } from "./arrangement.ts";
import { checkTables } from "./tables.ts";

const FENCES = FAULTS.filter(({ isFence }) => isFence === true).map(({ name }) => name);

const USAGE = `npm run cluster -- [options]
  --processes <n>    ${COUNTS.join(", ")} (default: 4, two api and two worker); 1 does everything in one process
  --sqlite           one process on the embedded database, without PostgreSQL
  --kills <n>        kills, of each process in turn (default: two of each process)
  --skew <seconds>   how far the clocks of two hosts are apart (default: 0)
  --seed <n>         the seed of the load and of the kills
  --sabotage <name>  removes a fence (${FENCES.join(", ")}): then the run must fail`;

/** Webhooks that must arrive after each kill before the next one. */
const PROGRESS = 100;
/** A dead process's instances have another owner after 35 s, and its attempts are asked about after 45 s. */
const PROGRESS_MS_MAX = 120_000;

interface Options {
  processes: number;
  isEmbedded: boolean;
  kills: number;
  seed: number;
  skewMs: number;
  sabotage: string | null;
}

function readOptions(): Options | null {
  const { values } = parseArgs({
    options: {
      processes: { type: "string" },
      sqlite: { type: "boolean", default: false },
      kills: { type: "string" },
      seed: { type: "string" },
      skew: { type: "string" },
      sabotage: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const processes = Number(values.processes ?? (values.sqlite ? 1 : 4));
  const isKnown = values.sabotage === undefined || FENCES.includes(values.sabotage);
  if (values.help || !isKnown || !COUNTS.includes(processes) || (values.sqlite && processes > 1)) return null;
  return {
    processes,
    isEmbedded: values.sqlite,
    kills: Number(values.kills ?? 2 * processes),
    seed: Number(values.seed ?? Date.now() % 2 ** 31),
    skewMs: Number(values.skew ?? 0) * 1_000,
    sabotage: values.sabotage ?? null,
  };
}

/** The end of a run, and the explanation of its failure. */
interface RunScope extends Scope {
  explain: (failure: string) => string[];
}

/** The webhooks of the first message that a failure names. */
function webhooksOf(failure: string, { received }: Receiver): string[] {
  const [id] = /msg_[0-9a-f-]+/.exec(failure) ?? [];
  const own = received.filter(({ event }) => id !== undefined && event.data.messageId === id);
  return own.map(({ at, path, event, status }) => {
    const created = Date.parse(event.timestamp);
    return `${new Date(at).toISOString()} ${path} ${event.type} ${event.id}, ${at - created} ms after its event: ${status}`;
  });
}

/** Carries a load through the kills, and throws if anything is lost or doubled. */
async function runCluster(scope: RunScope, options: Options): Promise<void> {
  const { processes, isEmbedded, kills, seed, skewMs, sabotage } = options;
  say(`--seed ${seed}`);
  const chance = seeded(seed);
  const directory = mkdtempSync(join(tmpdir(), "tightbeam-cluster-"));
  scope.after(() => rmSync(directory, { recursive: true, force: true }));
  const databaseUrl = isEmbedded ? null : await newDatabase(scope);
  const receiver = await startReceiver();
  scope.after(() => receiver.stop());
  receiver.answer = (_, response) => {
    response.statusCode = chance() < 0.03 ? 500 : 200;
    response.end();
  };
  scope.explain = (failure) => webhooksOf(failure, receiver);
  const carrier = await new FakeTwilio().start();
  scope.after(() => carrier.stop());
  const env = {
    TB_WEBHOOK_RETRY_SCHEDULE: RETRY_SCHEDULE,
    TB_WEBHOOK_ALLOW: "loopback",
    TB_SECRET_KEY: Buffer.alloc(32, seed).toString("base64"),
  };
  const arrangement = new Arrangement(scope, { directory, processes, databaseUrl, env, sabotage, skewMs });
  await arrangement.start();
  scope.after(() => {
    for (const line of arrangement.complaints()) process.stderr.write(`${line}\n`);
  });
  say(`${arrangement.names.join(", ")} on ${isEmbedded ? "SQLite" : "PostgreSQL"}`);

  const api = () => arrangement.api(chance);
  const callbackUrl = receiver.url.replace("/hook", "/callback");
  const plan = { chance, recipients: RECIPIENTS, callbackUrl, workers: 6, pauseMs: 60, repeatUnavailable: true };
  const load = new Load(plan);
  const carried = new CarrierLoad(carrier, () => chance() * 60, plan);
  const set = await api().ask("PUT", "/v1/webhooks", { url: receiver.url, events: ["*"], secret: SECRET });
  if (set.status !== 200) throw new Error(set.text);
  await carried.configure(api());
  const nextUrl = () => api().url;
  load.start(nextUrl);
  carried.start(nextUrl);
  await progress(receiver);
  for (let kill = 0; kill < kills; kill += 1) {
    const name = arrangement.names[kill % arrangement.names.length] ?? "";
    await afterMs(300 + chance() * 2_000);
    await arrangement.kill(name);
    const killedAt = performance.now();
    const at = new Date().toISOString();
    await afterMs(chance() * 2_000);
    const readyMs = await arrangement.restart(name);
    await progress(receiver);
    say(
      `${name} killed at ${at}; ready ${readyMs} ms after its start, webhooks flow ${since(killedAt)} s after the kill`,
    );
  }
  await Promise.all([load.stop(), carried.stop()]);
  await load.settle(api().url);
  const found = await readWhenQuiet(api(), load.orders, []);
  checkPromises(found, { orders: load.orders, payments: [], received: receiver.received });
  const atCarrier = await carried.check(api());
  if (databaseUrl !== null) await checkTables(databaseUrl);
  const wrong = await arrangement.stop();
  if (wrong.length > 0) throw new Error(wrong.join("\n"));
  say(
    `${load.orders.length} messages accepted, ${load.unanswered.messages} requests repeated, ${found.events.size} events, ` +
      `${found.deliveries.length} deliveries in ${receiver.received.length} webhooks, ${atCarrier} messages at the carrier`,
  );
}

async function newDatabase(scope: Scope): Promise<string> {
  const server = await startPostgres();
  scope.after(() => server.stop());
  return (await createDatabase(server)).url;
}

/** Resolves when webhooks flow. */
async function progress({ received }: Receiver): Promise<void> {
  const before = received.length;
  await until(() => received.length >= before + PROGRESS, { limitMs: PROGRESS_MS_MAX, what: `${PROGRESS} webhooks` });
}

/** The time of a kill, which is random. */
function afterMs(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function since(startedAt: number): string {
  return ((performance.now() - startedAt) / 1_000).toFixed(1);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function main(): Promise<number> {
  const options = readOptions();
  if (options === null) {
    process.stderr.write(`${USAGE}\n`);
    return 2;
  }
  const ends: (() => unknown)[] = [];
  const scope: RunScope = { after: (end) => void ends.push(end), explain: () => [] };
  try {
    await runCluster(scope, options);
    say("ok: nothing is lost and nothing is doubled");
    return 0;
  } catch (error) {
    const failure = error instanceof Error ? error.message : String(error);
    process.stderr.write(`failed: ${failure}\n`);
    for (const line of scope.explain(failure)) process.stderr.write(`${line}\n`);
    return 1;
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

process.exit(await main());
