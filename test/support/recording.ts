/**
 * The moving picture of the walk from a clone to a verified webhook: frames of a real run, each with its step and the time since the
 * first command, made into an animated WebP by Debian's img2webp. Steps in the browser are in real time; those of the terminal are shorter.
 */

import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { Locator, Page } from "playwright-core";
import { html, Markup } from "../../site/markup.ts";
import { launchBrowser } from "./browser.ts";
import { type Camera, type Step, walkFromClone } from "./from-clone.ts";
import type { Scope } from "./process.ts";
import { RECORDING } from "./screens.ts";

/** Size of the page in the picture: its text can still be read where a document shows it 820 pixels wide. */
const PAGE = { width: 1024, height: 640 };
const BAR_HEIGHT = 44;
const TERMINAL_LINES = 31;
/** Time between two looks, and how long the end of a step is looked at. */
const LOOK_MS = 120;
const HOLD_MS = 1_500;
const LAST_HOLD_MS = 4_000;
/** A step of the terminal lasts no longer in the picture before it ends. */
const TERMINAL_MS_MAX = 2_000;
const MOUSE_STEPS = 8;
const QUALITY = "70";

type Point = readonly [x: number, y: number];

/** A picture of one moment: a page as PNG, or the text of a terminal. */
interface Look {
  view: Buffer | string;
  mouse: Point | null;
  isPressed: boolean;
}

interface Frame extends Look {
  title: string;
  /** Whole seconds since the first command. */
  seconds: number;
  durationMs: number;
}

/** A camera that keeps a frame whenever the picture or the second changes. */
class Recorder implements Camera {
  readonly frames: Frame[] = [];
  readonly #startedAt = performance.now();
  #mouse: Point | null = null;

  async onTerminal({ title }: Step, screen: () => string, ended: Promise<unknown>): Promise<void> {
    const first = this.frames.length;
    await this.#film(title, async () => ({ view: plain(screen()), mouse: null, isPressed: false }), ended);
    // The end of the step stays as long as that of the others; what led to it is shortened.
    const frames = this.frames.slice(first);
    const last = frames.pop();
    if (last !== undefined) last.durationMs = HOLD_MS;
    const durationMs = frames.reduce((sum, frame) => sum + frame.durationMs, 0);
    for (const frame of frames) frame.durationMs *= Math.min(1, TERMINAL_MS_MAX / durationMs);
  }

  async onPage({ title }: Step, page: Page, act: () => Promise<unknown>, target?: Locator): Promise<void> {
    if (target !== undefined) await this.#film(title, () => this.#look(page), this.#point(page, target), 300);
    if (target !== undefined) await this.#film(title, () => this.#look(page, true), Promise.resolve(), 200);
    await this.#film(title, () => this.#look(page), act());
  }

  /** Moves the mouse onto an element, beside its first words. */
  async #point(page: Page, target: Locator): Promise<void> {
    const box = await target.boundingBox();
    if (box === null) return;
    const [fromX, fromY] = this.#mouse ?? [PAGE.width / 2, PAGE.height / 2];
    const [toX, toY] = [box.x + Math.min(box.width * 0.8, 120), box.y + box.height / 2];
    for (let step = 1; step <= MOUSE_STEPS; step++) {
      const part = step / MOUSE_STEPS;
      this.#mouse = [fromX + (toX - fromX) * part, fromY + (toY - fromY) * part];
      await page.mouse.move(...this.#mouse);
      await page.waitForTimeout(60);
    }
  }

  async #look(page: Page, isPressed = false): Promise<Look> {
    const mouse = this.#mouse;
    return { view: await page.screenshot({ caret: "initial" }), mouse, isPressed };
  }

  /** Looks until `ended` resolves, and `holdMs` longer. */
  async #film(title: string, look: () => Promise<Look>, ended: Promise<unknown>, holdMs = HOLD_MS): Promise<void> {
    let endedAt: number | null = null;
    let error: unknown = null;
    const noted = ended
      .catch((reason: unknown) => {
        error = reason ?? new Error(title);
      })
      .finally(() => {
        endedAt = performance.now();
      });
    while (endedAt === null || performance.now() - endedAt < holdMs) {
      const lookedAt = performance.now();
      this.#keep(title, await look(), lookedAt);
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, LOOK_MS - (performance.now() - lookedAt))));
      const last = this.frames.at(-1);
      if (last !== undefined) last.durationMs += performance.now() - lookedAt;
    }
    await noted;
    if (error !== null) throw error;
  }

  #keep(title: string, look: Look, now: number): void {
    const seconds = Math.floor((now - this.#startedAt) / 1_000);
    const last = this.frames.at(-1);
    if (last === undefined || last.title !== title || last.seconds !== seconds || !isSame(last, look))
      this.frames.push({ title, seconds, durationMs: 0, ...look });
  }
}

function isSame(one: Look, other: Look): boolean {
  const isSeen =
    Buffer.isBuffer(one.view) && Buffer.isBuffer(other.view) ? one.view.equals(other.view) : one.view === other.view;
  return isSeen && one.isPressed === other.isPressed && String(one.mouse) === String(other.mouse);
}

/** The text of a terminal without colours, cursor movements, and lines that were written over. */
function plain(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/\r+\n/g, "\n")
    .replace(/^.*\r(?=.)/gm, "");
}

const STYLE = `
  * { box-sizing: border-box; margin: 0 }
  body { width: ${PAGE.width}px; font: 600 17px system-ui; background: #18181b; color: #fafafa }
  header { height: ${BAR_HEIGHT}px; padding: 0 16px; display: flex; align-items: center; justify-content: space-between }
  main { position: relative; height: ${PAGE.height}px; overflow: hidden }
  img { display: block }
  pre { height: 100%; padding: 12px 16px; background: #09090b; color: #e4e4e7; font: 14px/20px "DejaVu Sans Mono", monospace; white-space: pre-wrap; word-break: break-all }
  svg { position: absolute; overflow: visible }`;

const ARROW = new Markup('<path d="M0 0v17l4-4 3 7 3-1-3-7h6z" fill="#000" stroke="#fff" stroke-width="1.5"/>');
const RING = new Markup('<circle r="16" fill="#3b82f655" stroke="#3b82f6" stroke-width="3"/>');

/** A frame as a page: the step and the time above what was seen. */
function pageOf({ title, seconds, view, mouse, isPressed }: Frame): string {
  const clock = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  const seen =
    typeof view === "string"
      ? html`<pre>${view.trimEnd().split("\n").slice(-TERMINAL_LINES).join("\n")}</pre>`
      : html`<img src="data:image/png;base64,${view.toString("base64")}">`;
  const [x, y] = mouse ?? [0, 0];
  const hand =
    mouse === null
      ? null
      : html`<svg style="left:${x}px;top:${y}px" width="1" height="1">${isPressed ? RING : null}${ARROW}</svg>`;
  return html`<style>${new Markup(STYLE)}</style><header><span>${title}</span><span>${clock}</span></header><main>${seen}${hand}</main>`
    .text;
}

/** Fails with the name of the package if img2webp is not installed. */
export function requireEncoder(): void {
  if (spawnSync("img2webp", ["-version"]).error !== undefined) throw new Error("no img2webp: apt-get install webp");
}

/** Walks from a clone to a verified webhook, and writes the recording. Downloads the packages. */
export async function recordFromClone(t: Scope, browserEnv: Record<string, string>): Promise<void> {
  requireEncoder();
  const parent = mkdtempSync(join(tmpdir(), "tightbeam-from-clone-"));
  t.after(() => rmSync(parent, { recursive: true, force: true, maxRetries: 5 }));
  const browser = await launchBrowser(browserEnv);
  t.after(() => browser.close());
  const page = await browser.newPage({ viewport: PAGE });
  const camera = new Recorder();
  // A display, as most readers have one, and an empty cache of npm, as nobody has downloaded the packages before.
  const env = { DISPLAY: ":0", NO_COLOR: "1", npm_config_progress: "false", npm_config_cache: join(parent, "cache") };
  await walkFromClone(t, { parent, install: "npm ci", env, page, camera });
  const last = camera.frames.at(-1);
  if (last !== undefined) last.durationMs = LAST_HOLD_MS;
  const studio = await browser.newPage({ viewport: { width: PAGE.width, height: PAGE.height + BAR_HEIGHT } });
  const args = ["-loop", "0", "-mixed"];
  for (const [index, frame] of camera.frames.entries()) {
    await studio.setContent(pageOf(frame));
    const path = join(parent, `${index}.png`);
    await studio.screenshot({ path });
    args.push("-q", QUALITY, "-m", "6", "-d", String(Math.max(1, Math.round(frame.durationMs))), path);
  }
  execFileSync("img2webp", [...args, "-o", RECORDING.moving], { stdio: ["ignore", "ignore", "inherit"] });
  const devtools = await studio.context().newCDPSession(studio);
  const { data } = await devtools.send("Page.captureScreenshot", { format: "webp", quality: 78 });
  writeFileSync(RECORDING.still, Buffer.from(data, "base64"));
  const seconds = camera.frames.reduce((sum, frame) => sum + frame.durationMs, 0) / 1_000;
  process.stdout.write(
    `${camera.frames.length} frames, ${Math.round(seconds)} s for ${last?.seconds} s, ${Math.round(statSync(RECORDING.moving).size / 1_000)} kB\n`,
  );
}
