/** Test files that share a process: each becomes a suite, and has to leave the process as it found it. */

import assert from "node:assert/strict";
import { after, describe } from "node:test";
import { pathToFileURL } from "node:url";
import { registering } from "./untracked-promises.ts";

/** Node and its test runner add listeners of these when something needs them first. */
const LAZY_LISTENERS = new Set<string | symbol>(["newListener", "removeListener", "warning", "exit"]);
const { fetch } = globalThis;
const { now } = Date;

/** The parts of the process that a test file could change for the files after it, as texts that can be compared. */
function processState(): Record<string, string> {
  const events = process.eventNames().filter((name) => !LAZY_LISTENERS.has(name));
  return {
    "process.env": JSON.stringify(process.env),
    "process.cwd()": process.cwd(),
    "process.umask()": String(process.umask()),
    "listeners of process": JSON.stringify(events.map((name) => [String(name), process.listenerCount(name)]).sort()),
    fetch: String(globalThis.fetch === fetch),
    "Date.now": String(Date.now === now),
  };
}

/** Throws if the process is no more as it was. */
function assertSame(name: string, before: Readonly<Record<string, string>>): void {
  const present = processState();
  const changed = Object.keys(before).filter((part) => before[part] !== present[part]);
  const said = `it leaves ${changed.join(", ")} of the process changed: put it back, or say "// own-process: why"`;
  assert.deepEqual(changed, [], `${name}: ${said}`);
}

/** More than any time between two files; the time itself does not matter. */
const ALIVE_MS = 60_000;

/** Runs test files one after the other. `files` have paths from the root by which their suites are named, and absolute paths. */
export async function runTogether(files: readonly { name: string; path: string }[]): Promise<void> {
  // Between two files nothing else keeps the process.
  const alive = setInterval(() => {}, ALIVE_MS);
  for (const { name, path } of files)
    await describe(name, async () => {
      const before = processState();
      await registering(async () => {
        await import(pathToFileURL(path).href);
        // Behind the hooks of the file, which may put back what it changed.
        after(() => assertSame(name, before));
      });
    });
  clearInterval(alive);
}
