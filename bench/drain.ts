/** Benchmark: how fast a backlog of one endpoint that is due drains, against the bare loop. */

import { Child } from "./child.ts";
import { nowMs, waitFor } from "./clock.ts";
import type { Filling } from "./fill.ts";
import { processorSeconds } from "./machine.ts";
import { limitRow, type Row, ratioRow } from "./report.ts";
import { SLOTS_PER_ENDPOINT } from "./rounds.ts";
import type { Stage } from "./stage.ts";

const GOAL = 0.45;
/** Due deliveries for each message of the pipeline's rounds. */
const DUE_PER_MESSAGE = 10;
/** The first part of a backlog warms the service up: it has just started. */
const WARM_SHARE = 0.25;
const DRAIN_MS_MAX = 300_000;

/** A backlog in each round, on an empty database, then as many posts of the bare loop. */
export async function measureDrain(stage: Stage): Promise<Row[]> {
  const due = stage.extent.messages * DUE_PER_MESSAGE;
  const ours: number[] = [];
  const theirs: number[] = [];
  const costs: number[] = [];
  for (let round = 0; round < stage.extent.rounds; round += 1) {
    const { perSecond, cost } = await drain(stage, `drain-${round}`, due);
    ours.push(perSecond);
    if (cost !== null) costs.push(cost);
    const posts = due * (1 - WARM_SHARE);
    const url = await stage.webhookUrl("bare");
    theirs.push(await stage.bareSender.ask({ urls: [url], concurrency: SLOTS_PER_ENDPOINT, until: { posts } }));
  }
  return [
    ratioRow(`backlog of ${due} due deliveries, 1 endpoint: webhooks`, "/s", ours, theirs, GOAL),
    ...(costs.length === 0 ? [] : [limitRow("  processor time of 1,000 webhooks", " s", costs, null)]),
  ];
}

async function drain(stage: Stage, name: string, due: number): Promise<{ perSecond: number; cost: number | null }> {
  await (await stage.start(name)).stop();
  const filler = new Child<Filling, number>("./fill.ts");
  const filling = { dataDir: stage.dataDir(name), deliveries: due, dueUrl: await stage.webhookUrl() };
  await filler.ask(filling);
  filler.stop();
  await stage.resetReceived();
  const service = await stage.start(name);
  const { begun, beganAt } = await warmed(stage, due * WARM_SHARE);
  const before = processorSeconds(service.pid);
  const lastAt = await stage.received(due, DRAIN_MS_MAX);
  const after = processorSeconds(service.pid);
  await service.stop();
  const webhooks = due - begun;
  const cost = before === null || after === null ? null : ((after.all - before.all) * 1_000) / webhooks;
  return { perSecond: (webhooks * 1_000) / (lastAt - beganAt), cost };
}

/** Waits until `count` webhooks came; returns how many there are by then. */
async function warmed(stage: Stage, count: number): Promise<{ begun: number; beganAt: number }> {
  let begun = 0;
  const arrived = async () => {
    begun = (await stage.receiver.ask("count")).count;
    return begun >= count;
  };
  await waitFor(`${count} webhooks arrive`, arrived, { limitMs: DRAIN_MS_MAX });
  return { begun, beganAt: nowMs() };
}
