/** Benchmark: what the request log adds to an accept: the same load on services with the log off, on, and with bodies, turn by turn. */

import { pause } from "./clock.ts";
import { limitRow, type Row, rate, ratioRow } from "./report.ts";
import { loadRound } from "./rounds.ts";
import type { Service } from "./service.ts";
import type { Stage } from "./stage.ts";

const MODES = ["off", "on", "bodies"] as const;
type Mode = (typeof MODES)[number];

/** Most processor time of an accept with the log, as a multiple of that without it; null: no goal. */
const COST_MAX: Readonly<Record<Exclude<Mode, "off">, number | null>> = { on: 1.05, bodies: null };
/** Rounds that do not count: code is compiled in them. */
const WARM_ROUNDS = 3;
/** Rounds that count, for each of the run: the difference is smaller than the noise of three. */
const ROUNDS_FACTOR = 2;
/** Until the log of the last requests is written, which a round pays for too. */
const WRITTEN_AFTER_MS = 500;

interface Side {
  service: Service;
  perSecond: number[];
  /** Processor time of all threads, in microseconds an accept. */
  costUs: number[];
}

/** Accepts of messages that are scheduled for tomorrow, so that nothing runs behind them. */
export async function measureRequestLog(stage: Stage): Promise<Row[]> {
  const sides = {
    off: await startSide(stage, "off"),
    on: await startSide(stage, "on"),
    bodies: await startSide(stage, "bodies"),
  };
  for (let round = 0; round < WARM_ROUNDS; round += 1) {
    for (const mode of MODES) await measureSide(stage, sides[mode].service);
  }
  for (let round = 0; round < stage.extent.rounds * ROUNDS_FACTOR; round += 1) {
    // Every second round backwards: what slows the machine down meets all sides alike.
    for (const mode of round % 2 === 0 ? MODES : MODES.toReversed()) {
      const { perSecond, costUs } = await measureSide(stage, sides[mode].service);
      sides[mode].perSecond.push(perSecond);
      sides[mode].costUs.push(costUs);
    }
  }
  const rows = [
    ...rowsOf("on", sides.on, sides.off),
    ...rowsOf("bodies", sides.bodies, sides.off),
    limitRow("  requests missing in the logs", "", [await missing(sides.on), await missing(sides.bodies)], 0),
  ];
  for (const mode of MODES) await sides[mode].service.stop();
  return rows;
}

async function startSide(stage: Stage, mode: Mode): Promise<Side> {
  const service = await stage.start(`request-log-${mode}`, { isCounted: true, env: { TB_REQUEST_LOG: mode } });
  return { service, perSecond: [], costUs: [] };
}

async function measureSide(stage: Stage, service: Service): Promise<{ perSecond: number; costUs: number }> {
  const target = { ...service, keys: [service.apiKey] };
  const until = { messages: stage.extent.messages };
  const before = await service.spent();
  const { loaded } = await loadRound(stage, target, { kind: "scheduled", until, warmMs: 0 });
  await pause(WRITTEN_AFTER_MS);
  const after = await service.spent();
  const costUs = ((after.processorSeconds - before.processorSeconds) * 1e6) / loaded.accepted;
  return { perSecond: loaded.perSecond, costUs };
}

function rowsOf(mode: Exclude<Mode, "off">, logged: Side, off: Side): Row[] {
  const times = logged.costUs.map((costUs, round) => costUs / (off.costUs[round] ?? Number.NaN));
  return [
    limitRow(`processor time of an accept, request log ${mode} against off`, " times", times, COST_MAX[mode]),
    { what: "  in microseconds", measured: rate(logged.costUs, " µs"), against: rate(off.costUs, " µs") },
    ratioRow("  accepts", "/s", logged.perSecond, off.perSecond, null),
  ];
}

/** How many requests the log of a service lost: they would make it look cheap. Throws if the log is empty. */
async function missing({ service }: Side): Promise<number> {
  const headers = { authorization: `Bearer ${service.apiKey}` };
  const page = await fetch(`http://127.0.0.1:${service.port}/v1/requests?limit=1`, { headers });
  if (!(await page.text()).includes('"POST"')) throw new Error("the request log has no accepts");
  const text = await (await fetch(`http://127.0.0.1:${service.port}/metrics`)).text();
  const found = /^tightbeam_requests_unlogged_total(?:\{.*\})? (.*)$/m.exec(text);
  if (found === null) throw new Error("the metrics do not count the requests missing in the log");
  return Number(found[1]);
}
