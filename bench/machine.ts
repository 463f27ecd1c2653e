/** Measures the machine and a process on it: fsyncs, resident memory, processor time. */

import { execFileSync } from "node:child_process";
import { closeSync, existsSync, fdatasyncSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { nowMs } from "./clock.ts";

/** Times of appending 4 KiB and waiting until they are on disk, in milliseconds. */
export interface FsyncFigures {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

const BLOCK = Buffer.alloc(4_096, 1);

/** Measures, for `ms`, how fast the disk under `directory` performs sequential small durable writes. */
export function measureFsync(directory: string, ms: number): FsyncFigures {
  const path = join(directory, "fsync");
  const file = openSync(path, "w");
  const times: number[] = [];
  const endsAt = nowMs() + ms;
  for (let startedAt = nowMs(); startedAt < endsAt; startedAt = nowMs()) {
    writeSync(file, BLOCK);
    fdatasyncSync(file);
    times.push(nowMs() - startedAt);
  }
  closeSync(file);
  rmSync(path);
  times.sort((left, right) => left - right);
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0;
  return { perSecond: times.length / (ms / 1_000), p50Ms: at(0.5), p99Ms: at(0.99) };
}

/** The number of processors and of runnable processes, which shows other load on the machine. */
export function describeMachine(): string {
  const [first] = cpus();
  const [load = 0] = loadavg();
  return `${cpus().length} × ${first?.model.trim() ?? "processor"}, load ${load.toFixed(1)}, Node ${process.versions.node}`;
}

/** Resident memory of a process in MB (10⁶ bytes). */
export function residentMb(pid: number): number {
  const kib = existsSync("/proc/self/status")
    ? Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1])
    : Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" }));
  return (kib * 1_024) / 1e6;
}

/** Clock ticks of `/proc` a second (getconf CLK_TCK: 100 on every Linux that Node runs on). */
const TICKS_PER_SECOND = 100;

/** Processor seconds that a process has used: the main thread's, and all threads'. Null on a system without `/proc`. */
export function processorSeconds(pid: number): { main: number; all: number } | null {
  if (!existsSync("/proc/self/stat")) return null;
  const used = readdirSync(`/proc/${pid}/task`).map((task) => {
    const fields = statOf(`/proc/${pid}/task/${task}`);
    const seconds = (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
    return { isMain: task === String(pid), seconds };
  });
  const all = used.reduce((sum, { seconds }) => sum + seconds, 0);
  return { main: used.find(({ isMain }) => isMain)?.seconds ?? 0, all };
}

/** Processor seconds of ended processes that were started by the same parents as these; 0 on a system without `/proc`. */
export function secondsOfEnded(pids: readonly number[]): number {
  if (!existsSync("/proc/self/stat")) return 0;
  const parents = [...new Set(pids.map(parentOf))];
  const ticks = parents.map((pid) => statOf(`/proc/${pid}`)).map((fields) => Number(fields[13]) + Number(fields[14]));
  return ticks.reduce((sum, one) => sum + one, 0) / TICKS_PER_SECOND;
}

/** The fields of a process or thread in `/proc` behind its name. */
function statOf(directory: string): string[] {
  const stat = readFileSync(`${directory}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** Ticks of all processors since the machine started, for all of its processes. A processor that waits for a disk is idle: it could do other work. */
export interface MachineTicks {
  all: number;
  idle: number;
}

/** Null on a system without `/proc`. */
export function machineTicks(): MachineTicks | null {
  if (!existsSync("/proc/stat")) return null;
  const [line = ""] = readFileSync("/proc/stat", "utf8").split("\n", 1);
  const [user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, softIrq = 0, stolen = 0] = line
    .split(/\s+/)
    .slice(1)
    .map(Number);
  const unused = idle + waiting;
  return { all: unused + user + nice + system + irq + softIrq + stolen, idle: unused };
}

/** The share of the processors' time between two moments in which they had no work; null if it is not known. */
export function idleShare(before: MachineTicks | null, after: MachineTicks | null): number | null {
  if (before === null || after === null || after.all === before.all) return null;
  return (after.idle - before.idle) / (after.all - before.all);
}

/**
 * Binds processes with all their threads to some processors, such as `1-3`. The threads and processes that they start later are bound
 * too. Throws where there is no `taskset` (util-linux).
 */
export function bindTo(processors: string, pids: readonly number[]): void {
  for (const pid of pids) execFileSync("taskset", ["--all-tasks", "--cpu-list", "--pid", processors, String(pid)]);
}

/** The process that started another one. */
export function parentOf(pid: number): number {
  return Number(statOf(`/proc/${pid}`)[1]);
}
