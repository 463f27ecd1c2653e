/** Every key that `?` lists, on every screen: pressed, and seen to do what its line says. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { browserTest, enterInPalette, forgetChoices, typeInPalette } from "../support/browser.ts";
import { ADMIN_KEY } from "../support/process.ts";
import { DESKTOP } from "../support/screens.ts";
import { type Story, tellStory } from "../support/story.ts";
import { until } from "../support/wait.ts";

/** A screen, and the keys that it has beside those of every screen. */
interface KeyedScreen {
  path: (story: Story) => string;
  isAdmin?: true;
  keys: readonly string[];
}

const LIST = ["/", "j", "k", "↵"];

const SCREENS: readonly KeyedScreen[] = [
  { path: () => "/", keys: [] },
  { path: () => "/messages", keys: [...LIST, "c"] },
  { path: ({ messageId }) => `/m/${messageId}`, keys: [...LIST, "c", "r", "y", "Esc"] },
  { path: ({ failedId }) => `/m/${failedId}`, keys: [...LIST, "c", "r", "y", "Esc"] },
  { path: () => "/webhooks", keys: ["j", "k", "↵", "c"] },
  { path: ({ webhookId }) => `/webhooks/endpoints/${webhookId}`, keys: ["j", "k", "↵", "c", "Esc"] },
  { path: () => "/webhooks/deliveries", keys: LIST },
  { path: ({ deliveryId }) => `/webhooks/deliveries/${deliveryId}`, keys: [...LIST, "Esc"] },
  { path: () => "/webhooks/events/message.failed", keys: ["j", "k", "↵", "t", "Esc"] },
  { path: () => "/logs", keys: LIST },
  { path: ({ requestId }) => `/logs/${requestId}`, keys: [...LIST, "Esc"] },
  { path: () => "/settings/contacts", keys: ["j", "k", "↵"] },
  { path: () => "/settings/keys", isAdmin: true, keys: ["j", "k", "↵", "c"] },
];

const EVERYWHERE = ["Ctrl K", "~", "?"];
/** The names of keys in the sheet that the keyboard calls otherwise. */
const NAMES: Record<string, string> = { "Ctrl K": "Control+k", Esc: "Escape", "↵": "Enter" };

const dialog = (page: Page, name: string) => page.getByRole("dialog", { name }).waitFor();
const toast = (page: Page, text: string) => page.getByText(text).waitFor();

/** Waits until the keys are on another row than before: the one that the table says, or the open one. */
async function pressAndMove(page: Page, key: string): Promise<void> {
  const active = () => page.getByRole("grid").first().getAttribute("aria-activedescendant");
  const before = await active();
  await page.keyboard.press(key);
  await until(async () => ![null, before].includes(await active()), { what: `another row after ${key}` });
}

/** The effect that a line of the sheet promises. */
const EFFECTS: Record<string, (page: Page, key: string) => Promise<void>> = {
  "Next row": pressAndMove,
  "Previous row": async (page, key) => {
    await pressAndMove(page, "j");
    // In a list of one row there is no other one to go to.
    if ((await page.getByRole("grid").first().getByRole("row").count()) < 4) return;
    await pressAndMove(page, "j");
    await pressAndMove(page, key);
  },
  "Open the row": async (page, key) => {
    const before = page.url();
    await pressAndMove(page, "j");
    await page.keyboard.press(key);
    await until(async () => page.url() !== before || (await page.getByRole("dialog").count()) > 0);
  },
  Search: async (page, key) => {
    await page.keyboard.press(key);
    await until(() => page.evaluate(`document.activeElement?.closest("search") !== null`));
  },
  "Send a message": (page, key) => page.keyboard.press(key).then(() => dialog(page, "Send a message")),
  "Send again": (page, key) => page.keyboard.press(key).then(() => dialog(page, "Send a message")),
  "Add an endpoint": (page, key) => page.keyboard.press(key).then(() => dialog(page, "Add an endpoint")),
  "Create a key": (page, key) => page.keyboard.press(key).then(() => dialog(page, "Create a key")),
  "Retry the message": (page, key) => page.keyboard.press(key).then(() => toast(page, "The message is queued again.")),
  "Copy the message's id": (page, key) => page.keyboard.press(key).then(() => toast(page, "The id is copied.")),
  "Trigger the event": (page, key) => page.keyboard.press(key).then(() => toast(page, "happened")),
  "Go to anything, or to a pasted id": (page, key) => page.keyboard.press(key).then(() => dialog(page, "Go to")),
  "Show or hide the Wire": async (page, key) => {
    const wire = page.getByRole("region", { name: "The Wire" });
    await page.keyboard.press(key);
    await wire.waitFor();
    await page.keyboard.press(key);
    await wire.waitFor({ state: "detached" });
  },
  "Show these keys": (page, key) => page.keyboard.press(key).then(() => dialog(page, "Keys")),
};

/** Lines whose effects leave the page as it was, once the dialog that they may open is closed. */
const WITHOUT_TRACE: ReadonlySet<string> = new Set([
  "Send a message",
  "Add an endpoint",
  "Create a key",
  "Copy the message's id",
  "Go to anything, or to a pasted id",
  "Show or hide the Wire",
  "Show these keys",
]);

async function closeDialog(page: Page): Promise<void> {
  const dialogs = page.getByRole("dialog");
  if ((await dialogs.count()) === 0) return;
  await page.keyboard.press("Escape");
  await until(async () => (await dialogs.count()) === 0, { what: "the end of the dialog" });
}

async function close(page: Page, key: string): Promise<void> {
  const before = page.url();
  await page.keyboard.press(key);
  await until(() => page.url() !== before, { what: "the list without the row" });
}

/** The lines of the sheet: keys with their labels. */
async function readSheet(page: Page): Promise<[key: string, label: string][]> {
  await page.keyboard.press("?");
  const sheet = page.getByRole("dialog", { name: "Keys" });
  await sheet.waitFor();
  const keys = await sheet.getByRole("term").allInnerTexts();
  const labels = await sheet.getByRole("definition").allInnerTexts();
  await page.keyboard.press("Escape");
  await sheet.waitFor({ state: "detached" });
  return keys.map((key, index) => [key, labels[index] ?? ""]);
}

browserTest(
  "each key of the sheet does what its line says, on every screen",
  async (stage, t) => {
    const story = await tellStory(t, stage.service.url);
    const [customer, admin] = [await stage.signedIn(), await stage.signedIn("/", DESKTOP, ADMIN_KEY)];
    for (const { path, isAdmin = false, keys } of SCREENS) {
      const address = stage.service.url + path(story);
      const page = isAdmin ? admin : customer;
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await forgetChoices(page);
      // The keys of what is still loading are bound once it is there.
      const hasAll = async () => {
        const found = (await readSheet(page)).map(([key]) => key);
        return [...keys, ...EVERYWHERE].every((key) => found.includes(key));
      };
      const show = async () => {
        await page.goto(address);
        await page.getByText("Live", { exact: true }).waitFor();
        if (keys.includes("j")) await page.getByRole("grid").first().getByRole("row").nth(1).waitFor();
        await until(hasAll, { what: `the keys ${keys} on ${path(story)}` });
      };
      await show();
      const sheet = await readSheet(page);
      assert.deepEqual(sheet.map(([key]) => key).sort(), [...keys, ...EVERYWHERE].sort(), path(story));
      let isAsShown = true;
      for (const [key, label] of sheet) {
        if (!isAsShown) await show();
        const effect = label.startsWith("Close the ") ? close : EFFECTS[label];
        assert.ok(effect !== undefined, `no test knows what “${label}” does`);
        await effect(page, NAMES[key] ?? key).catch((error: unknown) => {
          throw new Error(`${key} on ${path(story)}: ${label}`, { cause: error });
        });
        isAsShown = WITHOUT_TRACE.has(label);
        if (isAsShown) await closeDialog(page);
      }
    }
  },
  { env: { TB_RATE_LIMIT: "10000/60s" } },
);

/** Presses j as soon as the page has a row. */
const PRESSES_AT_ONCE = `new MutationObserver((_, observer) => {
  if (document.querySelectorAll("[role=row]").length < 2) return;
  observer.disconnect();
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "j", bubbles: true }));
}).observe(document, { childList: true, subtree: true })`;

browserTest("a key works from the moment at which its screen is shown", async (stage) => {
  await stage.service.ask("POST", "/v1/messages", { to: "+15005550100", content: { text: "Hello" } });
  const page = await stage.open();
  await page.addInitScript(PRESSES_AT_ONCE);
  await stage.signIn(page, "/messages");
  const active = () => page.getByRole("grid").first().getAttribute("aria-activedescendant");
  await until(async () => (await active()) !== null, { what: "the row that j goes to" });
});

browserTest(
  "a pasted id of each kind, and a number, land on their pages",
  async (stage, t) => {
    const { messageId, eventId, deliveryId, requestId, webhookId } = await tellStory(t, stage.service.url);
    const page = await stage.signedIn();
    const pages = [
      [messageId, `/m/${messageId}`],
      [`the message ${messageId}, which failed`, `/m/${messageId}`],
      [eventId, `/e/${eventId}`],
      [deliveryId, `/d/${deliveryId}`],
      [requestId, `/logs/${requestId}`],
      [webhookId, `/webhooks/endpoints/${webhookId}`],
      ["+1 (415) 555-0142", "/phone/+14155550142"],
    ] as const;
    for (const [pasted, path] of pages) {
      await typeInPalette(page, pasted);
      await enterInPalette(page);
      await page.waitForURL((url) => url.pathname === path);
    }
  },
  { env: { TB_RATE_LIMIT: "10000/60s" } },
);
