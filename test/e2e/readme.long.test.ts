/** The README as a new user follows it, then `docs/guarantees.md` and the first look at the command line: every command, pasted in order into one shell, against a fresh service. */

import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { AnyEvent, Delivery, Inbox, Message } from "../../sdk/wire.ts";
import { emptyDirectory } from "../support/cli.ts";
import { freePort } from "../support/free-port.ts";
import { userEnvironment } from "../support/user-environment.ts";
import { until } from "../support/wait.ts";

/** It takes half a minute on an idle machine. */
const LIMIT_MS = 400_000;
const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const README = readFileSync(join(ROOT, "README.md"), "utf8");
const GUARANTEES = readFileSync(join(ROOT, "docs/guarantees.md"), "utf8");
const COMMAND_LINE = readFileSync(join(ROOT, "docs/cli.md"), "utf8");
const WORDS_MAX = 700;
const START: string = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).scripts.start;

/** Shorter than what the page says, so that the test need not wait for half a minute. */
const RETRIES = "2s,2s,4s,4s,8s,8s,16s";

function blocks(text: string, language: string): string[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map(([, code = ""]) => code);
}

/** A user's directory after the clone and `npm ci`: the repository by links, so that `./data` belongs to the test. */
function checkout(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "tightbeam-readme-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  for (const name of ["package.json", "node_modules", "cli", "sdk", "server"]) {
    symlinkSync(join(ROOT, name), join(directory, name));
  }
  return directory;
}

/** A shell that commands are pasted into. `output` is all that it and its jobs printed. */
class Shell {
  output = "";
  readonly #bash: ChildProcess;
  #pasted = 0;

  constructor(cwd: string, env: Record<string, string>) {
    this.#bash = spawn("bash", ["--norc"], { cwd, env, stdio: ["pipe", "pipe", "pipe"], detached: true });
    for (const stream of [this.#bash.stdout, this.#bash.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.output += text;
      });
    }
  }

  /** Runs a block command by command, and returns its output. Each command must succeed. */
  async paste(block: string): Promise<string> {
    const before = this.output.length;
    for (const command of block.replaceAll("\\\n", " ").trim().split("\n")) {
      this.#pasted += 1;
      const mark = new RegExp(`<ran ${this.#pasted}: (\\d+)>`);
      this.#bash.stdin?.write(`{ ${command}\n} </dev/null\nprintf '\\n<ran ${this.#pasted}: %s>\\n' $?\n`);
      const ran = await until(() => mark.exec(this.output), { limitMs: 60_000, what: command });
      const code = ran?.[1];
      assert.equal(code, "0", `${command}\n${this.output.slice(before)}`);
    }
    return this.output.slice(before);
  }

  /** Events that the receiver verified and printed. */
  received(): AnyEvent[] {
    const lines = this.output.match(/\{"id":"evt_[^\n]*\}(?=\r?\n)/g) ?? [];
    return lines.map((line) => JSON.parse(line));
  }

  /** Ends the shell and its child processes. */
  end(): void {
    if (this.#bash.pid !== undefined) process.kill(-this.#bash.pid, "SIGKILL");
  }
}

/** The last JSON document of several lines in what a command printed, without lines of the receiver between. */
function lastJson<Value>(printed: string): Value {
  const lines = printed.split("\n").filter((line) => !line.startsWith('{"id":"evt_'));
  const last = lines.findLastIndex((line) => line === "}" || line === "]");
  const first = lines.findLastIndex((line, index) => index < last && (line === "{" || line === "["));
  return JSON.parse(lines.slice(first, last + 1).join("\n"));
}

/** The service as `npm start` runs it, in a directory. */
class Serving {
  readonly #options: { cwd: string; env: Record<string, string> };
  #process: ChildProcess | null = null;
  #ended: Promise<NodeJS.Signals | null> = Promise.resolve(null);

  constructor(cwd: string, env: Record<string, string>) {
    this.#options = { cwd, env: { ...env, PATH: `${join(ROOT, "node_modules/.bin")}:${env.PATH}` } };
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  /** How its process was ended, once it was. */
  get ended(): Promise<NodeJS.Signals | null> {
    return this.#ended;
  }

  async start(url: string): Promise<void> {
    const process = spawn("sh", ["-c", START], { ...this.#options, stdio: "ignore" });
    this.#process = process;
    this.#ended = new Promise((resolve) => process.once("exit", (_, signal) => resolve(signal)));
    const isReady = () =>
      fetch(`${url}/readyz`)
        .then(({ ok }) => ok)
        .catch(() => false);
    await until(isReady, { limitMs: 60_000, what: "the service to be ready" });
  }

  async stop(): Promise<void> {
    this.#process?.kill("SIGTERM");
    await this.#ended;
  }
}

test(`the README has at most ${WORDS_MAX} words`, () => {
  assert.ok(README.trim().split(/\s+/).length <= WORDS_MAX);
});

test("the receiver in docs/guarantees.md is the one in examples/", () => {
  assert.deepEqual(blocks(GUARANTEES, "js"), [readFileSync(join(ROOT, "examples/receiver.mjs"), "utf8")]);
});

const name =
  "every command of the README and of docs/guarantees.md works when pasted in order, and what they say is so";

test(name, { timeout: LIMIT_MS }, async (t) => {
  const directory = checkout(t);
  const [port, receiverPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const here = (text: string) => text.replaceAll(":8080", `:${port}`).replaceAll(/\b3000\b/g, String(receiverPort));
  mkdirSync(join(directory, "examples"));
  writeFileSync(join(directory, "examples/receiver.mjs"), here(blocks(GUARANTEES, "js").join("")));
  const serving = new Serving(directory, userEnvironment({ PORT: String(port), TB_WEBHOOK_RETRY_SCHEDULE: RETRIES }));
  // Other services may run on this machine, so pgrep finds only this service here.
  const bin = join(directory, "bin");
  mkdirSync(bin);
  const shell = new Shell(directory, userEnvironment({ PATH: `${bin}:${process.env.PATH}` }));
  t.after(async () => {
    shell.end();
    await serving.stop();
  });
  const startService = async () => {
    await serving.start(url);
    writeFileSync(join(bin, "pgrep"), `#!/bin/sh\necho ${serving.pid}\n`);
    chmodSync(join(bin, "pgrep"), 0o755);
  };
  const typesOf = (messageId: string) =>
    shell.received().flatMap(({ type, data }) => (data.messageId === messageId ? [type] : []));
  const receives = (messageId: string, ...types: string[]) =>
    until(() => typesOf(messageId).length >= types.length, { what: types.join() }).then(() =>
      assert.deepEqual(typesOf(messageId), types),
    );
  const ids = (printed: string) => [...new Set(printed.match(/msg_[0-9a-f-]{36}/g))];
  let slow = "";

  /** Pastes the block of the README that makes a program and runs it: the program answers a contact. */
  const answers = async (block: string) => {
    const [, source = ""] = /<<'EOF'\n([\s\S]*?)\nEOF\n/.exec(block) ?? [];
    assert.equal(source.split("\n").filter((line) => line !== "").length, 8, "eight lines");
    const project = join(emptyDirectory(t), "answers");
    const pasted = block.replaceAll("../answers", project);
    const env = userEnvironment({ TIGHTBEAM_URL: url });
    const program = spawn("bash", ["-ec", pasted], {
      cwd: directory,
      env,
      stdio: ["ignore", "pipe", "ignore"],
      detached: true,
    });
    let said = "";
    program.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    const ended = new Promise((resolve) => program.once("exit", resolve));
    try {
      await listens(receiverPort);
      const isSet = async () => !(await shell.paste("npx tightbeam webhooks get")).includes('"url": null');
      await until(isSet, { what: "the endpoint of the program" });
      await shell.paste("npx tightbeam sandbox phone +15005550199 say Echo?");
      const isAnswered = async () => (await shell.paste("npx tightbeam messages list")).includes("You said: Echo?");
      await until(isAnswered, { what: "the answer of the program" });
      assert.ok(said.endsWith(`Listens on port ${receiverPort}\n`), said);
    } finally {
      if (program.pid !== undefined) process.kill(-program.pid, "SIGKILL");
      await ended;
    }
  };

  /** The expected output after each block of shell commands, in their order. */
  const steps: [contains: string, run: (block: string) => Promise<void>][] = [
    [
      "npm ci\nnpm start",
      async () => {
        await startService();
        assert.ok(existsSync(join(directory, "data/credentials.json")));
      },
    ],
    [
      "npx tightbeam inbox",
      async (block) => {
        let { requests } = lastJson<Inbox>(await shell.paste(block));
        const isFull = async () => {
          ({ requests } = lastJson<Inbox>(await shell.paste("npx tightbeam inbox")));
          return requests.length === 4;
        };
        if (requests.length < 4) await until(isFull, { what: "four webhooks in the inbox" });
        const types = requests.map(({ body }) => JSON.parse(body).type);
        assert.deepEqual(types, ["message.inbound", "message.delivered", "message.sent", "message.queued"]);
        assert.ok(requests.every(({ verified }) => verified));
        assert.equal(JSON.parse(requests[0]?.body ?? "").data.text, "Yes, I am");
      },
    ],
    ["npm install http://127.0.0.1:", answers],
    [
      "/v1/messages",
      async (block) => {
        const printed = await shell.paste(block);
        const { success, data } = JSON.parse(/\{.*\}/.exec(printed)?.[0] ?? "");
        assert.deepEqual([success, data.status, data.to], [true, "queued", "+15005550100"]);
      },
    ],
    [
      "node examples/receiver.mjs",
      async (block) => {
        await shell.paste(block);
        await listens(receiverPort);
      },
    ],
    [
      "PUT",
      async (block) => {
        const printed = await shell.paste(block);
        assert.equal(JSON.parse(/\{.*\}/.exec(printed)?.[0] ?? "").data.url, `http://127.0.0.1:${receiverPort}/hook`);
      },
    ],
    [
      "npx tightbeam send +15005550102",
      async (block) => {
        const [first = "", second = ""] = ids(await shell.paste(block));
        await receives(first, "message.queued", "message.sent", "message.delivered");
        await receives(second, "message.queued", "message.fallback", "message.sent", "message.delivered");
        const last = shell.received().findLast(({ data }) => data.messageId === second);
        assert.equal(last?.data.channel, "sms");
      },
    ],
    [
      "kill $RECEIVER",
      async (block) => {
        const printed = await shell.paste(block);
        const waiting = lastJson<Delivery[]>(printed);
        assert.deepEqual(waiting.map(({ eventType }) => eventType).reverse(), [
          "message.queued",
          "message.sent",
          "message.delivered",
        ]);
        for (const { attempts } of waiting) {
          assert.ok(attempts.length > 0);
          assert.ok(attempts.every(({ error }) => error === "CONNECTION_REFUSED"));
        }
      },
    ],
    [
      "node examples/receiver.mjs",
      async (block) => {
        const [messageId = ""] = ids(shell.output).slice(-1);
        await shell.paste(block);
        await until(() => typesOf(messageId).length === 3, { what: "the repeats" });
        assert.deepEqual(new Set(typesOf(messageId)).size, 3);
      },
    ],
    [
      "kill -9",
      async (block) => {
        [slow = ""] = ids(await shell.paste(block));
        assert.equal(await serving.ended, "SIGKILL");
      },
    ],
    [
      "npm start",
      async () => {
        await startService();
        await until(() => typesOf(slow).includes("message.delivered"), { what: "the slow message" });
        const events = shell.received().filter(({ data }) => data.messageId === slow);
        const distinct = new Map(events.map(({ id, type }) => [id, type]));
        assert.deepEqual([...distinct.values()], ["message.queued", "message.sent", "message.delivered"]);
      },
    ],
    [
      "npx tightbeam usage",
      async (block) => {
        const printed = await shell.paste(block);
        for (const shown of ['"message.delivered"', '"webhook.test"', '"message.reaction"', '"webhooksDelivered"']) {
          assert.ok(printed.includes(shown), `${shown} is not in what was printed`);
        }
      },
    ],
  ];
  const firstLook = blocks(COMMAND_LINE, "sh").filter((block) => block.includes("tightbeam usage"));
  const commands = [...blocks(README, "sh"), ...blocks(GUARANTEES, "sh"), ...firstLook].map(here);
  assert.equal(commands.length, steps.length, "a block of commands is not looked at here");
  for (const [index, [contains, run]] of steps.entries()) {
    const block = commands[index] ?? "";
    assert.ok(block.includes(contains), `block ${index} has no ${contains}: ${block}`);
    await t.test(block.trim().split("\n").at(-1), () => run(block));
  }
  const asNpx = lastJson<Message[]>(await shell.paste("npm run -s tb -- messages list"));
  assert.equal(asNpx.length, 10);
  assert.ok(!shell.output.includes("refused: not signed"), "the receiver refused something");
});

async function listens(port: number): Promise<void> {
  const connects = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false));
      socket.end();
    });
  await until(connects, { what: `something to listen on port ${port}` });
}

const CONTROL_C = "\x03";

/** Whether there is util-linux's `script`, which gives a program a terminal. */
function hasTerminal(): boolean {
  try {
    return execFileSync("script", ["--version"], { encoding: "utf8" }).includes("util-linux");
  } catch {
    return false;
  }
}

test("the curl that the first start prints to a terminal works as it is printed, and no later start shows the key", {
  skip: hasTerminal() ? false : "no util-linux script here to make a terminal with",
}, async (t) => {
  const directory = checkout(t);
  const env = userEnvironment({ PORT: "0", LOG_LEVEL: "silent" });
  const startOnTerminal = async () => {
    const terminal = spawn("script", ["-qefc", `exec ${START.replace(/^exec /, "")}`, "/dev/null"], {
      cwd: directory,
      env: { ...env, PATH: `${join(ROOT, "node_modules/.bin")}:${env.PATH}` },
      stdio: ["pipe", "pipe", "ignore"],
    });
    let printed = "";
    terminal.stdout.setEncoding("utf8").on("data", (text: string) => {
      printed += text.replaceAll("\r", "");
    });
    const ended = new Promise((resolve) => terminal.once("exit", resolve));
    const stop = async () => {
      terminal.stdin.write(CONTROL_C);
      await ended;
    };
    t.after(() => terminal.kill());
    await until(() => /Keys: .*\n\n| -d '.*\n\n/.test(printed), { what: "the greeting" });
    return { printed, stop };
  };
  const first = await startOnTerminal();
  const [send = ""] = first.printed.match(/^ {2}curl ([^\n]*\\\n)*[^\n]*$/gm) ?? [];
  const run = (command: string) => JSON.parse(execFileSync("bash", ["-c", command], { encoding: "utf8" })).data;
  assert.equal(run(send).status, "queued");
  await first.stop();
  const second = await startOnTerminal();
  assert.match(second.printed, /Keys: those of the first start \(\.\/data\/credentials\.json\)/);
  assert.doesNotMatch(second.printed, /tb_/);
});
