/** Runs the service under Node's sampling profiler, and reports in words how each thread spends its time. */

import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { nowMs } from "./clock.ts";
import { WEBHOOKS_PER_MESSAGE } from "./pipeline.ts";
import { count } from "./report.ts";
import type { MessageKind } from "./request.ts";
import { loadRound } from "./rounds.ts";
import { type Service, subscribe } from "./service.ts";
import type { Stage } from "./stage.ts";

const FUNCTIONS_SHOWN = 30;
const PLACES_SHOWN = 16;
const INTERVAL_US = 250;
const DRAIN_MS_MAX = 300_000;

interface CallFrame {
  functionName: string;
  url: string;
  lineNumber: number;
}

/** The file that `--cpu-prof` writes; times in microseconds of the machine's monotonic clock. */
interface CpuProfile {
  nodes: {
    id: number;
    callFrame: CallFrame;
    children?: number[];
    positionTicks?: { line: number; ticks: number }[];
  }[];
  startTime: number;
  samples: number[];
  timeDeltas: number[];
}

/** A recorded profile, and its relevant time: without the start and the end of the service. */
interface Recorded {
  directory: string;
  messages: number;
  /** Units of work committed, and the commits that they shared. */
  units: number;
  commits: number;
  fromMs: number;
  toMs: number;
}

/** Text about each thread under scheduled accepts, and under the whole pipeline. */
export async function profileService(stage: Stage): Promise<string> {
  const texts: string[] = [];
  for (const kind of ["scheduled", "queued"] as const) {
    const recorded = await record(stage, kind);
    const what = kind === "scheduled" ? "messages that only wait" : "messages through the whole pipeline";
    const { messages, units, commits, fromMs, toMs } = recorded;
    texts.push(
      `# ${count(messages)} ${what}, in ${((toMs - fromMs) / 1_000).toFixed(1)} s`,
      `${count(units / messages)} transactions a message, ${count(units / commits)} transactions a commit`,
    );
    const profiles = readdirSync(recorded.directory).map(
      (file): CpuProfile => JSON.parse(readFileSync(join(recorded.directory, file), "utf8")),
    );
    texts.push(...profiles.map((profile) => describe(profile, recorded)).sort());
  }
  return texts.join("\n\n");
}

async function record(stage: Stage, kind: MessageKind): Promise<Recorded> {
  const directory = stage.dataDir(`profile-${kind}`);
  mkdirSync(directory);
  const nodeArgs = ["--cpu-prof", `--cpu-prof-dir=${directory}`, `--cpu-prof-interval=${INTERVAL_US}`];
  const service = await stage.start(`profiled-${kind}`, { nodeArgs });
  if (kind === "queued") await subscribe(service, service.apiKey, await stage.webhookUrl());
  const load = async () => {
    await stage.resetReceived();
    const { loaded } = await loadRound(stage, { ...service, keys: [service.apiKey] }, { kind });
    if (kind === "queued") await stage.received(loaded.accepted * WEBHOOKS_PER_MESSAGE, DRAIN_MS_MAX);
    return loaded.accepted;
  };
  // Until code is compiled.
  await load();
  const before = await readCommits(service);
  const fromMs = nowMs();
  const messages = await load();
  const toMs = nowMs();
  const after = await readCommits(service);
  await service.stop();
  return {
    directory,
    messages,
    units: after.units - before.units,
    commits: after.commits - before.commits,
    fromMs,
    toMs,
  };
}

/** Transactions that the service has committed, and the commits that they shared. */
async function readCommits({ port }: Service): Promise<{ units: number; commits: number }> {
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const metric = (name: string) => Number(new RegExp(`^${name} (.*)$`, "m").exec(metrics)?.[1]);
  return { units: metric("tightbeam_units_committed_total"), commits: metric("tightbeam_commit_group_units_count") };
}

/** A thread by the modules and functions with the most time of their own, and by our lines with the most time. */
function describe(profile: CpuProfile, recorded: Recorded): string {
  const { byNode, byFunction, byPlace, totalMs, idleMs } = selfTimes(profile, recorded);
  const busyMs = totalMs - idleMs;
  const list = (times: ReadonlyMap<string, number>, most: number) =>
    [...times]
      .sort(([, left], [, right]) => right - left)
      .slice(0, most)
      .map(([name, ms]) => {
        const share = `${((100 * ms) / busyMs).toFixed(1)} %`;
        const each = `${((1_000 * ms) / recorded.messages).toFixed(1)} µs`;
        return `  ${share.padStart(7)}  ${each.padStart(9)}  ${name}`;
      });
  const each = ((1_000 * busyMs) / recorded.messages).toFixed(0);
  return [
    `## ${threadOf(profile)}: busy for ${((100 * busyMs) / totalMs).toFixed(0)} % of the time, ${each} µs a message`,
    ...list(byPlace, PLACES_SHOWN),
    "by function",
    ...list(byFunction, FUNCTIONS_SHOWN),
    "by function of this project's own, with all that it calls before it waits",
    ...list(inclusiveTimes(profile, byNode), FUNCTIONS_SHOWN),
    "by line, of this project's own",
    ...hotLines(profile),
  ].join("\n");
}

/** The name of a thread, by a function that only it runs. */
function threadOf({ nodes }: CpuProfile): string {
  const runs = (file: string) => nodes.some(({ callFrame }) => callFrame.url.endsWith(file));
  if (runs("/server/app/service.ts")) return "The main thread";
  return runs("/server/store/sqlite/writer.ts") && nodes.some(({ callFrame }) => callFrame.functionName === "#do")
    ? "The writer's thread"
    : "The reader's thread";
}

function selfTimes({ nodes, startTime, samples, timeDeltas }: CpuProfile, { fromMs, toMs }: Recorded) {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const byNode = new Map<number, number>();
  const byFunction = new Map<string, number>();
  const byPlace = new Map<string, number>();
  let totalMs = 0;
  let idleMs = 0;
  let atMs = startTime / 1_000;
  for (const [index, id] of samples.entries()) {
    // A sample stands for the time until the next one.
    const ms = (timeDeltas[index + 1] ?? 0) / 1_000;
    atMs += (timeDeltas[index] ?? 0) / 1_000;
    const frame = frames.get(id);
    if (frame === undefined || atMs < fromMs || atMs > toMs) continue;
    totalMs += ms;
    if (frame.functionName === "(idle)") {
      idleMs += ms;
      continue;
    }
    const place = placeOf(frame);
    const name = nameOf(frame);
    byNode.set(id, (byNode.get(id) ?? 0) + ms);
    byFunction.set(name, (byFunction.get(name) ?? 0) + ms);
    byPlace.set(place, (byPlace.get(place) ?? 0) + ms);
  }
  return { byNode, byFunction, byPlace, totalMs, idleMs };
}

/** Milliseconds of a function and of what it called, counted once for a function that calls itself. */
function inclusiveTimes({ nodes }: CpuProfile, byNode: ReadonlyMap<number, number>): Map<string, number> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const times = new Map<string, number>();
  const [root] = nodes;
  const left = root === undefined ? [] : [{ node: root, above: [] as readonly string[] }];
  for (let item = left.pop(); item !== undefined; item = left.pop()) {
    const { node, above } = item;
    const own = node.callFrame.url.startsWith(`${ROOT}server/`) ? nameOf(node.callFrame) : null;
    const names = own === null || above.includes(own) ? above : [...above, own];
    const ms = byNode.get(node.id) ?? 0;
    for (const name of names) times.set(name, (times.get(name) ?? 0) + ms);
    for (const id of node.children ?? []) {
      const child = byId.get(id);
      if (child !== undefined) left.push({ node: child, above: names });
    }
  }
  return times;
}

function nameOf(frame: CallFrame): string {
  const line = frame.url === "" ? "" : `:${frame.lineNumber + 1}`;
  return `${frame.functionName || "(anonymous)"} — ${placeOf(frame)}${line}`;
}

const ROOT = new URL("../", import.meta.url).href;

/** Names a file of ours by its path, a package by its name, Node by its module, and code without a file by its kind. */
function placeOf({ url, functionName }: CallFrame): string {
  if (url.startsWith(ROOT) && !url.includes("node_modules")) return url.slice(ROOT.length);
  const packaged = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1];
  if (packaged !== undefined) return packaged;
  if (url !== "") return url.startsWith("file:") ? fileURLToPath(url) : url;
  if (functionName === "(garbage collector)") return "garbage collection";
  return functionName === "(program)" ? "outside of JavaScript" : "calls into C++";
}

const LINES_SHOWN = 20;

/** Calls into C++ that V8 makes directly (those of SQLite) count for the line that they are on. */
function hotLines({ nodes, samples, timeDeltas }: CpuProfile): string[] {
  const lines = new Map<string, number>();
  const tickMs = timeDeltas.reduce((sum, us) => sum + us, 0) / 1_000 / samples.length;
  for (const { callFrame, positionTicks = [] } of nodes) {
    if (!callFrame.url.startsWith(`${ROOT}server/`)) continue;
    for (const { line, ticks } of positionTicks) {
      const name = `${callFrame.functionName} — ${placeOf(callFrame)}:${line}`;
      lines.set(name, (lines.get(name) ?? 0) + ticks);
    }
  }
  return [...lines]
    .sort(([, left], [, right]) => right - left)
    .slice(0, LINES_SHOWN)
    .map(([name, ticks]) => `  ${(ticks * tickMs).toFixed(0).padStart(6)} ms  ${name}`);
}
