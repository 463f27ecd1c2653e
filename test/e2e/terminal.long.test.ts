/** `serve` on a terminal: it opens the console at a key, and leaves the terminal and the signals of the keyboard as they were. */

import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, constants, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { emptyDirectory } from "../support/cli.ts";
import { until } from "../support/wait.ts";

const SERVE = `${process.execPath} cli/bin.js serve`;
const CONTROL_C = "\x03";
/** Longer than the service takes to cut off a stop. */
const ENDED = { limitMs: 60_000, what: "the end of the command" };

/** Whether there is util-linux's `script`, which makes a terminal. */
function hasTerminal(): boolean {
  try {
    return execFileSync("script", ["--version"], { encoding: "utf8" }).includes("util-linux");
  } catch {
    return false;
  }
}

interface OnTerminal {
  child: ChildProcess;
  /** Everything printed so far, without carriage returns. */
  printed(): string;
  type(keys: string): void;
  /** Resolves when the command has ended. Fails with what its threads wait for if it does not. */
  ended(): Promise<void>;
  /** The file that the opener wrote the address to. */
  opened: string;
}

/** Runs a command of the shell on a terminal, with an opener that writes down what it is to open. */
function runOnTerminal(t: TestContext, command: string, more: Record<string, string> = {}): OnTerminal {
  const directory = emptyDirectory(t);
  const opened = join(directory, "opened");
  const opener = join(directory, "xdg-open");
  writeFileSync(opener, `#!/bin/sh\nprintf '%s\\n' "$1" >> ${opened}\n`);
  chmodSync(opener, 0o755);
  const env = {
    PATH: `${directory}:${process.env.PATH}`,
    PORT: "0",
    TB_DATA_DIR: join(directory, "data"),
    LOG_LEVEL: "silent",
    DISPLAY: ":0",
    ...more,
  };
  const child = spawn("script", ["-qefc", command, "/dev/null"], { env, stdio: ["pipe", "pipe", "ignore"] });
  let hasEnded = false;
  child.once("close", () => {
    hasEnded = true;
  });
  const ended = async () => {
    try {
      await until(() => hasEnded, ENDED);
    } catch (error) {
      throw new Error(`the command did not end\n${threadsOnTerminals()}\n${printed}`, { cause: error });
    }
  };
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed += text.replaceAll("\r", "");
  });
  t.after(async () => {
    child.kill("SIGKILL");
    await ended();
  });
  return { child, printed: () => printed, type: (keys) => void child.stdin.write(keys), ended, opened };
}

/** The threads of all processes on terminals. */
function threadsOnTerminals(): string {
  return execFileSync("ps", ["aH", "-o", "pid,lwp,ppid,pgid,tpgid,stat,wchan:24,comm"], { encoding: "utf8" });
}

const isReady = ({ printed }: OnTerminal) =>
  until(() => /Tightbeam is ready.*npx tightbeam inbox\n\n/s.test(printed()), {
    limitMs: 60_000,
    what: "the greeting",
  });

/** Shows the modes of the terminal before and after the service. The shell outlives a Ctrl-C. */
const WITH_MODES = `trap : INT; echo "modes $(stty -g)"; ${SERVE}; echo "code $?"; echo "modes $(stty -g)"`;

/** The process of the service that a shell runs, which has printed its own number. */
function serviceOn(terminal: OnTerminal): number {
  const [, shell = ""] = /^shell (\d+)$/m.exec(terminal.printed()) ?? [];
  return Number(execFileSync("ps", ["-o", "pid=", "--ppid", shell], { encoding: "utf8" }).trim());
}

function assertRestored(terminal: OnTerminal, code: number): void {
  const [before, after, ...more] = terminal.printed().match(/^(\^C)?modes .*$/gm) ?? [];
  assert.deepEqual([after, more], [before, []], terminal.printed());
  assert.match(terminal.printed(), new RegExp(`(?:^|\\^C)code ${code}$`, "m"));
}

describe("on a terminal", {
  skip: hasTerminal() ? false : "no util-linux script here to make a terminal with",
  concurrency: 2,
}, () => {
  test("the key o opens a new one-time link, as often as it is pressed, and Ctrl-C stops the service", async (t) => {
    const terminal = runOnTerminal(t, WITH_MODES);
    await isReady(terminal);
    assert.match(terminal.printed(), /^ {2}http:\/\/127\.0\.0\.1:\d+\/#link=tbl_[\w-]+\n {2}Press o to open it\.$/m);
    const links = () => (existsSync(terminal.opened) ? readFileSync(terminal.opened, "utf8").trim().split("\n") : []);
    terminal.type("o");
    await until(() => links().length === 1, { what: "the first link" });
    terminal.type("o");
    await until(() => links().length === 2, { what: "the second link" });
    const [printed = ""] = /http:\S+#link=\S+/.exec(terminal.printed()) ?? [];
    assert.ok(printed.length <= 78, "the link fits a terminal of 80 columns");
    assert.equal(new Set([printed, ...links()]).size, 3);
    terminal.type("hello, o");
    terminal.type(CONTROL_C);
    await terminal.ended();
    assertRestored(terminal, 0);
    assert.equal(links().length, 2, "text that is pasted opens nothing");
  });

  test("keys are read without blocking the service", {
    skip: process.platform === "linux" ? false : "only Linux shows the flags of a process's files",
  }, async (t) => {
    const terminal = runOnTerminal(t, `echo "shell $$"; ${WITH_MODES}`);
    await isReady(terminal);
    const [, flags = "0"] =
      /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/${serviceOn(terminal)}/fdinfo/0`, "utf8")) ?? [];
    assert.ok((Number.parseInt(flags, 8) & constants.O_NONBLOCK) !== 0, `the flags of stdin: ${flags}`);
    terminal.type(CONTROL_C);
    await terminal.ended();
    assertRestored(terminal, 0);
  });

  test("a crash and SIGTERM leave the terminal as it was", async (t) => {
    const crash = "data:text/javascript,process.on('SIGUSR2',()=>{throw new Error('crash')})";
    for (const [signal, code] of [
      ["SIGUSR2", 1],
      ["SIGTERM", 0],
    ] as const) {
      const terminal = runOnTerminal(t, `echo "shell $$"; ${WITH_MODES}`, { NODE_OPTIONS: `--import "${crash}"` });
      await isReady(terminal);
      process.kill(serviceOn(terminal), signal);
      await terminal.ended();
      assertRestored(terminal, code);
    }
  });

  test("a service in the background goes on while keys are pressed, and leaves the terminal alone", async (t) => {
    const command = `bash -mc 'echo "modes $(stty -g)"; ${SERVE} & read line; stty -g | sed "s/^/modes /"; kill $!; wait $!; echo code $?'`;
    const terminal = runOnTerminal(t, command);
    await isReady(terminal);
    const [, url] = /ready on (\S+)/.exec(terminal.printed()) ?? [];
    terminal.type("o");
    assert.equal((await fetch(`${url}/readyz`)).status, 200);
    terminal.type("\n");
    await terminal.ended();
    assertRestored(terminal, 0);
    assert.ok(!existsSync(terminal.opened));
  });

  test("a service in the background goes on after its terminal is gone", async (t) => {
    const command = `bash -mc '${SERVE} < /dev/null & echo "service $!"; read line'`;
    const terminal = runOnTerminal(t, command, { LOG_LEVEL: "info" });
    await isReady(terminal);
    const [, pid] = /^service (\d+)$/m.exec(terminal.printed()) ?? [];
    t.after(() => process.kill(Number(pid), "SIGKILL"));
    const [, url] = /ready on (\S+)/.exec(terminal.printed()) ?? [];
    terminal.type("\n");
    await terminal.ended();
    for (let request = 0; request < 3; request += 1) {
      assert.equal((await fetch(`${url}/v1/numbers`)).status, 401);
    }
    assert.equal((await fetch(`${url}/readyz`)).status, 200);
  });

  test("over SSH and without a display the greeting says so, and no key is read", async (t) => {
    for (const [more, reason] of [
      [{ SSH_CONNECTION: "192.0.2.1 50000 192.0.2.2 22" }, "This is an SSH session, without your browser"],
      [{ DISPLAY: "" }, "There is no display here"],
    ] as const) {
      const terminal = runOnTerminal(t, WITH_MODES, more);
      await isReady(terminal);
      assert.ok(terminal.printed().includes(`  ${reason}: open the link yourself.\n`), terminal.printed());
      assert.match(terminal.printed(), /Another one[^\n]*\n[^\n]*npx tightbeam open/);
      terminal.type(CONTROL_C);
      await terminal.ended();
      assertRestored(terminal, 0);
    }
  });
});
