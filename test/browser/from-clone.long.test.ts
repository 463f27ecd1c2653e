/**
 * From `git clone` to one's own reply as a verified webhook: three commands, four clicks, no file edited. The frames of the walk stay
 * in dist/from-clone. Hard links to the packages of this tree stand for the downloads of `npm ci`.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { launchBrowser } from "../support/browser.ts";
import { type Camera, WALK_MS_MAX, walkFromClone } from "../support/from-clone.ts";
import { DESKTOP } from "../support/screens.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FRAMES = join(ROOT, "dist/from-clone");

/** A camera that keeps a picture of the end of each step in the browser. */
function makeCamera(): Camera {
  let frames = 0;
  return {
    onTerminal: async (_step, _screen, ended) => void (await ended),
    onPage: async ({ name }, page, act) => {
      await act();
      frames += 1;
      await page.screenshot({ path: join(FRAMES, `${frames}-${name}.png`) });
    },
  };
}

const skip =
  existsSync(join(ROOT, ".git")) && existsSync("/usr/bin/script")
    ? false
    : "needs a git repository, and util-linux's script";

test("three commands and four clicks lead from a clone to one's own reply as a verified webhook", {
  timeout: 2 * WALK_MS_MAX,
  skip,
}, async (t) => {
  const startedAt = performance.now();
  rmSync(FRAMES, { recursive: true, force: true });
  mkdirSync(join(ROOT, "dist"), { recursive: true });
  const parent = mkdtempSync(join(ROOT, "dist/clone-"));
  t.after(() => rmSync(parent, { recursive: true, force: true, maxRetries: 5 }));
  const browser = await launchBrowser();
  t.after(() => browser.close());
  const page = await browser.newPage({ viewport: { width: DESKTOP.width, height: DESKTOP.height } });
  const packages = join(ROOT, "node_modules");
  // Without its cache, to which other tests write meanwhile.
  const install = `mkdir node_modules && cp -al '${packages}'/* '${packages}'/.bin '${packages}'/.package-lock.json node_modules`;
  const { directory, commands, clicks } = await walkFromClone(t, { parent, install, page, camera: makeCamera() });

  const seconds = (performance.now() - startedAt) / 1_000;
  t.diagnostic(`${seconds.toFixed(1)} s; frames in ${FRAMES}`);
  assert.deepEqual(commands, ["git clone", "npm ci", "npm start"]);
  assert.deepEqual(clicks, ["send", "phone", "reply", "webhook"]);
  const changed = execFileSync("git", ["status", "--porcelain"], { cwd: directory, encoding: "utf8" });
  assert.equal(changed, "", "a file of the clone was edited");
  assert.ok(seconds * 1_000 < WALK_MS_MAX);
});
