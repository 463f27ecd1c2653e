/** Puts a build of the console where the service reads it, while other processes may do the same. Needs nothing but Node. */

import { renameSync, rmSync } from "node:fs";

/** More than the processes that start at once. */
const TRIES_MAX = 100;

/**
 * Moves the build in `directory` to `target`, in place of the build there. A build that another process puts there meanwhile stays if
 * it is as good, as `isBuilt` says. Throws if the build cannot be moved.
 */
export function takePlace(directory: string, target: string, isBuilt: () => boolean): void {
  const former = `${directory}-former`;
  for (let tries = 1; ; tries += 1) {
    moveIfThere(target, former);
    try {
      renameSync(directory, target);
      return;
    } catch (error) {
      if (isBuilt()) return;
      if (tries === TRIES_MAX) throw error;
    } finally {
      rmSync(former, { recursive: true, force: true });
    }
  }
}

function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
