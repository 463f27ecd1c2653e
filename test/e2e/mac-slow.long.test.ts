/** A Mac behind a slow line: an upload takes longer than other providers allow for a whole attempt. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { stageMacService } from "../support/mac-stage.ts";
import { until } from "../support/wait.ts";

const CONTACT = "+15005553001";
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

test("a file that takes two minutes to upload is sent, by the first attempt, once", async (t) => {
  const stage = await stageMacService(t, { ingest: "socket", habit: "delivers" });
  const { mac } = stage;
  mac.knows(CONTACT);
  await stage.reached(await stage.send(CONTACT), "delivered");
  const lift = mac.fault("answersHeld");
  const attachments = [{ type: "base64", data: PNG, mimeType: "image/png", filename: "dot.png" }];
  const id = await stage.send(CONTACT, { content: { text: "Look" }, attachments });
  const uploads = () => mac.requests.filter((line) => line.endsWith("/attachment/upload")).length;
  await until(() => uploads() === 1, { what: "the upload" });
  for (let passedMs = 0; passedMs < 120_000; passedMs += 5_000) {
    stage.clock.jump(5_000);
    await stage.ok("GET", `/v1/messages/${id}`);
  }
  assert.equal((await stage.ok("GET", `/v1/messages/${id}`)).status, "pending");
  lift();
  await stage.reached(id, "delivered");
  assert.deepEqual([uploads(), mac.sent.filter(({ text }) => text?.includes("Look")).length], [1, 1]);
});
