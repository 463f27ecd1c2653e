import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { findTests, groupsOf } from "./run.ts";
import { makePostgresProject, makeProject, runIn } from "./run-project.ts";
import { until } from "./wait.ts";

const OK = 'import test from "node:test";\ntest("works", () => {});\n';

/** Runs the runner on a project of these files. */
function runOn(t: TestContext, files: Record<string, string>, env?: Record<string, string>, args?: readonly string[]) {
  return runIn(makeProject(t, files), env, args).ended;
}

test("a run of tests that pass succeeds, from any directory, and ends with the totals of Node's runner", async (t) => {
  const { code, stdout, stderr } = await runOn(t, { "a.test.ts": OK, "deep/er/b.test.ts": OK });
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  assert.match(
    stdout,
    /\nℹ tests 2\nℹ suites 0\nℹ pass 2\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\nℹ duration_ms [\d.]+\n(ℹ cpu: [\d.]+ s\n)?$/,
  );
});

test("a test that fails fails the run, which ends with its file, its name and its error", async (t) => {
  const failing = `${OK}test("breaks", () => { throw new Error("broken\\n  in two"); });\n`;
  const { code, stdout, stderr } = await runOn(t, { "a.test.ts": OK, "b.test.ts": failing });
  assert.equal(code, 1);
  assert.equal(stderr, "✖ failed: b.test.ts: breaks: broken in two\n");
  assert.match(stdout, /\nℹ tests 3\n.*\nℹ fail 1\n/s);
});

test("a file that cannot be loaded, or holds no test, fails the run and is named", async (t) => {
  const files = { "a.test.ts": OK, "broken.test.ts": 'import "./missing.ts";\n', "empty.test.ts": "export {};\n" };
  const { code, stderr } = await runOn(t, files);
  assert.equal(code, 1);
  const [broken, empty, failed] = stderr.split("\n");
  assert.deepEqual(
    [broken, empty],
    ["✖ broken.test.ts ran no test to its end", "✖ empty.test.ts ran no test to its end"],
  );
  assert.match(failed ?? "", /^✖ failed: broken\.test\.ts: /);
});

test("an error that nobody catches fails the run, during a test or after its end", async (t) => {
  const thrown = 'setImmediate(() => { throw new Error("loose"); });';
  const during = `import test from "node:test";\ntest("waits", () => new Promise((resolve) => { ${thrown} setImmediate(() => setImmediate(resolve)); }));\n`;
  const after = `import test from "node:test";\ntest("ends", () => { ${thrown} });\n`;
  for (const source of [during, after, after.replace("throw new Error", "void Promise.reject")]) {
    const { code, stdout } = await runOn(t, { "a.test.ts": source, "b.test.ts": OK });
    assert.equal(code, 1);
    assert.match(stdout, /loose/);
  }
});

test("a project without a test file fails", async (t) => {
  const { code, stderr } = await runOn(t, { "a.ts": OK });
  assert.equal(code, 1);
  assert.match(stderr, /there is no such test file/);
});

test("a todo fails the run, whether or not it would pass", async (t) => {
  const { code, stderr } = await runOn(t, { "a.test.ts": `${OK}test("later", { todo: true }, () => {});\n` });
  assert.equal(code, 1);
  assert.match(stderr, /todo: a\.test\.ts: later/);
});

test("under CI a skip without a reason fails the run, and one with a reason does not", async (t) => {
  const skipping = `${OK}test("bare", { skip: true }, () => {});\n`;
  assert.equal((await runOn(t, { "a.test.ts": skipping })).code, 0);
  const strict = await runOn(t, { "a.test.ts": skipping }, { CI: "true" });
  assert.equal(strict.code, 1);
  assert.match(strict.stderr, /skipped without a reason: a\.test\.ts: bare/);
  const reasoned = `${OK}test("reasoned", (t) => t.skip("there is no phone here"));\n`;
  assert.equal((await runOn(t, { "a.test.ts": reasoned }, { CI: "true" })).code, 0);
});

test("tests below node_modules and dist are not ours to run", async (t) => {
  const failing = 'import test from "node:test";\ntest("x", () => { throw new Error(); });\n';
  const files = { "a.test.ts": OK, "node_modules/x/b.test.ts": failing, "dist/c.test.ts": failing };
  assert.equal((await runOn(t, files)).code, 0);
});

test("a run takes the quick files, with --long the long files, and with parts of paths the files that they match", async (t) => {
  const named = (name: string) => `import test from "node:test";\ntest("${name}", () => {});\n`;
  const files = { "a.test.ts": named("quick"), "b.long.test.ts": named("long") };
  const ran = async (...args: string[]) => {
    const { stdout } = await runOn(t, files, {}, args);
    return [...stdout.matchAll(/^✔ (\w+) /gm)].map(([, name]) => name).sort();
  };
  assert.deepEqual(await ran(), ["quick"]);
  assert.deepEqual(await ran("--long"), ["long"]);
  assert.deepEqual(await ran("b.long", "a.test"), ["long", "quick"]);
});

test("a file that says starts-first: starts before the others", (t) => {
  const files = { "a.long.test.ts": OK, "b.long.test.ts": OK, "c.long.test.ts": `// starts-first: it says so\n${OK}` };
  const root = makeProject(t, files);
  const [a = "", b = "", c = ""] = Object.keys(files).map((name) => join(root, name));
  assert.deepEqual(groupsOf([a, b, c]), [[c], [a], [b]]);
});

/** As many files as make the runner put two into a process. */
function withNeighbours(files: Record<string, string>): Record<string, string> {
  return { "y1.test.ts": OK, "y2.test.ts": OK, "y3.test.ts": OK, "y4.test.ts": OK, ...files };
}

test("quick files share processes, each as a suite after the other, and one that says own-process: has its own", async (t) => {
  const pid = 'import test from "node:test";\ntest("pid", (t) => t.diagnostic(String(process.pid)));\n';
  const files = { "a.test.ts": pid, "b.test.ts": pid, "c.test.ts": `// own-process: it says so\n${pid}` };
  const { code, stdout, stderr } = await runOn(t, withNeighbours(files));
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  const pids = [...stdout.matchAll(/^\s*ℹ (\d+)$/gm)].map(([, found]) => found);
  assert.deepEqual([pids.length, new Set(pids).size], [3, 2]);
  assert.match(stdout, /▶ a\.test\.ts\n {2}✔ pid .*▶ b\.test\.ts\n {2}✔ pid /s);
});

test("no promise is followed through a test, in a file that shares a process or has its own: each await would be twenty times as dear", async (t) => {
  const source = `import assert from "node:assert/strict";
import { executionAsyncId } from "node:async_hooks";
import test from "node:test";
const idOfNext = async () => { await null; return executionAsyncId(); };
test("awaits", async () => assert.equal(await idOfNext(), await idOfNext()));
`;
  const files = { "a.test.ts": source, "b.test.ts": source, "c.test.ts": `// own-process: it says so\n${source}` };
  const { code, stderr } = await runOn(t, withNeighbours(files));
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
});

test("a file that leaves the process changed, cannot be loaded or holds no test fails its suite, and not its neighbour", async (t) => {
  const changes = [
    "process.env.X_LEFT = '1'",
    "process.umask(0o077)",
    "process.on('SIGTERM', () => {})",
    "globalThis.fetch = null",
  ];
  for (const change of changes) {
    const changing = `import test from "node:test";\ntest("works", () => { ${change}; });\n`;
    const { code, stderr } = await runOn(t, withNeighbours({ "a.test.ts": changing, "b.test.ts": OK }));
    assert.equal(code, 1);
    assert.match(stderr, /^✖ failed: a\.test\.ts: a\.test\.ts: it leaves .+ of the process changed: .+\n$/);
    const marked = `// own-process: it changes the process\n${changing}`;
    assert.equal((await runOn(t, withNeighbours({ "a.test.ts": marked, "b.test.ts": OK }))).code, 0);
  }
  const bad = { "a.test.ts": 'import "./missing.ts";\n', "b.test.ts": OK, "c.test.ts": "export {};\n" };
  const { code, stderr } = await runOn(t, withNeighbours(bad));
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^✖ a\.test\.ts ran no test to its end\n✖ c\.test\.ts ran no test to its end\n✖ failed: a\.test\.ts: .*\n$/,
  );
});

test("files that use PostgreSQL share one server, which the run stops also if a test fails", async (t) => {
  const { root, env, servers } = makePostgresProject(t, "assert.fail()");
  const { code, stdout, stderr } = await runIn(root, env).ended;
  assert.equal(code, 1, stderr);
  const urls = [...stdout.matchAll(/ℹ (postgres:.*)/g)].map(([, url]) => url);
  assert.deepEqual([urls.length, new Set(urls).size, servers()], [2, 1, []]);
});

test("every test file of this repository is in one of the two runs, and matches a part of its path", () => {
  const [quick, long] = [findTests({ length: "quick" }), findTests({ length: "long" })];
  assert.ok(long.includes(fileURLToPath(import.meta.url)));
  assert.ok([...quick, ...long].every((path) => existsSync(path) && !path.includes("node_modules")));
  assert.deepEqual([...quick, ...long].sort(), findTests({ parts: [".test.ts"] }));
  assert.ok(long.length > 0 && !long.some((path) => quick.includes(path)));
  assert.deepEqual(findTests({ parts: ["support/run.long"] }), [fileURLToPath(import.meta.url)]);
});

for (const signal of ["SIGINT", "SIGTERM", "SIGKILL"] as const) {
  test(`the server of a run ends with the run that ${signal} ends`, async (t) => {
    // Each of its tests ends when the server does.
    const work = 'writeFileSync(process.env.ROOT + "/begun-" + process.pid, ""); await lost;';
    const { root, env, servers } = makePostgresProject(t, work);
    const { runner, ended } = runIn(root, env);
    const begun = () => readdirSync(root).filter((name) => name.startsWith("begun"));
    await until(() => begun().length === 2, { what: "both tests" });
    assert.equal(servers().length, 1);
    runner.kill(signal);
    await ended;
    await until(() => servers().length === 0, { what: "the end of the server" });
  });
}
