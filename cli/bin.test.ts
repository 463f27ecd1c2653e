import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { closedOutput, fullOutput, NO_FULL_DEVICE } from "../test/support/broken-output.ts";
import { emptyDirectory } from "../test/support/cli.ts";
import { until } from "../test/support/wait.ts";

const SOURCE = new URL("bin.js", import.meta.url);

/** A package of its own around a copy of `bin.js`, which wants this Node; `files` are its other files. */
function packageWith(t: TestContext, engine: string, files: Record<string, string>): string {
  const root = emptyDirectory(t);
  const manifest = JSON.stringify({ type: "module", version: "1.2.3", engines: { node: engine } });
  for (const [path, text] of Object.entries({ "package.json": manifest, ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
    chmodSync(join(root, path), 0o755);
  }
  mkdirSync(join(root, "cli"), { recursive: true });
  copyFileSync(SOURCE, join(root, "cli/bin.js"));
  return root;
}

interface Running {
  child: ChildProcess;
  output: () => { stdout: string; stderr: string };
  end: Promise<{ code: number | null; signal: string | null }>;
}

function start(root: string, args: string[], env: Record<string, string> = {}): Running {
  const child = spawn(process.execPath, [join(root, "cli/bin.js"), ...args], {
    env: { HOME: join(root, "nonexistent"), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
    });
  }
  const end = new Promise<{ code: number | null; signal: string | null }>((resolve) =>
    child.on("close", (code, signal) => resolve({ code, signal })),
  );
  return { child, output: () => output, end };
}

test("an older Node without the pinned one beside it ends with one clear line", async (t) => {
  const { output, end } = start(packageWith(t, ">=99.15", {}), ["send"]);
  assert.deepEqual(await end, { code: 1, signal: null });
  assert.equal(output().stdout, "");
  assert.match(output().stderr, /^error: tightbeam needs Node >=99\.15, and this is \d+\.\d+\.\d+ \(.+\)\.\n$/);
});

test("a clone without its packages ends with one line that says npm ci, on a new Node and on an older one", async (t) => {
  for (const engine of [">=18.0", ">=99.15"]) {
    const { output, end } = start(packageWith(t, engine, { "cli/main.ts": 'import "commander";' }), ["serve"]);
    assert.deepEqual(await end, { code: 1, signal: null });
    assert.equal(output().stdout, "");
    assert.match(output().stderr, /^error: the packages of tightbeam are not installed\. Run npm ci first.*\n$/);
  }
});

test("the entry of the program has only syntax that old versions of Node parse", () => {
  assert.doesNotMatch(readFileSync(SOURCE, "utf8"), /\?\?|\?\.|^\s*await |#\w+\(|import .* with/m);
});

/** An older Node can put another program in its place, or (before 22.15, and on Windows) cannot. */
const OLDER_NODES = [
  { older: "an older Node", env: {} },
  {
    older: "a Node without execve",
    env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent("delete process.execve")}` },
  },
];

for (const { older, env } of OLDER_NODES) {
  test(`${older} starts the pinned one, with arguments, output and exit code`, async (t) => {
    const pinned = '#!/bin/sh\nshift\necho "pinned: $*"\necho "beside" >&2\nexit 7\n';
    const root = packageWith(t, ">=99.15", { "node_modules/node/bin/node": pinned });
    const { output, end } = start(root, ["send", "+15005550100", "two words"], env);
    assert.deepEqual(await end, { code: 7, signal: null });
    assert.deepEqual(output(), { stdout: "pinned: send +15005550100 two words\n", stderr: "beside\n" });
  });

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    test(`${older}: ${signal} reaches the pinned one, whose way of ending is kept`, async (t) => {
      const pinned = `#!/bin/sh\ntrap 'echo ended in order; exit 3' ${signal.slice(3)}\necho ready\nfor i in $(seq 200); do sleep 0.05; done\n`;
      const root = packageWith(t, ">=99.15", { "node_modules/node/bin/node": pinned });
      const { child, output, end } = start(root, ["serve"], env);
      await until(() => output().stdout.includes("ready"));
      child.kill(signal);
      assert.deepEqual(await end, { code: 3, signal: null });
      assert.match(output().stdout, /ended in order/);
    });
  }

  test(`${older}: a pinned one that a signal ends makes the program end by that signal`, async (t) => {
    const root = packageWith(t, ">=99.15", { "node_modules/node/bin/node": "#!/bin/sh\nkill -KILL $$\n" });
    assert.deepEqual(await start(root, [], env).end, { code: null, signal: "SIGKILL" });
  });

  test(`${older}: a pinned one that cannot be run is one clear line`, async (t) => {
    const root = packageWith(t, ">=99.15", { "node_modules/node/bin/node": "" });
    chmodSync(join(root, "node_modules/node/bin/node"), 0o644);
    const { output, end } = start(root, [], env);
    assert.deepEqual(await end, { code: 1, signal: null });
    assert.match(output().stderr, /^error: .*node cannot be run: .*EACCES\n$/);
  });
}

test("a command is one process: an older Node replaces itself by the pinned one, and a new Node starts none", async (t) => {
  const pinned = "#!/bin/sh\necho $$\n";
  const older = start(packageWith(t, ">=99.15", { "node_modules/node/bin/node": pinned }), []);
  await older.end;
  assert.equal(Number(older.output().stdout), older.child.pid);
  const main = "export async function run() { console.log(process.pid); return 0; }";
  const newer = start(packageWith(t, ">=20.1", { "dist/cli/main.js": main, "node_modules/node/bin/node": pinned }), []);
  await newer.end;
  assert.equal(Number(newer.output().stdout), newer.child.pid);
});

/** A package whose command says where compiled code is kept. */
function packageThatTells(t: TestContext): string {
  const main = 'export async function run() { console.log(process.env.NODE_COMPILE_CACHE ?? "nowhere"); return 0; }';
  return packageWith(t, ">=20.1", { "dist/cli/main.js": main, "node_modules/x": "" });
}

async function keepsCompiledIn(root: string, env: Record<string, string> = {}): Promise<string> {
  const { output, end } = start(root, [], env);
  assert.deepEqual(await end, { code: 0, signal: null });
  assert.equal(output().stderr, "");
  return output().stdout.trim();
}

test("compiled code is cached beside the code, else in the home directory, and only where nobody else can write", async (t) => {
  const root = packageThatTells(t);
  const own = join(root, "node_modules/.cache/tightbeam");
  assert.equal(await keepsCompiledIn(root), own);
  assert.equal(statSync(own).mode & 0o777, 0o700);
  assert.ok(readdirSync(own).length > 0, "it is used");
  const home = emptyDirectory(t);
  chmodSync(own, 0o755);
  assert.equal(await keepsCompiledIn(root, { HOME: home }), join(home, ".cache/tightbeam"));
  assert.equal(await keepsCompiledIn(root, { NODE_COMPILE_CACHE: home }), home);
});

const PLANTED: [string, (cache: string) => void][] = [
  ["a directory that others may write to", (cache) => chmodSync(cache, 0o777)],
  ["a directory that a group may read", (cache) => chmodSync(cache, 0o750)],
  ["a directory below one that others may write to", (cache) => chmodSync(dirname(cache), 0o777)],
  ["a file", (cache) => replace(cache, () => writeFileSync(cache, ""))],
  ["a link to a directory", (cache) => replace(cache, (aside) => symlinkSync(aside, cache))],
  // To give a directory away takes root.
  ...(process.getuid?.() === 0
    ? ([
        ["another account's directory", (cache: string) => chownSync(cache, 65_534, 65_534)],
        ["a directory below another account's", (cache: string) => chownSync(dirname(cache), 65_534, 65_534)],
      ] satisfies [string, (cache: string) => void][])
    : []),
];

function replace(cache: string, plant: (aside: string) => void): void {
  renameSync(cache, `${cache}-aside`);
  plant(`${cache}-aside`);
}

for (const [what, plant] of PLANTED) {
  test(`code that another account could have planted is never loaded: ${what} is no cache`, async (t) => {
    const root = packageThatTells(t);
    const cache = join(root, "node_modules/.cache/tightbeam");
    mkdirSync(cache, { recursive: true, mode: 0o700 });
    plant(cache);
    const inside = statSync(cache).isDirectory() ? readdirSync(cache) : [];
    assert.equal(await keepsCompiledIn(root), "nowhere");
    assert.deepEqual(statSync(cache).isDirectory() ? readdirSync(cache) : [], inside);
  });
}

/** A stand-in for `cli/build.ts`, whose build prints its own directory. It counts its runs in `runs`. */
const BUILD = `import { appendFileSync, mkdirSync, statSync, writeFileSync } from "node:fs";
  const [root, cache] = process.argv.slice(2);
  appendFileSync(root + "runs", "x");
  mkdirSync(cache + "/build-x", { recursive: true });
  writeFileSync(cache + "/build-x/main.js", 'export async function run() { console.log("build"); return 0; }');
  const { size, mtimeMs } = statSync(root + "cli/main.ts");
  const inputs = [["cli/main.ts", size, mtimeMs]];
  writeFileSync(cache + "/build.json", JSON.stringify({ directory: "build-x", inputs }));`;
const FROM_SOURCES = 'export async function run() { console.log("sources"); return 0; }';

function packageWithBuild(t: TestContext, build = BUILD): string {
  return packageWith(t, ">=20.1", { "cli/main.ts": FROM_SOURCES, "cli/build.ts": build, "node_modules/x": "" });
}

async function outputOf(root: string, args: string[], env: Record<string, string> = {}): Promise<string> {
  const { output, end } = start(root, args, env);
  assert.deepEqual(await end, { code: 0, signal: null }, output().stderr);
  return output().stdout.trim();
}

test("serve makes a build of its sources once, and every command runs it until a source changes", async (t) => {
  const root = packageWithBuild(t);
  assert.equal(await outputOf(root, ["usage"]), "sources", "no other command makes it");
  assert.equal(await outputOf(root, ["serve"]), "build");
  assert.equal(await outputOf(root, ["serve"]), "build");
  assert.equal(await outputOf(root, ["usage"]), "build");
  assert.equal(readFileSync(join(root, "runs"), "utf8"), "x");
  writeFileSync(join(root, "cli/main.ts"), `${FROM_SOURCES}\n`);
  assert.equal(await outputOf(root, ["usage"]), "sources");
  assert.equal(await outputOf(root, ["serve"]), "build");
  assert.equal(readFileSync(join(root, "runs"), "utf8"), "xx");
});

test("serve runs its sources where no build can be made or kept, and under node --watch", async (t) => {
  assert.equal(await outputOf(packageWithBuild(t, "throw new Error('no bundler');"), ["serve"]), "sources");
  const shared = packageWithBuild(t);
  mkdirSync(join(shared, "node_modules/.cache/tightbeam"), { recursive: true });
  chmodSync(join(shared, "node_modules/.cache/tightbeam"), 0o777);
  assert.equal(await outputOf(shared, ["serve"]), "sources");
  assert.equal(await outputOf(packageWithBuild(t), ["serve"], { WATCH_REPORT_DEPENDENCIES: "1" }), "sources");
});

test("in the published package the command line is loaded from dist, with arguments and version", async (t) => {
  const main = "export async function run(args, version) { console.log(version, args.join()); return 0; }";
  const { output, end } = start(packageWith(t, ">=20.1", { "dist/cli/main.js": main }), ["usage", "--json"]);
  assert.deepEqual(await end, { code: 0, signal: null });
  assert.deepEqual(output(), { stdout: "1.2.3 usage,--json\n", stderr: "" });
});

/** A command that writes a line to each output, and ends with the exit code that is its argument. */
const WRITES = `export async function run([code], version, terminal) {
  terminal.stderr.write("a note\\n");
  terminal.stdout.write("a line\\n");
  return Number(code);
}`;

/** The note, and the reason on one line. */
const LOST = /^a note\nerror: .*ENOSPC.*send the output elsewhere.*\n$/;

type Broken = (t: TestContext) => number;

const BROKEN: {
  output: string;
  full?: true;
  code: string;
  stdout?: Broken;
  stderr?: Broken;
  ends: number;
  says: RegExp;
}[] = [
  { output: "a closed stdout", code: "0", stdout: closedOutput, ends: 141, says: /^a note\n$/ },
  { output: "a closed stdout of a command that fails", code: "1", stdout: closedOutput, ends: 141, says: /^a note\n$/ },
  { output: "a full stdout", full: true, code: "0", stdout: fullOutput, ends: 1, says: LOST },
  { output: "a full stdout of a command that fails", full: true, code: "2", stdout: fullOutput, ends: 1, says: LOST },
  { output: "a closed stderr", code: "0", stderr: closedOutput, ends: 0, says: /^a line\n$/ },
  { output: "a full stderr", full: true, code: "2", stderr: fullOutput, ends: 2, says: /^a line\n$/ },
  { output: "closed outputs", code: "0", stdout: closedOutput, stderr: closedOutput, ends: 141, says: /^$/ },
  { output: "full outputs", full: true, code: "0", stdout: fullOutput, stderr: fullOutput, ends: 1, says: /^$/ },
];

for (const { output, full, code, stdout, stderr, ends, says } of BROKEN) {
  test(`${output}: exit code ${ends}, without a stack trace`, { skip: full && NO_FULL_DEVICE }, async (t) => {
    const root = packageWith(t, ">=20.1", { "dist/cli/main.js": WRITES });
    const stdio = ["ignore", stdout?.(t) ?? "pipe", stderr?.(t) ?? "pipe"] as const;
    const child = spawn(process.execPath, [join(root, "cli/bin.js"), code], { stdio: [...stdio] });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        said += text;
      });
    }
    assert.deepEqual(await new Promise((resolve) => child.on("close", (...end) => resolve(end))), [ends, null], said);
    assert.match(said, says);
  });
}

test("a command that fails ends after its reader has all of its output", async (t) => {
  const main = `export async function run(args, version, terminal) {
    terminal.stdout.write("x".repeat(1_000_000));
    return 1;
  }`;
  const { output, end } = start(packageWith(t, ">=20.1", { "dist/cli/main.js": main }), []);
  assert.deepEqual(await end, { code: 1, signal: null });
  assert.equal(output().stdout.length, 1_000_000);
});

test("a pipe whose reader ends early ends the command without a word, with the exit code of SIGPIPE", async (t) => {
  const main = `export async function run(args, version, terminal) {
    for (let line = 0; line < 100_000; line++) terminal.stdout.write("a line of output\\n");
    return 0;
  }`;
  const root = packageWith(t, ">=20.1", { "dist/cli/main.js": main });
  const script = `("$0" "$1"; echo "$?" >&2) | head -n 1`;
  const child = spawn("sh", ["-c", script, process.execPath, join(root, "cli/bin.js")]);
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  assert.equal(await new Promise((resolve) => child.on("close", resolve)), 0);
  assert.equal(stderr, "141\n");
});
