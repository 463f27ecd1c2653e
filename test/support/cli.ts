/** The command line in tests: as a child process (stdout is a pipe), or in this process on a fake terminal. */

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { run } from "../../cli/main.ts";
import type { Terminal } from "../../cli/output.ts";
import { type FakeApi, type Route, startApi } from "./api.ts";
import type { TestService } from "./service.ts";

const BIN = fileURLToPath(new URL("../../cli/bin.js", import.meta.url));

/** The command that starts the program, before its arguments. */
export const COMMAND: readonly string[] = [process.execPath, BIN];

export interface CliResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

interface CliOptions {
  env?: Record<string, string>;
  cwd?: string;
  /** The Node that runs it; default: the Node of this process. */
  node?: string;
}

/** An empty directory, removed when the test ends. */
export function emptyDirectory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "tightbeam-cli-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** An environment with which the command line calls a service, and stores its user's files in an empty directory. */
export function envFor(t: TestContext, { url, key, adminKey }: Pick<TestService, "url" | "key" | "adminKey">) {
  return {
    TIGHTBEAM_URL: url,
    TIGHTBEAM_API_KEY: key,
    TIGHTBEAM_ADMIN_KEY: adminKey,
    XDG_CONFIG_HOME: emptyDirectory(t),
  };
}

/** Runs `cli/bin.js` with nothing in its environment but `env`; its working directory is `cwd`, else the system's `/`. */
export function runCli(
  args: string[],
  { env = {}, cwd = "/", node = process.execPath }: CliOptions = {},
): Promise<CliResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(node, [BIN, ...args], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    const result: CliResult = { code: null, stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      result.stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      result.stderr += text;
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ ...result, code }));
  });
}

/**
 * Runs the command line in this process on a terminal 120 columns wide without colours; no wait takes time. `ask`
 * answers its questions.
 */
export async function runOnTerminal(
  args: string[],
  env: Record<string, string> = {},
  ask: Terminal["ask"] = null,
): Promise<CliResult> {
  const result: CliResult = { code: null, stdout: "", stderr: "" };
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 120, getColorDepth: () => 1 });
  const stderr = Object.assign(new PassThrough(), { isTTY: true, columns: 120, getColorDepth: () => 1 });
  stdout.setEncoding("utf8").on("data", (text: string) => {
    result.stdout += text;
  });
  stderr.setEncoding("utf8").on("data", (text: string) => {
    result.stderr += text;
  });
  const sleep = () => new Promise<void>((resolve) => setImmediate(resolve));
  const onInterrupt = () => () => {};
  const terminal = { root: "/", env, stdout, stderr, sleep, onInterrupt, outliveOutput: () => {}, ask };
  result.code = await run(args, "0.0.0", terminal);
  await sleep();
  return result;
}

export const KEY = "tb_0123456789abcdef0123456789abcdef";
export const ADMIN_KEY = "tb_fedcba9876543210fedcba9876543210";
/** The instant of every fixture. */
export const AT = "2031-05-01T09:00:00.000Z";
/** The end of a list. */
export const pagination = { hasMore: false, nextCursor: null };

/** A fake API, and an environment with which the command line calls it. */
export async function serverWith(
  t: TestContext,
  routes: Record<string, Route>,
): Promise<FakeApi & { env: Record<string, string> }> {
  const api = await startApi(t, routes);
  return { ...api, env: { TIGHTBEAM_URL: api.url, TIGHTBEAM_API_KEY: KEY, TIGHTBEAM_ADMIN_KEY: ADMIN_KEY } };
}

/** The fields of the API's messages that the command line reads. */
export const message = (status: string, more: object = {}) => ({
  id: "msg_1",
  status,
  to: "+15005550100",
  from: "+15005550000",
  channel: "imessage",
  direction: "outbound",
  scheduledAt: null,
  content: { text: "Hello", mediaUrls: [] },
  metadata: null,
  errorCode: null,
  errorMessage: null,
  providerErrorCode: null,
  createdAt: AT,
  timeline: [],
  ...more,
});

/** A step of a message's timeline. */
export const entry = (status: string, more: object = {}) => ({ status, at: AT, channel: "imessage", ...more });
