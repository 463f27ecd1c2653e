/** /metrics over messages of every end: each status that a message reaches is counted once. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { phone, SandboxStage } from "../support/sandbox.ts";

let stage: SandboxStage;

before(async () => {
  stage = await SandboxStage.start();
});

after(() => stage.api.stop());

test("tightbeam_messages_total counts each status of a message once, by channel and error code", async () => {
  await stage.reached((await stage.send("0101")).id, "read");
  await stage.reached((await stage.send("0102")).id, "delivered");
  await stage.reached((await stage.send("0104")).id, "failed");
  await stage.data("POST", `${phone("0120")}/messages`, { text: "Hi" });
  const response = await fetch(`${stage.api.url}/metrics`, {
    headers: { Authorization: `Bearer ${stage.api.adminKey}` },
  });
  const text = await response.text();
  const counted = text.split("\n").filter((line) => line.startsWith("tightbeam_messages_total{"));
  const line = (status: string, channel: string, code: string, count: number) =>
    `tightbeam_messages_total{status="${status}",channel="${channel}",error_code="${code}"} ${count}`;
  assert.deepEqual(
    counted.toSorted(),
    [
      // One of them was sent and delivered by the start of the stage.
      line("queued", "imessage", "", 4),
      line("sent", "imessage", "", 2),
      line("sent", "sms", "", 1),
      line("delivered", "imessage", "", 2),
      line("delivered", "sms", "", 1),
      line("read", "imessage", "", 1),
      line("failed", "sms", "REJECTED", 1),
      line("received", "imessage", "", 1),
    ].toSorted(),
  );
});
