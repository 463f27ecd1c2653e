/** The OpenAPI document before peers that are not ours: two validators, and schemathesis, which sends requests that it generates from it. */

// starts-first: it takes minutes, on one core.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { emptyDirectory } from "../support/cli.ts";
import { assertEvent } from "../support/contract.ts";
import { ADMIN_KEY, allPages, KEY, type Running, spawnCommand, startProcess } from "../support/process.ts";
import { startTestService } from "../support/service.ts";
import { installNodePeers, installPythonPeers } from "./install.ts";

const HERE = join(import.meta.dirname, "openapi");
const CONFIG = join(HERE, "schemathesis.toml");
const SEED = process.env.TB_SCHEMATHESIS_SEED ?? "1";
const TIMEOUT_MS = 600_000;
/** A run takes one to three minutes on an idle machine. */
const RUN_TIMEOUT_MS = 3_600_000;
/** Fewest types of events that the requests lead to. */
const EVENT_TYPES_MIN = 12;
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

/** The two parts of the API, each with the key that it asks for, and the fewest requests of a run that does its work. */
const PARTS = [
  { name: "what customers call", key: KEY, filter: ["--exclude-path-regex", "^/v1/admin"], casesMin: 3_600 },
  { name: "what administrators call", key: ADMIN_KEY, filter: ["--include-path-regex", "^/v1/admin"], casesMin: 1_200 },
];

for (const { name, key, filter, casesMin } of PARTS) {
  test(`schemathesis finds no response that the OpenAPI document does not allow: ${name}`, {
    timeout: RUN_TIMEOUT_MS,
  }, async (t) => {
    const commands = installPythonPeers(HERE);
    if (commands === null) return t.skip(NO_PYTHON);
    const env = { TB_SANDBOX_INBOX: "on" };
    const service = await startProcess(t, { dataDir: join(emptyDirectory(t), "data"), env });
    const keys: { id: string }[] = (await service.ask("GET", "/v1/admin/keys", undefined, ADMIN_KEY)).data.keys;
    const args = ["run", `${service.url}/openapi.json`, "--header", `Authorization: Bearer ${key}`];
    const { code, output } = await schemathesis(t, commands, [...args, ...filter, "--seed", SEED], keys);
    const summary = output.slice(output.lastIndexOf(" SUMMARY "));
    t.diagnostic(`TB_SCHEMATHESIS_SEED=${SEED}: ${/Tested: \d+/.exec(summary)}, ${/\d+ generated/.exec(summary)}`);
    assert.equal(code, 0, output.slice(-20_000));
    assert.ok(Number(/(\d+) generated/.exec(summary)?.[1]) >= casesMin, summary);
    assert.equal((await service.ask("GET", "/v1/requests", undefined, key)).status, 200, "the key worked to the end");
    if (key === KEY) await checkEvents(t, service);
  });
}

/** Compares every event that the requests led to with the schema of its type. */
async function checkEvents(t: TestContext, service: Running): Promise<void> {
  const found = (await allPages<{ type: string }>(service, "/v1/events", "events")).flatMap(({ items }) => items);
  for (const one of found) assertEvent(one);
  const types = new Set(found.map(({ type }) => type));
  t.diagnostic(`${found.length} events of ${types.size} types`);
  assert.ok(types.size >= EVENT_TYPES_MIN, `events of ${[...types].join(", ")} only`);
}

async function schemathesis(
  t: TestContext,
  commands: string,
  args: readonly string[],
  keysInUse: readonly { id: string }[],
) {
  const command = [join(commands, "schemathesis"), "--config-file", CONFIG, ...args];
  const { exited, output } = spawnCommand(t, command, {
    TB_KEYS_IN_USE: keysInUse.map(({ id }) => id).join(" "),
    // Hypothesis stores its examples below its home directory; the next run does not need them.
    HYPOTHESIS_STORAGE_DIRECTORY: emptyDirectory(t),
    PYTHONDONTWRITEBYTECODE: "1",
    PATH: process.env.PATH ?? "",
  });
  const { code } = await exited;
  return { code, output: `${output.stdout}${output.stderr}` };
}
