/** The rules of the house, held by tests: how long a file is, what is never written, what is pinned. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test, { type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { PROVIDERS } from "../sdk/wire.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

const SOURCES = globSync("{contract,sdk,server,site,cli,console,bench,test}/**/*.{ts,tsx,js}", { cwd: ROOT }).filter(
  (path) => !/(^|\/)(node_modules|dist)\//.test(path),
);
const PRODUCT = SOURCES.filter((path) => !/\.test\.ts$|^(bench|test)\//.test(path));

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** The lines of some files that match, for a message that says where. */
function linesMatching(paths: readonly string[], pattern: RegExp): string[] {
  return paths.flatMap((path) =>
    read(path)
      .split("\n")
      .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
  );
}

test("every provider passes the conformance suite", () => {
  const suite = globSync("server/providers/*/conformance*.test.ts", { cwd: ROOT }).filter((path) =>
    read(path).includes('"../../../test/conformance/provider.ts"'),
  );
  assert.deepEqual(
    PROVIDERS.filter((name) => !suite.some((path) => path.startsWith(`server/providers/${name}/`))),
    [],
  );
});

interface Example {
  path: string;
  source: string;
  /** The rule that refuses it; null: none does. */
  rule: string | null;
}

const LINES_61 = "  void 0;\n".repeat(61);

const EXAMPLES: readonly Example[] = [
  { path: "server/env.ts", source: "void process.env.PORT;\n", rule: "noProcessEnv" },
  { path: "sdk/env.ts", source: "void process.env.PORT;\n", rule: "noProcessEnv" },
  { path: "cli/env.ts", source: "void process.env.PORT;\n", rule: null },
  { path: "server/core/long-file.ts", source: "void 0;\n".repeat(401), rule: "noExcessiveLinesPerFile" },
  { path: "server/core/long.test.ts", source: "void 0;\n".repeat(401), rule: "noExcessiveLinesPerFile" },
  { path: "server/core/long.ts", source: `export function f() {\n${LINES_61}}\n`, rule: "noExcessiveLinesPerFunction" },
  { path: "server/core/suite.test.ts", source: `export function f() {\n${LINES_61}}\n`, rule: null },
  { path: "server/core/any.ts", source: "export function f(x: any): void {\n  void x;\n}\n", rule: "noExplicitAny" },
  { path: "server/core/non-null.ts", source: "void [1][0]!;\n", rule: "noNonNullAssertion" },
  { path: "server/core/default.ts", source: "export default 1;\n", rule: "noDefaultExport" },
  { path: "server/core/barrel.ts", source: 'export { x } from "./x.ts";\n', rule: "noBarrelFile" },
  { path: "server/core/BadName.ts", source: "void 0;\n", rule: "useFilenamingConvention" },
  { path: "server/core/id.ts", source: "export const x = 1;\n", rule: null },
  { path: "server/core/no-extension.ts", source: 'import "./id";\n', rule: "useImportExtensions" },
  { path: "server/core/unused.ts", source: 'import { x } from "./id.ts";\n', rule: "noUnusedImports" },
  { path: "server/core/say.ts", source: 'console.log("x");\n', rule: "noConsole" },
  {
    path: "server/core/floating.ts",
    source: "async function f(): Promise<void> {}\nf();\n",
    rule: "noFloatingPromises",
  },
];

test("the linter refuses what the house forbids", async (t) => {
  const directory = scratch(t);
  for (const name of ["biome.jsonc", "package.json", "console/package.json"])
    cpSync(join(ROOT, name), join(directory, name));
  const found = new Map<string, Set<string>>();
  for (const { path, source } of EXAMPLES) {
    assert.ok(!found.has(path), `${path} is the path of two examples`);
    found.set(path, new Set());
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), source);
  }
  for (const { category, location } of await lint(directory)) {
    found.get(location.path)?.add(category.replace(/^.*\//, ""));
  }
  for (const { path, source, rule } of EXAMPLES) {
    const rules = [...(found.get(path) ?? [])];
    if (rule === null) assert.deepEqual(rules, [], `${path}: ${source}`);
    else assert.ok(rules.includes(rule), `${path} is not refused by ${rule}, but by ${rules}: ${source.slice(0, 200)}`);
  }
});

interface Diagnostic {
  category: string;
  location: { path: string };
}

async function lint(directory: string): Promise<Diagnostic[]> {
  const biome = join(ROOT, "node_modules/.bin/biome");
  const args = ["lint", "--reporter=json", "--max-diagnostics=none", "--error-on-warnings", "."];
  const { stdout } = await promisify(execFile)(biome, args, { cwd: directory }).catch((error) => error);
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: Diagnostic[] };
  return diagnostics;
}

function scratch(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "tightbeam-house-"));
  t.after(() => rmSync(directory, { recursive: true }));
  return directory;
}

test("a file has at most 400 lines; only sdk/wire.ts, every shape once, may have more", () => {
  const long = SOURCES.map((path) => ({ path, lines: read(path).split("\n").length - 1 }));
  assert.deepEqual(
    long.filter(({ path, lines }) => lines > 400 && path !== "sdk/wire.ts"),
    [],
  );
});

test("every file of the product says in its first line what may happen in it", () => {
  const silent = PRODUCT.filter((path) => !/^(#!.*\n)?\/\*\*[ \n]/.test(read(path)));
  assert.deepEqual(silent, []);
});

test("a file is named after its noun or verb, never after a pattern", () => {
  const patterns = /(-(service|manager)|(^|[/-])(utils?|helpers?|types|constants|impl|base|index))\.(test\.)?tsx?$/;
  assert.deepEqual(
    SOURCES.filter((path) => patterns.test(path) && path !== "sdk/index.ts"),
    [],
  );
});

const SERVER = PRODUCT.filter((path) => path.startsWith("server/"));

test("the environment reaches the server as an argument only", () => {
  const outside = PRODUCT.filter((path) => !path.startsWith("cli/"));
  assert.deepEqual(linesMatching(outside, /\bprocess\.env\b/), []);
});

test("time and chance are made in app/ and clock.ts only, and are arguments everywhere else", () => {
  const others = SERVER.filter((path) => !/^server\/(app\/|clock\.ts$)/.test(path));
  const made = /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\brandom(Bytes|UUID|Int|FillSync)\(|\bgetRandomValues\b/;
  assert.deepEqual(linesMatching(others, made), []);
});

test("no source has a note for later work, and no test is marked only, skip or todo", () => {
  const later = new RegExp(`\\b(${["TO", "FIX"].join("DO|")}ME)\\b`);
  assert.deepEqual(linesMatching(SOURCES, later), []);
  const tests = SOURCES.filter((path) => path.startsWith("test/") || path.endsWith(".test.ts"));
  assert.deepEqual(linesMatching(tests, /\b(test|it|describe|suite)\.(only|skip|todo)\(/), []);
});

const PACKAGE = JSON.parse(read("package.json")) as {
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  engines: { node: string };
  workspaces: string[];
};
const CONSOLE = JSON.parse(read("console/package.json")) as { devDependencies: Record<string, string> };

test("every dependency is pinned to one version, in package.json and in the lock", () => {
  const { packages } = JSON.parse(read("package-lock.json")) as { packages: Record<string, { version?: string }> };
  for (const [name, version] of Object.entries({
    ...CONSOLE.devDependencies,
    ...PACKAGE.dependencies,
    ...PACKAGE.devDependencies,
  })) {
    assert.match(version, /^\d+\.\d+\.\d+(-[a-z]+\.\d+)?$/, name);
    assert.equal(packages[`node_modules/${name}`]?.version, version, name);
  }
});

test("the lock names no registry, so that an install uses the configured one; only workspaces have a place", () => {
  const lock = read("package-lock.json");
  assert.doesNotMatch(lock, /"resolved": "[^"]*:|https?:\/\/[^"]*registry/);
  assert.deepEqual(
    [...lock.matchAll(/"resolved": "([^"]*)"/g)].map(([, path]) => path),
    PACKAGE.workspaces,
  );
});

test("an install on an older Node shows no warnings about it", () => {
  assert.match(read(".npmrc"), /^loglevel=error$/m);
});

test("npm start hands its process over, so that SIGTERM reaches the service and leaves no orphan", () => {
  assert.match(PACKAGE.scripts.start ?? "", /^exec node /);
});

test("npm run check is lint, types and dead code; npm test and npm run test:long together run every test", () => {
  assert.equal(
    PACKAGE.scripts.check,
    "biome check . && tsc && tsc -p console && knip && node test/support/check-package.ts",
  );
  assert.equal(PACKAGE.scripts.test, "node test/support/run.ts");
  assert.equal(PACKAGE.scripts["test:long"], "node test/support/run.ts --long");
});

test("the pinned Node satisfies the package's engines", () => {
  const [wanted = 0, wantedMinor = 0] = PACKAGE.engines.node.replace(/^>=/, "").split(".").map(Number);
  const [major = 0, minor = 0] = (PACKAGE.devDependencies.node ?? "").split(".").map(Number);
  assert.ok(major > wanted || (major === wanted && minor >= wantedMinor));
});

test("the script of continuous integration is executable, and fails at the first error", () => {
  assert.equal(statSync(join(ROOT, ".ci/run")).mode & 0o100, 0o100);
  assert.match(read(".ci/run"), /^#!.*\n(#.*\n)*set -euo pipefail$/m);
});
