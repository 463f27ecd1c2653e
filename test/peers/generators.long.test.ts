/** The OpenAPI document before four generators of clients: each writes one, which its compiler accepts. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { emptyDirectory } from "../support/cli.ts";
import { readDocument } from "../support/contract.ts";
import { installNodePeers, installPythonPeers } from "./install.ts";

const HERE = join(import.meta.dirname, "generators");
const TIMEOUT_MS = 600_000;
const OAPI_CODEGEN = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2";
const OAPI_RUNTIME = "github.com/oapi-codegen/runtime@v1.9.0";
const TSC = "--noEmit --strict --skipLibCheck --target es2022 --module esnext --moduleResolution bundler";

/** A directory with the document in it, and its path. */
async function published(t: TestContext): Promise<{ directory: string; document: string }> {
  const directory = emptyDirectory(t);
  const document = join(directory, "openapi.json");
  writeFileSync(document, JSON.stringify(readDocument()));
  return { directory, document };
}

/** Runs a command to its end. Fails unless it ends well, and says nothing that it must not say. */
function run(directory: string, command: string, args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: directory, encoding: "utf8" });
  assert.equal(status, 0, `${command} ${args.join(" ")}\n${stdout}${stderr}`);
}

test("openapi-typescript and hey-api write clients that compile", { timeout: TIMEOUT_MS }, async (t) => {
  const { directory, document } = await published(t);
  const modules = installNodePeers(HERE);
  const node = (program: string, ...args: string[]) =>
    run(directory, process.execPath, [join(modules, program), ...args]);
  node("openapi-typescript/bin/cli.js", document, "-o", join(directory, "types.ts"));
  node("@hey-api/openapi-ts/bin/run.js", "-i", document, "-o", join(directory, "client"));
  const files = [join(directory, "types.ts"), join(directory, "client/index.ts")];
  node("typescript/bin/tsc", ...TSC.split(" "), "--lib", "es2023,dom,dom.iterable", ...files);
});

test("openapi-python-client writes a client that compiles", { timeout: TIMEOUT_MS }, async (t) => {
  const commands = installPythonPeers(HERE);
  if (commands === null) return t.skip("python3 with venv is not installed");
  const { directory, document } = await published(t);
  const client = join(directory, "client");
  const generate = ["generate", "--path", document, "--output-path", client, "--meta", "none"];
  run(directory, join(commands, "openapi-python-client"), generate);
  run(directory, join(commands, "python"), ["-m", "compileall", "-q", client]);
});

test("oapi-codegen writes a client that compiles", { timeout: TIMEOUT_MS }, async (t) => {
  if (spawnSync("go", ["version"]).status !== 0) return t.skip("go is not installed");
  if (spawnSync("go", ["run", OAPI_CODEGEN, "-version"]).status !== 0) return t.skip("go cannot fetch oapi-codegen");
  const { directory, document } = await published(t);
  const client = join(directory, "client");
  mkdirSync(client);
  const generate = ["-generate", "types,client", "-package", "client", "-o", join(client, "client.go"), document];
  run(directory, "go", ["run", OAPI_CODEGEN, ...generate]);
  run(client, "go", ["mod", "init", "client"]);
  run(client, "go", ["get", OAPI_RUNTIME]);
  run(client, "go", ["build", "./..."]);
});
