import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { CHANNELS, type Channel } from "../../../sdk/wire.ts";
import { outboundMessage } from "../../../test/support/outbound.ts";
import type { MessageId } from "../../core/id.ts";
import { defaultSettings, lineOf as lineAt, type PhoneStep, stepsFor } from "./phones.ts";

/** Behaviour of a phone with default settings. */
function lineOf(to: string, channel: Channel) {
  return lineAt(to, channel, defaultSettings(to));
}

/** Steps for a message to the number. */
function stepsOf(
  to: string,
  channel: Channel,
  messageId: MessageId,
  more: { text?: string } = {},
): readonly PhoneStep[] {
  const line = lineOf(to, channel);
  const message = outboundMessage({ messageId, to, channel, ...more });
  return line.accepts ? stepsFor(line, message, defaultSettings(to)) : [];
}

function idOf(index: number): MessageId {
  const hex = createHash("md5").update(String(index)).digest("hex");
  return `msg_${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
}

test("three in ten messages to 0116 fail, the same ones each time and on each channel", () => {
  let failures = 0;
  for (let index = 0; index < 10_000; index += 1) {
    const receipts = CHANNELS.map((channel) => {
      const steps = stepsOf("+15005550116", channel, idOf(index));
      assert.deepEqual(steps, stepsOf("+15005550116", channel, idOf(index)));
      return steps.map((step) => "receipt" in step && step.receipt);
    });
    assert.deepEqual(receipts[0], receipts[1]);
    if (receipts[0]?.includes("failed")) failures += 1;
  }
  // Six standard deviations of a binomial of 10,000 at 0.3 are 275.
  assert.ok(Math.abs(failures - 3_000) < 275, `${failures} of 10,000 failed`);
});

test("any other number works on both channels and does not read; an e-mail address has iMessage only", () => {
  for (const to of ["+15005550100", "+15005550117", "+4915112345678"]) {
    for (const channel of CHANNELS) assert.deepEqual(lineOf(to, channel), lineOf("+15005550100", "imessage"));
  }
  assert.deepEqual(lineOf("ada@example.com", "imessage"), lineOf("+15005550100", "imessage"));
  const sms = lineOf("ada@example.com", "sms");
  assert.ok(!sms.accepts && sms.notReachable);
});

test("a phone that cannot be reached says where: on iMessage, by SMS, or on any channel", () => {
  const reasonOf = (to: string, channel: Channel) => {
    const line = lineOf(to, channel);
    return line.accepts ? null : line.reason;
  };
  for (const to of ["+15005550102", "+15005550104"])
    assert.equal(reasonOf(to, "imessage"), "the recipient is not on iMessage");
  for (const channel of CHANNELS)
    assert.equal(reasonOf("+15005550105", channel), "the recipient cannot be reached on any channel");
  assert.equal(reasonOf("+15005550104", "sms"), "the recipient's carrier rejects the message");
  assert.equal(reasonOf("ada@example.com", "sms"), "an e-mail address cannot receive SMS");
});

test("every phone that accepts a message reports a receipt, so that its journal entry lasts until the outcome is known", () => {
  for (let number = 100; number < 200; number += 1) {
    for (const channel of CHANNELS) {
      const line = lineOf(`+15005550${number}`, channel);
      if (line.accepts) assert.ok(line.steps.length > 0, `0${number} ${channel}`);
    }
  }
});

test("there are no read receipts on SMS", () => {
  for (let number = 100; number < 200; number += 1) {
    const line = lineOf(`+15005550${number}`, "sms");
    if (line.accepts) assert.ok(line.steps.every(({ receipt }) => receipt !== "read"));
  }
});
