/**
 * A first message with a picture, on a Mac that sends its text and fails at the picture: the text is sent only once.
 */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import type { Fault } from "../support/mac/faults.ts";
import { type MacStage, stageMacService } from "../support/mac-stage.ts";
import { until } from "../support/wait.ts";

const ANNA = "+15005551001";
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

type More = Record<string, unknown>;

/** Where the picture is to be fetched. */
async function startPictures(t: TestContext): Promise<string> {
  const server = createServer((_, response) => void response.writeHead(200, { "content-type": "image/png" }).end(PNG));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/dot.png`;
}

/** A Mac that fails at pictures, and two forms of a first message with a picture. */
async function stagePartly(t: TestContext, fault: Fault, error: number) {
  const picture = await startPictures(t);
  const stage = await stageMacService(t, { ingest: "webhook", habit: "delivers", env: { TB_FETCH_ALLOW: "loopback" } });
  stage.mac.phone(ANNA).error = error;
  stage.mac.fault(fault);
  const forms: Record<string, More> = {
    mediaUrls: { content: { text: "Look", mediaUrls: [picture] } },
    attachments: { content: { text: "Look" }, attachments: [{ type: "base64", data: PNG.toString("base64") }] },
  };
  return { stage, forms };
}

/** Texts that reached somebody, by service. */
function texts({ mac }: MacStage): (string | null)[][] {
  return mac.sent.filter(({ attachments }) => attachments.length === 0).map(({ service, text }) => [service, text]);
}

for (const error of [22, 25]) {
  for (const form of ["mediaUrls", "attachments"]) {
    test(`text and ${form}, the picture fails with ${error}: the text is sent once, and the message is sent with ATTACHMENT_FAILED`, async (t) => {
      const { stage, forms } = await stagePartly(t, "fileErrorAtOnce", error);
      const id = await stage.send(ANNA, forms[form]);
      const { data } = await stage.event("message.sent");
      assert.deepEqual([data.messageId, data.errorCode], [id, "ATTACHMENT_FAILED"]);
      const message = await stage.reached(id, "sent");
      assert.deepEqual([message.errorCode, message.providerErrorCode], ["ATTACHMENT_FAILED", String(error)]);
      assert.match(message.errorMessage, /^The text was sent, and 1 file was not: /);
      assert.equal(message.timeline.at(-1).reason, message.errorMessage);
      assert.equal(message.providerMessageId, stage.mac.sent[0]?.guid);
      assert.deepEqual([message.channel, message.fallbackTriggered], ["imessage", false]);
      assert.deepEqual(texts(stage), [["iMessage", "Look"]]);
      // Its text is delivered, which proves nothing about its picture.
      await until(async () => (await stage.reached(id, "sent")).timeline.at(-1).reason === "the text was delivered");
      assert.deepEqual(await stage.events("message.fallback"), []);
    });
  }
}

test("POST /:id/retry of a message that is sent with ATTACHMENT_FAILED sends the picture, and no text", async (t) => {
  const { stage, forms } = await stagePartly(t, "fileErrorAtOnce", 25);
  const id = await stage.send(ANNA, forms.mediaUrls);
  await stage.event("message.sent");
  await stage.ok("POST", `/v1/messages/${id}/retry`);
  const message = await stage.reached(id, "delivered");
  assert.deepEqual([message.errorCode, message.retryCount], [null, 1]);
  assert.equal(message.providerMessageId, stage.mac.sent[1]?.guid);
  assert.deepEqual(
    stage.mac.sent.map(({ text, attachments }) => [text, attachments.length]),
    [
      ["Look", 0],
      [null, 1],
    ],
  );
});

test("a picture that fails a second after it was accepted fails the message with ATTACHMENT_FAILED and mayHaveBeenSent, without a second text", async (t) => {
  const { stage, forms } = await stagePartly(t, "fileErrorLater", 22);
  const id = await stage.send(ANNA, forms.mediaUrls);
  await stage.event("message.sent");
  await stage.pass(30_000, 5_000);
  const { data } = await stage.event("message.failed");
  assert.deepEqual([data.messageId, data.errorCode, data.mayHaveBeenSent], [id, "ATTACHMENT_FAILED", true]);
  assert.deepEqual(texts(stage), [["iMessage", "Look"]]);
  assert.deepEqual(await stage.events("message.fallback"), []);
});

test("a recipient found not to be on iMessage gets text and picture by SMS, once", async (t) => {
  const { stage, forms } = await stagePartly(t, "fileErrorAtOnce", 22);
  stage.mac.fault("errorLater");
  const id = await stage.send(ANNA, forms.mediaUrls);
  await stage.event("message.sent");
  await stage.pass(30_000, 5_000);
  await stage.event("message.fallback");
  const message = await stage.reached(id, "sent");
  assert.deepEqual([message.channel, message.errorCode], ["sms", null]);
  assert.deepEqual(texts(stage), [["SMS", "Look"]]);
});
