/** Benchmark: webhooks a second to a receiver that takes 300 ms for each. */

import { webhookRound } from "./pipeline.ts";
import { median, type Row, rate } from "./report.ts";
import { subscribe } from "./service.ts";
import type { Stage } from "./stage.ts";

const PER_SECOND_MIN = 150;
/** Share of a round's messages, because a slow receiver takes long for a few. */
const SHARE = 3 / 20;

/** From the first request to the last webhook, with the seconds in which the endpoint earns its permits. */
export async function measureSlowReceiver(stage: Stage): Promise<Row[]> {
  const perSecond: number[] = [];
  for (let round = 0; round < stage.extent.rounds; round += 1) {
    const service = await stage.start(`slow-receiver-${round}`);
    const { slowPort } = await stage.receiver.ask("ports");
    await subscribe(service, service.apiKey, `http://127.0.0.1:${slowPort}/hook`);
    const target = { ...service, keys: [service.apiKey] };
    perSecond.push((await webhookRound(stage, target, stage.extent.messages * SHARE)).perSecond);
    await service.stop();
  }
  return [
    {
      what: "webhooks to a receiver that takes 300 ms",
      measured: rate(perSecond, "/s"),
      goal: `≥ ${PER_SECOND_MIN}/s`,
      met: median(perSecond) >= PER_SECOND_MIN,
    },
  ];
}
