/**
 * Benchmark: how fast a backlog drains, and what a million waiting deliveries cost: webhooks a second, accepts, latency,
 * memory, against an empty database.
 */

import { statSync } from "node:fs";
import { join } from "node:path";
import { Child } from "./child.ts";
import { nowMs } from "./clock.ts";
import { measureDrain } from "./drain.ts";
import type { Filling } from "./fill.ts";
import { latencyRows } from "./latency.ts";
import { residentAbove } from "./memory.ts";
import { webhookRound } from "./pipeline.ts";
import { count, limitRow, type Row, ratioRow } from "./report.ts";
import { loadRound } from "./rounds.ts";
import { type Service, subscribe } from "./service.ts";
import type { Stage } from "./stage.ts";

const ABOVE_MB_MAX = 250;
const START_MS_MAX = 3_000;
const AGAINST_EMPTY = 0.95;

/** The drain of a backlog that is due; then the pipeline's benchmark with a backlog that waits and without, alternately. */
export async function measureBacklog(stage: Stage): Promise<Row[]> {
  return [...(await measureDrain(stage)), ...(await measureWaiting(stage))];
}

async function measureWaiting(stage: Stage): Promise<Row[]> {
  const filled = await fill(stage);
  const full = await stage.start("full");
  const above = await residentAbove(full);
  const empty = await stage.start("empty");
  for (const service of [full, empty]) await subscribe(service, service.apiKey, await stage.webhookUrl());
  const figures = await compare(stage, full, empty);
  const waiting = count(stage.extent.waiting);
  const rows = [
    { what: `${waiting} deliveries waiting: written in`, measured: filled },
    limitRow("  start until ready", " ms", [full.startMs], START_MS_MAX),
    limitRow("  resident memory above bare Node, quiet", " MB", [above], ABOVE_MB_MAX),
    ratioRow(
      "  webhooks end to end, against empty",
      "/s",
      figures.webhooks.full,
      figures.webhooks.empty,
      AGAINST_EMPTY,
    ),
    ratioRow("  accepts, scheduled, against empty", "/s", figures.accepts.full, figures.accepts.empty, AGAINST_EMPTY),
    limitRow("  resident memory above bare Node, after load", " MB", [await residentAbove(full)], null),
    limitRow("  the same, empty", " MB", [await residentAbove(empty)], null),
    ...(await latencyRows(stage, full, `with ${waiting} waiting`)),
  ];
  await full.stop();
  await empty.stop();
  return rows;
}

/** Fills the data directory `full`, and returns its figures. */
async function fill(stage: Stage): Promise<string> {
  const dataDir = stage.dataDir("full");
  await (await stage.start("full")).stop();
  const { port, hangingPort } = await stage.receiver.ask("ports");
  const filler = new Child<Filling, number>("./fill.ts");
  const startedAt = nowMs();
  const filling = {
    dataDir,
    deliveries: stage.extent.waiting,
    hangingUrl: `http://127.0.0.1:${hangingPort}/hook`,
    healthyUrl: `http://127.0.0.1:${port}/hook`,
  };
  const written = await filler.ask(filling);
  filler.stop();
  if (written !== stage.extent.waiting) throw new Error(`${written} deliveries were written`);
  const seconds = (nowMs() - startedAt) / 1_000;
  return `${seconds.toFixed(0)} s, ${count(statSync(join(dataDir, "tightbeam.db")).size / 1e6)} MB`;
}

interface Sides {
  full: number[];
  empty: number[];
}

async function compare(stage: Stage, full: Service, empty: Service): Promise<{ webhooks: Sides; accepts: Sides }> {
  const webhooks: Sides = { full: [], empty: [] };
  const accepts: Sides = { full: [], empty: [] };
  for (let round = 0; round < stage.extent.rounds; round += 1) {
    for (const [side, service] of [
      ["empty", empty],
      ["full", full],
    ] as const) {
      const target = { ...service, keys: [service.apiKey] };
      const { perSecond } = await webhookRound(stage, target, stage.extent.messages);
      const { loaded } = await loadRound(stage, target, { kind: "scheduled" });
      // The first round of each warms it up.
      if (round === 0 && stage.extent.rounds > 1) continue;
      webhooks[side].push(perSecond);
      accepts[side].push(loaded.perSecond);
    }
  }
  return { webhooks, accepts };
}
