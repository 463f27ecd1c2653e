/** Webhooks in the console: an endpoint from its creation to its rotation, a delivery that fails, replay, trigger, and the check of a signature. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { browserTest, forgetChoices, type Stage } from "../support/browser.ts";

/** Makes an endpoint at the inbox by hand, and leaves its page open. */
async function addInbox(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Add an endpoint" }).click();
  await page.getByRole("button", { name: "Deliver to the sandbox's own inbox" }).click();
  await page.getByRole("button", { name: "Add it" }).click();
  await page.waitForURL(/\/webhooks\/endpoints\/wh_/);
}

browserTest("an endpoint is added, tested, rotated, replayed, paused and deleted", async (stage) => {
  await stage.service.ask("POST", "/v1/messages", { to: "+15005550100", content: { text: "Hello" } });
  await stage.service.ask("GET", "/v1/sandbox/wait?type=message.delivered");
  const page = await stage.signedIn("/webhooks");
  await page.getByText("No endpoints yet").waitFor();
  await addInbox(page);
  const endpoint = page.getByRole("region", { name: "Endpoint", exact: true });
  await endpoint.getByRole("button", { name: "Send a test event" }).click();
  await endpoint.getByText("The test event:").getByText("succeeded").waitFor();

  await endpoint.getByRole("button", { name: "Replay since…" }).click();
  const replay = page.getByRole("dialog", { name: "Replay events" });
  await replay.getByLabel("Type").selectOption("message.delivered");
  await replay.getByText("1 stored event", { exact: true }).waitFor();
  await replay.getByRole("button", { name: "Replay", exact: true }).click();
  await replay.getByText("1 of 1 succeeded.").waitFor();
  await replay.getByRole("button", { name: "Close" }).last().click();

  await endpoint.getByRole("button", { name: "Rotate the secret" }).click();
  await page.getByRole("button", { name: "Rotate", exact: true }).click();
  const secret = page.getByRole("dialog", { name: "The signing secret" });
  assert.doesNotMatch(await secret.innerText(), /whsec_\w/, "the secret is hidden at first");
  await secret.getByRole("button", { name: "Reveal" }).click();
  await secret.getByText(/whsec_[\w+/]{20}/).waitFor();
  await secret.getByRole("button", { name: "I have stored it" }).click();
  const grace = endpoint.getByRole("progressbar", { name: "Grace period of the old secret" });
  await grace.waitFor();
  await forgetChoices(page);
  await page.reload();
  await grace.waitFor();

  await endpoint.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("button", { name: "Pause it" }).click();
  await endpoint.getByText("paused", { exact: true }).waitFor();
  await endpoint.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete it" }).click();
  await page.getByText("No endpoints yet").waitFor();
});

/** A pending delivery to an inbox that failed once. Returns its id. */
async function failOnce({ service }: Stage): Promise<string> {
  const inbox = await service.ask("GET", "/v1/sandbox/inbox");
  const { url, secret } = inbox.data;
  const endpoint = await service.ask("POST", "/v1/webhooks", { url, secret, events: ["webhook.test"] });
  // The event goes to the inbox itself too.
  await service.ask("PUT", "/v1/sandbox/inbox/behaviour", { failFirst: 2 });
  const tested = await service.ask("POST", `/v1/webhooks/${endpoint.data.id}/test`);
  assert.equal(tested.data.status, "pending");
  return tested.data.id;
}

browserTest("a failed delivery counts down to its next attempt, and is retried by hand", async (stage) => {
  const id = await failOnce(stage);
  const page = await stage.signedIn(`/webhooks/deliveries/${id}`);
  const delivery = page.getByRole("region", { name: "Delivery", exact: true });
  await delivery.getByText("next attempt in").waitFor();
  await delivery.getByText("503", { exact: true }).waitFor();
  await delivery.getByRole("button", { name: "Retry now" }).click();
  await delivery.getByText("succeeded").waitFor();
  await delivery.getByText("200", { exact: true }).waitFor();
});

browserTest("a triggered event arrives, and its signature is checked part by part", async (stage) => {
  const page = await stage.signedIn("/webhooks/events/message.read");
  await page.getByRole("button", { name: "Trigger" }).click();
  await page.getByText("happened").waitFor();

  await page.getByRole("link", { name: "Check a signature" }).click();
  await page.getByRole("button", { name: "Use the inbox's newest request" }).click();
  await page.getByText("The request is genuine").waitFor();
  const body = await page.getByLabel("Raw body").inputValue();
  await page.getByLabel("Raw body").fill(`${body}\n`);
  await page.getByText("line break or space more than was signed").waitFor();
  await page.getByLabel("Raw body").fill(body);
  await page.getByLabel("Secret").fill("another secret");
  await page.getByText("the secret is another one").waitFor();
  assert.deepEqual(
    stage.requests.filter((url) => url.includes("another")),
    [],
    "the secret stays in the browser",
  );
});
