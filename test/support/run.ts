/**
 * `npm test` runs every test file but those named `.long.test.ts`; `npm run test:long` runs those, and `npm run
 * test:browser` those of them that need a browser; with parts of paths as arguments it runs the files whose paths contain
 * one of them, long or not. Node's own runner runs the tests. This file fails the run for what that runner lets pass, and
 * ends it with a line for each failure: the end of a log is what is left of a long one.
 */

import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Files at once: one more than two cores, since files wait for disks, sockets and child processes. */
const CONCURRENCY = 3;
/** Many times what a test takes that sets no `timeout` of its own. */
const TEST_TIMEOUT_MS = 600_000;
/** A file that takes at least this long is named at the end of a run, slowest first. */
const SLOW_MS_MIN = 10_000;
const SLOW_FILES_MAX = 10;
/** Characters of an error at the end of a run, which has the whole of it above. */
const MESSAGE_MAX = 300;
/** If no test ends for this time, the run counts as hanging and is aborted. */
const SILENCE_MS_MAX = 900_000;

/** The record of a run: its failures, and faults that Node's runner may call a success. */
interface RunRecord {
  /** The test files of the run. */
  files: readonly string[];
  /** The test files in which at least one test ran. */
  ran: ReadonlySet<string>;
  todo: readonly string[];
  skippedWithoutReason: readonly string[];
  /** One line for each failure. */
  failed: readonly string[];
}

/** One line for each fault: a file that ran no test, a todo, a skip without a reason, and a test that failed. */
function complaints({ files, ran, todo, skippedWithoutReason, failed }: RunRecord): string[] {
  const idle = files.filter((file) => !ran.has(file)).map((file) => `${relative(ROOT, file)} ran no test to its end`);
  return [
    ...(files.length === 0 ? ["there is no such test file"] : idle),
    ...todo.map((name) => `todo: ${name} (a test is written or it is not there)`),
    ...skippedWithoutReason.map((name) => `skipped without a reason: ${name}`),
    ...failed.map((line) => `failed: ${line}`),
  ];
}

/** The line about a failure: the message of its error, cut. Null for a suite or file that fails because of a test in it. */
function failureOf(name: string, error: TestError): string | null {
  if (error.failureType === "subtestsFailed") return null;
  const cause = error.cause instanceof Error ? error.cause.message : String(error.cause ?? error.message);
  return `${name}: ${cause.replaceAll(/\s+/g, " ").slice(0, MESSAGE_MAX)}`;
}

/** The error of a failed test, as Node's runner reports it. */
type TestError = Error & { failureType?: string };

/** The test processes share a cache of compiled code: loading would otherwise be a quarter of the run. */
const COMPILE_CACHE = resolve(ROOT, "node_modules/.cache/tightbeam-tests");

const LONG = ".long.test.ts";

/** Which test files a run takes. */
export type Selection = { length: "quick" | "long" } | { parts: readonly string[] };

/** The test files below the root that a run takes: the quick ones, the long ones, or those whose path contains one of `parts`. */
export function findTests(selection: Selection): string[] {
  const found = globSync("**/*.test.ts", { cwd: ROOT, exclude: (path) => /(^|\/)(node_modules|dist)$/.test(path) });
  const chosen = found.filter((path) => {
    if ("parts" in selection) return selection.parts.some((part) => path.includes(part));
    return path.endsWith(LONG) === (selection.length === "long");
  });
  return chosen.sort().map((path) => resolve(ROOT, path));
}

function selectionOf(args: readonly string[]): Selection {
  if (args.length === 0) return { length: "quick" };
  return args[0] === "--long" ? { length: "long" } : { parts: args };
}

const GROUP = fileURLToPath(new URL("./group.ts", import.meta.url));
const UNTRACKED = new URL("./untracked-promises.ts", import.meta.url).href;
/** A quick test file with this comment, and a reason behind it, has a process of its own, like most of those below `test/`; the others share. */
const OWN_PROCESS = /^\/\/ own-process: \S/m;
/** Test files that span several parts, all of which but those of the API have a process of their own. */
const APART = /^test\/(?!api\/)/;
/** Test files of one process: they load the sources once, and a third of a run is not the time of one process. */
const GROUP_FILES_MAX = 32;

/** A test file with this comment, and a reason behind it, starts before the others: if it started last, it would run alone at the end. */
const STARTS_FIRST = /^\/\/ starts-first: \S/m;

/** The groups of files that share a process, and each of the others alone, in the order of their starts. Neighbours load the same sources. */
export function groupsOf(files: readonly string[]): string[][] {
  const isShared = (file: string) =>
    !file.endsWith(LONG) && !APART.test(relative(ROOT, file)) && !OWN_PROCESS.test(readFileSync(file, "utf8"));
  const [shared, own] = [files.filter(isShared), files.filter((file) => !isShared(file))];
  const size = Math.max(1, Math.min(GROUP_FILES_MAX, Math.ceil(shared.length / CONCURRENCY)));
  const groups = Array.from({ length: Math.ceil(shared.length / size) }, (_, at) =>
    shared.slice(at * size, (at + 1) * size),
  );
  const isLate = (file: string) => (STARTS_FIRST.test(readFileSync(file, "utf8")) ? 0 : 1);
  return [...own.toSorted((one, other) => isLate(one) - isLate(other)).map((file) => [file]), ...groups];
}

/** The file that Node's runner runs for a group: the only one of it, or one in `directory` that runs all of them. */
function entryOf(group: readonly string[], index: number, directory: string): string {
  const [only] = group;
  if (only !== undefined && group.length === 1) return only;
  const files = group.map((path) => ({ name: relative(ROOT, path), path }));
  const entry = join(directory, `group-${index + 1}.mjs`);
  writeFileSync(
    entry,
    `import { runTogether } from "${pathToFileURL(GROUP).href}";\nawait runTogether(${JSON.stringify(files)});\n`,
  );
  return entry;
}

/** The modules that a test file with databases on PostgreSQL imports one of. */
const USES_POSTGRES = /\/support\/(postgres|service-database|two-processes)\.ts"/;

/** Starts the server that the files share, if several need one, and tells them of it by the environment. Returns what stops it. */
async function shareServer(files: readonly string[]): Promise<() => Promise<void>> {
  const users = files.filter((file) => USES_POSTGRES.test(readFileSync(file, "utf8")));
  if (users.length < 2) return async () => {};
  const { SHARED_URL, startShared } = await import("./postgres.ts");
  const server = await startShared();
  process.env[SHARED_URL] = server.urlOf("postgres");
  return () => server.stop();
}

/** Seconds of CPU of this process and of all that it waited for, and those waited for; null where the system does not tell. */
function cpuSeconds(): number | null {
  try {
    const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)?.split(" ") ?? [];
    // User and system time of the process, and of its children that ended, in ticks.
    const ticks = fields.slice(11, 15).map(Number);
    return ticks.reduce((sum, one) => sum + one, 0) / TICKS_PER_SECOND;
  } catch {
    return null;
  }
}

/** Of Linux, on every machine. */
const TICKS_PER_SECOND = 100;

/** One line for each of the slowest files, if any file was slow. */
function slowest(durationsMs: ReadonlyMap<string, number>): string[] {
  return [...durationsMs]
    .filter(([, durationMs]) => durationMs >= SLOW_MS_MIN)
    .sort(([, one], [, other]) => other - one)
    .slice(0, SLOW_FILES_MAX)
    .map(([file, durationMs]) => `${(durationMs / 1_000).toFixed(1)} s  ${relative(ROOT, file)}`);
}

async function main(args: readonly string[]): Promise<void> {
  const files = findTests(selectionOf(args));
  const ran = new Set<string>();
  const durationsMs = new Map<string, number>();
  const todo: string[] = [];
  const skippedWithoutReason: string[] = [];
  const failed: string[] = [];
  let hasRun = false;
  const hang = new AbortController();
  process.env.NODE_COMPILE_CACHE ??= COMPILE_CACHE;
  const directory = mkdtempSync(join(tmpdir(), "tightbeam-run-"));
  const stopServer = await shareServer(files);
  const entries = groupsOf(files).map((group, index) => entryOf(group, index, directory));
  const tests = run({
    files: entries,
    execArgv: ["--import", UNTRACKED],
    concurrency: CONCURRENCY,
    timeout: TEST_TIMEOUT_MS,
    signal: hang.signal,
    cwd: ROOT,
  });

  // Node's runner waits for its test processes, which a terminal interrupts too, but nobody else does.
  process.once("SIGINT", () => hang.abort());
  const silence = setTimeout(() => hang.abort(), SILENCE_MS_MAX);
  const nameOf = ({ name, file = "" }: { name: string; file?: string }) =>
    file === GROUP ? name : `${relative(ROOT, file)}: ${name}`;
  const note = (event: {
    name: string;
    file?: string;
    skip?: string | boolean;
    todo?: string | boolean;
    details: { duration_ms: number };
  }) => {
    silence.refresh();
    const name = nameOf(event);
    // The events of one process come together and in order: those of a file before that of its suite.
    if (event.file !== GROUP) hasRun = true;
    else {
      const file = resolve(ROOT, event.name);
      if (hasRun) ran.add(file);
      durationsMs.set(file, event.details.duration_ms);
      hasRun = false;
    }
    if (event.todo !== undefined) todo.push(name);
    if (event.skip === true || event.skip === "") skippedWithoutReason.push(name);
  };
  tests.on("test:pass", note);
  tests.on("test:fail", (event) => {
    note(event);
    process.exitCode = 1;
    const line = failureOf(nameOf(event), event.details.error);
    if (line !== null) failed.push(line);
  });
  tests.on("test:summary", ({ file, counts, success, duration_ms }) => {
    if (!success) process.exitCode = 1;
    hasRun = false;
    if (file === undefined || file.startsWith(directory)) return;
    if (counts.tests > 0) ran.add(file);
    durationsMs.set(file, duration_ms);
  });

  for await (const text of tests.compose(spec)) process.stdout.write(text);
  clearTimeout(silence);
  await stopServer();
  rmSync(directory, { recursive: true, force: true });
  for (const line of slowest(durationsMs)) process.stdout.write(`ℹ slow: ${line}\n`);
  const spent = cpuSeconds();
  if (spent !== null) process.stdout.write(`ℹ cpu: ${spent.toFixed(1)} s\n`);
  const isStrict = process.env.CI !== undefined && process.env.CI !== "";
  const wrong = complaints({ files, ran, todo, skippedWithoutReason: isStrict ? skippedWithoutReason : [], failed });
  for (const line of wrong) process.stderr.write(`✖ ${line}\n`);
  if (wrong.length > 0) process.exitCode = 1;
}

if (import.meta.main) await main(process.argv.slice(2));
