/** The documentation under test: what there is, is documented, and nothing else is documented as being there. */

import assert from "node:assert/strict";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { ERROR_STATUS, EVENT_TYPES, MESSAGE_ERROR_CODES, MESSAGE_STATUSES } from "../sdk/wire.ts";
import { readConfig, SETTINGS } from "../server/config.ts";
import { parseDuration } from "../server/core/duration.ts";
import { TRANSITIONS } from "../server/core/message-lifecycle.ts";
import { newSigningSecret, signatureHeaders } from "../server/core/signature.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** The rows of the first table below a heading, their cells without backticks. */
function tableUnder(path: string, heading: string): string[][] {
  const after = read(path).split(new RegExp(`^#+ ${heading}$`, "m"))[1] ?? assert.fail(`${path} has no "${heading}"`);
  const lines = after.split("\n");
  const first = lines.findIndex((line) => line.startsWith("|"));
  const last = lines.findIndex((line, index) => index > first && !line.startsWith("|"));
  return lines.slice(first + 2, last).map((line) =>
    line
      .slice(1, line.lastIndexOf("|"))
      .split("|")
      .map((cell) => cell.trim().replace(/^`([^`]*)`$/, "$1")),
  );
}

/** Whether a word stands in quotes anywhere in the server: what is reserved does not. */
const SERVER_TEXT = globSync("server/**/*.ts", { cwd: ROOT })
  // The reference speaks of every one of them, whether it is used or not.
  .filter((path) => !path.endsWith(".test.ts") && !path.startsWith("server/api/openapi/"))
  .map(read)
  .join("\n");

function isInServer(word: string): boolean {
  return SERVER_TEXT.includes(`"${word}"`);
}

function assertEachOnce(rows: string[][]): void {
  const names = rows.map(([name]) => name);
  assert.deepEqual(names, [...new Set(names)], "something is documented twice");
  for (const row of rows) assert.match(row.at(-1) ?? "", /^[A-Za-z`].*\.$/, `${row[0]} has no sentence`);
}

test("every setting is documented with its flag, default and sentence, and no missing setting is", () => {
  assert.deepEqual(
    tableUnder("docs/configuration.md", "Settings"),
    SETTINGS.map((row) => [row.name, row.flag, row.default ?? "", row.description]),
  );
});

test("no document mentions a setting that does not exist", () => {
  const known = SETTINGS.map((row) => row.name);
  const documents = globSync("{*.md,docs/**/*.md}", { cwd: ROOT });
  const mentioned = documents.flatMap((path) => [...read(path).matchAll(/\bTB_[A-Z_]*[A-Z]\b/g)].map(([name]) => name));
  assert.deepEqual(
    mentioned.filter((name) => !known.includes(name)),
    [],
  );
});

test("every error code is documented with its status, and returned somewhere", () => {
  const rows = tableUnder("docs/errors.md", "Codes");
  assertEachOnce(rows);
  const documented = rows.map(([code = "", status]) => [code, Number(status)]);
  assert.deepEqual(documented.sort(), Object.entries(ERROR_STATUS).sort());
  for (const [code = ""] of rows) assert.ok(isInServer(code), `${code} is not used`);
});

test("every errorCode of a failed message is documented, and none that does not exist", () => {
  const rows = tableUnder("docs/errors.md", "Why a message failed");
  assertEachOnce(rows);
  assert.deepEqual(rows.map(([code]) => code).sort(), [...MESSAGE_ERROR_CODES].sort());
});

test("every error of a delivery attempt is documented, and none that does not exist", () => {
  const documented = tableUnder("docs/errors.md", "Why a delivery attempt failed");
  assertEachOnce(documented);
  const outgoing = ["server/outgoing/post.ts", "server/outgoing/connection.ts"].map(read).join("\n");
  const unions = [...outgoing.matchAll(/type (?:PostError|ConnectFailure) =([^;]+);/g)].map(([, union]) => union ?? "");
  const words = unions.flatMap((union) => [...union.matchAll(/"([A-Z_]+)"/g)].map(([, word]) => word ?? ""));
  // A stop of the service is not counted as an attempt, so nobody sees its word.
  assert.deepEqual(documented.map(([word]) => word).sort(), words.filter((word) => word !== "STOPPED").sort());
});

test("every event type is documented, and sent somewhere", () => {
  const rows = tableUnder("docs/events.md", "Types");
  assertEachOnce(rows);
  assert.deepEqual(rows.map(([type]) => type).sort(), [...EVENT_TYPES].sort());
  for (const [type = ""] of rows) assert.ok(isInServer(type), `${type} is not sent`);
});

test("the documented retry schedule is the default of the settings", () => {
  const rows = tableUnder("docs/events.md", "Success, failure, repeats");
  assert.deepEqual(
    rows.map(([retry, delay = ""]) => [Number(retry), parseDuration(delay)]),
    readConfig({}).webhookRetryScheduleMs.map((delayMs, index) => [index + 1, delayMs]),
  );
});

test("every status is documented, and the transitions are those of the code", () => {
  const statuses = tableUnder("docs/lifecycle.md", "The life of a message").map(([status]) => status);
  assert.deepEqual(statuses, [...MESSAGE_STATUSES]);
  const transitions = Object.entries(TRANSITIONS).flatMap(([signal, moves]) =>
    Object.entries(moves).map(([from, to]) => [signal, from, to]),
  );
  assert.deepEqual(tableUnder("docs/lifecycle.md", "Transitions"), transitions);
});

test("the documented receiver accepts the service's signatures, and no others", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "tightbeam-docs-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const code = /```js\n(.*?)```/s.exec(read("docs/events.md"))?.[1] ?? assert.fail("there is no example");
  const file = join(directory, "receiver.mjs");
  writeFileSync(file, code);
  const { isGenuine } = (await import(file)) as {
    isGenuine(headers: Record<string, string>, body: Buffer, secret: string): boolean;
  };
  const secret = newSigningSecret((size) => new Uint8Array(size).fill(7));
  const body = Buffer.from('{"id":"evt_1"}');
  const signed = (sentAtSeconds: number) => {
    const headers = signatureHeaders({ eventId: "evt_1", body, secret, previousSecret: null, sentAtSeconds });
    return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  };
  const now = Math.floor(Date.now() / 1000);
  assert.equal(isGenuine(signed(now), body, secret), true);
  assert.equal(isGenuine(signed(now), Buffer.from('{"id":"evt_2"}'), secret), false);
  assert.equal(isGenuine(signed(now), body, `${secret}x`), false);
  assert.equal(isGenuine(signed(now - 310), body, secret), false);
  assert.equal(isGenuine({ ...signed(now), "x-signature": "sha256=" }, body, secret), false);
  assert.equal(isGenuine({ ...signed(now), "x-timestamp": "soon" }, body, secret), false);
  assert.equal(isGenuine({}, body, secret), false);
});

test("every link between documents has a target", () => {
  const broken = globSync("{*.md,docs/**/*.md}", { cwd: ROOT }).flatMap((path) =>
    [...read(path).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)]
      .map(([, target = ""]) => join(dirname(path), target))
      .filter((target) => globSync(target, { cwd: ROOT }).length === 0)
      .map((target) => `${path} → ${target}`),
  );
  assert.deepEqual(broken, []);
});

/** Every file of the repository that is source, a document or configuration. */
const FILES = globSync(["{*,.ci/*}", "{contract,sdk,server,site,cli,test,bench,docs,examples}/**/*"], {
  cwd: ROOT,
}).filter((path) => !/(^|\/)(node_modules|dist)(\/|$)/.test(path));
const CODE = FILES.filter((path) => /\.[jt]s$/.test(path) && path !== "test/docs.test.ts");
const CODE_TEXT = CODE.map(read).join("\n");

const MAP = "docs/architecture.md";
const DOCUMENTS = globSync("docs/**/*.md", { cwd: ROOT });

/** The words in backticks of a document, apart from its fenced blocks. */
function namesIn(path: string): string[] {
  const text = read(path).replace(/```.*?```/gs, "");
  return [...new Set([...text.matchAll(/`([^`\n]+)`/g)].map(([, name = ""]) => name))];
}

/** The files and directories that a path of a document may mean: from the root, from the engine or, for a bare name, anywhere. */
function filesOf(named: string): string[] {
  const path = named.replace("<name>", "twilio").replace(/\/$/, "");
  return FILES.filter((file) =>
    path.includes("/")
      ? [path, `server/${path}`, `server/engine/${path}`].includes(file)
      : file === path || file.endsWith(`/${path}`),
  );
}

function hasWord(text: string, word: string): boolean {
  return new RegExp(`(?<![\\w$])${word.replaceAll("$", "\\$")}(?![\\w$])`).test(text);
}

test("every file of this repository that a document names exists", () => {
  const isFile = (name: string) => /^[\w<>-][\w.<>/-]*\.(ts|js|md|jsonc)$/.test(name);
  const missing = DOCUMENTS.flatMap((path) =>
    namesIn(path)
      .filter((name) => isFile(name) && filesOf(name).length === 0)
      .map((name) => `${name} in ${path}`),
  );
  assert.deepEqual(missing, []);
});

test("every path, symbol, metric and script that the map names exists", () => {
  const isPath = (name: string) => /^[\w.<>/-]+(\.(ts|js|md|jsonc)|\/)$/.test(name) && !/^\/|^\.\.?\//.test(name);
  const isSymbol = (name: string) => /^#?[A-Za-z][\w]*$/.test(name);
  const metrics = read("server/metrics.ts");
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const names = namesIn(MAP);
  assert.ok(names.filter(isPath).length > 100 && names.filter(isSymbol).length > 60);
  const missing = names.filter((name) => {
    if (isPath(name)) return filesOf(name).length === 0;
    if (name.startsWith("tightbeam_")) return !metrics.includes(name.replace(/\{.*/, ""));
    if (name.startsWith("npm run ")) return !((name.split(" ")[2] ?? "") in scripts);
    if (name.startsWith("npm test -- "))
      return name
        .split(" ")
        .slice(3)
        .map((word) => word.replace("<name>", "twilio"))
        .some((word) => !FILES.some((path) => path.endsWith(".test.ts") && path.includes(word)));
    return isSymbol(name) && !hasWord(CODE_TEXT, name) && filesOf(`${name}.ts`).length === 0;
  });
  assert.deepEqual(missing, []);
});

test("every symbol that a document places in a file is in that file", () => {
  const placed = DOCUMENTS.flatMap((document) => {
    const text = read(document).replaceAll("\n", " ").replace(/ +/g, " ");
    return [...text.matchAll(/`(#?[A-Za-z]\w*)`(?: and `(#?[A-Za-z]\w*)`)? in `([\w./-]+\.ts)`/g)].map(
      ([, first, second, path = ""]) => ({ document, names: [first, second], path }),
    );
  });
  assert.ok(placed.length > 20);
  const wrong = placed.flatMap(({ document, names, path }) =>
    names
      .filter((name) => name !== undefined && !filesOf(path).some((file) => hasWord(read(file), name)))
      .map((name) => `${name} in ${path} (${document})`),
  );
  assert.deepEqual(wrong, []);
});
