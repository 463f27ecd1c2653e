/** Benchmark: resident memory of the idle service, above that of a Node that does nothing. */

import { spawn } from "node:child_process";
import { pause } from "./clock.ts";
import { residentMb } from "./machine.ts";
import { limitRow, type Row } from "./report.ts";
import type { Service } from "./service.ts";
import type { Stage } from "./stage.ts";

/** After this time the memory is stable: the garbage of the start is freed or stays. */
const SETTLED_MS = 4_000;
const IDLE_ABOVE_MB_MAX = 90;

/** A service that was just started and gets no requests. */
export async function measureMemory(stage: Stage): Promise<Row[]> {
  const above: number[] = [];
  for (let round = 0; round < Math.min(stage.extent.rounds, 3); round += 1) {
    const service = await stage.start(`memory-${round}`);
    above.push(await residentAbove(service));
    await service.stop();
  }
  return [limitRow("resident memory above bare Node, idle", " MB", above, IDLE_ABOVE_MB_MAX)];
}

/** Resident memory of a service once it is quiet, above a bare Node of the same moment, in MB. */
export async function residentAbove(service: Service): Promise<number> {
  const bare = spawn(process.execPath, ["-e", "setInterval(() => {}, 60_000)"], { stdio: "ignore" });
  await pause(SETTLED_MS);
  const above = residentMb(service.pid) - residentMb(bare.pid ?? 0);
  bare.kill();
  return above;
}
