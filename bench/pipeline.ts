/** Benchmark: the whole pipeline: accepts while sending and delivery run, and webhooks from end to end. */

import { processorSeconds } from "./machine.ts";
import { median, type Row, rate, ratioRow } from "./report.ts";
import { acceptRows, bareTarget, loadRound, type Round, SLOTS_PER_ENDPOINT, type Target } from "./rounds.ts";
import { addCustomer, type Service, subscribe } from "./service.ts";
import type { Stage } from "./stage.ts";

/** Each message becomes three events: queued, sent, delivered. */
export const WEBHOOKS_PER_MESSAGE = 3;
const DRAIN_MS_MAX = 300_000;
/** Customers, each with an endpoint, of the run with several. */
const CUSTOMERS = 4;
/** Messages to one recipient are sent in sequence, so fewer messages take as long. */
const ONE_PAIR_SHARE = 1 / 8;
/** Most processor time of messages to one recipient, as a multiple of that of messages to many. */
const ONE_PAIR_COST_MAX = 1.3;

/** Accepts with the whole pipeline, and webhooks of one endpoint, of several endpoints, and of one conversation. */
export async function measurePipeline(stage: Stage): Promise<Row[]> {
  const service = await stage.start("pipeline");
  await subscribe(service, service.apiKey, await stage.webhookUrl());
  const target = { ...service, keys: [service.apiKey] };
  const rows = [
    ...(await measureOneEndpoint(stage, target)),
    ...(await measureOnePair(stage, target)),
    await measureSeveral(stage, service),
  ];
  await service.stop();
  return rows;
}

async function measureOneEndpoint(stage: Stage, target: Target): Promise<Row[]> {
  const bare = await bareTarget(stage);
  const accepts: { theirs: Round[]; ours: Round[] } = { theirs: [], ours: [] };
  const webhooks: { theirs: number[]; ours: number[]; during: number[] } = { theirs: [], ours: [], during: [] };
  for (let round = 0; round < stage.extent.rounds; round += 1) {
    accepts.theirs.push(await loadRound(stage, bare, { kind: "queued" }));
    await stage.resetReceived();
    const ours = await loadRound(stage, target, { kind: "queued" });
    accepts.ours.push(ours);
    const { startedAt, endedAt, accepted } = ours.loaded;
    const { count } = await stage.receiver.ask("count");
    webhooks.during.push((count * 1_000) / (endedAt - startedAt));
    const lastAt = await stage.received(accepted * WEBHOOKS_PER_MESSAGE, DRAIN_MS_MAX);
    webhooks.ours.push((accepted * WEBHOOKS_PER_MESSAGE * 1_000) / (lastAt - startedAt));
    webhooks.theirs.push(await postRound(stage, 1));
  }
  return [
    ...acceptRows("accepts, pipeline behind them", accepts.ours, accepts.theirs, 0.2),
    { what: "  webhooks at the same time", measured: rate(webhooks.during, "/s") },
    ratioRow("webhooks end to end, 1 endpoint", "/s", webhooks.ours, webhooks.theirs, 0.4),
  ];
}

/** Posts a second of the bare loop to a number of endpoints. */
async function postRound(stage: Stage, endpoints: number): Promise<number> {
  const url = await stage.webhookUrl("bare");
  const urls = Array.from({ length: endpoints }, () => url);
  return stage.bareSender.ask({ urls, concurrency: SLOTS_PER_ENDPOINT, until: { ms: stage.extent.roundMs } });
}

/**
 * Webhooks a second of `messages` messages, from the first request until the last webhook, and the service's processor
 * time a message in microseconds; null if unknown.
 */
export async function webhookRound(
  stage: Stage,
  target: Target,
  messages: number,
  recipients: "many" | "one" = "many",
): Promise<{ perSecond: number; round: Round; cost: number | null }> {
  await stage.resetReceived();
  const before = processorSeconds(target.pid);
  const round = await loadRound(stage, target, { kind: "queued", recipients, until: { messages }, warmMs: 0 });
  const webhooks = round.loaded.accepted * WEBHOOKS_PER_MESSAGE;
  const lastAt = await stage.received(webhooks, DRAIN_MS_MAX);
  const after = processorSeconds(target.pid);
  const cost = before === null || after === null ? null : ((after.all - before.all) * 1e6) / round.loaded.accepted;
  return { perSecond: (webhooks * 1_000) / (lastAt - round.loaded.startedAt), round, cost };
}

/** The cost of order: messages from one number to one recipient are sent in sequence. */
async function measureOnePair(stage: Stage, target: Target): Promise<Row[]> {
  const sides = {
    one: { rates: [] as number[], costs: [] as number[] },
    many: { rates: [] as number[], costs: [] as number[] },
  };
  const messages = stage.extent.messages * ONE_PAIR_SHARE;
  for (let round = 0; round < stage.extent.rounds; round += 1) {
    for (const recipients of ["many", "one"] as const) {
      const { perSecond, cost } = await webhookRound(stage, target, messages, recipients);
      sides[recipients].rates.push(perSecond);
      if (cost !== null) sides[recipients].costs.push(cost);
    }
  }
  const rates = ratioRow("webhooks, one recipient against many", "/s", sides.one.rates, sides.many.rates, null);
  if (sides.one.costs.length === 0) return [rates];
  const ratio = median(sides.one.costs) / median(sides.many.costs);
  return [
    rates,
    {
      what: "  processor time a message, one recipient against many",
      measured: rate(sides.one.costs, " µs"),
      against: rate(sides.many.costs, " µs"),
      ratio,
      goal: `≤ ${ONE_PAIR_COST_MAX}`,
      met: ratio <= ONE_PAIR_COST_MAX,
    },
  ];
}

async function measureSeveral(stage: Stage, service: Service): Promise<Row> {
  const keys: string[] = [];
  for (let index = 0; index < CUSTOMERS; index += 1) {
    const key = await addCustomer(service, index);
    await subscribe(service, key, await stage.webhookUrl(`hook-${index}`));
    keys.push(key);
  }
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < stage.extent.rounds; round += 1) {
    theirs.push(await postRound(stage, CUSTOMERS));
    ours.push((await webhookRound(stage, { ...service, keys }, stage.extent.messages)).perSecond);
  }
  return ratioRow(`webhooks end to end, ${CUSTOMERS} endpoints`, "/s", ours, theirs, 0.4);
}
