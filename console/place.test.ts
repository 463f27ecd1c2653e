import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { takePlace } from "./place.ts";

const PROCESSES = 4;
const BUILDS = 200;

function emptyDirectory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "tightbeam-place-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function makeBuild(parent: string, name: string): string {
  const directory = join(parent, name);
  mkdirSync(directory);
  writeFileSync(join(directory, "index.html"), name);
  return directory;
}

test("a build takes the place of the former one, of which nothing is left", (t) => {
  const parent = emptyDirectory(t);
  const target = join(parent, "console");
  for (const name of ["first", "second"]) {
    takePlace(makeBuild(parent, name), target, () => false);
    assert.equal(readFileSync(join(target, "index.html"), "utf8"), name);
  }
  assert.deepEqual(readdirSync(parent), ["console"]);
});

test("processes that build at once do not fail, and leave one of their builds", async (t) => {
  const parent = emptyDirectory(t);
  const target = join(parent, "console");
  const script = `
    import { existsSync, mkdirSync, writeFileSync } from "node:fs";
    import { takePlace } from ${JSON.stringify(new URL("place.ts", import.meta.url).href)};
    for (let build = 0; build < ${BUILDS}; build += 1) {
      const directory = ${JSON.stringify(parent)} + "/" + process.pid + "-" + build;
      mkdirSync(directory);
      writeFileSync(directory + "/index.html", directory);
      takePlace(directory, ${JSON.stringify(target)}, () => existsSync(${JSON.stringify(join(target, "index.html"))}));
    }`;
  const ended = Array.from({ length: PROCESSES }, async () => {
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script], { stdio: "inherit" });
    return (await once(child, "exit"))[0];
  });
  assert.deepEqual(await Promise.all(ended), Array(PROCESSES).fill(0));
  assert.ok(existsSync(join(target, "index.html")));
});
