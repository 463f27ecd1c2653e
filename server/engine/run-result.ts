/** How the run of a claimed item ended, and what the result means for the item and for the permits of its lane. */

/**
 * The result of a run.
 *
 * | Result    | Meaning                                                | Permits of the lane                 | The item            |
 * | --------- | ------------------------------------------------------ | ----------------------------------- | ------------------- |
 * | `good`    | it succeeded, and soon                                 | one more                            | has ended           |
 * | `late`    | it succeeded after a long time                         | unchanged; at least as at the start | has ended           |
 * | `bad`     | it failed, or goes on without its permit               | unchanged                           | has ended           |
 * | `slow`    | it timed out                                           | one, until a run succeeds           | has ended           |
 * | `unreached` | it failed without a connection to the peer           | unchanged; counted by its breaker   | has ended           |
 * | `dark`    | no connection to the peer was made in time             | one, until a run succeeds; counted by its breaker | has ended |
 * | `local`   | this machine lacked files or memory                    | unchanged; all lanes pause          | is run again first  |
 * | `noPort`  | this machine had no free port: nothing was tried       | one; the lane pauses                | is run again first  |
 * | `stopped` | the poster closed: nothing was tried                   | unchanged; the lane pauses          | is run again first  |
 * | `unread`  | what the run needs could not be read: nothing was tried | unchanged; the lane pauses         | is run again first  |
 */
export type RunResult =
  | "good"
  | "late"
  | "bad"
  | "slow"
  | "unreached"
  | "dark"
  | "local"
  | "noPort"
  | "stopped"
  | "unread";

/** A lane starts with this many permits and earns one more with each good run. */
export const PERMITS_AT_START = 4;

/** Whether nothing was tried, so that the item has to be run again. */
export function isUntried(result: RunResult): boolean {
  return result === "local" || pausesLane(result);
}

/** Whether a run had a connection to its peer; null: it says nothing about that. */
export function hadConnection(result: RunResult): boolean | null {
  if (result === "unreached" || result === "dark") return false;
  return isUntried(result) ? null : true;
}

/** Whether the lane waits for a moment before its next run. */
export function pausesLane(result: RunResult): boolean {
  return result === "noPort" || result === "stopped" || result === "unread";
}

/** The permits of a lane after a run. `permitsMax` is the lane's own limit. */
export function permitsAfter(permits: number, result: RunResult, permitsMax: number): number {
  switch (result) {
    case "good":
      return Math.min(permits + 1, permitsMax);
    case "late":
      return Math.max(permits, Math.min(PERMITS_AT_START, permitsMax));
    case "slow":
    case "dark":
    case "noPort":
      return 1;
    case "bad":
    case "unreached":
    case "local":
    case "stopped":
    case "unread":
      return permits;
  }
}
