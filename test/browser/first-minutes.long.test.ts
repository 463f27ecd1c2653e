/** The first five minutes in the console, by keyboard and by mouse. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { browserTest, enterInPalette, typeInPalette } from "../support/browser.ts";
import { KEY } from "../support/process.ts";
import { until } from "../support/wait.ts";

/** Presses Tab until the element of this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  const nameOf = `(() => { const e = document.activeElement; return e?.getAttribute("aria-label") ?? e?.textContent?.trim() ?? ""; })()`;
  for (let presses = 0; presses < 60; presses++) {
    if (String(await page.evaluate(nameOf)).startsWith(name)) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`Tab never came to ${name}`);
}

browserTest(
  "by keyboard alone: sign in with the key, send from Home, open the message's timeline, go back to it by its id",
  async (stage) => {
    const page = await stage.open();
    await page.goto(stage.service.url);
    await page.getByLabel("API key").waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.type(KEY);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "First five minutes" }).waitFor();

    await tabTo(page, "Send it");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/m\/msg_/);
    const id = page.url().split("/m/")[1] ?? "";
    const timeline = page.getByRole("list", { name: "Timeline" });
    await timeline.getByText("delivered").waitFor();

    await page.keyboard.press("Escape");
    await page.waitForURL(/\/messages$/);
    await page.getByRole("row").nth(1).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/m\/msg_/);
    assert.ok(page.url().endsWith(id));

    await typeInPalette(page, id);
    await enterInPalette(page);
    await page.waitForURL(new RegExp(id));
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).getByText("Next row").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog", { name: "Keys" }).waitFor({ state: "detached" });
    await page.keyboard.press("~");
    await page.getByRole("region", { name: "The Wire" }).waitFor();
  },
);

browserTest("by mouse: the checklist ticks itself, from the first message to the retry", async (stage) => {
  const page = await stage.signedIn();
  const done = (title: string) => page.getByRole("button", { name: `${title} (done)` }).waitFor();
  await page.getByText("0 of 5").waitFor();
  await page.getByText('npx tightbeam send +15005550199 "Are you there?"').waitFor();
  await page.getByRole("button", { name: "Send it" }).click();
  await page.waitForURL(/\/m\/msg_/);
  await page.getByRole("link", { name: "Home" }).click();
  await done("Send a message");
  await done("See a webhook answered with 2xx");
  await done("See a signature verified");
  const byInbox = /by the built-in inbox at \d\d:\d\d:\d\d/;
  await page.getByRole("button", { name: "See a webhook answered with 2xx" }).getByText(byInbox).waitFor();
  await page.getByRole("button", { name: "See a signature verified" }).getByText(byInbox).waitFor();
  await page.getByRole("button", { name: "See a webhook answered with 2xx" }).click();
  await page.getByText("npx tightbeam listen --forward-to").waitFor();
  const received = page.getByRole("list", { name: "Newest requests of the inbox" });
  await received.getByText("200", { exact: true }).first().waitFor();
  await received.getByText("verified", { exact: true }).first().waitFor();
  await page.getByRole("button", { name: "Show it on the Wire" }).click();
  await page.getByRole("region", { name: "The Wire" }).waitFor();
  await page.keyboard.press("~");
  await page.getByRole("button", { name: "See a signature verified" }).click();
  await page.getByRole("button", { name: "Check one by hand" }).click();
  await page.getByRole("button", { name: "Use the inbox's newest request" }).click();
  await page.getByText("The request is genuine").waitFor();
  await page.getByRole("link", { name: "Home" }).click();
  await page.getByRole("button", { name: "Reply", exact: true }).click();
  await page.waitForURL(/\/m\/msg_/);
  await page.getByRole("link", { name: "Home" }).click();
  await done("Get a reply");
  await page.getByRole("button", { name: "Fail once, and send" }).click();
  await page.getByText("The inbox answers 503 once.").waitFor();
  const failed = async () => {
    const { data } = await stage.service.ask("GET", "/v1/sandbox/inbox");
    return data.requests.some(({ status }: { status: number }) => status === 503);
  };
  await until(failed, { what: "the 503 of the inbox" });
  await page.getByRole("button", { name: "Move the clock by a minute" }).click();
  // With the last step the checklist gives way to the figures, and the band shows that the clock was moved.
  await page.getByRole("heading", { name: "First five minutes" }).waitFor({ state: "detached" });
  await page.getByText("All steps are done").waitFor();
  await page.getByRole("complementary", { name: "Environment" }).getByText("ahead").waitFor();
});

browserTest(
  "the checklist stays away once it is dismissed, also after a reload, and a button brings it back",
  async (stage) => {
    const page = await stage.signedIn();
    const checklist = page.getByRole("heading", { name: "First five minutes" });
    await checklist.waitFor();
    await page.getByRole("button", { name: "Dismiss the first steps" }).click();
    await checklist.waitFor({ state: "detached" });
    await page.reload();
    const bringBack = page.getByRole("button", { name: "Show the first steps" });
    await bringBack.waitFor();
    assert.equal(await checklist.count(), 0);
    await bringBack.click();
    await checklist.waitFor();
    await page.reload();
    await checklist.waitFor();
  },
);

browserTest(
  "a one-time link works once, and is gone from the address bar",
  async (stage) => {
    const { data } = await stage.service.ask("POST", "/session/links");
    // A program that fetches the link before somebody opens it, such as a chat's preview or a browser's prefetch, does not use it up.
    for (const [method, headers] of [
      ["HEAD", {}],
      ["GET", { "Sec-Purpose": "prefetch" }],
    ] as const)
      assert.equal((await fetch(data.url, { method, headers })).status, 200);
    const page = await stage.open();
    await page.goto(data.url);
    await page.getByRole("navigation", { name: "Screens" }).waitFor();
    assert.ok(!page.url().includes("link="), page.url());
    const other = await stage.open();
    await other.goto(data.url);
    await other.getByRole("alert").waitFor();
    assert.ok(!other.url().includes("link="), other.url());
  },
  { refusedPath: "/session" },
);

browserTest(
  "a page that the browser renders in advance uses a one-time link up only once it is shown",
  async (stage) => {
    const { data } = await stage.service.ask("POST", "/session/links");
    const page = await stage.open();
    await page.addInitScript("Object.defineProperty(document, 'prerendering', { value: true })");
    await page.goto(data.url, { waitUntil: "networkidle" });
    const signIns = () =>
      stage.requests.filter((request) => request.startsWith("POST") && request.endsWith("/session"));
    assert.deepEqual(signIns(), []);
    await page.evaluate("document.dispatchEvent(new Event('prerenderingchange'))");
    await page.getByRole("navigation", { name: "Screens" }).waitFor();
    assert.equal(signIns().length, 1);
  },
);

browserTest("a step that was done stays ticked after a restart, which empties the inbox", async (stage) => {
  const page = await stage.signedIn();
  const done = (title: string) => page.getByRole("button", { name: `${title} (done)` }).waitFor();
  await stage.service.ask("POST", "/v1/messages", { to: "+15005550100", content: { text: "Hello" } });
  await done("Send a message");
  await done("See a signature verified");
  await stage.restart();
  const { data } = await stage.service.ask("GET", "/v1/sandbox/inbox");
  assert.deepEqual(data.requests, []);
  await page.reload();
  await done("Send a message");
  await done("See a signature verified");
});
