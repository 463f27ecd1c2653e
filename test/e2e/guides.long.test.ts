/** The guides as a new user follows them: every command pasted in order, every program run, against a fresh service. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startTestService } from "../support/service.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const GUIDES = globSync("docs/guides/*.md", { cwd: ROOT }).filter((path) => basename(path) !== "README.md");
const INDEX = readFileSync(join(ROOT, "docs/guides/README.md"), "utf8");

/** The code of a guide, in order. */
function blocks(text: string): { language: string; code: string }[] {
  return [...text.matchAll(/^```(sh|js)\n(.*?)^```$/gms)].map(([, language = "", code = ""]) => ({ language, code }));
}

const SHORTHANDS = blocks(INDEX).find(({ code }) => code.includes("api()"))?.code ?? assert.fail("no shorthands");

test("every guide is in the index, in order, and links to the next", () => {
  const listed = [...INDEX.matchAll(/^\d\. \[[^\]]*\]\((\w+\.md)\)/gm)].map(([, name = ""]) => name);
  assert.deepEqual([...listed].sort(), GUIDES.map((path) => basename(path)).sort());
  for (const [index, name] of listed.entries()) {
    const next = listed[index + 1];
    if (next === undefined) continue;
    assert.ok(readFileSync(join(ROOT, "docs/guides", name), "utf8").includes(`(${next})`), `${name} leads to ${next}`);
  }
});

for (const path of GUIDES) {
  test(`every command and program of ${path} works, and no answer is a refusal`, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), "tightbeam-guide-"));
    t.after(() => rmSync(directory, { recursive: true, force: true }));
    const api = await startTestService({ TB_SANDBOX_INBOX: "on" }, { inThreads: true });
    t.after(() => api.stop());
    const env = {
      PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
      TIGHTBEAM_URL: api.url,
      TIGHTBEAM_API_KEY: api.key,
    };
    const run = promisify(execFile);
    let pasted = SHORTHANDS;
    for (const { language, code } of blocks(readFileSync(join(ROOT, path), "utf8"))) {
      if (language === "sh") {
        pasted += code;
        continue;
      }
      await paste(pasted);
      pasted = SHORTHANDS;
      const file = join(directory, "program.mjs");
      writeFileSync(file, code.replaceAll('"@tightbeam/sdk"', JSON.stringify(`file://${join(ROOT, "sdk/index.ts")}`)));
      const { stderr } = await run(process.execPath, [file], { env, timeout: 30_000 });
      assert.equal(stderr, "");
    }
    await paste(pasted);

    /** Runs commands in one shell that stops at the first that fails. */
    async function paste(commands: string): Promise<void> {
      const { stdout, stderr } = await run("bash", ["--norc", "-euo", "pipefail", "-c", commands], {
        cwd: directory,
        env,
        timeout: 60_000,
      });
      const refused = stdout.split("\n").filter((line) => line.startsWith('{"success":false'));
      assert.deepEqual(refused, [], commands);
      const silent = stdout.split("\n").filter((line) => line.startsWith('{"success":true,"data":null'));
      assert.deepEqual(silent, [], "a wait was in vain");
      assert.equal(stderr.replace(/^curl: \(28\).*\n/m, ""), "");
    }
  });
}
