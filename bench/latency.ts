/** Benchmark: from a request to its first webhook, at 200 messages a second that arrive whether or not the last was answered. */

import { Child } from "./child.ts";
import type { Probe, Probed } from "./prober.ts";
import { limitRow, type Row } from "./report.ts";
import { type Service, subscribe } from "./service.ts";
import type { Stage } from "./stage.ts";

const PER_SECOND = 200;
const P50_MS_MAX = 5;
const P99_MS_MAX = 10;
/** Warm-up before the measurement: code is compiled and connections are opened. */
const WARM_SECONDS = 2;

/** Latency on an idle service. */
export async function measureLatency(stage: Stage): Promise<Row[]> {
  const service = await stage.start("latency");
  const rows = await latencyRows(stage, service, `at ${PER_SECOND} messages/s`);
  await service.stop();
  return rows;
}

/** Latency of a service, measured with messages of its first customer. */
export async function latencyRows(stage: Stage, service: Service, when: string): Promise<Row[]> {
  const prober = new Child<Probe, Probed>("./prober.ts");
  const probe = (seconds: number) => ({
    port: service.port,
    key: service.apiKey,
    arrivals: { perSecond: PER_SECOND, seconds },
  });
  const { receivingPort } = await prober.ask({ ...probe(0), port: null });
  await subscribe(service, service.apiKey, `http://127.0.0.1:${receivingPort}/hook`);
  await prober.ask(probe(WARM_SECONDS));
  const probed = await prober.ask(probe(stage.extent.latencySeconds));
  prober.stop();
  const answer = quantiles(probed.toAnswerMs);
  const webhook = quantiles(probed.toWebhookMs);
  return [
    limitRow(`request to first webhook ${when}: p50`, " ms", [webhook.p50], P50_MS_MAX),
    limitRow("  p99", " ms", [webhook.p99], P99_MS_MAX),
    limitRow("  p99.9", " ms", [webhook.p999], null),
    limitRow("  request to answer: p50", " ms", [answer.p50], null),
    limitRow("  request to answer: p99", " ms", [answer.p99], null),
  ];
}

/** The median and the 99th and 99.9th percentile of the values; 0 without values. */
export function quantiles(values: readonly number[]): { p50: number; p99: number; p999: number } {
  const sorted = [...values].sort((left, right) => left - right);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), p999: at(0.999) };
}
