/** The thread of the watchdog: measures the processor time of the process, and looks into the main thread if that is too much. */

import { writeSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parentPort } from "node:worker_threads";
import type { Watched } from "./watchdog.ts";

/** In a thread `process.stderr` would write through the main thread. */
const STDERR = 2;
const LOOK_MS = 100;
/** How long the main thread may take to stop at a call. */
const PAUSE_MS_MAX = 10_000;

let present: { seed: string; cpuMsMax: number; since: NodeJS.CpuUsage } | null = null;

parentPort?.on("message", (watched: Watched) => {
  present = watched === null ? null : { ...watched, since: process.cpuUsage() };
});

setInterval(() => {
  if (present === null) return;
  const { user, system } = process.cpuUsage(present.since);
  if (user + system <= present.cpuMsMax * 1_000) return;
  const { seed } = present;
  present = null;
  void calls().then((where) => end(seed, where));
}, LOOK_MS);

parentPort?.postMessage("ready");

/** The present calls of the main thread, innermost first. */
async function calls(): Promise<string[]> {
  const session = new Session();
  session.connectToMainThread();
  const files = new Map<string, string>();
  session.on("Debugger.scriptParsed", ({ params }) => void files.set(params.scriptId, params.url));
  const paused = new Promise<string[]>((resolve) => {
    session.on("Debugger.paused", ({ params }) => {
      resolve(
        params.callFrames.map(({ functionName, location: { scriptId, lineNumber } }) => {
          const file = files.get(scriptId) ?? "";
          const path = file.startsWith("file:") ? relative(process.cwd(), fileURLToPath(file)) : file;
          return `${functionName} (${path}:${lineNumber + 1})`;
        }),
      );
    });
    setTimeout(() => resolve(["it could not be stopped"]), PAUSE_MS_MAX);
  });
  await session.post("Debugger.enable");
  await session.post("Debugger.pause");
  return await paused;
}

function end(seed: string, where: readonly string[]): void {
  const again = `TB_SIMULATION_SEED=${seed} node --test test/simulation/simulation.test.ts`;
  const lines = [
    `The world of seed ${seed} runs without end; again by ${again}`,
    ...where.map((call) => `  at ${call}`),
  ];
  writeSync(STDERR, `${lines.join("\n")}\n`);
  process.kill(process.pid, "SIGKILL");
}
