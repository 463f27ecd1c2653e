/** The tarballs of `npm run pack` as users install them: in empty projects, on the Nodes they support, with strict TypeScript as ES modules and as CommonJS. */

import assert from "node:assert/strict";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, before, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { TEST_FILE, testOf } from "../../console/pages/phone/recording.ts";
import type { RecordedStep } from "../../sdk/play-steps.ts";
import { emptyDirectory } from "../support/cli.ts";
import { type Exit, KEY, type Running, type Scope, spawnCommand, startProcess } from "../support/process.ts";
import { userEnvironment } from "../support/user-environment.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const TSC = join(ROOT, "node_modules/typescript/bin/tsc");
/** The oldest Node that runs the client, the oldest that runs the service, and one that can only say that it is too old. */
const OLDEST_OF_CLIENT = "20.3.0";
const OLDEST = "24.15.0";
const TOO_OLD = "12.22.12";
/** A Node is 50 MB from the registry, unless npm has it in its cache. A registry that takes longer is no failure of ours. */
const DOWNLOAD_MS_MAX = 300_000;
const TIMEOUT_MS = 900_000;

const scratch = mkdtempSync(join(tmpdir(), "tightbeam-packages-"));
after(async () => {
  for (const end of ends) await end();
  rmSync(scratch, { recursive: true, force: true });
});
/** Whatever starts here ends with this file. */
const ends: (() => unknown)[] = [];
const AT_THE_END: Scope = { after: (end) => void ends.push(end) };
const server = join(scratch, "tightbeam-0.1.0.tgz");
const client = join(scratch, "tightbeam-sdk-0.1.0.tgz");

/** The environment of a user whose `node` is the given one. */
function environmentOf(node: string, more: Record<string, string> = {}): Record<string, string> {
  const bin = mkdtempSync(join(scratch, "bin-"));
  symlinkSync(node, join(bin, "node"));
  return userEnvironment({ PATH: `${bin}:${process.env.PATH}`, ...more });
}

interface Ran extends Exit {
  stdout: string;
  stderr: string;
}

/** Runs a command in a directory to its end. */
async function runIn(
  t: Scope,
  directory: string,
  command: readonly string[],
  env = environmentOf(process.execPath),
): Promise<Ran> {
  const { exited, output } = spawnCommand(t, ["env", "-C", directory, ...command], env);
  return { ...(await exited), ...output };
}

async function succeeds(...run: Parameters<typeof runIn>): Promise<string> {
  const { code, stdout, stderr } = await runIn(...run);
  assert.equal(code, 0, `${run[2].join(" ")}\n${stdout}\n${stderr}`);
  return stdout;
}

/** An empty project that npm has installed tarballs in. */
async function projectWith(t: TestContext, type: "module" | "commonjs", tarballs: string[]): Promise<string> {
  const directory = realpathSync(emptyDirectory(t));
  writeFileSync(join(directory, "package.json"), JSON.stringify({ name: "project", private: true, type }));
  await succeeds(t, directory, ["npm", "install", ...tarballs]);
  return directory;
}

/** The program of a Node version, which npm installs once; null if npm cannot get it for this machine, or not in time. */
function installNode(version: string): Promise<string | null> {
  const installed = nodes.get(version) ?? downloadNode(version);
  nodes.set(version, installed);
  return installed;
}

const nodes = new Map<string, Promise<string | null>>();

async function downloadNode(version: string): Promise<string | null> {
  const { platform, arch } = process;
  const name = `${platform === "darwin" && arch === "arm64" ? "node-bin" : "node"}-${platform}-${arch}`;
  const directory = join(scratch, `node-${version}`);
  const program = join(directory, "node_modules/node/bin/node");
  mkdirSync(directory, { recursive: true });
  const install = ["npm", "install", "--prefix", directory, `node@npm:${name}@${version}`];
  const { code } = await runIn(AT_THE_END, directory, ["timeout", String(DOWNLOAD_MS_MAX / 1_000), ...install]);
  return code === 0 ? program : null;
}

before(async () => {
  const { exited, output } = spawnCommand(
    { after },
    ["npm", "run", "pack", "--", scratch],
    environmentOf(process.execPath),
  );
  assert.equal((await exited).code, 0, output.stderr);
  assert.deepEqual(
    readdirSync(scratch).filter((name) => name.endsWith(".tgz")),
    ["tightbeam-0.1.0.tgz", "tightbeam-sdk-0.1.0.tgz"],
  );
});

/** A program of a user: it sends a message, and verifies the webhooks of it until the message is delivered. */
const PROGRAM = `
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Message, Tightbeam, TightbeamError } from "@tightbeam/sdk";
import { constructSignature, type Event, expressWebhookHandler, verifyWebhook } from "@tightbeam/sdk/webhook";
VECTORS

async function main(): Promise<void> {
  const tightbeam = new Tightbeam({ maxRetries: 0 });
  const delivered = new Promise<Event<"message.delivered">>((resolve, reject) => {
    const secret = "whsec_" + Buffer.alloc(32, 7).toString("base64");
    const handle = expressWebhookHandler({ "message.delivered": (event) => resolve(event) }, { secret });
    const server = createServer((request, response) => void handle(request, response).catch(reject));
    server.listen(0, "127.0.0.1", async () => {
      const { port } = server.address() as AddressInfo;
      await tightbeam.webhooks.set({ url: \`http://127.0.0.1:\${port}/\`, events: ["*"], secret });
      const sent: Pick<Message, "id" | "status"> = await tightbeam.messages.send({ to: "+15005550100", content: { text: "Hello" } });
      // @ts-expect-error A status is one of a list.
      sent.status === "nonsense";
    });
  });
  const { data } = await delivered;
  const status: Message["status"] = data.status;
  const refused = await tightbeam.messages.get("msg_nobody").catch((error: unknown) => error);
  if (!(refused instanceof TightbeamError)) throw refused;
  const headers = await constructSignature({ body: "{}", secret: "secret" });
  const reason: string = await verifyWebhook({ body: "{}", headers, secret: "another" }).then(
    () => "nothing",
    ({ reason }) => reason,
  );
  console.log(JSON.stringify({ status, code: refused.code, reason, vectors: vectors.vectors.length > 0 }));
  process.exit(0);
}

void main();
`;

const KINDS = [
  { type: "module", vectors: 'import vectors from "@tightbeam/sdk/vectors.json" with { type: "json" };' },
  { type: "commonjs", vectors: 'import vectors = require("@tightbeam/sdk/vectors.json");' },
] as const;

/** Compiles the program in a project with strict TypeScript, which checks the types of the client too. */
async function compile(t: TestContext, project: string, vectors: string): Promise<void> {
  writeFileSync(join(project, "program.ts"), PROGRAM.replace("VECTORS", vectors));
  const options = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--skipLibCheck", "false"];
  const types = ["--types", "node", "--typeRoots", join(ROOT, "node_modules/@types")];
  const compiling = [TSC, ...options, ...types, "--module", "nodenext", "--target", "es2022", "program.ts"];
  await succeeds(t, project, [process.execPath, ...compiling]);
}

/** Starts the service that npm installed in a project. */
function serveFrom(t: TestContext, project: string, node: string): Promise<Running> {
  const program = [node, join(project, "node_modules/tightbeam/cli/bin.js"), "serve"];
  return startProcess(t, { dataDir: join(project, "data"), program });
}

async function runProgram(t: TestContext, project: string, node: string, { url }: Running): Promise<unknown> {
  const env = environmentOf(node, { TIGHTBEAM_URL: url, TIGHTBEAM_API_KEY: KEY });
  return JSON.parse(await succeeds(t, project, ["node", "program.js"], env));
}

/** Reads every page of the documentation that the start page names. */
async function readsDocs(url: string): Promise<void> {
  const start = await fetch(`${url}/docs`).then((response) => response.text());
  assert.match(start, /<script type="module"[^>]* src="\/assets\//, "the shell is built");
  const addresses = new Set([...start.matchAll(/href="(\/docs\/[\w/-]+)/g)].map(([, address = ""]) => address));
  for (const page of ["guides/sending", "sdk", "operating", "reference/messages"])
    assert.ok(addresses.has(`/docs/${page}`), page);
  for (const address of addresses) assert.equal((await fetch(url + address)).status, 200, address);
}

const EXPECTED = { status: "delivered", code: "NOT_FOUND", reason: "SIGNATURE_WRONG", vectors: true };

for (const { type, vectors } of KINDS) {
  test(`in an empty project of type ${type}, strict TypeScript sends a message and verifies its webhooks`, {
    timeout: TIMEOUT_MS,
  }, async (t) => {
    const project = await projectWith(t, type, [server, client]);
    await compile(t, project, vectors);
    const emitted = readFileSync(join(project, "program.js"), "utf8");
    assert.equal(emitted.includes("require("), type === "commonjs");
    const worksOn = async (scope: TestContext, node: string) => {
      const service = await serveFrom(scope, project, node);
      assert.deepEqual(await runProgram(scope, project, node, service), EXPECTED);
      const handedOut = await fetch(`${service.url}/sdk.tgz`);
      assert.deepEqual(Buffer.from(await handedOut.arrayBuffer()), readFileSync(client));
      await readsDocs(service.url);
      assert.deepEqual(await service.end("SIGTERM"), { code: 0, signal: null });
    };
    await t.test("on this Node", { timeout: TIMEOUT_MS }, (scope) => worksOn(scope, process.execPath));
    await t.test(`on the oldest supported Node, ${OLDEST}`, { timeout: TIMEOUT_MS }, async (scope) => {
      const node = await installNode(OLDEST);
      return node === null ? scope.skip(`npm cannot install Node ${OLDEST} here`) : worksOn(scope, node);
    });
  });
}

test("the oldest supported Nodes of these tests are those of package.json", () => {
  const engineOf = (path: string) => JSON.parse(readFileSync(join(ROOT, path), "utf8")).engines.node;
  assert.equal(`${engineOf("package.json")}.0`, `>=${OLDEST}`);
  assert.equal(`${engineOf("sdk/package.json")}.0`, `>=${OLDEST_OF_CLIENT}`);
});

test("a recorded test runs as saved, by the commands of its first lines, in a project that npm init made", {
  timeout: TIMEOUT_MS,
}, async (t) => {
  const steps = [
    { send: { to: "+15005550110", content: { text: "Hello" } }, as: "sent" },
    { event: "message.inbound", data: { text: "You said: Hello" } },
  ] as const;
  const installed = await projectWith(t, "module", [server]);
  const service = await serveFrom(t, installed, process.execPath);
  const runsOn = async (scope: TestContext, node: string) => {
    const project = realpathSync(emptyDirectory(t));
    const env = environmentOf(node);
    await succeeds(scope, project, ["npm", "init", "-y"], environmentOf(process.execPath));
    const run = async (saved: readonly RecordedStep[]) => {
      const code = testOf(saved, "as recorded", service.url);
      writeFileSync(join(project, TEST_FILE), code);
      const [install = "", play = ""] = [...code.matchAll(/^\/\/ {3}((?:npm install|TIGHTBEAM_URL).*)$/gm)].map(
        ([, line]) => line,
      );
      await succeeds(scope, project, ["sh", "-c", install], environmentOf(process.execPath));
      return await runIn(scope, project, ["sh", "-c", play.replace("tb_...", KEY)], env);
    };
    const { code, stdout, stderr } = await run(steps);
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, /wait for message\.inbound/);
    const failed = await run([{ phone: "+15005550199", react: { messageId: "msg_nobody", type: "like" } }]);
    assert.equal(failed.code, 1, failed.stdout);
    assert.match(failed.stdout, /msg_nobody/);
    const keyed = environmentOf(process.execPath, { TIGHTBEAM_URL: service.url, TIGHTBEAM_API_KEY: KEY });
    const command = [join(installed, "node_modules/.bin/tightbeam"), "test", TEST_FILE];
    assert.equal((await runIn(scope, project, command, keyed)).code, 1, "the command gives the same answer");
  };
  await t.test("on this Node", { timeout: TIMEOUT_MS }, (scope) => runsOn(scope, process.execPath));
  for (const version of [OLDEST_OF_CLIENT, OLDEST]) {
    await t.test(`on Node ${version}`, { timeout: TIMEOUT_MS }, async (scope) => {
      const node = await installNode(version);
      return node === null ? scope.skip(`npm cannot install Node ${version} here`) : runsOn(scope, node);
    });
  }
});

test("an installed service on a Node that is too old ends with one clear line", {
  timeout: TIMEOUT_MS,
}, async (t) => {
  const node = await installNode(TOO_OLD);
  if (node === null) return t.skip(`npm cannot install Node ${TOO_OLD} here`);
  const project = await projectWith(t, "module", [server]);
  const { code, stdout, stderr } = await runIn(
    t,
    project,
    ["node_modules/.bin/tightbeam", "serve"],
    environmentOf(node),
  );
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /^error: tightbeam needs Node >=24\.15, and this is 12\.22\.12 \(.+\)\.\n$/);
});

test("npx serves the tarball from an empty directory, and keeps its data there", async (t) => {
  const directory = realpathSync(emptyDirectory(t));
  copyFileSync(server, join(directory, "tightbeam-0.1.0.tgz"));
  // A process group of its own, as a terminal makes one: npx passes no signal on.
  const program = ["setsid", "env", "-C", directory, "npx", "--yes", "./tightbeam-0.1.0.tgz", "serve"];
  // npx keeps packages by their relative path: one of an earlier run would be served.
  const cache = join(scratch, "npm-cache");
  const env = environmentOf(process.execPath, { TB_DATA_DIR: "", npm_config_cache: cache });
  const service = await startProcess(t, { dataDir: "", env, program, startMsMax: 180_000 });
  t.after(() => endGroup(service.pid));
  const { status, data } = await service.ask("POST", "/v1/messages", { to: "+15005550100", content: { text: "Hi" } });
  assert.deepEqual([status, data.status], [202, "queued"]);
  assert.ok(readdirSync(join(directory, "data")).includes("tightbeam.db"));
  process.kill(-service.pid, "SIGTERM");
  await service.exited;
  assert.match(service.output.stdout, /"event":"stopped"/);
});

test("the packages have what they need and nothing else", async (t) => {
  const project = await projectWith(t, "module", [server, client]);
  const installed = join(project, "node_modules");
  assert.deepEqual(
    readdirSync(installed)
      .filter((name) => !name.startsWith("."))
      .sort(),
    ["@tightbeam", "tightbeam"],
  );
  assert.deepEqual(readdirSync(join(installed, "tightbeam")).sort(), [
    "LICENSE",
    "README.md",
    "THIRD-PARTY-LICENSES.txt",
    "cli",
    "dist",
    "package.json",
  ]);
  assert.deepEqual(readdirSync(join(installed, "tightbeam/dist")).sort(), ["cli", "console", "sdk.tgz"]);
  assert.ok(readdirSync(join(installed, "tightbeam/dist/console")).every((name) => !name.startsWith(".")));
  assert.deepEqual(readdirSync(join(installed, "@tightbeam/sdk")).sort(), [
    "LICENSE",
    "README.md",
    "dist",
    "package.json",
    "vectors.json",
  ]);
  assert.deepEqual(
    readFileSync(join(installed, "tightbeam/dist/sdk.tgz")),
    readFileSync(client),
    "the service has the same client",
  );
  for (const extension of ["js", "cjs"]) {
    const loaded = closureOf(join(installed, "@tightbeam/sdk/dist"), `webhook.${extension}`);
    assert.deepEqual(loaded.sort(), [`receiver.${extension}`, `signature.${extension}`, `webhook.${extension}`]);
  }
});

test("the package of the service has the licenses of all it bundles, the same in each build", {
  timeout: TIMEOUT_MS,
}, async (t) => {
  const project = await projectWith(t, "module", [server]);
  const installed = join(project, "node_modules/tightbeam");
  const licenses = readFileSync(join(installed, "THIRD-PARTY-LICENSES.txt"), "utf8");
  const listed = [...licenses.matchAll(/^-{80}\n(\S+) \S+ \(.+\)\n-{80}\n\n\S/gm)].map(([, name]) => name);
  assert.deepEqual(listed, [...listed].sort(), "in order of the names");
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  for (const name of [...Object.keys(dependencies), "react", "wouter", "tailwindcss"]) {
    assert.ok(listed.includes(name), `the license of ${name}`);
  }
  assert.ok(!listed.includes("tightbeam") && !listed.includes("vite"));
  const again = join(scratch, "again");
  await succeeds(t, ROOT, ["npm", "run", "pack", "--", again]);
  const other = await projectWith(t, "module", [join(again, "tightbeam-0.1.0.tgz")]);
  assert.equal(readFileSync(join(other, "node_modules/tightbeam/THIRD-PARTY-LICENSES.txt"), "utf8"), licenses);
});

/** Ends the processes of a group that still run. */
function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // All have ended.
  }
}

/** The files of a directory that a file of it loads, itself included. */
function closureOf(directory: string, file: string): string[] {
  const source = readFileSync(join(directory, file), "utf8");
  const imports = [...source.matchAll(/(?:from |require\()"\.\/([^"]+)"/g)].map(([, name = ""]) => name);
  return [...new Set([file, ...imports.flatMap((name) => closureOf(directory, name))])];
}
