/** The TypeScript programs of the reference: each compiles against the client, and names the method that the client has for the operation. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CLIENT_METHODS } from "../site/client-methods.ts";
import { commandOf, typescriptOf } from "../site/clients.ts";
import { listMethods, operationOf } from "./support/client-docs.ts";
import { readDocument } from "./support/contract.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const document = readDocument();
const operations = Object.values(document.paths).flatMap((item) => Object.values(item));

test("the reference names a method of the client for every operation that has one", async () => {
  const methods = new Map<string, string[]>();
  for (const { path, request } of await listMethods()) {
    const id = operationOf(document, request)?.operationId ?? assert.fail(`${request} is no operation`);
    methods.set(id, [...(methods.get(id) ?? []), path]);
  }
  assert.deepEqual(Object.keys(CLIENT_METHODS).sort(), [...methods.keys()].sort());
  for (const [id, path] of Object.entries(CLIENT_METHODS)) assert.ok(methods.get(id)?.includes(path), `${id}: ${path}`);
});

test("every TypeScript program of the reference compiles", async (t) => {
  const directory = mkdtempSync(join(ROOT, "node_modules/.programs-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const files = operations.flatMap((operation) => {
    const program = typescriptOf(operation);
    if (program === null) return [];
    const file = join(directory, `${operation.operationId}.ts`);
    writeFileSync(file, `${program.replace("@tightbeam/sdk", "../../sdk/index.ts")}\nconsole.log(result);\n`);
    return [file];
  });
  assert.ok(files.length > 60, `${files.length} programs`);
  const options = [
    "--ignoreConfig",
    "--noEmit",
    "--strict",
    "--exactOptionalPropertyTypes",
    "--allowImportingTsExtensions",
  ];
  const target = ["--target", "es2022", "--module", "nodenext", "--types", "node"];
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  const run = promisify(execFile)(process.execPath, [tsc, ...options, ...target, ...files], { cwd: ROOT });
  await run.catch(({ stdout }) => assert.fail(String(stdout)));
});

test("every command of the reference has its path, its query and its body filled in", () => {
  for (const [template, item] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      const command = commandOf(method, template, operation);
      if (command === null) continue;
      assert.match(command, /^npx tightbeam api (get|post|put|patch|delete) '?\/v1\//, operation.operationId);
      assert.doesNotMatch(command, /\{\w+\}|undefined|\[object/, operation.operationId);
    }
  }
});
