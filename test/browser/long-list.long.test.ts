/** A list of 10,000 rows in a real browser: few of them are in the page, the keys come to the end, and new rows wait for a click. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { browserTest, type Stage } from "../support/browser.ts";
import { until } from "../support/wait.ts";

const MESSAGES = 10_000;
/** Requests that are on their way at once. */
const AT_ONCE = 64;
/** A page of 800 pixels shows 22 rows, and a dozen more on each side. */
const ROWS_MAX = 60;
const LIMIT_MS = 300_000;

/** Schedules messages for tomorrow, which costs the least: nothing is sent. */
async function fill({ service }: Stage): Promise<void> {
  const scheduledAt = new Date(Date.now() + 86_400_000).toISOString();
  let sent = 0;
  const sendMore = async () => {
    while (sent < MESSAGES) {
      sent += 1;
      const body = { to: "+15005550100", content: { text: `Number ${sent}` }, scheduledAt };
      assert.equal((await service.ask("POST", "/v1/messages", body)).status, 202);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sendMore));
}

const rowsIn = (page: Page) => page.getByRole("grid", { name: "Messages" }).getByRole("row");

/** The number of the last row that is in the page, as it is read aloud; the head is the first. */
async function lastIndex(page: Page): Promise<number> {
  return Number(await rowsIn(page).last().getAttribute("aria-rowindex"));
}

browserTest(
  "10,000 messages are scrolled to the end, and new ones wait for a click",
  async (stage) => {
    await fill(stage);
    const page = await stage.signedIn("/messages");
    await rowsIn(page).nth(10).waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    const grid = page.getByRole("grid", { name: "Messages" });
    await grid.focus();

    let most = 0;
    const isAtEnd = async () => {
      await page.keyboard.press("End");
      most = Math.max(most, await rowsIn(page).count());
      return (await lastIndex(page)) === MESSAGES + 1;
    };
    await until(isAtEnd, { limitMs: LIMIT_MS, what: "the end of the list" });
    assert.ok(most <= ROWS_MAX, `${most} rows are in the page`);
    await page.getByText("Number 1", { exact: true }).waitFor();

    const shown = await rowsIn(page).allInnerTexts();
    await stage.service.ask("POST", "/v1/messages", { to: "+15005550100", content: { text: "Just now" } });
    await page.getByRole("button", { name: "1 new" }).waitFor();
    const textOf = (row: string) => /Number \d+/.exec(row)?.[0];
    assert.deepEqual((await rowsIn(page).allInnerTexts()).map(textOf), shown.map(textOf), "rows jumped");

    await page.keyboard.press("Home");
    await until(async () => (await rowsIn(page).nth(1).getAttribute("aria-rowindex")) === "2");
    await page.keyboard.press("j");
    await page.getByRole("button", { name: "1 new" }).click();
    await page.getByText("Just now", { exact: true }).waitFor();
    assert.ok((await rowsIn(page).count()) <= ROWS_MAX);
  },
  { env: { TB_SANDBOX_INBOX: "off" } },
);
