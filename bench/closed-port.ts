/** Benchmark: what the deliveries that are due at a closed port cost, in processor time and in accepts of everybody else. */

import { freePort } from "../test/support/free-port.ts";
import { Child } from "./child.ts";
import { nowMs, pause } from "./clock.ts";
import type { Filling } from "./fill.ts";
import { processorSeconds } from "./machine.ts";
import { count, limitRow, type Row, ratioRow } from "./report.ts";
import { loadRound } from "./rounds.ts";
import type { Service } from "./service.ts";
import type { Stage } from "./stage.ts";

/** Share of the deliveries that wait in a full run, a million. */
const SHARE = 1 / 5;
const PERCENT_MAX = 5;
const AGAINST_EMPTY = 0.95;
/** By then the breaker of the endpoint has opened. */
const SETTLE_MS = 5_000;
/** The time that is measured; a breaker probes once a second. */
const QUIET_MS = 10_000;

/** Processor time of a quiet service whose endpoint is closed, and accepts, alternately with a service on an empty database. */
export async function measureClosedPort(stage: Stage): Promise<Row[]> {
  const due = stage.extent.waiting * SHARE;
  await fill(stage, due);
  const full = await stage.start("closed-port");
  const empty = await stage.start("closed-port-empty");
  await pause(SETTLE_MS);
  const busy = await percentOf(full);
  const idle = await percentOf(empty);
  const accepts = { full: [] as number[], empty: [] as number[] };
  for (let round = 0; round < stage.extent.rounds; round += 1)
    for (const [side, service] of [
      ["empty", empty],
      ["full", full],
    ] as const) {
      const { loaded } = await loadRound(stage, { ...service, keys: [service.apiKey] }, { kind: "scheduled" });
      accepts[side].push(loaded.perSecond);
    }
  await full.stop();
  await empty.stop();
  return [
    limitRow(`${count(due)} due at a closed port: processor time`, " % of a core", [busy], PERCENT_MAX),
    limitRow("  the same, empty", " % of a core", [idle], null),
    ratioRow("  accepts, scheduled, against empty", "/s", accepts.full, accepts.empty, AGAINST_EMPTY),
  ];
}

async function fill(stage: Stage, deliveries: number): Promise<void> {
  await (await stage.start("closed-port")).stop();
  const filler = new Child<Filling, number>("./fill.ts");
  const dueUrl = `http://127.0.0.1:${await freePort()}/hook`;
  await filler.ask({ dataDir: stage.dataDir("closed-port"), deliveries, dueUrl });
  filler.stop();
}

/** Per cent of a core that a service uses while nobody asks it for anything. */
async function percentOf({ pid }: Service): Promise<number> {
  const before = processorSeconds(pid);
  const startedAt = nowMs();
  await pause(QUIET_MS);
  const after = processorSeconds(pid);
  if (before === null || after === null) throw new Error("this system does not tell the processor time of a process");
  return ((after.all - before.all) * 100_000) / (nowMs() - startedAt);
}
