/** Benchmark: durable accepts a second of messages that only wait, against a bare handler that parses and answers. */

import type { Row } from "./report.ts";
import { acceptRows, bareTarget, loadRound, type Round } from "./rounds.ts";
import type { Stage } from "./stage.ts";

/** Messages scheduled for tomorrow: accepted, on disk, and nothing runs behind them. */
export async function measureAccepts(stage: Stage): Promise<Row[]> {
  const service = await stage.start("accepts");
  const target = { ...service, keys: [service.apiKey] };
  const bare = await bareTarget(stage);
  const theirs: Round[] = [];
  const ours: Round[] = [];
  for (let round = 0; round < stage.extent.rounds; round += 1) {
    theirs.push(await loadRound(stage, bare, { kind: "scheduled" }));
    ours.push(await loadRound(stage, target, { kind: "scheduled" }));
  }
  await service.stop();
  return acceptRows("accepts, scheduled", ours, theirs, 0.3);
}
