import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
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

function start(root: string, args: string[]): Running {
  const child = spawn(process.execPath, [join(root, "cli/bin.js"), ...args], {
    env: {},
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

test("an older Node without the pinned one beside it is told so in one clear line", async (t) => {
  const { output, end } = start(packageWith(t, ">=99.15", {}), ["send"]);
  assert.deepEqual(await end, { code: 1, signal: null });
  assert.equal(output().stdout, "");
  assert.match(output().stderr, /^error: tightbeam needs Node >=99\.15, and this is \d+\.\d+\.\d+ \(.+\)\.\n$/);
});

test("the door of the program is syntax that old Nodes read", () => {
  assert.doesNotMatch(readFileSync(SOURCE, "utf8"), /\?\?|\?\.|^\s*await |#\w+\(|import .* with/m);
});

test("an older Node hands over to the pinned one, with arguments, output and exit code", async (t) => {
  const pinned = '#!/bin/sh\nshift\necho "pinned: $*"\necho "beside" >&2\nexit 7\n';
  const root = packageWith(t, ">=99.15", { "node_modules/node/bin/node": pinned });
  const { output, end } = start(root, ["send", "+15005550100", "two words"]);
  assert.deepEqual(await end, { code: 7, signal: null });
  assert.deepEqual(output(), { stdout: "pinned: send +15005550100 two words\n", stderr: "beside\n" });
});

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  test(`${signal} reaches the pinned Node, whose way of ending is kept`, async (t) => {
    const pinned = `#!/bin/sh\ntrap 'echo ended in order; exit 3' ${signal.slice(3)}\necho ready\nfor i in $(seq 200); do sleep 0.05; done\n`;
    const root = packageWith(t, ">=99.15", { "node_modules/node/bin/node": pinned });
    const { child, output, end } = start(root, ["serve"]);
    await until(() => output().stdout.includes("ready"));
    child.kill(signal);
    assert.deepEqual(await end, { code: 3, signal: null });
    assert.match(output().stdout, /ended in order/);
  });
}

test("a pinned Node that a signal ends makes the program end by that signal", async (t) => {
  const root = packageWith(t, ">=99.15", { "node_modules/node/bin/node": "#!/bin/sh\nkill -KILL $$\n" });
  assert.deepEqual(await start(root, []).end, { code: null, signal: "SIGKILL" });
});

test("in the published package the command line is loaded from dist, and given arguments and version", async (t) => {
  const main = "export async function run(args, version) { console.log(version, args.join()); return 0; }";
  const { output, end } = start(packageWith(t, ">=20.1", { "dist/cli/main.js": main }), ["usage", "--json"]);
  assert.deepEqual(await end, { code: 0, signal: null });
  assert.deepEqual(output(), { stdout: "1.2.3 usage,--json\n", stderr: "" });
});

test("a reader that stops reading early is no failure", async (t) => {
  const main = `export async function run(args, version, terminal) {
    for (let line = 0; line < 100_000; line++) terminal.stdout.write("a line of output\\n");
    return 0;
  }`;
  const root = packageWith(t, ">=20.1", { "dist/cli/main.js": main });
  const child = spawn("sh", ["-c", `"$0" "$1" | head -n 1`, process.execPath, join(root, "cli/bin.js")]);
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  assert.equal(await new Promise((resolve) => child.on("close", resolve)), 0);
  assert.equal(stderr, "");
});
