/** The live stream of the console: one a browser, cut and resumed, and rows that never jump. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { browserTest, findViolations, type Stage, settle, whenRead } from "../support/browser.ts";
import { until } from "../support/wait.ts";

const HELLO = { to: "+15005550100", content: { text: "Hello" } };
const STREAM = /\/v1\/wire(\?|$)/;

/** Restarts the service, and holds the page's next stream back until the returned function is called. */
async function cutStream(stage: Stage, page: Page): Promise<() => void> {
  const held = Promise.withResolvers<void>();
  await page.route(STREAM, async (route) => {
    await held.promise;
    await route.continue();
  });
  await stage.restart();
  await page.getByText("Reconnecting", { exact: true }).waitFor();
  return held.resolve;
}

const send = (stage: Stage, text: string) => stage.service.ask("POST", "/v1/messages", { ...HELLO, content: { text } });

browserTest(
  "two tabs of a browser read one stream, and the second goes on with it when the first is closed",
  async (stage) => {
    const first = await stage.signedIn("/messages");
    await first.getByText("Live", { exact: true }).waitFor();
    const second = await first.context().newPage();
    await second.goto(`${stage.service.url}/messages`);
    await second.getByText("Live", { exact: true }).waitFor();
    const streams = () => stage.requests.filter((request) => STREAM.test(request)).length;
    const before = streams();
    await stage.service.ask("POST", "/v1/messages", HELLO);
    await second.getByRole("row").nth(1).waitFor();
    assert.equal(streams(), before, "the second tab opened a stream of its own");
    await first.close();
    await stage.service.ask("POST", "/v1/messages", { ...HELLO, content: { text: "Again" } });
    await second.getByRole("button", { name: "1 new" }).click();
    await second.getByText("Again").waitFor();
  },
);

browserTest(
  "a page says that it reconnects while the service is down, and shows what happened meanwhile",
  async (stage) => {
    const page = await stage.signedIn("/messages");
    const isLive = page.getByText("Live", { exact: true });
    await isLive.waitFor();
    await send(stage, "Hello");
    await page.getByText("Hello").waitFor();
    // Otherwise the page may be back before the message, and then announces it.
    const goOn = await cutStream(stage, page);
    await send(stage, "While you were away");
    goOn();
    await isLive.waitFor();
    await page.getByText("While you were away").waitFor();
  },
);

browserTest("after a cut in which nothing happened, rows that come in wait as they did before", async (stage) => {
  const page = await stage.signedIn("/messages");
  const isLive = page.getByText("Live", { exact: true });
  await isLive.waitFor();
  await send(stage, "Hello");
  await page.getByRole("row").filter({ hasText: "delivered" }).waitFor();
  const goOn = await cutStream(stage, page);
  const isRead = whenRead(page, "/v1/messages?limit=50");
  goOn();
  await isLive.waitFor();
  await isRead;
  await settle(page);
  await send(stage, "Later");
  await page.getByRole("button", { name: "1 new" }).click();
  await page.getByText("Later").waitFor();
});

browserTest(
  "the Wire shows a failed delivery, its retry once the clock is moved, and its success, and takes the signature apart",
  async (stage) => {
    const page = await stage.signedIn("/messages");
    await page.getByText("Live", { exact: true }).waitFor();
    await page.keyboard.press("~");
    await page.getByRole("region", { name: "The Wire" }).waitFor();
    const row = (text: string) => page.getByRole("option").filter({ hasText: text });
    await stage.service.ask("PUT", "/v1/sandbox/inbox/behaviour", { failFirst: 1 });
    await stage.service.ask("POST", "/v1/messages", HELLO);
    await row("retry 1 to the inbox").waitFor();
    await row("message.delivered").first().waitFor();
    await stage.service.ask("POST", "/v1/sandbox/clock", { advance: "1m" });
    await row("retry 1 to the inbox").waitFor({ state: "detached" });
    await row("/v1/sandbox/clock").waitFor();
    const posts = async () =>
      (await page.getByRole("option").allInnerTexts()).flatMap((text) => {
        const [, status, type] = /(\d{3})\s+(?:\+\d+ \w+\s+)?POST the inbox\s+(message\.\w+)/.exec(text) ?? [];
        return status === undefined ? [] : [{ status, type }];
      });
    const isRetried = async () => {
      const shown = await posts();
      const failed = shown.findIndex(({ status }) => status === "503");
      const succeeded = shown.findLastIndex(({ status, type }) => status === "200" && type === shown[failed]?.type);
      return failed >= 0 && succeeded > failed;
    };
    await until(isRetried, { what: "the retry below the failed delivery" });
    assert.equal(await row("POST /v1/messages").count(), 1);
    await page.keyboard.press("k");
    await row("POST the inbox").last().click();
    await page.getByText("made again here: the same").waitFor();
    assert.deepEqual(await findViolations(page), []);
    await page.keyboard.press("Escape");
    await page.getByRole("region", { name: "Row of the Wire" }).waitFor({ state: "detached" });
  },
);

browserTest("the Wire shows the webhooks to the inbox from before the page was opened, each once", async (stage) => {
  await stage.service.ask("POST", "/v1/messages", HELLO);
  const isReceived = async () => {
    const { data } = await stage.service.ask("GET", "/v1/sandbox/inbox");
    return data.requests.some(({ body }: { body: string }) => body.includes("message.delivered"));
  };
  await until(isReceived, { what: "message.delivered in the inbox" });
  const page = await stage.signedIn("/messages");
  await page.getByText("Live", { exact: true }).waitFor();
  await page.keyboard.press("~");
  const posted = page
    .getByRole("option")
    .filter({ hasText: "POST the inbox" })
    .filter({ hasText: "message.delivered" });
  await posted.waitFor();
  await posted.click();
  await page.getByText("made again here: the same").waitFor();
  assert.equal(await posted.count(), 1);
});

browserTest("what somebody writes while the Wire is loaded stays in its field", async (stage) => {
  const page = await stage.signedIn("/phone/+15005550100");
  let load: () => void = assert.fail;
  const isWanted = new Promise<void>((resolve) => {
    load = resolve;
  });
  await page.route(/\/wire-[^/]*\.js$/, async (route) => {
    await isWanted;
    await route.continue();
  });
  const composer = page.getByLabel("Write as the contact");
  await composer.waitFor();
  await page.keyboard.press("~");
  await page.getByRole("region", { name: "The Wire" }).waitFor();
  await composer.pressSequentially("Yes");
  load();
  await page.getByRole("heading", { name: "Wire" }).waitFor();
  await page.keyboard.type(", I am");
  assert.equal(await composer.inputValue(), "Yes, I am");
});
