/**
 * From `git clone` to one's own reply as a verified webhook: three commands, four clicks, no file edited. The frames of the walk stay
 * in dist/from-clone. Hard links to the packages of this tree stand for the downloads of `npm ci`.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { Locator, Page } from "playwright-core";
import { launchBrowser } from "../support/browser.ts";
import { freePort } from "../support/free-port.ts";
import { spawnCommand } from "../support/process.ts";
import { userEnvironment } from "../support/user-environment.ts";
import { until } from "../support/wait.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FRAMES = join(ROOT, "dist/from-clone");
/** A person takes two minutes; a machine that runs many tests at once is slow. */
const LIMIT_MS = 300_000;
const REPLY = "Yes, I am";

/** Clones the repository, as it is committed, and starts it on a terminal. Returns its directory and the link that it prints. */
async function start(t: TestContext): Promise<{ directory: string; link: string; commands: readonly string[] }> {
  mkdirSync(join(ROOT, "dist"), { recursive: true });
  const parent = mkdtempSync(join(ROOT, "dist/clone-"));
  t.after(() => rmSync(parent, { recursive: true, force: true, maxRetries: 5 }));
  const directory = join(parent, "tightbeam");
  const env = userEnvironment({ PORT: String(await freePort()) });
  // git refuses to read a repository of another account, such as a checkout that was mounted.
  const config = join(parent, "gitconfig");
  writeFileSync(config, "[safe]\n\tdirectory = *\n");
  execFileSync("git", ["clone", "--quiet", ROOT, directory], { env: { ...env, GIT_CONFIG_GLOBAL: config } });
  execFileSync("cp", ["-al", join(ROOT, "node_modules"), join(directory, "node_modules")]);
  const { output } = spawnCommand(t, ["script", "-qefc", `cd '${directory}' && exec npm start`, "/dev/null"], env);
  const printed = () => /http:\/\/\S+#link=[\w-]+/.exec(output.stdout)?.[0];
  const link = await until(printed, { limitMs: LIMIT_MS, what: "the one-time link" });
  return { directory, link, commands: ["git clone", "npm ci", "npm start"] };
}

/** The clicks of the walk, with a frame after each. */
function makeWalk(page: Page) {
  const clicks: string[] = [];
  let frames = 0;
  const frame = async (name: string) => {
    frames += 1;
    await page.screenshot({ path: join(FRAMES, `${frames}-${name}.png`) });
  };
  const click = async (name: string, target: Locator, shown: Locator) => {
    await target.click();
    clicks.push(name);
    await shown.waitFor();
    await frame(name);
  };
  return { clicks, frame, click };
}

const skip =
  existsSync(join(ROOT, ".git")) && existsSync("/usr/bin/script")
    ? false
    : "needs a git repository, and util-linux's script";

test("three commands and four clicks lead from a clone to one's own reply as a verified webhook", {
  timeout: 2 * LIMIT_MS,
  skip,
}, async (t) => {
  const startedAt = performance.now();
  rmSync(FRAMES, { recursive: true, force: true });
  const { directory, link, commands } = await start(t);
  const browser = await launchBrowser();
  t.after(() => browser.close());
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  page.setDefaultTimeout(60_000);
  const { clicks, frame, click } = makeWalk(page);

  await page.goto(link);
  const send = page.getByRole("button", { name: "Send it" });
  await send.waitFor();
  await frame("home");
  await click("send", send, page.getByRole("list", { name: "Timeline" }).getByText("delivered"));
  const composer = page.getByLabel("Write as the contact");
  await click("phone", page.getByRole("link", { name: "Open in Phone" }), composer);
  await page.keyboard.press("~");
  await composer.fill(REPLY);
  const posted = page.getByRole("option").filter({ hasText: "POST the inbox" }).filter({ hasText: "message.inbound" });
  await click("reply", page.getByRole("button", { name: "Send", exact: true }), posted.first());
  await click("webhook", posted.first(), page.getByText("made again here: the same"));
  await page.getByRole("region", { name: "Row of the Wire" }).getByText(REPLY).first().waitFor();

  const seconds = (performance.now() - startedAt) / 1_000;
  t.diagnostic(`${seconds.toFixed(1)} s; frames in ${FRAMES}`);
  assert.deepEqual([commands.length, clicks], [3, ["send", "phone", "reply", "webhook"]]);
  const changed = execFileSync("git", ["status", "--porcelain"], { cwd: directory, encoding: "utf8" });
  assert.equal(changed, "", "a file of the clone was edited");
  assert.ok(seconds * 1_000 < LIMIT_MS);
});
