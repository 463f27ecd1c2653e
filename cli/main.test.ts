import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Command } from "commander";
import { closedAddress, startApi } from "../test/support/api.ts";
import { ADMIN_KEY, emptyDirectory, KEY, pagination, runCli, runOnTerminal, serverWith } from "../test/support/cli.ts";
import { buildProgram } from "./main.ts";

/** Every command there is, the program itself included. */
function commandsUnder(command: Command, path: readonly string[] = []): { path: string[]; command: Command }[] {
  const under = command.commands.flatMap((each) => commandsUnder(each, [...path, each.name()]));
  return [{ path: [...path], command }, ...under];
}

const NO_TERMINAL = {
  root: "/",
  env: {},
  stdout: process.stdout,
  stderr: process.stderr,
  onInterrupt: () => () => {},
  outliveOutput: () => {},
  ask: null,
};

async function allCommands() {
  return commandsUnder(await buildProgram([], "0.0.0", { ...NO_TERMINAL, sleep: async () => {} }));
}

test("--help teaches: every command has a description and examples", async () => {
  const all = await allCommands();
  assert.ok(all.length > 80);
  for (const { path, command } of all) {
    const words = path.join(" ");
    const { code, stdout, stderr } = await runOnTerminal([...path, "--help"]);
    assert.deepEqual([code, stderr], [0, ""], words);
    assert.match(stdout, new RegExp(`Usage: tightbeam ${words}`), words);
    assert.match(stdout, /\nBegin:\n {2}tightbeam|\nExamples:\n.*tightbeam /, words);
    assert.match(command.description(), /^[A-Z].*\.$/, words);
    const undescribed = command.options.filter(({ description }) => description === "");
    assert.deepEqual(undescribed, [], words);
  }
});

test("docs/cli.md lists every command with what it does, and no other", async () => {
  const documented = readFileSync(new URL("../docs/cli.md", import.meta.url), "utf8")
    .split("\n")
    .filter((line) => line.startsWith("| `"));
  const groups = (await allCommands()).filter(({ path, command }) => path.length > 0 && isRunnable(command));
  const rows = groups.map(({ path, command }) => {
    const given = command.registeredArguments.map((argument) => {
      const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
      return argument.required ? ` <${name}>` : ` [${name}]`;
    });
    return `| \`${path.join(" ")}${given.join("")}\` | ${command.description()} |`;
  });
  assert.deepEqual(documented, rows);
});

/** Whether it does something itself, and is not only there for what is under it. */
function isRunnable(command: Command): boolean {
  return command.commands.length === 0 || ["inbox", "clock", "quarantine", "held"].includes(command.name());
}

test("serve has a flag for every setting, and one clear line for an invalid value", async () => {
  const help = await runCli(["serve", "--help"]);
  assert.match(help.stdout, /--port <value>[\s\S]+--tb-data-dir <value>[\s\S]+TB_DATA_DIR[\s\S]+--log-level/);
  const bad = await runCli(["serve", "--port", "99999"]);
  assert.deepEqual([bad.code, bad.stdout], [1, ""]);
  assert.match(bad.stderr, /^error: --port .*99999.*\n$/);
});

test("a command called wrongly ends with 2, says why on stderr and prints nothing else", async () => {
  const wrong: [string, RegExp][] = [
    ["nonsense", /unknown command 'nonsense'/],
    ["sendd", /Did you mean send\?/],
    ["send", /missing required argument 'to'/],
    ["send +1 hi --channel fax", /imessage, sms/],
    ["send +1 hi --metadata novalue", /key=value/],
    ["send +1 hi --timeout soon", /90s/],
    ["send +1 hi --until forever", /sent, delivered, read/],
    ["messages list --status lost", /scheduled, queued/],
    ["messages list --limit 0", /whole number from 1/],
    ["webhooks set https://example.com --events message.sung", /Did you mean message\.sent\?/],
    ["webhooks set https://example.com --events message.recieved", /Did you mean message\.inbound\?/],
    ["backup", /--to \.\/backup-\d{4}-\d\d-\d\d/],
    ["webhooks replay wh_1 --since x --types nothing.alike.at.all", /It must be of: message\.queued, /],
    ["trigger delivered", /Did you mean message\.delivered\?/],
    ["listen --events messages.failed", /Did you mean message\.failed\?/],
    ["events list --type Message.Sent", /Did you mean message\.sent\?/],
    ["sandbox wait --type typing", /It must be of: /],
    ["send +1 hi --channel imesage", /Did you mean imessage\? It must be of: imessage, sms/],
    ["listen --forward-to foo", /foo is not an address to forward to.*localhost:3000/],
    ["webhooks replay wh_1", /--since/],
    ["keys create a --limit fast", /100\/60s/],
    ["usage --url nowhere", /not an http address/],
  ];
  for (const [line, reason] of wrong) {
    const { code, stdout, stderr } = await runOnTerminal(line.split(" "), { TIGHTBEAM_API_KEY: KEY });
    assert.deepEqual([code, stdout], [2, ""], line);
    assert.match(stderr, reason, line);
    assert.match(stderr, /^error: /, line);
  }
  const child = await runCli(["messages", "list", "--limit", "many"]);
  assert.equal(child.code, 2);
  const bare = await runCli([]);
  assert.deepEqual([bare.code, bare.stdout], [2, ""]);
  assert.match(bare.stderr, /Usage: tightbeam/);
});

test("a refusal prints its code and message, each bad field on a line, and the request id, and ends with 1", async (t) => {
  const details = [
    { path: "to", message: "must be a phone number" },
    { path: "content.text", message: "is too long" },
  ];
  const error = { code: "VALIDATION_ERROR", message: "2 fields are wrong.", details };
  const { env } = await serverWith(t, { "POST /v1/messages": { status: 400, error } });
  const { code, stdout, stderr } = await runCli(["send", "x", "Hello"], { env });
  assert.deepEqual([code, stdout], [1, ""]);
  assert.deepEqual(stderr.split("\n"), [
    "error: VALIDATION_ERROR 2 fields are wrong.",
    "  to: must be a phone number",
    "  content.text: is too long",
    "  requestId: req_1",
    "",
  ]);
});

test("without a server a command says so at once, with how to start it, whether there is a key or not", async () => {
  const url = await closedAddress();
  for (const [args, env] of [
    [["messages", "list"], { TIGHTBEAM_URL: url, TIGHTBEAM_API_KEY: KEY }],
    [["send", "+15005550100", "Hello", "--url", url], {}],
  ] as const) {
    const { code, stdout, stderr } = await runOnTerminal([...args], env);
    assert.deepEqual([code, stdout], [1, ""]);
    const [first, ...advice] = stderr.trimEnd().split("\n");
    assert.equal(first, `error: CONNECTION_FAILED Nothing answers at ${url} (ECONNREFUSED).`);
    assert.match(advice.join("\n"), /^ {2}The server is not running there\. .*tightbeam serve.*npm start.*\n.*--url/);
  }
});

test("a refusal of one field is printed once, even if its message quotes the value, and on a terminal with the request's page if the log keeps the request", async (t) => {
  const wrong = "must be a phone number in E.164 form";
  const error = {
    code: "INVALID_PHONE_NUMBER",
    message: `to: "x" ${wrong}.`,
    details: [{ path: "to", message: wrong }],
  };
  const refused = { "POST /v1/messages": { status: 400, error } };
  const lines = [`error: INVALID_PHONE_NUMBER to: "x" ${wrong}.`, "  requestId: req_1"];
  const { env } = await serverWith(t, { ...refused, "GET /v1/requests/req_1": { data: { id: "req_1" } } });
  const logged = await runOnTerminal(["send", "x", "Hello"], env);
  assert.deepEqual(logged.stderr.split("\n"), [...lines, `  ${env.TIGHTBEAM_URL}/r/req_1`, ""]);
  // With TB_REQUEST_LOG=off the log has no request.
  const { env: off } = await serverWith(t, refused);
  assert.deepEqual((await runOnTerminal(["send", "x", "Hello"], off)).stderr.split("\n"), [...lines, ""]);
});

test("a command waits for a busy server, visibly, and never longer than a minute", async (t) => {
  const busy = { status: 429, error: { code: "RATE_LIMITED", message: "Wait." } };
  const { env } = await serverWith(t, {
    "GET /v1/messages": [{ ...busy, headers: { "Retry-After": "60" } }, { data: { messages: [], pagination } }],
    "GET /v1/webhooks": { ...busy, headers: { "Retry-After": "61" } },
  });
  const patient = await runOnTerminal(["messages", "list"], env);
  assert.deepEqual([patient.code, patient.stdout], [0, "No messages.\n"]);
  assert.match(patient.stderr, /RATE_LIMITED: waiting 60 s/);
  assert.equal((await runOnTerminal(["webhooks", "get"], env)).code, 1);
});

test("server and keys come from the options, else the environment, else credentials.json", async (t) => {
  const api = await startApi(t, {
    "GET /v1/admin/keys": { data: { keys: [], pagination } },
    "GET /v1/webhooks": { data: null },
  });
  const cwd = emptyDirectory(t);
  mkdirSync(join(cwd, "data"));
  const stored = { baseUrl: api.url, apiKey: KEY, adminKey: ADMIN_KEY };
  // As PowerShell writes it, with a byte order mark.
  writeFileSync(join(cwd, "data/credentials.json"), `\ufeff${JSON.stringify(stored)}`);
  const asked = async (args: string[], env: Record<string, string> = {}) => {
    const { code, stderr } = await runCli(args, { cwd, env });
    assert.deepEqual([code, stderr], [0, ""]);
    return api.requests.at(-1)?.headers.authorization;
  };
  assert.equal(await asked(["webhooks", "get"]), `Bearer ${KEY}`);
  assert.equal(await asked(["keys", "list"]), `Bearer ${ADMIN_KEY}`);
  assert.equal(await asked(["webhooks", "get"], { TIGHTBEAM_API_KEY: "tb_env" }), "Bearer tb_env");
  assert.equal(await asked(["webhooks", "get", "--key", "tb_o"], { TIGHTBEAM_API_KEY: "tb_env" }), "Bearer tb_o");
  const elsewhere = { TB_DATA_DIR: join(cwd, "data") };
  assert.equal((await runCli(["webhooks", "get"], { env: elsewhere })).code, 0);
});

test("a stored key is sent only to its own server", async (t) => {
  const api = await startApi(t, { "GET /v1/webhooks": { data: null } });
  const other = await startApi(t, { "GET /v1/webhooks": { data: null } });
  const dir = emptyDirectory(t);
  writeFileSync(join(dir, "credentials.json"), JSON.stringify({ baseUrl: api.url, apiKey: KEY }));
  const env = { TB_DATA_DIR: dir };
  const refused = await runOnTerminal(["webhooks", "get", "--url", other.url], env);
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /^error: no key for .*--key.*TIGHTBEAM_API_KEY/);
  assert.equal(other.requests.length, 0);
  const sameByName = api.url.replace("127.0.0.1", "localhost");
  assert.equal((await runOnTerminal(["webhooks", "get", "--url", sameByName], env)).code, 0);
  assert.equal(api.requests.at(-1)?.headers.authorization, `Bearer ${KEY}`);
});

test("keys go to a server on another machine only if credentials.json and its directory are this user's alone", async (t) => {
  const dir = emptyDirectory(t);
  const path = join(dir, "credentials.json");
  const env = { TB_DATA_DIR: dir, TIGHTBEAM_API_KEY: KEY };
  // Nobody listens there, and names that only look like loopback are others.
  for (const baseUrl of [
    "http://192.0.2.1:9",
    "http://loopback.invalid",
    "http://localhost.invalid",
    "http://127.0.0.1.invalid",
  ]) {
    writeFileSync(path, JSON.stringify({ baseUrl }));
    for (const [directoryMode, fileMode] of [
      [0o755, 0o600],
      [0o700, 0o644],
    ] as const) {
      chmodSync(dir, directoryMode);
      chmodSync(path, fileMode);
      for (const args of [
        ["webhooks", "get"],
        ["webhooks", "get", "--key", KEY],
        ["send", "+15005550100", "Hi"],
        ["doctor"],
      ]) {
        const { code, stderr } = await runOnTerminal(args, env);
        assert.notEqual(code, 0, args.join(" "));
        assert.match(stderr, /is not yours alone: nothing is sent there\. Pass --url/, `${args.join(" ")} ${baseUrl}`);
      }
    }
  }
  chmodSync(dir, 0o700);
  chmodSync(path, 0o600);
  writeFileSync(path, JSON.stringify({ baseUrl: "http://own.invalid" }));
  assert.doesNotMatch((await runOnTerminal(["webhooks", "get"], env)).stderr, /not yours alone/);
});

test("unusable credentials are reported in a sentence, without a stack", async (t) => {
  const dir = emptyDirectory(t);
  writeFileSync(join(dir, "credentials.json"), "{");
  const broken = await runOnTerminal(["webhooks", "get"], { TB_DATA_DIR: dir });
  assert.deepEqual([broken.code, broken.stdout], [2, ""]);
  assert.match(broken.stderr, /credentials\.json is not JSON/);
});

test("--version prints the package's version, and no warning of Node", async () => {
  const { code, stdout, stderr } = await runCli(["--version"]);
  assert.deepEqual([code, stderr], [0, ""]);
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
});
