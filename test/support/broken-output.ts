/** Outputs that take no bytes: a pipe without a reader, and a full device. */

import { execFileSync } from "node:child_process";
import { closeSync, constants, existsSync, openSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { emptyDirectory } from "./cli.ts";

/** Why there is no full device on this system; false if there is one. */
export const NO_FULL_DEVICE = existsSync("/dev/full") ? false : "this system has no /dev/full";

/** A file descriptor whose writes fail with ENOSPC, until the test ends. */
export function fullOutput(t: TestContext): number {
  const output = openSync("/dev/full", "w");
  t.after(() => closeSync(output));
  return output;
}

/** A file descriptor whose writes fail with EPIPE, until the test ends. */
export function closedOutput(t: TestContext): number {
  const path = join(emptyDirectory(t), "pipe");
  execFileSync("mkfifo", [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const output = openSync(path, "w");
  closeSync(reader);
  t.after(() => closeSync(output));
  return output;
}
