/** One round of load against one side, and what it cost there; rows made of many rounds. */

import type { Load, Loaded } from "./generator.ts";
import { processorSeconds } from "./machine.ts";
import { median, type Row, rate, ratioRow } from "./report.ts";
import { CONNECTIONS, type Stage } from "./stage.ts";

/** Attempts of one endpoint at once. */
export const SLOTS_PER_ENDPOINT = 64;

/** A server to load, ours or the bare one, and the keys to do it with. */
export interface Target {
  port: number;
  pid: number;
  keys: readonly string[];
}

/** The result of a round. `cost` is processor time per request in microseconds, null if it cannot be measured. */
export interface Round {
  loaded: Loaded;
  cost: { main: number; all: number } | null;
}

/** Loads a target over 64 connections; for the time of a round unless `load` says otherwise. Throws for any refusal. */
export async function loadRound(
  stage: Stage,
  target: Target,
  load: Partial<Load> & Pick<Load, "kind">,
): Promise<Round> {
  const before = processorSeconds(target.pid);
  const { roundMs, warmMs } = stage.extent;
  const { port, keys } = target;
  const defaults = { connections: CONNECTIONS, warmMs, until: { ms: roundMs }, recipients: "many" } as const;
  const loaded = await stage.generator.ask({ ...defaults, ...load, port, keys });
  const after = processorSeconds(target.pid);
  if (loaded.refused > 0) throw new Error(`${loaded.refused} of ${loaded.accepted + loaded.refused} were refused`);
  if (before === null || after === null) return { loaded, cost: null };
  const each = (seconds: number) => (seconds * 1e6) / loaded.accepted;
  return { loaded, cost: { main: each(after.main - before.main), all: each(after.all - before.all) } };
}

/** The bare handler as a target. */
export async function bareTarget(stage: Stage): Promise<Target> {
  return { port: await stage.barePort(), pid: stage.bareServer.pid, keys: [`tb_${"c".repeat(32)}`] };
}

const P99_MS_MAX = 25;

/** Rate, p99 and processor time of our rounds against the bare ones. */
export function acceptRows(what: string, ours: readonly Round[], bare: readonly Round[], goal: number): Row[] {
  const perSecond = (side: readonly Round[]) => side.map(({ loaded }) => loaded.perSecond);
  const p99 = (side: readonly Round[]) => side.map(({ loaded }) => loaded.p99Ms);
  return [
    ratioRow(what, "/s", perSecond(ours), perSecond(bare), goal),
    {
      what: "  p99 of the answer",
      measured: rate(p99(ours), " ms"),
      against: rate(p99(bare), " ms"),
      goal: `< ${P99_MS_MAX} ms`,
      met: median(p99(ours)) < P99_MS_MAX,
    },
    ...costRows(ours, bare),
  ];
}

/** Unlike rates, processor time does not depend on other load on the machine. */
function costRows(ours: readonly Round[], bare: readonly Round[]): Row[] {
  const part = (side: readonly Round[], name: "main" | "all") =>
    side.flatMap(({ cost }) => (cost === null ? [] : [cost[name]]));
  const row = (what: string, name: "main" | "all"): Row => ({
    what: `  processor time a request, ${what}`,
    measured: rate(part(ours, name), " µs"),
    against: rate(part(bare, name), " µs"),
    ratio: median(part(bare, name)) / median(part(ours, name)),
  });
  return part(ours, "all").length === 0 ? [] : [row("main thread", "main"), row("all threads", "all")];
}
