/** The OpenAPI document before peers that are not ours: two validators, and schemathesis, which sends requests that it generates from it. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { emptyDirectory } from "../support/cli.ts";
import { ADMIN_KEY, KEY, spawnCommand, startProcess } from "../support/process.ts";
import { startTestService } from "../support/service.ts";
import { installNodePeers, installPythonPeers } from "./install.ts";

const HERE = join(import.meta.dirname, "openapi");
const CONFIG = join(HERE, "schemathesis.toml");
const SEED = process.env.TB_SCHEMATHESIS_SEED ?? "1";
const TIMEOUT_MS = 600_000;
/** Rules of redocly that do not hold here, each with its reason. */
const SKIPPED_RULES: Readonly<Record<string, string>> = {
  "no-ambiguous-paths": "`/v1/webhooks/deliveries/{id}` beside `/v1/webhooks/{id}/test`: `deliveries` is never an id",
};
const NO_PYTHON = "python3 with venv is not installed";

test("openapi-spec-validator and redocly find nothing wrong with the OpenAPI document", {
  timeout: TIMEOUT_MS,
}, async (t) => {
  const python = installPythonPeers(HERE);
  if (python === null) return t.skip(NO_PYTHON);
  const service = await startTestService({}, { inThreads: true });
  t.after(() => service.stop());
  const document = join(emptyDirectory(t), "openapi.json");
  writeFileSync(document, await (await fetch(`${service.url}/openapi.json`)).text());
  const redocly = join(installNodePeers(HERE), "@redocly/cli/bin/cli.js");
  const skipped = Object.keys(SKIPPED_RULES).flatMap((rule) => ["--skip-rule", rule]);
  const commands = [
    [join(python, "openapi-spec-validator"), "--errors", "all", document],
    [process.execPath, redocly, "lint", document, "--format", "json", ...skipped],
  ];
  for (const command of commands) {
    const { exited, output } = spawnCommand(t, command, { PATH: process.env.PATH ?? "", REDOCLY_TELEMETRY: "off" });
    const { code } = await exited;
    assert.equal(code, 0, output.stdout + output.stderr);
    if (command.includes(redocly)) assert.deepEqual(JSON.parse(output.stdout).problems, [], "problems of redocly");
  }
});
/** The two parts of the API, each with the key that it asks for; `seconds`: how long requests are made to it. */
const PARTS = [
  { name: "what customers call", key: KEY, filter: ["--exclude-path-regex", "^/v1/admin"], seconds: 45 },
  { name: "what administrators call", key: ADMIN_KEY, filter: ["--include-path-regex", "^/v1/admin"], seconds: 15 },
];

for (const { name, key, filter, seconds } of PARTS) {
  test(`schemathesis finds no response that the OpenAPI document does not allow: ${name}`, {
    timeout: TIMEOUT_MS,
  }, async (t) => {
    const commands = installPythonPeers(HERE);
    if (commands === null) return t.skip(NO_PYTHON);
    const service = await startProcess(t, { dataDir: join(emptyDirectory(t), "data") });
    const { code, output } = await schemathesis(t, commands, [
      ...["run", `${service.url}/openapi.json`, "--header", `Authorization: Bearer ${key}`],
      ...[...filter, "--max-time", String(seconds), "--seed", SEED],
    ]);
    t.diagnostic(`TB_SCHEMATHESIS_SEED=${SEED}`);
    assert.equal(code, 0, output.slice(-20_000));
  });
}

async function schemathesis(t: TestContext, commands: string, args: readonly string[]) {
  const command = [join(commands, "schemathesis"), "--config-file", CONFIG, ...args];
  const { exited, output } = spawnCommand(t, command, environment(t));
  const { code } = await exited;
  return { code, output: `${output.stdout}${output.stderr}` };
}

/** Hypothesis stores its examples below its home directory; the next run does not need them. */
function environment(t: TestContext): Record<string, string> {
  return {
    HYPOTHESIS_STORAGE_DIRECTORY: emptyDirectory(t),
    PYTHONDONTWRITEBYTECODE: "1",
    PATH: process.env.PATH ?? "",
  };
}
