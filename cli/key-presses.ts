/** Reads single keys from the terminal while the service runs, and leaves the terminal as it was. */

import { spawnSync } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";

/** Keys come one by one and are not shown. Signals of the terminal (Ctrl-C, Ctrl-Z) stay as they are. */
const BY_KEY = ["-icanon", "-echo", "min", "1", "time", "0"];

/**
 * Calls `press` with each key until the process ends. Keys are read only while this process is in the foreground of its terminal:
 * a background process that reads is stopped by the system. Returns false if there is no terminal to read keys from.
 */
export function watchKeys(press: (key: string) => void): boolean {
  const { stdin } = process;
  const before = stdin.isTTY ? stty("-g") : null;
  if (before === null) return false;
  let isReading = false;
  const pause = () => {
    if (!isReading) return;
    isReading = false;
    stdin.pause();
    stty(before);
  };
  const resume = () => {
    if (isReading || !isInForeground()) return;
    isReading = true;
    stty(...BY_KEY);
    stdin.resume();
  };
  stdin.setEncoding("utf8");
  // Otherwise the listener below begins to read, in the background too.
  stdin.pause();
  // Text that is pasted comes in larger pieces than a key.
  stdin.on("data", (text: string) => [...text].length === 1 && press(text));
  stdin.on("end", pause).on("error", pause);
  // Ctrl-Z: the shell gets its terminal back, and reading begins again if the process comes to the foreground.
  process.on("SIGTSTP", () => {
    pause();
    process.kill(process.pid, "SIGSTOP");
  });
  process.on("SIGCONT", resume);
  process.on("exit", pause);
  resume();
  return true;
}

/**
 * Asks or sets the modes of the terminal. Null without the program `stty` or a terminal of this process, as on Windows. The program gets
 * the terminal opened anew: an inherited stdin would become a blocking one here too. Keys that Ctrl-C discards between the report that
 * they can be read and their read would then block this thread until another key.
 */
function stty(...args: string[]): string | null {
  const terminal = openTerminal();
  if (terminal === null) return null;
  try {
    const { status, stdout } = spawnSync("stty", args, { stdio: [terminal, "pipe", "ignore"], encoding: "utf8" });
    return status === 0 ? stdout.trim() : null;
  } finally {
    closeSync(terminal);
  }
}

function openTerminal(): number | null {
  try {
    return openSync("/dev/tty", "r");
  } catch {
    return null;
  }
}

/** Whether the terminal belongs to the process group of this process. */
function isInForeground(): boolean {
  const [group, foreground] = process.platform === "linux" ? groupsOfLinux() : groupsOf();
  return group !== undefined && group === foreground;
}

/** The group of this process, and the one that the terminal belongs to. */
function groupsOfLinux(): string[] {
  // After the name in parentheses: state, parent, group, session, terminal, group of the terminal.
  const fields = readFileSync("/proc/self/stat", "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return [fields[2] ?? "", fields[5] ?? "none"];
}

function groupsOf(): string[] {
  const { stdout } = spawnSync("ps", ["-o", "pgid=,tpgid=", "-p", String(process.pid)], { encoding: "utf8" });
  return (stdout ?? "").trim().split(/\s+/);
}
