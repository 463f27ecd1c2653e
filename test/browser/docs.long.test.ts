/** The documentation in a browser: search, tabs, keys, reading without a script, and every kind of page in both themes and widths. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { browserTest, checkViews, findViolations, typeInPalette, whenRead } from "../support/browser.ts";

/** One page of each kind. */
const PAGES = [
  "/docs",
  "/docs/guides/moving",
  "/docs/lifecycle",
  "/docs/reference/messages",
  "/docs/reference/records",
];

/** The form that sends a message. */
const TRIED = "#sendMessage .try";

const activeTab = (page: Page) => page.locator(".tabbed [role=tab][aria-selected=true]").first();

browserTest("the documentation is accessible and fits the page, in both themes and at both widths", async (stage) => {
  const page = await stage.open();
  for (const path of PAGES) {
    await page.goto(stage.service.url + path);
    await page.locator("h1").waitFor();
    await checkViews(page, path);
  }
  await page.goto(`${stage.service.url}/docs`);
  await page.keyboard.press("/");
  await page.keyboard.type("retry webhook");
  await page.getByRole("option").first().waitFor();
  await checkViews(page, "the search");
});

browserTest("the search finds a section by keyboard, and opens a pasted id in the console", async (stage) => {
  const page = await stage.open();
  await page.goto(`${stage.service.url}/docs`);
  await page.keyboard.press("/");
  await page.keyboard.type("verify webhook");
  await page.getByRole("option", { name: "Receive and verify" }).first().waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("listbox", { name: "Results" }).waitFor({ state: "hidden" });
  await page.getByRole("combobox").fill("advance the clock");
  await page.getByRole("option").nth(1).waitFor();
  await page.keyboard.press("ArrowDown");
  const second = await page.getByRole("option").nth(1).getAttribute("href");
  await page.keyboard.press("Enter");
  await page.waitForURL(stage.service.url + second);
  await page.getByRole("combobox").fill("msg_0199c2f4-8a00-7000-8000-000000000001");
  const record = page.getByRole("option", { name: "Open the message" });
  await record.waitFor();
  assert.equal(await record.getAttribute("href"), "/m/msg_0199c2f4-8a00-7000-8000-000000000001");
});

browserTest("a language that the reader chooses is shown on every page, and a block can be copied", async (stage) => {
  const page = await stage.open();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(`${stage.service.url}/docs/guides/moving`);
  assert.equal(await activeTab(page).textContent(), "curl");
  await activeTab(page).focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await activeTab(page).textContent(), "TypeScript");
  await page.goto(`${stage.service.url}/docs/reference/messages`);
  await page.goto(`${stage.service.url}/docs/guides/moving`);
  assert.equal(await activeTab(page).textContent(), "TypeScript");
  const panel = page.locator(".tabbed [role=tabpanel]:visible").first();
  await panel.getByRole("button", { name: "Copy" }).click();
  await panel.getByRole("button", { name: "Copied" }).waitFor();
  assert.equal(await page.evaluate("navigator.clipboard.readText()"), await panel.locator("code").textContent());
});

browserTest("a block that uses the guides' shorthand says so, and is copied with its definition", async (stage) => {
  const page = await stage.open();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const definitions = whenRead(page, "/guides.md");
  await page.goto(`${stage.service.url}/docs/guides/sending`);
  await definitions;
  await page.getByText("is the shorthand for curl").waitFor();
  const panel = page.locator(".tabbed [role=tabpanel]:visible").first();
  await panel.getByRole("button", { name: "Copy" }).click();
  await panel.getByRole("button", { name: "Copied" }).waitFor();
  const copied = String(await page.evaluate("navigator.clipboard.readText()"));
  assert.match(copied, /^api\(\) \{ curl /);
  assert.ok(copied.endsWith((await panel.locator("code").textContent()) ?? "-"), copied);
  assert.deepEqual(await findViolations(page), []);
});

browserTest(
  "keys go through the parts of a page and through the pages, and the former anchors lead on",
  async (stage) => {
    const page = await stage.open();
    const { url } = stage.service;
    await page.goto(`${url}/docs#sendMessage`);
    await page.waitForURL(`${url}/docs/reference/messages#sendMessage`);
    await page.goto(`${url}/docs/guides/receiving`);
    await page.keyboard.press("j");
    assert.equal(await page.evaluate("document.activeElement.closest('[id]').id"), "one-phone-in-two-forms");
    await page.keyboard.press("]");
    await page.waitForURL(`${url}/docs/guides/groups`);
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    assert.deepEqual(await findViolations(page), [], "the keys");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
  },
);

browserTest("without a script every page can be reached and read, on a phone too", async (stage) => {
  const page = await stage.open({ width: 390, height: 844, theme: "light" });
  const context = await page
    .context()
    .browser()
    ?.newContext({ javaScriptEnabled: false, viewport: { width: 390, height: 844 } });
  const plain = (await context?.newPage()) ?? assert.fail("the browser opened no page");
  await plain.goto(`${stage.service.url}/docs`);
  await plain.getByRole("link", { name: "Pages", exact: true }).click();
  await plain.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Move here" }).click();
  await plain.getByRole("heading", { name: "Move from Sendblue, Linq or Twilio" }).waitFor();
  const blocks = plain.locator(".tabbed figure");
  assert.deepEqual([await blocks.nth(0).isVisible(), await blocks.nth(1).isVisible()], [true, true]);
  assert.equal(await plain.getByRole("combobox").count(), 0, "a search that cannot work is not shown");
  await context?.close();
});

browserTest("the console leads to the documentation: the side bar, the palette, the keys", async (stage) => {
  const page = await stage.signedIn("/messages");
  await page.getByText("No messages yet").waitFor();
  await typeInPalette(page, "quiet hours");
  await page
    .getByRole("option", { name: /Docs ·/ })
    .first()
    .click();
  await page.waitForURL(/\/docs\//);
  await page.getByRole("navigation", { name: "Screens" }).getByRole("link", { name: "Messages" }).click();
  await page.getByText("No messages yet").waitFor();
  await page.keyboard.press("?");
  await page.getByRole("link", { name: "the documentation" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("navigation", { name: "Screens" }).getByRole("link", { name: "Docs" }).click();
  await page.getByRole("heading", { name: "Tightbeam documentation" }).waitFor();
});

browserTest(
  "a form of the reference sends the request for real, and shows status, time and the response",
  async (stage) => {
    const page = await stage.signedIn("/docs/reference/messages");
    const send = page.locator(TRIED);
    await send.getByText("Try it").click();
    await send.getByText("You are signed in with the key").waitFor();
    assert.deepEqual(await findViolations(page, TRIED), [], "an open form");
    const [example = ""] = [await send.getByLabel("Request body").inputValue()];
    assert.ok(JSON.parse(example).to, example);
    await send.getByLabel("Request body").fill("{to}");
    await send.getByRole("button", { name: "Send POST" }).click();
    await send.getByText("The body is not valid JSON").waitFor();
    await send.getByLabel("Request body").fill('{"to":"+15005550100","content":{"text":"From the docs"}}');
    await send.getByRole("button", { name: "Send POST" }).click();
    await send.getByText(/^202 Accepted · \d+ ms/).waitFor();
    await send.getByRole("link", { name: "in the log" }).waitFor();
    assert.deepEqual(await findViolations(page, TRIED), [], "a response");
    const { data } = await stage.service.ask("GET", "/v1/messages");
    assert.equal(data.messages[0].content.text, "From the docs");
    assert.ok((await send.locator("pre code").textContent())?.includes(data.messages[0].id));

    const get = page.locator("#getMessage .try");
    await get.getByText("Try it").click();
    await get.getByRole("textbox").first().fill(data.messages[0].id);
    await get.getByRole("button", { name: "Send GET" }).click();
    await get.getByText(/^200 OK · \d+ ms/).waitFor();
    assert.equal(await get.getByRole("link", { name: "in the log" }).count(), 0, "the log keeps no reads of a session");
  },
);

browserTest("a form says how to sign in, and a request that goes on can be stopped", async (stage) => {
  const page = await stage.open();
  await page.goto(`${stage.service.url}/docs/reference/events`);
  const form = page.locator("#listEvents .try");
  await form.getByText("Try it").click();
  await form.getByText("Nobody is signed in here.").waitFor();
  assert.equal(await form.getByRole("link", { name: "Sign in to the console" }).getAttribute("href"), "/");

  await stage.signIn(page, "/docs/reference/sandbox");
  const wait = page.locator("form[data-template='/v1/sandbox/wait']");
  await wait.locator("..").getByText("Try it").click();
  await wait.locator("[name=type]").fill("message.inbound");
  await wait.getByRole("button", { name: "Send GET" }).click();
  await wait.getByRole("button", { name: "Stop" }).click();
  await wait.getByText("You stopped the request.").waitFor();
});
