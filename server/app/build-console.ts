/** Builds the console and the documentation at a start, in a process of its own, if a source of them has changed since the last build. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "../log.ts";

/** A build takes two seconds; one that takes longer than this is given up, in milliseconds. */
const BUILD_MS_MAX = 60_000;

/** Resolves when the build has ended, or has failed: the service runs meanwhile and goes on. A published package has a build and no sources. */
export async function buildConsole(root: string, log: Log): Promise<void> {
  const script = join(root, "console/build.ts");
  if (!existsSync(script)) return;
  // An empty environment: the tools of the build see none of the service's secrets.
  const options = { cwd: root, env: {}, timeout: BUILD_MS_MAX };
  const { error, stderr } = await new Promise<{ error: Error | null; stderr: string }>((resolve) => {
    execFile(process.execPath, [script, "--if-stale"], options, (error, _stdout, stderr) => resolve({ error, stderr }));
  });
  if (error === null) return;
  const cause = /^.*error.*$/im.exec(stderr)?.[0].trim() ?? error.message.split("\n", 1)[0];
  log.warn("console", { reason: `it could not be built, run npm run build to see why: ${cause}` });
}
