/** Runs the quick tests of the API on PostgreSQL, but those whose services are several processes: they are on PostgreSQL anyway. */

// starts-first: it takes minutes.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { findTests } from "./support/run.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const RUNNER = fileURLToPath(new URL("support/run.ts", import.meta.url));
const LIMIT_MS = 1_200_000;

/** Whether every service of a test file is on PostgreSQL, also without `TB_TEST_ENGINE`. */
function isOnPostgresAnyway(path: string): boolean {
  const source = readFileSync(`${ROOT}${path}`, "utf8");
  return /\bstartProcesses\(/.test(source) && !/\bstart\w*Service\w*\(/.test(source);
}

test("the API does the same on PostgreSQL", { timeout: LIMIT_MS }, async (t) => {
  const files = findTests({ length: "quick" }).map((path) => relative(ROOT, path));
  const ofApi = files.filter((path) => path.startsWith("test/api/") && !isOnPostgresAnyway(path));
  assert.ok(ofApi.length > 40);
  const env: NodeJS.ProcessEnv = { ...process.env, TB_TEST_ENGINE: "postgres" };
  // Otherwise the runner takes itself for a file of this run.
  delete env.NODE_TEST_CONTEXT;
  const child = spawn(process.execPath, [RUNNER, ...ofApi], { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
  t.after(() => child.kill("SIGKILL"));
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  const code = await new Promise((resolve) => child.on("close", resolve));
  t.diagnostic(output.split("\n").slice(-12).join("\n"));
  assert.equal(code, 0, output.slice(output.indexOf("failing tests")));
});
