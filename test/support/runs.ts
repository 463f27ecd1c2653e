/** The number of runs of a random test: a part of them in the quick tests, all of them in the long tests. */

/** The environment variable that makes tests do all their runs. */
export const FULL_RUNS = "TB_FULL_RUNS";

/** `full` runs in the long tests, `quick` in the quick ones: one in eight, but twenty at least, if it is not given. */
export function runsOf(full: number, quick = Math.max(20, Math.ceil(full / 8))): number {
  return process.env[FULL_RUNS] === "on" ? full : Math.min(full, quick);
}
