#!/usr/bin/env node
/** Entry of the program: finds a Node that is new enough, or reports that there is none, and loads the command line. */

import { spawn, spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, lstatSync, mkdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import module from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import v8 from "node:v8";

/** After this time the service is loaded, and the nursery may grow with the load. */
const LOADING_MS = 3_000;

/** A build takes a second; one that takes longer than this is given up. */
const BUILD_MS_MAX = 60_000;

const INSTALL =
  "error: the packages of tightbeam are not installed. Run npm ci first: it also installs the Node that is needed.";

const root = new URL("../", import.meta.url);
const { version, engines } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));

if (isNewEnough(process.versions.node, engines.node)) start();
else runUnder(findPinnedNode());

function isNewEnough(current, range) {
  const wanted = range.replace(/[^0-9.]/g, "").split(".");
  const [major, minor] = current.split(".");
  return Number(major) > Number(wanted[0]) || (major === wanted[0] && Number(minor) >= Number(wanted[1] || 0));
}

function start() {
  keepSmall();
  process.stdout.on("error", endWithoutOutput);
  // Notes and errors that nobody can read change nothing, not even the exit code.
  process.stderr.on("error", ignore);
  import(findMain().href)
    .then(({ run }) =>
      run(process.argv.slice(2), version, {
        root: fileURLToPath(root),
        env: process.env,
        stdout: process.stdout,
        stderr: process.stderr,
        sleep,
        onInterrupt,
        outliveOutput,
        ask: process.stdin.isTTY && process.stderr.isTTY ? ask : null,
      }),
    )
    .then((code) => {
      if (code === 0) process.exitCode = 0;
      else endAfterOutput(code);
    })
    .catch((error) => {
      console.error(error.code === "ERR_MODULE_NOT_FOUND" && isBare() ? INSTALL : error);
      process.exit(1);
    });
}

/** Whether this is a clone of the repository without its packages. */
function isBare() {
  return existsSync(new URL("cli/main.ts", root)) && !existsSync(new URL("node_modules", root));
}

/** The module of the command line: the build of the sources, the sources, or `dist` of the published package. */
function findMain() {
  const beside = makePrivate([fileURLToPath(new URL("node_modules/", root)), ".cache", "tightbeam"]);
  const source = new URL("cli/main.ts", root);
  const hasSource = existsSync(source);
  const build = hasSource && beside ? findBuild(beside) : undefined;
  keepCompiled(build || beside || makePrivate([findHome(), ".cache", "tightbeam"]));
  if (build) return pathToFileURL(join(build, "main.js"));
  return hasSource ? source : new URL("dist/cli/main.js", root);
}

/**
 * The directory of the build of these sources, if there is one. A stale build is made again, but only for `serve`: any
 * other command ends sooner without. No build is used under `node --watch`, which watches the sources, and under Node's
 * profiler, whose result names them.
 */
function findBuild(cache) {
  if (process.env.WATCH_REPORT_DEPENDENCIES || process.execArgv.includes("--cpu-prof")) return undefined;
  const found = readBuild(cache);
  if (found || !process.argv.includes("serve")) return found;
  // In a process of its own, whose memory ends with it. If it fails, the service runs from the sources.
  const script = fileURLToPath(new URL("cli/build.ts", root));
  spawnSync(process.execPath, [script, fileURLToPath(root), cache], { stdio: "ignore", timeout: BUILD_MS_MAX });
  return readBuild(cache);
}

/** The directory of the last build, if no file that went into it has changed. */
function readBuild(cache) {
  try {
    const { directory, inputs } = JSON.parse(readFileSync(join(cache, "build.json"), "utf8"));
    const isSame = ([path, size, mtimeMs]) => {
      const now = statSync(new URL(path, root));
      return now.size === size && now.mtimeMs === mtimeMs;
    };
    return inputs.every(isSame) && existsSync(join(cache, directory, "main.js")) ? join(cache, directory) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Keeps compiled code in a directory that nobody else can write to: code in that directory is run. Node's default is in
 * the shared temporary directory, where another account may have created it. Without a private directory nothing is
 * kept. If `NODE_COMPILE_CACHE` names a directory, the user chose it.
 */
function keepCompiled(path) {
  if (process.env.NODE_COMPILE_CACHE || !path) return;
  // Set in the environment, where threads find it.
  if (module.enableCompileCache(path).directory) process.env.NODE_COMPILE_CACHE = path;
}

/** The user's home directory; empty for a user that the system does not know, as in a container. */
function findHome() {
  try {
    return homedir();
  } catch {
    return "";
  }
}

/** The path of the nested directories `names` in `base`, if only this user can write there. */
function makePrivate([base, ...names]) {
  if (!process.getuid) return undefined;
  try {
    const path = join(realpathSync(base), ...names);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const own = lstatSync(path);
    if (!own.isDirectory() || own.uid !== process.getuid() || (own.mode & 0o077) !== 0) return undefined;
    accessSync(path, constants.W_OK);
    return ancestorsOf(path).every(isKept) ? path : undefined;
  } catch {
    // A file system that is read-only, a home directory that does not exist: nothing is kept.
    return undefined;
  }
}

function ancestorsOf(path) {
  const above = dirname(path);
  return above === path ? [] : [above, ...ancestorsOf(above)];
}

/** Whether only this user and root can replace entries of this directory. */
function isKept(path) {
  const found = lstatSync(path);
  const { uid, mode } = found;
  const isSticky = (mode & 0o1000) !== 0;
  return found.isDirectory() && (uid === process.getuid() || uid === 0) && (isSticky || (mode & 0o022) === 0);
}

/** Limits the nursery while code is loaded: the garbage of loading would enlarge it by 24 MB for an idle service. */
function keepSmall() {
  v8.setFlagsFromString("--semi-space-growth-factor=1");
  const loaded = () => {
    v8.setFlagsFromString("--semi-space-growth-factor=2");
    // Flushed here too, so that a killed process starts as fast the next time.
    module.flushCompileCache();
  };
  setTimeout(loaded, LOADING_MS).unref();
}

/** Resolves after the time, or as soon as the signal is aborted. */
function sleep(delayMs, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(end, delayMs);
    if (signal) signal.addEventListener("abort", end, { once: true });
    function end() {
      clearTimeout(timer);
      if (signal) signal.removeEventListener("abort", end);
      resolve();
    }
  });
}

/** Calls `act` on every signal to end, instead of ending the program, until the returned function is called. */
function onInterrupt(act) {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of signals) process.on(signal, act);
  return () => {
    for (const signal of signals) process.removeListener(signal, act);
  };
}

/** The answer typed on the terminal; empty if the input ends. Asks on stderr: stdout may be a pipe. */
function ask(question) {
  return import("node:readline").then(
    (readline) =>
      new Promise((resolve) => {
        const lines = readline.createInterface({ input: process.stdin, output: process.stderr });
        lines.on("close", () => resolve(""));
        lines.question(question, (answer) => {
          resolve(answer);
          lines.close();
        });
      }),
  );
}

/** Ends with the exit code when everything that was written has reached its reader: pipes take it in pieces. */
function endAfterOutput(code) {
  // An output that failed reports that between its callback and the end.
  process.stdout.write("", () => process.stderr.write("", () => setImmediate(() => process.exit(code))));
}

/** Errors of a pipe, or of the socket that some programs use instead, without a reader. */
const CLOSED = ["EPIPE", "ECONNRESET", "EOF"];
/** The exit code that shells show for a program that SIGPIPE ended. */
const CLOSED_EXIT_CODE = 141;

/** Ends the program because stdout takes no more: without a word if its reader has left (`| head`), else with the reason. */
function endWithoutOutput(error) {
  if (CLOSED.includes(error.code)) process.exit(CLOSED_EXIT_CODE);
  const line = `error: The output cannot be written (${error.message}) and is incomplete. Make room, or send the output elsewhere. The command may have taken effect.`;
  process.stderr.write(`${line}\n`, () => process.exit(1));
}

/** From now on the program goes on when stdout takes no more. */
function outliveOutput() {
  process.stdout.removeListener("error", endWithoutOutput);
  process.stdout.on("error", ignore);
}

function ignore() {}

/** The binary of the `node` package beside this one; undefined if there is none, or if it runs already. */
function findPinnedNode() {
  const candidates = ["node_modules/node/bin/node", "node_modules/node/bin/node.exe", "../node/bin/node"];
  const found = candidates.map((path) => fileURLToPath(new URL(path, root))).find((path) => existsSync(path));
  return found && realpathSync(found) !== realpathSync(process.execPath) ? found : undefined;
}

/** Runs this command under `node`: in place of this process if Node can do that, else as its child. */
function runUnder(node) {
  if (!node) {
    console.error(
      isBare()
        ? INSTALL
        : `error: tightbeam needs Node ${engines.node}, and this is ${process.versions.node} (${process.execPath}).`,
    );
    process.exit(1);
  }
  // Node 22.15 and later, except on Windows. Its warning that this is experimental would come only after a return.
  if (process.execve && isExecutable(node)) process.execve(node, [node, ...process.argv.slice(1)], process.env);
  else runChild(node);
}

/** Whether the file can be run: `execve` of another file ends this process without a message. */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Runs the command as a child, and passes signals and its exit code through. */
function runChild(node) {
  let child;
  const forward = (signal) => {
    // Ctrl-C on a terminal reaches the child by itself.
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  };
  // Before the child starts, so that no signal ends this process and leaves the child behind.
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of signals) process.on(signal, forward);
  child = spawn(node, process.argv.slice(1), { stdio: "inherit" });
  child.on("error", (error) => {
    console.error(`error: ${node} cannot be run: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => {
    for (const name of signals) process.removeListener(name, forward);
    if (signal) process.kill(process.pid, signal);
    else process.exit(code === null ? 1 : code);
  });
}
