/** Benchmark: a message's processor time against its floor, what it costs the store, and how sending keeps up with accepting. */

import { Child } from "./child.ts";
import { pause } from "./clock.ts";
import type { Spent } from "./inside.ts";
import { quantiles } from "./latency.ts";
import { processorSeconds } from "./machine.ts";
import { WEBHOOKS_PER_MESSAGE, webhookRound } from "./pipeline.ts";
import type { Probe, Probed } from "./prober.ts";
import { limitRow, type Row, rate, ratioRow } from "./report.ts";
import type { MessageMix } from "./request.ts";
import { bareTarget, loadRound, type Target } from "./rounds.ts";
import { type Service, subscribe } from "./service.ts";
import { CONNECTIONS, type Stage } from "./stage.ts";

const FLOOR_RATIO_MAX = 2.5;
const ONE_RECIPIENT_RATIO_MAX = 1.3;
const WEBHOOKS_RATIO_MIN = 0.3;
/** Processor seconds that 1,000 webhooks may take. */
const PER_1000_MAX = 0.28;
const OLDEST_DUE_SECONDS_MAX = 1;
const BURST = { messages: 1_200, connections: CONNECTIONS };
const BURST_P99_MS_MAX = 500;
/** Shares of a round whose messages go to many recipients, and to one recipient. */
const MANY_SHARE = 1 / 2;
const ONE_SHARE = 1 / 10;
const POSTS_AT_ONCE = 64;
const FLOOR_WARM_ROUNDS = 4;
/** Length, in rounds, of the run that watches the oldest due work. */
const WATCHED_ROUNDS = 3;
const SAMPLE_MS = 250;

/** Runs the whole benchmark in under 90 s. */
export async function measureHeart(stage: Stage): Promise<Row[]> {
  const service = await stage.start("heart", { isCounted: true });
  await subscribe(service, service.apiKey, await stage.webhookUrl());
  const rows = await measureMessages(stage, service);
  rows.push(...(await measureBurst(service)));
  await service.stop();
  rows.push(...(await measureWhileAccepting(stage)));
  return rows;
}

/** One kind of load: webhooks a second, and what its messages cost. */
interface Side {
  perSecond: number[];
  /** Processor time of the service, all threads, in microseconds a message. */
  costUs: number[];
  spent: { before: Spent; after: Spent; messages: number }[];
}

function newSide(): Side {
  return { perSecond: [], costUs: [], spent: [] };
}

async function measureMessages(stage: Stage, service: Service): Promise<Row[]> {
  const bare = await bareTarget(stage);
  const floorUs: number[] = [];
  const postsPerSecond: number[] = [];
  const many = newSide();
  const one = newSide();
  // Until code is compiled: a cold floor is twice as high.
  for (let round = 0; round < FLOOR_WARM_ROUNDS; round += 1) await measureFloor(stage, bare);
  await measureSide(stage, service, "many", newSide());
  for (let round = 0; round < stage.extent.rounds; round += 1) {
    const floor = await measureFloor(stage, bare);
    floorUs.push(floor.costUs);
    postsPerSecond.push(floor.postsPerSecond);
    await measureSide(stage, service, "many", many);
    await measureSide(stage, service, "one", one);
  }
  return [
    atMostRow("processor time of a message against its floor", " µs", many.costUs, floorUs, FLOOR_RATIO_MAX),
    atMostRow("  one recipient against many", " µs", one.costUs, many.costUs, ONE_RECIPIENT_RATIO_MAX),
    limitRow("processor time of 1,000 webhooks", " s", many.costUs.map(toPer1000), PER_1000_MAX),
    limitRow("  one recipient", " s", one.costUs.map(toPer1000), null),
    ratioRow("accepted and delivered webhooks", "/s", many.perSecond, postsPerSecond, WEBHOOKS_RATIO_MIN),
    ratioRow("  one recipient", "/s", one.perSecond, postsPerSecond, null),
    ...countRows("many recipients", many),
    ...countRows("one recipient", one),
  ];
}

function toPer1000(costUs: number): number {
  return costUs / WEBHOOKS_PER_MESSAGE / 1_000;
}

async function measureSide(stage: Stage, service: Service, recipients: MessageMix["recipients"], side: Side) {
  const target: Target = { ...service, keys: [service.apiKey] };
  const messages = stage.extent.messages * (recipients === "many" ? MANY_SHARE : ONE_SHARE);
  const before = await service.spent();
  side.perSecond.push((await webhookRound(stage, target, messages, recipients)).perSecond);
  const after = await service.spent();
  side.spent.push({ before, after, messages });
  side.costUs.push(((after.processorSeconds - before.processorSeconds) * 1e6) / messages);
}

/**
 * The floor for the messages of a round: processor time in microseconds of a bare request and three bare posts, and the
 * number of bare posts a second. The work is always the same, whatever else the machine does.
 */
async function measureFloor(stage: Stage, bare: Target): Promise<{ costUs: number; postsPerSecond: number }> {
  const messages = stage.extent.messages * MANY_SHARE;
  const urls = [await stage.webhookUrl("bare")];
  const secondsOfBoth = () => processorSecondsOf(stage.bareServer.pid) + processorSecondsOf(stage.bareSender.pid);
  const before = secondsOfBoth();
  await loadRound(stage, bare, { kind: "queued", until: { messages }, warmMs: 0 });
  const until = { posts: messages * WEBHOOKS_PER_MESSAGE };
  const postsPerSecond = await stage.bareSender.ask({ urls, concurrency: POSTS_AT_ONCE, until });
  return { costUs: ((secondsOfBoth() - before) * 1e6) / messages, postsPerSecond };
}

function processorSecondsOf(pid: number): number {
  return processorSeconds(pid)?.all ?? Number.NaN;
}

/** A row whose goal is a ratio of two medians, at most `goal`. */
function atMostRow(
  what: string,
  unit: string,
  measured: readonly number[],
  against: readonly number[],
  goal: number,
): Row {
  const { ratio = Number.NaN, ...row } = ratioRow(what, unit, measured, against, null);
  return { ...row, ratio, goal: `≤ ${goal}`, met: ratio <= goal };
}

const COUNTS = {
  transactions: "transactions",
  commits: "commits",
  walFrames: "WAL frames",
  statements: "statements",
} as const;

/** Counts of the store per message; the goals for them are held by a test with a scripted load. */
function countRows(whom: string, { spent }: Side): Row[] {
  return (Object.keys(COUNTS) as (keyof typeof COUNTS)[]).map((name) => {
    const each = spent.map(({ before, after, messages }) => (after.counts[name] - before.counts[name]) / messages);
    return { what: `${COUNTS[name]} a message, ${whom}`, measured: rate(each, "") };
  });
}

/** A burst, and the time until each of its messages was reported as delivered. */
async function measureBurst(service: Service): Promise<Row[]> {
  const prober = new Child<Probe, Probed>("./prober.ts");
  const probe = { port: service.port, key: service.apiKey, arrivals: BURST };
  const { receivingPort } = await prober.ask({ ...probe, port: null });
  await subscribe(service, service.apiKey, `http://127.0.0.1:${receivingPort}/hook`);
  const { toAnswerMs, toWebhookMs } = await prober.ask(probe);
  prober.stop();
  const what = `burst of ${BURST.messages.toLocaleString("en-US")}, request to "delivered" webhook`;
  const delivered = quantiles(toWebhookMs);
  return [
    limitRow(`${what}: p50`, " ms", [delivered.p50], null),
    limitRow("  p99", " ms", [delivered.p99], BURST_P99_MS_MAX),
    limitRow("  request to answer: p99", " ms", [quantiles(toAnswerMs).p99], null),
  ];
}

/** Sends requests without a pause for some seconds, and returns the deliveries of that time and the age of due work. */
async function measureWhileAccepting(stage: Stage): Promise<Row[]> {
  const service = await stage.start("heart-accepting");
  await subscribe(service, service.apiKey, await stage.webhookUrl());
  await stage.resetReceived();
  const ms = stage.extent.roundMs * WATCHED_ROUNDS;
  const watch = watchOldestDue(service);
  const { loaded } = await loadRound(stage, { ...service, keys: [service.apiKey] }, { kind: "queued", until: { ms } });
  const oldest = await watch.stop();
  const { count } = await stage.receiver.ask("count");
  await service.stop();
  const seconds = (loaded.endedAt - loaded.startedAt) / 1_000;
  return [
    { what: `accepted in ${seconds.toFixed(1)} s without a pause`, measured: rate([loaded.accepted], "") },
    ratioRow("  messages delivered meanwhile", "", [count / WEBHOOKS_PER_MESSAGE], [loaded.accepted], null),
    limitRow("  oldest due work", " s", [oldest], OLDEST_DUE_SECONDS_MAX),
  ];
}

/** Reads the age of the oldest due work until `stop`, which returns the highest age. */
function watchOldestDue({ port }: Service): { stop(): Promise<number> } {
  let isStopped = false;
  let highest = 0;
  const watching = (async () => {
    while (!isStopped) {
      highest = Math.max(highest, await readOldestDue(port));
      await pause(SAMPLE_MS);
    }
  })();
  return {
    async stop() {
      isStopped = true;
      await watching;
      return Math.max(highest, await readOldestDue(port));
    },
  };
}

async function readOldestDue(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const ages = [...text.matchAll(/^tightbeam_oldest_due_seconds\{.*\} (.*)$/gm)].map(([, age]) => Number(age));
  return Math.max(...ages);
}
