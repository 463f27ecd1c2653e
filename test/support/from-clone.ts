/**
 * The walk from `git clone` to one's own reply as a verified webhook: three commands and four clicks, on a terminal and in a browser,
 * before a camera that looks on.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Locator, Page } from "playwright-core";
import { freePort } from "./free-port.ts";
import { type Scope, spawnCommand } from "./process.ts";
import { userEnvironment } from "./user-environment.ts";
import { until } from "./wait.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** The address that is cloned: git reads this tree instead. */
const ADDRESS = "https://git.example.com/tightbeam.git";
const PAGE_LIMIT_MS = 60_000;
const REPLY = "Yes, I am";

/** A person takes two minutes; a machine that runs many tests at once is slow. */
export const WALK_MS_MAX = 300_000;

/** A step of the walk: its short name, and its sentence for those who watch. */
export interface Step {
  name: string;
  title: string;
}

/** Looks on while the walk goes on. Each method resolves when the step has ended and was seen. */
export interface Camera {
  /** A step on a terminal, which shows `screen()`. */
  onTerminal(step: Step, screen: () => string, ended: Promise<unknown>): Promise<void>;
  /** A step in the browser: `act` does it, with the mouse on `target` if there is one. */
  onPage(step: Step, page: Page, act: () => Promise<unknown>, target?: Locator): Promise<void>;
}

/** How and where to walk. */
export interface Walk {
  /** An existing directory, which the caller deletes. */
  parent: string;
  /** The shell command that installs the packages. */
  install: string;
  /** Environment of the commands beside that of the user. */
  env?: Record<string, string>;
  page: Page;
  camera: Camera;
}

/** A finished walk. */
export interface Walked {
  /** The clone. */
  directory: string;
  commands: string[];
  clicks: string[];
}

/** A terminal that keeps the text of all its commands. */
function makeTerminal(t: Scope, env: Record<string, string>) {
  let past = "";
  /** Starts a command. `ended` rejects if the command fails. */
  const start = (prompt: string, shown: string, directory: string, command = shown) => {
    const before = `${past}${prompt}$ ${shown}\n`;
    const { output, exited } = spawnCommand(
      t,
      ["script", "-qefc", `cd '${directory}' && ${command}`, "/dev/null"],
      env,
    );
    const screen = () => before + output.stdout;
    const ended = exited.then(({ code }) => {
      if (code !== 0) throw new Error(`${shown} failed:\n${screen()}`);
      past = screen();
    });
    return { output, screen, ended };
  };
  return { start };
}

/** Clones the repository, as it is committed, and starts it on a terminal. Returns the link that it prints. */
async function walkTerminal(t: Scope, { parent, install, env, camera }: Walk, commands: string[]): Promise<string> {
  // git refuses to read a repository of another account, such as a checkout that was mounted.
  const config = join(parent, "gitconfig");
  writeFileSync(config, `[safe]\n\tdirectory = *\n[url "${ROOT}"]\n\tinsteadOf = ${ADDRESS}\n`);
  const own = userEnvironment({ GIT_CONFIG_GLOBAL: config, PORT: String(await freePort()), ...env });
  const terminal = makeTerminal(t, own);
  const directory = join(parent, "tightbeam");
  const step = (name: string) => {
    commands.push(name);
    return { name, title: `Command ${commands.length} of 3: ${name}` };
  };
  const clone = terminal.start("", `git clone ${ADDRESS}`, parent);
  await camera.onTerminal(step("git clone"), clone.screen, clone.ended);
  const installed = terminal.start("tightbeam", "npm ci", directory, install);
  await camera.onTerminal(step("npm ci"), installed.screen, installed.ended);
  const service = terminal.start("tightbeam", "npm start", directory, "exec npm start");
  const printed = () => /http:\/\/\S+#link=[\w-]+/.exec(service.output.stdout)?.[0];
  const link = Promise.race([
    until(printed, { limitMs: WALK_MS_MAX, what: "the one-time link" }),
    service.ended.then(() => Promise.reject(new Error(`the service ended:\n${service.screen()}`))),
  ]);
  await camera.onTerminal(step("npm start"), service.screen, link);
  return link;
}

/** From the link to the webhook of one's own reply, as the page shows it. */
async function walkBrowser(page: Page, link: string, camera: Camera, clicks: string[]): Promise<void> {
  page.setDefaultTimeout(PAGE_LIMIT_MS);
  const click = async (name: string, title: string, target: Locator, shown: Locator) => {
    clicks.push(name);
    const act = () => target.click().then(() => shown.waitFor());
    await camera.onPage({ name, title: `Click ${clicks.length} of 4: ${title}` }, page, act, target);
  };
  const send = page.getByRole("button", { name: "Send it" });
  const open = () => page.goto(link).then(() => send.waitFor());
  await camera.onPage({ name: "home", title: "Open the link: it signs you in" }, page, open);
  const delivered = page.getByRole("list", { name: "Timeline" }).getByText("delivered");
  await click("send", "send a message to a phone of the sandbox", send, delivered);
  const composer = page.getByLabel("Write as the contact");
  await click("phone", "open that phone", page.getByRole("link", { name: "Open in Phone" }), composer);
  const write = async () => {
    await page.keyboard.press("~");
    await composer.pressSequentially(REPLY, { delay: 80 });
  };
  await camera.onPage({ name: "write", title: "Show the Wire with ~, and write a reply as the contact" }, page, write);
  const posted = page.getByRole("option").filter({ hasText: "POST the inbox" }).filter({ hasText: "message.inbound" });
  await click("reply", "send the reply", page.getByRole("button", { name: "Send", exact: true }), posted.first());
  const same = page.getByText("made again here: the same");
  await click("webhook", "open its webhook", posted.first(), same);
  const verified = { name: "verified", title: "Its signature, made again in the browser, is the same" };
  await camera.onPage(verified, page, () => same.scrollIntoViewIfNeeded());
  await page.getByRole("region", { name: "Row of the Wire" }).getByText(REPLY).first().waitFor();
}

/** Walks the whole way. The service runs until `t` ends. */
export async function walkFromClone(t: Scope, walk: Walk): Promise<Walked> {
  const [commands, clicks]: [string[], string[]] = [[], []];
  mkdirSync(walk.parent, { recursive: true });
  const link = await walkTerminal(t, walk, commands);
  await walkBrowser(walk.page, link, walk.camera, clicks);
  return { directory: join(walk.parent, "tightbeam"), commands, clicks };
}
