/** `npm test`: runs every test file there is with Node's own runner, and fails for what the runner lets pass. */

import { globSync } from "node:fs";
import { relative, resolve } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Files at once: two cores. */
const CONCURRENCY = 2;
/** A test that takes longer says so by a `timeout` of its own. */
const TEST_TIMEOUT_MS = 120_000;
/** Without a word from any test for so long, a file is taken to hang. */
const SILENCE_MS_MAX = 900_000;

/** What this runner finds wrong with a run that Node's runner may call a success. */
interface RunRecord {
  /** Test files that there are. */
  files: readonly string[];
  /** Test files in which at least one test ran. */
  ran: ReadonlySet<string>;
  todo: readonly string[];
  skippedWithoutReason: readonly string[];
}

/** One line for each thing that must not be: a file that ran no test, a todo, and a skip without a reason. */
function complaints({ files, ran, todo, skippedWithoutReason }: RunRecord): string[] {
  const idle = files.filter((file) => !ran.has(file)).map((file) => `${relative(ROOT, file)} ran no test to its end`);
  return [
    ...(files.length === 0 ? ["there is no such test file"] : idle),
    ...todo.map((name) => `todo: ${name} (a test is written or it is not there)`),
    ...skippedWithoutReason.map((name) => `skipped without a reason: ${name}`),
  ];
}

/** Test files below the root: all of them, or those whose path contains one of `parts`. */
export function findTests(parts: readonly string[]): string[] {
  const found = globSync("**/*.test.ts", { cwd: ROOT, exclude: (path) => /(^|\/)(node_modules|dist)$/.test(path) });
  const wanted = found.filter((path) => parts.length === 0 || parts.some((part) => path.includes(part)));
  return wanted.sort().map((path) => resolve(ROOT, path));
}

async function main(parts: readonly string[]): Promise<void> {
  const files = findTests(parts);
  const ran = new Set<string>();
  const todo: string[] = [];
  const skippedWithoutReason: string[] = [];
  const hang = new AbortController();
  const tests = run({ files, concurrency: CONCURRENCY, timeout: TEST_TIMEOUT_MS, signal: hang.signal, cwd: ROOT });

  const silence = setTimeout(() => hang.abort(), SILENCE_MS_MAX);
  const note = (event: { name: string; file?: string; skip?: string | boolean; todo?: string | boolean }) => {
    silence.refresh();
    const name = `${relative(ROOT, event.file ?? "")}: ${event.name}`;
    if (event.todo !== undefined) todo.push(name);
    if (event.skip === true || event.skip === "") skippedWithoutReason.push(name);
  };
  tests.on("test:pass", note);
  tests.on("test:fail", (event) => {
    note(event);
    process.exitCode = 1;
  });
  tests.on("test:summary", ({ file, counts, success }) => {
    if (file !== undefined && counts.tests > 0) ran.add(file);
    if (!success) process.exitCode = 1;
  });

  for await (const text of tests.compose(spec)) process.stdout.write(text);
  clearTimeout(silence);
  const isStrict = process.env.CI !== undefined && process.env.CI !== "";
  const wrong = complaints({ files, ran, todo, skippedWithoutReason: isStrict ? skippedWithoutReason : [] });
  for (const line of wrong) process.stderr.write(`✖ ${line}\n`);
  if (wrong.length > 0) process.exitCode = 1;
}

if (import.meta.main) await main(process.argv.slice(2));
