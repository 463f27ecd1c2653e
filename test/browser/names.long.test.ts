/** Contacts by their names, wherever the console shows a number. */

import type { Page } from "playwright-core";
import { browserTest, enterInPalette, typeInPalette } from "../support/browser.ts";

const ONE = "+15005550100";
const OTHER = "+15005550101";

/** Waits for a row of the open list with this text. */
async function rowWith(page: Page, text: RegExp): Promise<void> {
  await page.getByRole("row").filter({ hasText: text }).first().waitFor();
}

browserTest(
  "a new contact's name stands beside the number in an open list at once, and two of one name differ by number",
  async (stage) => {
    const { ask } = stage.service;
    for (const to of [ONE, OTHER]) await ask("POST", "/v1/messages", { to, content: { text: "Hello" } });
    const page = await stage.signedIn("/messages");
    await rowWith(page, /\+15005550100/);
    await rowWith(page, /\+15005550101/);
    for (const phoneNumber of [ONE, OTHER])
      await ask("POST", "/v1/contacts", { firstName: "Ada", lastName: "Byron", phoneNumber });
    await rowWith(page, /Ada Byron …0100/);
    await rowWith(page, /Ada Byron …0101/);
    await page.getByRole("row").filter({ hasText: "…0100" }).click();
    await page.getByRole("heading", { name: `Ada Byron ${ONE}` }).waitFor();
  },
);

browserTest("opt-outs, calls, payments, requests, deliveries and phones name the contact", async (stage) => {
  const { ask } = stage.service;
  await ask("POST", "/v1/contacts", { firstName: "Ada", phoneNumber: ONE });
  await ask("POST", "/v1/webhooks", { url: "http://127.0.0.1:9/", events: ["message.inbound"] });
  await ask("POST", "/v1/payments/request", { to: ONE, amount: "5.00" });
  await ask("POST", `/v1/sandbox/phones/${ONE}/calls`, { action: "ring", video: true });
  await ask("POST", `/v1/sandbox/phones/${ONE}/messages`, { text: "STOP" });
  const page = await stage.signedIn();
  for (const path of ["/settings/payments", "/settings/calls", "/settings/opt-outs", "/logs"]) {
    await page.goto(stage.service.url + path);
    await rowWith(page, /Ada/);
  }
  await page.goto(`${stage.service.url}/webhooks/deliveries`);
  await page.getByRole("row").filter({ hasText: "message.inbound" }).click();
  await page.getByText(`Ada ${ONE}`).waitFor();
  await page.goto(`${stage.service.url}/phone/${ONE}`);
  await page.getByRole("heading", { name: "Ada", exact: true }).waitFor();
});

browserTest(
  "the palette finds a contact by name or number, and begins with the record that was opened last",
  async (stage) => {
    const { ask } = stage.service;
    await ask("POST", "/v1/contacts", { firstName: "Ada", phoneNumber: ONE });
    const { data } = await ask("POST", "/v1/messages", { to: ONE, content: { text: "Are you there?" } });
    const page = await stage.signedIn(`/m/${data.id}`);
    await page.getByRole("heading", { name: `Ada ${ONE}` }).waitFor();
    for (const typed of ["ada", "5550100"]) {
      await typeInPalette(page, typed);
      await page.getByRole("option", { name: `Ada Messages · ${ONE}` }).waitFor();
      await page.keyboard.press("Escape");
    }
    await typeInPalette(page, "ada");
    await page.getByRole("option", { name: `Ada Messages · ${ONE}`, selected: true }).waitFor();
    await enterInPalette(page);
    await page.waitForURL(/\/messages\?q=/);
    await rowWith(page, /Ada …0100/);
    await typeInPalette(page, "");
    await page.getByRole("option", { name: "Ada: Are you there?", selected: true }).waitFor();
    await enterInPalette(page);
    await page.waitForURL(new RegExp(data.id));
  },
);
