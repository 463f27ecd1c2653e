/**
 * The console in a real browser: a service on a free port, Debian's Chromium, and pages that are signed in. Each test ends with a
 * look at what no page may do: an error on the console, a request to another host, a breach of the content security policy.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import axe from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";
import { freePort } from "./free-port.ts";
import { type Running, type Scope, startProcess } from "./process.ts";
import { DESKTOP, VIEWS, type View } from "./screens.ts";
import { until } from "./wait.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
/** Only a hang takes this long. */
const PAGE_LIMIT_MS = 60_000;
const TEST_LIMIT_MS = 600_000;
/** A start of Chromium takes a second or two. */
const START_MS_MAX = 60_000;
const STARTS_MAX = 3;

/** A running service with a browser beside it. */
export interface Stage {
  service: Running;
  /** Opens a page in a browser profile of its own. */
  open(view?: View): Promise<Page>;
  /** Signs a page in by a one-time link of a key, the customer's by default, and goes on to `path`. */
  signIn(page: Page, path?: string, key?: string): Promise<void>;
  /** A page that is signed in. */
  signedIn(path?: string, view?: View, key?: string): Promise<Page>;
  /** Requests of all pages so far. */
  requests: readonly string[];
  /** Ends the service and starts it again with the same data on the same port. */
  restart(): Promise<void>;
}

/** Settings of a stage beside the defaults. */
export interface StageOptions {
  /** Environment of the service. */
  env?: Record<string, string>;
  /** Path whose requests the test has refused on purpose: Chromium's console names each of them. */
  refusedPath?: string;
}

/** The browser of a test file, which starts with the first test; null in a file without one. Each page has a profile of its own. */
let shared: (() => Promise<Browser>) | null = null;

/** A browser that starts when it is first asked for, and ends with the tests of this process. */
function browserOfFile(): () => Promise<Browser> {
  let started: Promise<Browser> | null = null;
  // An open browser would keep the process for ever.
  after(async () => await (await started)?.close());
  return () => {
    started ??= prepareBrowser();
    return started;
  };
}

/** A test with a browser. It also fails if a page did what none may do. */
export function browserTest(
  title: string,
  run: (stage: Stage, t: TestContext) => Promise<void>,
  options: StageOptions = {},
): void {
  shared ??= browserOfFile();
  const browser = shared;
  test(title, { timeout: TEST_LIMIT_MS }, async (t) =>
    withStage(t, await browser(), (stage) => run(stage, t), options),
  );
}

/** Builds the console if it is stale, and starts a browser. */
export async function prepareBrowser(env: Record<string, string> = {}): Promise<Browser> {
  execFileSync(process.execPath, [join(ROOT, "console/build.ts"), "--if-stale"], { stdio: "inherit" });
  return await launchBrowser(env);
}

/** Runs something on a stage, which ends with the scope. Throws if a page did what none may do. */
export async function withStage(
  t: Scope,
  browser: Browser,
  run: (stage: Stage) => Promise<void>,
  { env = {}, refusedPath = "" }: StageOptions = {},
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "tightbeam-browser-"));
  const faults: string[] = [];
  const closePages = async () => {
    for (const context of browser.contexts()) await context.close();
  };
  // A test that its limit ends never comes to the end of `run`.
  t.after(closePages);
  try {
    await run(await makeStage(t, { directory, env, refusedPath }, browser, faults));
  } finally {
    await closePages();
    t.after(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  }
  assert.deepEqual(faults, [], "errors, foreign requests and breaches of the policy on these pages");
}

/** Starts Chromium, again if it ends or hangs at its start. Throws if it does so each time. */
export async function launchBrowser(env: Record<string, string> = {}): Promise<Browser> {
  const options = { executablePath: findBrowser(), args: flags(), env: { ...process.env, ...env } };
  for (let start = 1; ; start += 1) {
    try {
      return await chromium.launch({ ...options, timeout: START_MS_MAX });
    } catch (error) {
      if (start === STARTS_MAX) throw error;
    }
  }
}

function findBrowser(): string {
  return BROWSERS.find((path) => existsSync(path)) ?? assert.fail("no Chromium: apt-get install chromium");
}

/** Chromium refuses to run as root with its sandbox, as in a container. */
function flags(): string[] {
  return process.getuid?.() === 0 ? ["--no-sandbox"] : [];
}

interface Place {
  /** The data directory. */
  directory: string;
  /** Settings of the service. */
  env: Record<string, string>;
  refusedPath: string;
}

async function makeStage(t: Scope, place: Place, browser: Browser, faults: string[]): Promise<Stage> {
  const { directory, env: own, refusedPath } = place;
  const env = { TB_SANDBOX_INBOX: "on", TB_RATE_LIMIT: "off", PORT: String(await freePort()), ...own };
  const requests: string[] = [];
  let wasRestarted = false;
  const seen: Seen = { url: () => stage.service.url, requests, faults, refusedPath, wasRestarted: () => wasRestarted };
  const stage: Stage = {
    service: await startProcess(t, { dataDir: directory, env }),
    requests,
    open: async (view = DESKTOP) => {
      const viewport = { width: view.width, height: view.height };
      const context = await browser.newContext({ viewport, colorScheme: view.theme });
      context.setDefaultTimeout(PAGE_LIMIT_MS);
      const page = await context.newPage();
      context.on("page", (other) => watch(other, seen));
      watch(page, seen);
      return page;
    },
    signIn: async (page, path = "/", key) => {
      const { status, data, text } = await stage.service.ask("POST", "/session/links", undefined, key);
      assert.equal(status, 201, text);
      await page.goto(String(data.url));
      await page.locator("#screen").waitFor();
      if (path !== "/") await page.goto(stage.service.url + path);
    },
    signedIn: async (path, view, key) => {
      const page = await stage.open(view);
      await stage.signIn(page, path, key);
      return page;
    },
    restart: async () => {
      wasRestarted = true;
      await stage.service.end("SIGTERM");
      stage.service = await startProcess(t, { dataDir: directory, env });
    },
  };
  return stage;
}

/** Requests and faults of the pages of a test, and what else decides whether something is a fault. */
interface Seen {
  url(): string;
  requests: string[];
  faults: string[];
  refusedPath: string;
  wasRestarted(): boolean;
}

/** Notes what a page does: its requests, and its faults. */
function watch(page: Page, seen: Seen): void {
  const { requests, faults } = seen;
  page.on("request", (request) => {
    requests.push(`${request.method()} ${request.url()}`);
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(`${seen.url()}/`))
      faults.push(`a request to ${request.url()}`);
  });
  page.on("pageerror", (error) => faults.push(`an error: ${error.stack ?? error.message}`));
  page.on("console", (message) => {
    if (message.type() !== "error" || isExpected(message.text(), message.location().url, seen)) return;
    faults.push(`${message.text()} (${message.location().url})`);
  });
}

/**
 * A service that is down is on Chromium's console without the page's doing. A service that is being stopped answers 503 to what comes in its
 * last moments.
 */
function isExpected(text: string, url: string, { refusedPath, wasRestarted }: Seen): boolean {
  if (!text.startsWith("Failed to load resource")) return false;
  if (wasRestarted() && text.includes("503")) return true;
  if (refusedPath !== "" && url.endsWith(refusedPath) && /status of 4/.test(text)) return true;
  return /ERR_(CONNECTION|INCOMPLETE|EMPTY)/.test(text);
}

/** Forgets the choices that the browser keeps of its reader, and not that it has signed in. */
export async function forgetChoices(page: Page): Promise<void> {
  await page.evaluate(
    "for (const key of Object.keys(localStorage)) if (key !== 'tightbeam.signed-in') localStorage.removeItem(key)",
  );
}

/** Opens the palette, and types into it once it has the focus. */
export async function typeInPalette(page: Page, text: string): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog", { name: "Go to" }).waitFor();
  await until(() => page.evaluate(`document.activeElement?.closest("[role=dialog]") !== null`), { what: "its focus" });
  await page.keyboard.insertText(text);
}

/** Chooses the first command of the palette, and waits until the keys are those of the page again. */
export async function enterInPalette(page: Page): Promise<void> {
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Go to" }).waitFor({ state: "detached" });
}

const IS_STILL = `document.querySelectorAll('[aria-busy="true"]').length === 0
  && [...document.images].every(({ complete }) => complete)
  && document.getAnimations().every(({ playState, effect }) =>
    playState !== "running" || effect?.getTiming().iterations === Infinity)`;
/** A browser may paint a page that nothing changes never again. */
const FRAME_MS_MAX = 1_000;
const TWO_FRAMES = `new Promise((resolve) => {
  setTimeout(resolve, ${FRAME_MS_MAX});
  requestAnimationFrame(() => requestAnimationFrame(resolve));
})`;

/** Waits until nothing moves on a page: no list that loads, no picture on its way, no animation that ends. */
export async function settle(page: Page): Promise<void> {
  await page.waitForLoadState("load");
  await page.evaluate(TWO_FRAMES);
  await until(() => page.evaluate(IS_STILL), { limitMs: PAGE_LIMIT_MS, what: "a page that is still" });
  await page.evaluate(TWO_FRAMES);
}

/** Resolves when a page has read a whole response of a URL with `part` in it. Throws after the page's limit: `finished()` of a response has none. */
export async function whenRead(page: Page, part: string): Promise<void> {
  await page.waitForEvent("requestfinished", (request) => request.url().includes(part));
}

interface AxeViolation {
  id: string;
  nodes: { target: string[]; failureSummary?: string }[];
}

const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"];

/** The violations that axe-core finds in a page, or in the part of the page that a selector names, one line each. */
export async function findViolations(page: Page, part = "html"): Promise<string[]> {
  const options = { runOnly: RULES, rules: { "color-contrast": { enabled: false } } };
  return [...(await runAxe(page, JSON.stringify(part), options)), ...(await findFaintTexts(page, part))];
}

/** The elements with text in `root`, but one only of those whose text and backgrounds have the same styles. */
const DISTINCT_TEXTS = `(root) => {
  const keys = new Map([[null, ""]]);
  const keyOf = (element) => {
    const known = keys.get(element);
    if (known !== undefined) return known;
    const style = getComputedStyle(element);
    const looks = ["color", "backgroundColor", "backgroundImage", "fontSize", "fontWeight", "opacity", "textShadow", "position", "zIndex", "clip", "clipPath"];
    const key = [...looks.map((name) => style[name]), element.disabled, element.ariaDisabled, keyOf(element.parentElement)].join();
    keys.set(element, key);
    return key;
  };
  const hasText = (element) =>
    element.matches("input, textarea, select") ||
    [...element.childNodes].some(({ nodeType, data }) => nodeType === Node.TEXT_NODE && data.trim() !== "");
  const shown = [...root.querySelectorAll("*")].filter(
    (element) => hasText(element) && element.checkVisibility({ visibilityProperty: true }),
  );
  return [...new Map(shown.map((element) => [keyOf(element), element])).values()];
}`;

/**
 * The texts whose contrast with their background axe-core refuses, one line each, in a page or in a part of it. Of texts with the same
 * styles it checks one: this rule would take most of the time of all rules.
 */
export async function findFaintTexts(page: Page, part = "html"): Promise<string[]> {
  const texts = `{ include: (${DISTINCT_TEXTS})(document.querySelector(${JSON.stringify(part)})) }`;
  return await runAxe(page, texts, { runOnly: ["color-contrast"] });
}

/** Runs rules of axe-core in a page, on the context that an expression makes. */
async function runAxe(page: Page, context: string, rules: object): Promise<string[]> {
  // By the debugger, which the content security policy does not hold.
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(axe.source);
  // To describe the nodes that pass would take as long as to check them.
  const options = JSON.stringify({ ...rules, resultTypes: ["violations"] });
  const violations: AxeViolation[] = await page.evaluate(
    `axe.run(${context}, ${options}).then(({ violations }) => violations)`,
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(
      ({ target, failureSummary = "" }) => `${id}: ${target.join(" ")}: ${failureSummary.replace(/\s+/g, " ")}`,
    ),
  );
}

/** Checks a page in every theme and width by one load of it: axe-core refuses nothing, and nothing is wider than the page. */
export async function checkViews(
  page: Page,
  name: string,
  checkMore: (about: string) => Promise<void> = async () => {},
): Promise<void> {
  for (const view of VIEWS) {
    await page.setViewportSize({ width: view.width, height: view.height });
    await page.emulateMedia({ colorScheme: view.theme });
    await settle(page);
    const about = `${name} on a ${view.theme} page of ${view.width} pixels`;
    // A theme changes colours, and nothing else that a rule is about.
    const violations = view.theme === "light" ? findViolations(page) : findFaintTexts(page);
    assert.deepEqual(await violations, [], about);
    assert.ok((await overflowOf(page)) <= 0, `${about} is wider than the page`);
    await checkMore(about);
  }
}

/** How many pixels the page itself can be scrolled down. Only parts of the console's shell scroll, so it is 0. */
export async function scrollOf(page: Page): Promise<number> {
  return Number(await page.evaluate("document.documentElement.scrollHeight - innerHeight"));
}

/** How far a page's content is wider than the page, in pixels. */
export async function overflowOf(page: Page): Promise<number> {
  return Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"));
}
