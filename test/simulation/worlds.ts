/** Runs simulated worlds, and reports the promises that the service broke. */

import { judge } from "./oracle.ts";
import type { Rule } from "./story.ts";
import { type Observed, simulate } from "./world.ts";

/** Most violations that are reported for one seed, because one fault often causes many. */
const VIOLATIONS_SHOWN_MAX = 3;

/** The seeds "1" to `count`; or the seed `TB_SIMULATION_SEED`; or `TB_SIMULATION_SEEDS` seeds. */
export function seedsOf(count: number): string[] {
  const { TB_SIMULATION_SEED: seed, TB_SIMULATION_SEEDS: wanted = count } = process.env;
  return seed === undefined ? firstSeeds(Number(wanted)) : [seed];
}

/** The seeds "1" to `count`. */
export function firstSeeds(count: number): string[] {
  return Array.from({ length: count }, (_, index) => String(index + 1));
}

/** Simulates a world for each seed. Returns one complaint for each seed that broke a promise. */
export async function brokenWorlds(seeds: readonly string[], observe: (run: Observed) => void = () => {}) {
  const complaints: string[] = [];
  for (const seed of seeds) {
    const run = await simulate(seed);
    observe(run);
    const broken = judge(run);
    if (broken.length > 0) complaints.push(complaint(seed, broken));
  }
  return complaints;
}

function complaint(seed: string, broken: readonly { rule: Rule; what: string }[]): string {
  const shown = broken.slice(0, VIOLATIONS_SHOWN_MAX).map(({ rule, what }) => `  ${rule}: ${what}`);
  const again = `TB_SIMULATION_SEED=${seed} node --test test/simulation/simulation.test.ts`;
  return [`seed ${seed} broke ${broken.length} promises; again by ${again}`, ...shown].join("\n");
}
