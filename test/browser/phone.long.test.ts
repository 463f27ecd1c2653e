/** The phone of the console: a conversation by mouse, and its recording, which runs as a test and passes. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { browserTest } from "../support/browser.ts";
import { KEY } from "../support/process.ts";

const PHONE = "+15005550199";
const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const phoneOf = (page: Page, name: string) => page.getByRole("region", { name: new RegExp(`^Phone of ${name},`) });

/** Runs a recorded test as a reader would, but with the client of this tree. */
async function replay(code: string, url: string): Promise<string> {
  // In the tree, so that Node removes the types of the client: it does not below node_modules.
  const directory = mkdtempSync(join(ROOT, "dist/recorded-"));
  try {
    const file = join(directory, "recorded.test.mjs");
    writeFileSync(file, code.replace('"@tightbeam/sdk"', JSON.stringify(join(ROOT, "sdk/index.ts"))));
    const env = { ...process.env, NODE_TEST_CONTEXT: undefined, TIGHTBEAM_URL: url, TIGHTBEAM_API_KEY: KEY };
    return (await promisify(execFile)(process.execPath, ["--test", file], { env })).stdout;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

browserTest("a recorded conversation runs as a test against the same sandbox, and passes", async (stage) => {
  const page = await stage.signedIn(`/phone/${PHONE}`);
  const phone = phoneOf(page, "You");
  const thread = phone.getByRole("list", { name: "Messages on the phone" });
  await page.getByRole("button", { name: "Record a test" }).click();
  await stage.service.ask("POST", "/v1/messages", { to: PHONE, content: { text: "Shall we meet?" } });
  await thread.getByText("Shall we meet?").waitFor();
  await thread.getByText("Delivered", { exact: true }).waitFor();
  await phone.getByRole("textbox", { name: "Write as the contact" }).fill("At eight");
  await page.keyboard.press("Enter");
  await thread.getByText("At eight").waitFor();
  // The answer to the reaction arrives after its event: the recording has the reaction first nevertheless.
  const reaction = thread.getByRole("img", { name: "Reactions: ❤️" });
  await page.route("**/reactions", async (route) => {
    const response = await route.fetch();
    await reaction.waitFor();
    await route.fulfill({ response });
  });
  const answered = page.waitForResponse("**/reactions");
  await phone.getByRole("button", { name: "React or reply to Shall we meet?" }).click();
  await page.getByRole("button", { name: "love", exact: true }).click();
  await answered;
  await page.unroute("**/reactions");
  await stage.service.ask("POST", "/v1/payments/request", { to: PHONE, amount: "12.50", note: "Tickets" });
  await thread.getByRole("button", { name: "Pay", exact: true }).click();
  await thread.getByText("paid", { exact: true }).waitFor();
  await phone.getByRole("button", { name: "Ring by FaceTime" }).click();
  await phone.getByRole("button", { name: "You answer" }).click();
  await phone.getByText("In a FaceTime call").waitFor();
  await phone.getByRole("button", { name: "Hang up" }).click();
  await phone.getByText("In a FaceTime call").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  const code = await page.getByRole("dialog", { name: "The recording as a test" }).locator("pre").innerText();
  for (const step of ['"send":', '"write":', '"react":', '"request":', '"pay":', '"call":'])
    assert.ok(code.includes(step), `${step} in\n${code}`);
  await page.getByRole("button", { name: "Run here" }).click();
  const results = page.getByRole("list", { name: "Results" }).getByRole("listitem");
  const steps = code.split("\n").filter((line) => line.startsWith('  {"')).length;
  await page.getByRole("button", { name: "Run here", disabled: false }).waitFor();
  assert.equal(await results.filter({ hasText: "passed" }).count(), steps, (await results.allInnerTexts()).join("\n"));
  const output = await replay(code, stage.service.url);
  assert.match(output, /fail 0\b/, output);
});

browserTest("two phones side by side make a group, write in it, and see each other", async (stage) => {
  const page = await stage.signedIn(`/phone/${PHONE}`);
  await page.getByRole("button", { name: "Second phone" }).click();
  const [you, echo] = [phoneOf(page, "You"), phoneOf(page, "Echo")];
  await you.getByRole("button", { name: "Group" }).click();
  await you.getByRole("button", { name: "2 people", pressed: true }).waitFor();
  await you.getByRole("textbox", { name: "Write as the contact" }).fill("Hello group");
  await page.keyboard.press("Enter");
  await you.getByText("Hello group").waitFor();
  await echo.getByRole("button", { name: "2 people" }).click();
  await echo.getByText("Hello group").waitFor();
  await echo.getByText(PHONE, { exact: true }).waitFor();
});

browserTest(
  "a setting of a phone holds at once: offline, a message waits until the phone is online again",
  async (stage) => {
    const page = await stage.signedIn(`/phone/${PHONE}`);
    const phone = phoneOf(page, "You");
    const turn = async () => {
      await phone.getByRole("button", { name: /^Settings of the phone/ }).click();
      await page.getByRole("checkbox", { name: /^Online/ }).click();
      await page.keyboard.press("Escape");
    };
    await turn();
    await phone.getByText("offline", { exact: true }).waitFor();
    await stage.service.ask("POST", "/v1/messages", { to: PHONE, content: { text: "Are you there?" } });
    await phone.getByText("Sent, not delivered yet").waitFor();
    await turn();
    await phone.getByText("Delivered", { exact: true }).waitFor();
  },
);
