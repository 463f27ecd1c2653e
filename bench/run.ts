/** `npm run bench`: runs the benchmarks and prints each figure, its comparison, and whether the goal is met. */

import { parseArgs } from "node:util";
import { measureAccepts } from "./accepts.ts";
import { measureBacklog } from "./backlog.ts";
import { measureClosedPort } from "./closed-port.ts";
import { measureHeart } from "./heart.ts";
import { measureLatency } from "./latency.ts";
import { measureLists } from "./lists.ts";
import { describeMachine, type FsyncFigures, measureFsync } from "./machine.ts";
import { measureMemory } from "./memory.ts";
import { measurePipeline } from "./pipeline.ts";
import { measurePostgres } from "./postgres.ts";
import { profileService } from "./profile.ts";
import { measureReads } from "./reads.ts";
import { count, type Row, tableOf } from "./report.ts";
import { measureRequestLog } from "./request-log.ts";
import { measureSlowReceiver } from "./slow-receiver.ts";
import { measureSmpp } from "./smpp.ts";
import { type Extent, Stage } from "./stage.ts";

const FULL: Extent = {
  rounds: 3,
  roundMs: 2_000,
  warmMs: 500,
  latencySeconds: 12,
  messages: 4_000,
  waiting: 1_000_000,
  listed: 500_000,
  stored: 1_000_000,
  readsMs: 10_000,
};
const QUICK: Extent = {
  rounds: 1,
  roundMs: 700,
  warmMs: 300,
  latencySeconds: 3,
  messages: 1_000,
  waiting: 20_000,
  listed: 50_000,
  stored: 50_000,
  readsMs: 2_000,
};
const FSYNC_MS = 500;

const BENCHMARKS: Readonly<Record<string, (stage: Stage) => Promise<Row[]>>> = {
  heart: measureHeart,
  memory: measureMemory,
  accepts: measureAccepts,
  requests: measureRequestLog,
  pipeline: measurePipeline,
  latency: measureLatency,
  slow: measureSlowReceiver,
  backlog: measureBacklog,
  closed: measureClosedPort,
  reads: measureReads,
  lists: measureLists,
  smpp: measureSmpp,
  postgres: measurePostgres,
};

const USAGE = `npm run bench -- [names] [options]
  names              some of: ${Object.keys(BENCHMARKS).join(", ")} (default: all)
  --quick            less of everything, in under a minute
  --only <names>     the same, with commas between
  --rounds <n>       rounds of each side; medians count
  --waiting <n>      deliveries that wait in "backlog"
  --messages <n>     messages of the larger database in "lists": ten million take 15 GB and a quarter of an hour
  --dir <path>       where the databases go: the disk that is measured (default: the system's directory for temporary files)
  --profile          no table: runs the service under a profiler and says where its time goes`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    profile: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
    only: { type: "string", default: Object.keys(BENCHMARKS).join(",") },
    rounds: { type: "string" },
    waiting: { type: "string" },
    messages: { type: "string" },
    dir: { type: "string" },
  },
});

if (values.help) console.log(USAGE);
else await run();

async function run(): Promise<void> {
  const extent = values.quick ? QUICK : FULL;
  const rounds = Number(values.rounds ?? extent.rounds);
  const waiting = Number(values.waiting ?? extent.waiting);
  const stored = Number(values.messages ?? extent.stored);
  const stage = new Stage({ ...extent, rounds, waiting, stored }, values.dir);
  // Otherwise the service would outlive it.
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stage.close().finally(() => process.exit(1)));
  try {
    if (values.profile) console.log(await profileService(stage));
    else await measureAll(stage, positionals.length > 0 ? positionals : values.only.split(","));
  } finally {
    await stage.close();
  }
}

async function measureAll(stage: Stage, names: readonly string[]): Promise<void> {
  const rows: Row[] = [];
  const fsyncs: FsyncFigures[] = [measureFsync(stage.directory, FSYNC_MS)];
  for (const name of names) {
    const benchmark = BENCHMARKS[name];
    if (benchmark === undefined) throw new Error(`there is no benchmark ${name}\n${USAGE}`);
    process.stderr.write(`${name} …\n`);
    rows.push(...(await benchmark(stage).catch((error: unknown) => [failed(name, error)])));
    fsyncs.push(measureFsync(stage.directory, FSYNC_MS));
  }
  console.log(describeMachine());
  for (const fsync of fsyncs) console.log(describeFsync(fsync));
  console.log(`\n${tableOf(rows)}`);
}

/** A benchmark that fails does not lose the figures of the others. */
function failed(name: string, error: unknown): Row {
  process.exitCode = 1;
  console.error(error);
  return { what: name, measured: "failed" };
}

function describeFsync({ perSecond, p50Ms, p99Ms }: FsyncFigures): string {
  return `fsync of 4 KiB: ${count(perSecond)}/s, p50 ${count(p50Ms)} ms, p99 ${count(p99Ms)} ms`;
}
