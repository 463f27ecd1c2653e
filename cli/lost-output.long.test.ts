/** Commands and the service when their output is closed or full: no stack trace, and nothing but the output is lost. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { closedOutput, fullOutput, NO_FULL_DEVICE } from "../test/support/broken-output.ts";
import { COMMAND, emptyDirectory, envFor } from "../test/support/cli.ts";
import { freePort } from "../test/support/free-port.ts";
import { ADMIN_KEY, ask, KEY } from "../test/support/process.ts";
import { startReceiver } from "../test/support/receiver.ts";
import { startTestService } from "../test/support/service.ts";
import { until } from "../test/support/wait.ts";

/** The opened outputs of a process; a pipe where there is none. */
interface Outputs {
  stdout?: number;
  stderr?: number;
}

interface Running {
  child: ChildProcess;
  /** All that it wrote to its pipes. */
  said: { stdout: string; stderr: string };
  /** Its exit code and signal. */
  ended: Promise<[number | null, NodeJS.Signals | null]>;
}

function start(t: TestContext, args: readonly string[], env: Record<string, string>, outputs: Outputs): Running {
  const [node = "", ...bin] = COMMAND;
  const child = spawn(node, [...bin, ...args], {
    env,
    stdio: ["ignore", outputs.stdout ?? "pipe", outputs.stderr ?? "pipe"],
  });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (text: string) => {
      said[name] += text;
    });
  }
  const ended = new Promise<[number | null, NodeJS.Signals | null]>((resolve) =>
    child.on("close", (...end) => resolve(end)),
  );
  t.after(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  return { child, said, ended };
}

const LOST = /^error: The output cannot be written \(ENOSPC: .*\n$/;

test("a command whose output is closed or full ends with 141, or with 1 and the reason", {
  skip: NO_FULL_DEVICE,
}, async (t) => {
  const api = await startTestService({ TB_SANDBOX_INBOX: "on" }, { inThreads: true });
  t.after(() => api.stop());
  const env = envFor(t, api);
  const scratch = emptyDirectory(t);
  const dataDir = join(scratch, "data");
  const kept = join(scratch, "kept");
  const restored = join(scratch, "restored");
  const direct = { ...env, PORT: "0", TB_DATA_DIR: dataDir };
  await makeBackup(t, direct, kept);
  const commands: { args: string[]; env: Record<string, string>; before?: () => void }[] = [
    { args: ["--help"], env },
    { args: ["messages", "list", "--help"], env },
    { args: ["completion", "zsh"], env },
    { args: ["messages", "list"], env },
    { args: ["api", "GET", "/v1/numbers"], env },
    { args: ["send", "+15005550100", "Hello"], env },
    { args: ["doctor"], env },
    { args: ["listen", "--print-secret"], env },
    { args: ["backup", "--to", join(scratch, "copy")], env: direct, before: () => remove(join(scratch, "copy")) },
    { args: ["backup", "--verify", kept], env: direct },
    { args: ["restore", kept], env: { ...direct, TB_DATA_DIR: restored }, before: () => remove(restored) },
  ];
  for (const { args, env: own, before } of commands) {
    before?.();
    const closed = start(t, args, own, { stdout: closedOutput(t) });
    assert.deepEqual(await closed.ended, [141, null], `${args} ${closed.said.stderr}`);
    assert.doesNotMatch(closed.said.stderr, /^error|^ +at /m, `${args}`);
    before?.();
    const full = start(t, args, own, { stdout: fullOutput(t) });
    assert.deepEqual(await full.ended, [1, null], `${args}`);
    assert.match(full.said.stderr.replace(/^(?!error: The output).*\n/gm, ""), LOST, `${args}`);
    for (const stderr of [closedOutput(t), fullOutput(t)]) {
      before?.();
      const silent = start(t, args, own, { stderr });
      assert.deepEqual(await silent.ended, [0, null], `${args} ${silent.said.stdout}`);
      assert.notEqual(silent.said.stdout, "", `${args}`);
    }
  }
});

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true });
}

/** Makes a data directory with a first start, and a backup of it. */
async function makeBackup(t: TestContext, env: Record<string, string>, to: string): Promise<void> {
  const service = start(t, ["serve"], env, {});
  await until(() => service.said.stdout.includes('"event":"listening"'), { what: "the start" });
  service.child.kill("SIGTERM");
  await service.ended;
  const backup = start(t, ["backup", "--to", to], env, {});
  assert.deepEqual(await backup.ended, [0, null], backup.said.stderr);
}

for (const args of [["listen"], ["listen", "--forward-to", ""], ["wire"]]) {
  test(`${args.join(" ").trim()} ends with 141 at the first event after its reader left`, async (t) => {
    const api = await startTestService({}, { inThreads: true });
    t.after(() => api.stop());
    const receiver = await startReceiver();
    t.after(() => receiver.stop());
    const given = args.map((arg) => arg || receiver.url);
    const { child, said, ended } = start(t, given, envFor(t, api), {});
    const send = () => api.ask("POST", "/v1/messages", { body: { to: "+15005550100", content: { text: "Hello" } } });
    const sendUntil = async (isDone: () => boolean) => {
      if (!isDone()) await send();
      return isDone();
    };
    await until(() => sendUntil(() => said.stdout !== ""), { what: "the first line" });
    child.stdout?.destroy();
    let end: unknown = null;
    void ended.then((value) => {
      end = value;
    });
    await until(() => sendUntil(() => end !== null), { what: "the end" });
    assert.deepEqual(end, [141, null], said.stderr);
    assert.doesNotMatch(said.stderr, /^error|^ +at /m);
  });
}

const BROKEN = [
  { what: "closed", open: closedOutput, code: "EPIPE", skip: false },
  { what: "full", open: fullOutput, code: "ENOSPC", skip: NO_FULL_DEVICE },
];

for (const { what, open, code, skip } of BROKEN) {
  for (const isSilent of [false, true]) {
    test(`the service delivers, and stops in good order, with a ${what} log${isSilent ? " and stderr" : ""}`, {
      skip,
    }, async (t) => {
      const port = await freePort();
      const url = `http://127.0.0.1:${port}`;
      const dataDir = join(emptyDirectory(t), "data");
      const env = { PORT: String(port), TB_DATA_DIR: dataDir, TB_API_KEY: KEY, TB_ADMIN_KEY: ADMIN_KEY };
      const outputs = isSilent ? { stdout: open(t), stderr: open(t) } : { stdout: open(t) };
      const { child, said, ended } = start(t, ["serve"], env, outputs);
      let end: unknown = null;
      void ended.then((value) => {
        end = value;
      });
      const isReady = async () => {
        assert.equal(end, null, said.stderr);
        return (await fetch(`${url}/readyz`).catch(() => null))?.status === 200;
      };
      await until(isReady, { what: "the start" });
      const receiver = await startReceiver();
      t.after(() => receiver.stop());
      await ask(url, KEY, "PUT", "/v1/webhooks", { url: receiver.url, events: ["message.delivered"] });
      for (const text of ["one", "two", "three"]) {
        await ask(url, KEY, "POST", "/v1/messages", { to: "+15005550100", content: { text } });
      }
      await until(() => receiver.received.length === 3, { what: "the webhooks" });
      child.kill("SIGTERM");
      assert.deepEqual(await ended, [0, null], said.stderr);
      const failures = said.stderr.match(/^error: the log cannot be written .*$/gm) ?? [];
      assert.equal(failures.length, isSilent ? 0 : 1, said.stderr);
      assert.ok(isSilent || failures[0]?.includes(code), said.stderr);
    });
  }
}
