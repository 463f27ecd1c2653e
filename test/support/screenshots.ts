/**
 * `npm run screenshots`: tells the story to a service of its own, looks at every screen in both themes and at both widths, records the
 * walk from a clone to a webhook, and writes docs/images. With names it writes only those pictures; the recording is `from-clone`. Needs
 * Chromium, the fonts that stand for the reader's (Debian's fonts-inter and fonts-noto-color-emoji), and Debian's webp.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { globSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import type { Page } from "playwright-core";
import { forgetChoices, prepareBrowser, type Stage, settle, withStage } from "./browser.ts";
import { ADMIN_KEY, KEY } from "./process.ts";
import { recordFromClone, requireEncoder } from "./recording.ts";
import { pictureOf, RECORDING, SCREENS, type ScreenCase, VIEWS, type View } from "./screens.ts";
import { type Story, tellStory } from "./story.ts";

/** WebP of this quality has no visible edges around letters. */
const QUALITY = 78;
const FONTS = ["Inter", "Noto Color Emoji"];

/** Fonts of the pictures: what `system-ui` means differs from machine to machine. */
function fontSettings(directory: string): string {
  const installed = execFileSync("fc-list", [":", "family"], { encoding: "utf8" });
  for (const font of FONTS)
    assert.ok(installed.includes(font), `no font ${font}: apt-get install fonts-inter fonts-noto-color-emoji`);
  const aliases = ["system-ui", "sans-serif", "ui-sans-serif"].map(
    (name) => `<match><test name="family"><string>${name}</string></test>
      <edit name="family" mode="prepend" binding="strong"><string>Inter</string><string>Noto Color Emoji</string></edit></match>`,
  );
  const file = join(directory, "fonts.conf");
  writeFileSync(file, `<fontconfig><include>/etc/fonts/fonts.conf</include>${aliases.join("")}</fontconfig>`);
  return file;
}

async function take(page: Page, path: string): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  const { data } = await devtools.send("Page.captureScreenshot", { format: "webp", quality: QUALITY });
  await devtools.detach();
  writeFileSync(path, Buffer.from(data, "base64"));
}

async function takeAll(stage: Stage, story: Story, view: View, wanted: readonly ScreenCase[]): Promise<void> {
  for (const key of [KEY, ADMIN_KEY]) {
    const screens = wanted.filter(({ isAdmin = false }) => isAdmin === (key === ADMIN_KEY));
    if (screens.length === 0) continue;
    const page = await stage.signedIn("/", view, key);
    for (const screen of screens) {
      await forgetChoices(page);
      await page.goto(stage.service.url + screen.path(story));
      await screen.ready(page);
      await page.mouse.move(0, view.height - 1);
      await page.getByText("Live", { exact: true }).waitFor({ state: "attached" });
      await settle(page);
      await take(page, pictureOf(screen, view));
    }
    await page.context().close();
  }
}

async function main(names: readonly string[]): Promise<void> {
  const ends: (() => unknown)[] = [];
  const scope = { after: (end: () => unknown) => void ends.push(end) };
  const directory = mkdtempSync(join(tmpdir(), "tightbeam-pictures-"));
  const wanted = SCREENS.filter(({ name }) => names.length === 0 || names.includes(name));
  const isRecorded = names.length === 0 || names.includes(RECORDING.name);
  if (isRecorded) requireEncoder();
  const browserEnv = { FONTCONFIG_FILE: fontSettings(directory) };
  try {
    const run = async (stage: Stage) => {
      const story = await tellStory(scope, stage.service.url);
      for (const view of VIEWS) await takeAll(stage, story, view, wanted);
    };
    if (wanted.length > 0) {
      const browser = await prepareBrowser(browserEnv);
      scope.after(() => browser.close());
      await withStage(scope, browser, run, { env: { TB_RATE_LIMIT: "10000/60s" } });
    }
    if (isRecorded) await recordFromClone(scope, browserEnv);
  } finally {
    for (const end of ends.reverse()) await end();
    rmSync(directory, { recursive: true, force: true });
  }
  const written = wanted.flatMap((screen) => VIEWS.map((view) => pictureOf(screen, view)));
  if (isRecorded) written.push(RECORDING.moving, RECORDING.still);
  if (names.length === 0)
    for (const path of globSync(join(written[0] ?? "", "../*"))) if (!written.includes(path)) rmSync(path);
  const bytes = written.map((path) => statSync(path).size);
  process.stdout.write(
    `${written.length} pictures in ${relative(process.cwd(), join(written[0] ?? "", ".."))}, ${Math.round(bytes.reduce((sum, one) => sum + one, 0) / 1000)} kB, the largest ${Math.round(Math.max(...bytes) / 1000)} kB\n`,
  );
}

await main(process.argv.slice(2));
