/** Every screen in both themes and at two widths: nothing that axe-core refuses, and nothing wider than the page. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { browserTest, checkViews, findViolations, forgetChoices, scrollOf } from "../support/browser.ts";
import { ADMIN_KEY, KEY } from "../support/process.ts";
import { DESKTOP, SCREENS } from "../support/screens.ts";
import { tellStory } from "../support/story.ts";

/** Screens of a service without any records, or that show none. */
const BARE_SCREENS: readonly { path: string; shown: string }[] = [
  { path: "/", shown: "First five minutes" },
  { path: "/phone", shown: "Nobody has written yet" },
  { path: "/messages", shown: "No messages yet" },
  { path: "/messages?q=status:failed", shown: "No message matches" },
  { path: "/webhooks", shown: "No endpoints yet" },
  { path: "/webhooks/deliveries", shown: "No deliveries yet" },
  { path: "/logs", shown: "No requests yet" },
  { path: "/settings/contacts", shown: "No contacts yet" },
  { path: "/settings/keys", shown: "Keys need an admin key" },
  { path: "/messages/no/such/page", shown: "There is no such page" },
];

const lookAt = (page: Page, name: string) =>
  checkViews(page, name, async (about) => {
    assert.ok((await scrollOf(page)) <= 0, `${about} makes the page itself scroll`);
  });

browserTest(
  "every screen is accessible and fits the page, in both themes and at both widths, for a customer and for an admin",
  async (stage, t) => {
    const story = await tellStory(t, stage.service.url);
    for (const key of [KEY, ADMIN_KEY]) {
      const page = await stage.signedIn("/", DESKTOP, key);
      for (const { name, isAdmin = false, path, ready } of SCREENS) {
        if (isAdmin !== (key === ADMIN_KEY)) continue;
        await forgetChoices(page);
        await page.setViewportSize({ width: DESKTOP.width, height: DESKTOP.height });
        await page.goto(stage.service.url + path(story));
        await ready(page);
        await lookAt(page, name);
      }
    }
  },
  { env: { TB_RATE_LIMIT: "10000/60s" } },
);

browserTest("screens without records are accessible and fit the page too", async (stage) => {
  const page = await stage.signedIn();
  for (const { path, shown } of BARE_SCREENS) {
    await page.goto(stage.service.url + path);
    await page.getByText(shown).first().waitFor();
    await lookAt(page, path);
  }
});

browserTest("the sign-in page, the palette, the keys and the drawer of a new message are accessible", async (stage) => {
  const page = await stage.open();
  await page.goto(stage.service.url);
  await page.getByLabel("API key").waitFor();
  assert.deepEqual(await findViolations(page), [], "the sign-in page");
  await stage.signIn(page, "/messages");
  await page.getByText("No messages yet").waitFor();
  for (const [key, name] of [
    ["Control+k", "Go to"],
    ["?", "Keys"],
    ["c", "Send a message"],
  ] as const) {
    await page.keyboard.press(key);
    await page.getByRole("dialog", { name }).waitFor();
    assert.deepEqual(await findViolations(page), [], name);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog", { name }).waitFor({ state: "detached" });
  }
});

browserTest("links lead from every screen of the side bar to the settings and back", async (stage) => {
  const page = await stage.signedIn("/");
  const side = page.getByRole("navigation", { name: "Screens" });
  const sections = page.getByRole("navigation", { name: "Sections of the settings" });
  for (const title of ["Home", "Phone", "Messages", "Webhooks", "Logs"]) {
    await side.getByRole("link", { name: title }).click();
    await page.getByRole("heading", { name: title, exact: true, level: 1 }).waitFor();
    await side.getByRole("link", { name: "Settings" }).click();
    await sections.getByRole("link", { name: "Contacts" }).click();
    await sections.getByRole("link", { name: "Opt-outs" }).click();
  }
});
