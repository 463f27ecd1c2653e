/** Forms of the console: what the service refuses is marked at its field, and a form is sent again once it is mended. */

import assert from "node:assert/strict";
import type { Locator, Page } from "playwright-core";
import { browserTest, findFaintTexts, findViolations, overflowOf } from "../support/browser.ts";
import { ADMIN_KEY } from "../support/process.ts";
import { DESKTOP } from "../support/screens.ts";
import { until } from "../support/wait.ts";

/** Waits until a field is marked, and returns the sentence that describes it. */
async function problemOf(field: Locator): Promise<string> {
  await until(async () => (await field.getAttribute("aria-invalid")) === "true", { what: "a marked field" });
  const id = await field.getAttribute("aria-describedby");
  assert.ok(id !== null, "the mark has a description");
  const described = field.page().locator(`[id="${id}"]`);
  assert.ok(await described.isVisible());
  return await described.innerText();
}

/** Waits until a field has the focus. */
async function hasFocus(field: Locator, what: string): Promise<void> {
  await until(() => field.evaluate((element) => element === element.ownerDocument.activeElement), { what });
}

/** Looks at a form with marks: every rule on a wide page, and the colours of the other theme on a narrow one. */
async function lookAt(page: Page, name: string): Promise<void> {
  assert.deepEqual(await findViolations(page), [], name);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: "dark" });
  assert.deepEqual(await findFaintTexts(page), [], `${name}, dark and narrow`);
  assert.ok((await overflowOf(page)) <= 0, `${name} is wider than a narrow page`);
  await page.setViewportSize({ width: DESKTOP.width, height: DESKTOP.height });
}

const toasts = (page: Page) => page.getByRole("button", { name: "Dismiss" });

browserTest(
  "a new endpoint that is refused has each wrong field marked, and is added once they are right",
  async (stage) => {
    const page = await stage.signedIn("/webhooks");
    await page.getByRole("button", { name: "Add an endpoint" }).click();
    const drawer = page.getByRole("dialog", { name: "Add an endpoint" });
    const url = drawer.getByRole("textbox", { name: "URL", exact: true });
    const atOnce = drawer.getByRole("textbox", { name: "At once, at most", exact: true });
    await atOnce.fill("999");
    await drawer.getByRole("button", { name: "Add it" }).click();
    assert.match(await problemOf(url), /^Must not be empty\.$/);
    assert.match(await problemOf(atOnce), /^Must be 1 to 256; got 999\.$/);
    await hasFocus(url, "the focus on the first wrong field");
    assert.equal(await toasts(page).count(), 0, "what is at a field is in no toast");
    await lookAt(page, "the form of an endpoint with marks");

    await atOnce.fill("20");
    assert.equal(await atOnce.getAttribute("aria-invalid"), null, "a field that is changed loses its mark");
    assert.equal(await url.getAttribute("aria-invalid"), "true");
    await hasFocus(atOnce, "the focus where one types");
    await url.fill("ftp://example.com/hooks");
    await url.press("Enter");
    assert.match(await problemOf(url), /https/);
    await hasFocus(url, "the focus on the URL");
    await drawer.getByRole("button", { name: "Deliver to the sandbox's own inbox" }).click();
    assert.equal(await url.getAttribute("aria-invalid"), null, "a field that a button fills in loses its mark too");
    await drawer.getByRole("checkbox", { name: "Every type" }).uncheck();
    for (const type of ["message.delivered", "message.failed", "message.inbound"])
      await drawer.getByRole("checkbox", { name: type }).uncheck();
    await drawer.getByRole("button", { name: "Add it" }).click();
    const every = drawer.getByRole("checkbox", { name: "Every type" });
    assert.match(await problemOf(every), /^Must not be empty\.$/);
    await hasFocus(every, "the focus on the first box");
    await every.check();
    await drawer.getByRole("button", { name: "Add it" }).click();
    await page.waitForURL(/\/webhooks\/endpoints\/wh_/);
  },
  { refusedPath: "/v1/webhooks" },
);

browserTest(
  "where the sandbox's inbox is off, no page asks for it or offers it",
  async (stage) => {
    const page = await stage.signedIn("/");
    await page.getByRole("button", { name: "Get a reply" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "See a retry" }).count(), 0, "the inbox has the retry");
    await page.getByRole("link", { name: "Webhooks" }).click();
    await page.getByRole("button", { name: "Add an endpoint" }).click();
    await page.getByRole("dialog", { name: "Add an endpoint" }).getByRole("textbox", { name: "URL" }).waitFor();
    await page.goto(`${stage.service.url}/webhooks/check`);
    await page.getByLabel("Raw body").waitFor();
    await page.keyboard.press("~");
    await page.getByRole("region", { name: "The Wire" }).waitFor();
    await page.getByText("Live", { exact: true }).waitFor({ state: "attached" });
    assert.equal(await page.getByRole("button", { name: /inbox/ }).count(), 0);
    assert.deepEqual(
      stage.requests.filter((request) => request.includes("/v1/sandbox/inbox")),
      [],
    );
  },
  { env: { TB_SANDBOX_INBOX: "off" } },
);

browserTest(
  "an endpoint that is there already is refused at its URL",
  async (stage) => {
    const { data } = await stage.service.ask("GET", "/v1/sandbox/inbox");
    await stage.service.ask("POST", "/v1/webhooks", { url: data.url, secret: data.secret, events: ["*"] });
    const page = await stage.signedIn("/webhooks");
    await page.getByRole("button", { name: "Add an endpoint" }).click();
    const drawer = page.getByRole("dialog", { name: "Add an endpoint" });
    await drawer.getByRole("button", { name: "Deliver to the sandbox's own inbox" }).click();
    await drawer.getByRole("button", { name: "Add it" }).click();
    const url = drawer.getByRole("textbox", { name: "URL", exact: true });
    assert.match(await problemOf(url), /^The endpoint wh_\S+ gets the same events at the same URL already; .*\.$/);
    await hasFocus(url, "the focus on the URL");
    assert.equal(await toasts(page).count(), 0);
  },
  { refusedPath: "/v1/webhooks" },
);

browserTest(
  "a recipient who has opted out is refused at the field of the recipient",
  async (stage) => {
    const [number] = (await stage.service.ask("GET", "/v1/numbers")).data;
    await stage.service.ask("PUT", `/v1/opt-outs/${number.phoneNumber}/+15005550100`);
    const page = await stage.signedIn("/messages");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    const compose = page.getByRole("dialog", { name: "Send a message" });
    await compose.getByRole("button", { name: "Send", exact: true }).click();
    const to = compose.getByRole("textbox", { name: "To", exact: true });
    assert.match(await problemOf(to), /^\+15005550100 has opted out of messages from \+\d+; .*\.$/);
    await hasFocus(to, "the focus on the recipient");
    assert.equal(await toasts(page).count(), 0);
  },
  { refusedPath: "/v1/messages" },
);

browserTest(
  "a refusal that names no field is told by a toast, and marks none",
  async (stage) => {
    const [customer] = (await stage.service.ask("GET", "/v1/admin/customers", undefined, ADMIN_KEY)).data.customers;
    const readOnly = { name: "Screen", customerId: customer.id, permissions: ["read"] };
    const { data } = await stage.service.ask("POST", "/v1/admin/keys", readOnly, ADMIN_KEY);
    const page = await stage.signedIn("/messages", DESKTOP, data.key);
    await page.getByRole("button", { name: "Send", exact: true }).click();
    const drawer = page.getByRole("dialog", { name: "Send a message" });
    await drawer.getByRole("button", { name: "Send", exact: true }).click();
    await toasts(page).waitFor();
    assert.equal(await drawer.locator("[aria-invalid]").count(), 0);
  },
  { refusedPath: "/v1/messages" },
);

browserTest(
  "a key without a name, or without a permission, is refused at that field by keyboard too",
  async (stage) => {
    const page = await stage.signedIn("/settings/keys", DESKTOP, ADMIN_KEY);
    await page.getByRole("button", { name: "Create a key" }).click();
    const drawer = page.getByRole("dialog", { name: "Create a key" });
    const name = drawer.getByRole("textbox", { name: "Name", exact: true });
    await hasFocus(name, "the focus in the first field of the form that opens");
    await name.press("Enter");
    assert.match(await problemOf(name), /^Must not be empty\.$/);
    await hasFocus(name, "the focus on the name");
    await lookAt(page, "the form of a key with a mark");
    await page.keyboard.type("Till");
    const permissions = drawer.getByRole("checkbox");
    for (const box of await permissions.all()) await box.uncheck();
    await name.press("Enter");
    assert.match(await problemOf(permissions.first()), /\.$/);
    await hasFocus(permissions.first(), "the focus on the first permission");
    assert.equal(await toasts(page).count(), 0);

    await permissions.first().check();
    await name.press("Enter");
    await page.getByRole("dialog", { name: "Store “Till” now" }).waitFor();
  },
  { refusedPath: "/v1/admin/keys" },
);

browserTest("a number of a phone's settings holds at Enter, and the field shows the one that holds", async (stage) => {
  const page = await stage.signedIn("/phone/+15005550100");
  await page.getByRole("button", { name: /Settings of the phone/ }).click();
  const latency = page.getByRole("spinbutton", { name: /^Latency/ });
  await latency.fill("700000");
  await latency.press("Enter");
  const stored = async () =>
    (await stage.service.ask("GET", "/v1/sandbox/phones/+15005550100/settings")).data.latencyMs;
  await until(async () => (await stored()) === 600_000, { what: "the longest latency" });
  await latency.fill("800000");
  await latency.press("Tab");
  assert.equal(await latency.inputValue(), "600000");
});
