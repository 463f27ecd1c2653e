#!/usr/bin/env node
/** The door of the program: finds a Node that is new enough, says so when there is none, and loads the command line. */

import { spawn } from "node:child_process";
import { accessSync, constants, existsSync, lstatSync, mkdirSync, readFileSync, realpathSync } from "node:fs";
import module from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import v8 from "node:v8";

/** By then the service is loaded, and the nursery may grow with the load. */
const LOADING_MS = 3_000;

const root = new URL("../", import.meta.url);
const { version, engines } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));

if (isNewEnough(process.versions.node, engines.node)) start();
else handOver(findPinnedNode());

function isNewEnough(current, range) {
  const wanted = range.replace(/[^0-9.]/g, "").split(".");
  const [major, minor] = current.split(".");
  return Number(major) > Number(wanted[0]) || (major === wanted[0] && Number(minor) >= Number(wanted[1] || 0));
}

function start() {
  keepCompiled();
  keepSmall();
  const source = new URL("cli/main.ts", root);
  const main = existsSync(source) ? source : new URL("dist/cli/main.js", root);
  process.stdout.on("error", endQuietly);
  import(main.href)
    .then(({ run }) =>
      run(process.argv.slice(2), version, {
        env: process.env,
        stdout: process.stdout,
        stderr: process.stderr,
        sleep,
        onInterrupt,
        ask: process.stdin.isTTY && process.stderr.isTTY ? ask : null,
      }),
    )
    .then((code) => {
      if (code === 0) process.exitCode = 0;
      else process.exit(code);
    })
    .catch((error) => {
      console.error(error);
      process.exit(1);
    });
}

/**
 * Keeps compiled code in a directory that nobody else can write to: who can put code there has it run. Node's default
 * is in the shared temporary directory, where another account may have made it before. Without such a directory nothing
 * is kept. A directory that `NODE_COMPILE_CACHE` names was chosen by who starts the program.
 */
function keepCompiled() {
  if (process.env.NODE_COMPILE_CACHE) return;
  const path = findPrivateCache();
  if (!path) return;
  // By the environment, since that is how threads come to know of it.
  if (module.enableCompileCache(path).directory) process.env.NODE_COMPILE_CACHE = path;
}

/** Beside the code, else in the home directory, made if it is not there; undefined where neither is private. */
function findPrivateCache() {
  if (!process.getuid) return undefined;
  const candidates = [
    [fileURLToPath(new URL("node_modules/", root)), ".cache", "tightbeam"],
    [homedir(), ".cache", "tightbeam"],
  ];
  return candidates.map(makePrivate).find(Boolean);
}

/** The path of the last of `names`, one below the other in `base`, if it is a directory of this user alone. */
function makePrivate([base, ...names]) {
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

/** Whether only this user and root can put something else in the place of what is in this directory. */
function isKept(path) {
  const found = lstatSync(path);
  const { uid, mode } = found;
  const isSticky = (mode & 0o1000) !== 0;
  return found.isDirectory() && (uid === process.getuid() || uid === 0) && (isSticky || (mode & 0o022) === 0);
}

/** Loading makes much garbage: it must not blow up the nursery (by 24 MB) that a service at rest then sits in. */
function keepSmall() {
  v8.setFlagsFromString("--semi-space-growth-factor=1");
  const loaded = () => {
    v8.setFlagsFromString("--semi-space-growth-factor=2");
    // Not only at the end: a process that is killed should start as fast the next time.
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

/** Calls `act` on every signal that asks for an end, which then does not end the program by itself. */
function onInterrupt(act) {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of signals) process.on(signal, act);
  return () => {
    for (const signal of signals) process.removeListener(signal, act);
  };
}

/** The answer typed on the terminal; none when it ends before. Not on stdout, which may go elsewhere. */
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

/** A reader that has seen enough (`| head`) is no failure. */
function endQuietly(error) {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
}

/** The binary of the `node` package beside this one; undefined when there is none but the one that runs now. */
function findPinnedNode() {
  const candidates = ["node_modules/node/bin/node", "node_modules/node/bin/node.exe", "../node/bin/node"];
  const found = candidates.map((path) => fileURLToPath(new URL(path, root))).find((path) => existsSync(path));
  return found && realpathSync(found) !== realpathSync(process.execPath) ? found : undefined;
}

/** Runs this same command under `node`: in the place of this process where Node can do that, else as its child. */
function handOver(node) {
  if (!node) {
    console.error(
      `error: tightbeam needs Node ${engines.node}, and this is ${process.versions.node} (${process.execPath}).`,
    );
    process.exit(1);
  }
  // Node 22.15 and later, and not on Windows. It warns that this is experimental only after it would have returned.
  if (process.execve && isExecutable(node)) process.execve(node, [node, ...process.argv.slice(1)], process.env);
  else runChild(node);
}

/** `execve` of a file that cannot be run ends this process without a word to the user. */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Runs the command as a child, with its signals and its end passed through. */
function runChild(node) {
  let child;
  const forward = (signal) => {
    // Ctrl-C on a terminal reaches the child by itself.
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  };
  // Before the child is there, so that no signal ends this process and leaves the child behind.
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
