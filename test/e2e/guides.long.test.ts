/** The guides as a new user follows them, by curl, in TypeScript and by the command line: every tab run in order, each language against a fresh service. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmodSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import test, { type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { emptyDirectory } from "../support/cli.ts";
import { freePort } from "../support/free-port.ts";
import { GUIDE_LANGUAGES, type GuideLanguage, type GuideStep, programOf, readGuide } from "../support/guide-code.ts";
import { type RecordedRequest, startRecordingProxy } from "../support/recording-proxy.ts";
import { startTestService } from "../support/service.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const textOf = (path: string) => readFileSync(join(ROOT, path), "utf8");
const GUIDES = globSync("docs/guides/*.md", { cwd: ROOT }).filter((path) => basename(path) !== "README.md");
const INDEX = textOf("docs/guides/README.md");
const SHORTHANDS = readGuide(INDEX).find(({ curl }) => curl?.includes("api()"))?.curl ?? assert.fail("no shorthands");
const CLIENT = join(ROOT, "sdk/index.ts");
const run = promisify(execFile);

test("every guide is in the index, in order, and links to the next", () => {
  const listed = [...INDEX.matchAll(/^\d\. \[[^\]]*\]\((\w+\.md)\)/gm)].map(([, name = ""]) => name);
  assert.deepEqual([...listed].sort(), GUIDES.map((path) => basename(path)).sort());
  for (const [index, name] of listed.entries()) {
    const next = listed[index + 1];
    if (next === undefined) continue;
    assert.ok(textOf(`docs/guides/${name}`).includes(`(${next})`), `${name} leads to ${next}`);
  }
});

test("every curl of the guides has TypeScript beside it, which strict TypeScript accepts", async (t) => {
  const directory = emptyDirectory(t);
  for (const path of GUIDES) {
    for (const [index, { curl, TypeScript }] of readGuide(textOf(path)).entries()) {
      if (TypeScript === undefined) assert.equal(curl, undefined, `${path} has only a curl for: ${curl}`);
      else writeFileSync(join(directory, `${basename(path, ".md")}-${index}.mts`), programOf(TypeScript, CLIENT));
    }
  }
  const { compilerOptions } = JSON.parse(textOf("tsconfig.json"));
  const options = { ...compilerOptions, incremental: false, typeRoots: [join(ROOT, "node_modules/@types")] };
  const config = join(directory, "tsconfig.json");
  writeFileSync(config, JSON.stringify({ compilerOptions: options, include: [directory] }));
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  const { stdout } = await run(process.execPath, [tsc, "-p", config]).catch((error) => error);
  assert.equal(stdout, "");
});

for (const path of GUIDES) {
  test(`${path} works by curl, in TypeScript and by the command line, with the same requests`, async (t) => {
    const port = String(await freePort());
    const steps = readGuide(textOf(path).replaceAll(/\b3000\b/g, port));
    const requests: Partial<Record<GuideLanguage, RecordedRequest[][]>> = {};
    for (const language of GUIDE_LANGUAGES) {
      if (steps.some((step) => step[language] !== undefined)) requests[language] = await follow(t, steps, language);
    }
    for (const [index, { curl, TypeScript, CLI }] of steps.entries()) {
      const expected = requests.curl?.[index];
      if (curl === undefined || expected === undefined) continue;
      assert.deepEqual(distinct(requests.TypeScript?.[index]), distinct(expected), `${curl}\n${TypeScript}`);
      // The command line also reads, such as the progress of a message, and leaves out what is the default.
      if (CLI !== undefined) assert.deepEqual(changes(requests.CLI?.[index]), changes(expected), `${curl}\n${CLI}`);
    }
  });
}

/** The requests without repetitions: the client reads a list page by page, and finds out where a stream begins. */
function distinct(requests: RecordedRequest[] = []): string[] {
  const withoutTimes = ({ body, ...request }: RecordedRequest) =>
    JSON.stringify({ ...request, body }).replace(/"scheduledAt":"[^"]+"/, '"scheduledAt":"…"');
  const listed = requests.map(withoutTimes).filter((request) => !request.includes('"/v1/events?limit=1"'));
  return [...new Set(listed)].sort();
}

function changes(requests: RecordedRequest[] = []): string[] {
  return requests
    .filter(({ method }) => method !== "GET")
    .map(({ method, path, status }) => `${method} ${path} ${status}`)
    .sort();
}

test("every wait of the guides names a message or an earlier event, so that no event of an earlier try answers it", () => {
  const waits = GUIDES.flatMap((path) => textOf(path).match(/.*\bsandbox(?:\/|\.| )wait\b.*\btype\b.*/g) ?? []);
  assert.ok(waits.length >= 20, `${waits.length} waits`);
  assert.deepEqual(
    waits.filter((wait) => !/messageId|--message|\bafter\b/.test(wait)),
    [],
  );
});

/** Follows a guide in one language. Returns the requests of each step. */
async function follow(t: TestContext, steps: GuideStep[], language: GuideLanguage): Promise<RecordedRequest[][]> {
  const api = await startTestService({ TB_SANDBOX_INBOX: "on" }, { inThreads: true });
  t.after(() => api.stop());
  const { url, steps: requests } = await startRecordingProxy(t, api.url);
  const directory = emptyDirectory(t);
  const env = {
    PATH: `${npxOf(directory)}:${dirname(process.execPath)}:${process.env.PATH}`,
    HOME: directory,
    TIGHTBEAM_URL: url,
    TIGHTBEAM_API_KEY: api.key,
  };
  let pasted = SHORTHANDS;
  for (const step of steps) {
    const { curl, TypeScript } = step;
    // A program without a curl beside it belongs to every language.
    if (TypeScript !== undefined && (language === "TypeScript" || curl === undefined)) {
      await paste(pasted, directory, env);
      pasted = SHORTHANDS;
      await runProgram(TypeScript, directory, env);
    } else pasted += step[language] ?? "";
    pasted += `curl -sS $TIGHTBEAM_URL/next-step\n`;
  }
  await paste(pasted, directory, env);
  return requests;
}

/** A directory with an `npx` that starts the command line of the sources, sooner than npm's. */
function npxOf(directory: string): string {
  const bin = join(directory, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "npx"), `#!/bin/sh\nshift\nexec node ${join(ROOT, "cli/bin.js")} "$@"\n`);
  chmodSync(join(bin, "npx"), 0o755);
  return bin;
}

/** Runs a snippet, which prints something. */
async function runProgram(snippet: string, directory: string, env: NodeJS.ProcessEnv): Promise<void> {
  const file = join(directory, "try.mts");
  writeFileSync(file, programOf(snippet, CLIENT));
  const { stdout, stderr } = await run(process.execPath, [file], { env, timeout: 120_000 });
  assert.equal(stderr, "", snippet);
  if (!snippet.includes("export ")) assert.match(stdout, /\S/, snippet);
  assert.doesNotMatch(stdout, /^undefined\b/m, snippet);
}

/** Runs commands in one shell that stops at the first that fails. */
async function paste(commands: string, directory: string, env: NodeJS.ProcessEnv): Promise<void> {
  const shell = ["--norc", "-euo", "pipefail", "-c", commands];
  const { stdout, stderr } = await run("bash", shell, { cwd: directory, env, timeout: 120_000 });
  assert.doesNotMatch(stdout, /^ {2}"success": false/m, "a request was refused");
  assert.doesNotMatch(stdout, /^( {2}"data": )?null,?$/m, "a wait was in vain");
  assert.equal(stderr.replace(/^curl: \(28\).*\n/m, "").replace(/^error: DELIVERY_FAILED .*\n/m, ""), "");
}
