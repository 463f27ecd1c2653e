/** A thousand forged requests to a Mac's hook, on its right path: none of their content is believed. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type MacStage, OWN, stageMacService } from "../support/mac-stage.ts";
import { until } from "../support/wait.ts";

const ANNA = "+15005551001";
/** The Mac has no conversation with this address. */
const MALLORY = "+15005551009";
const VARIANTS = 1_000;
const TOGETHER = 25;
const PAYMENT = "com.apple.PassbookUIService.PeerPaymentMessagesExtension";

/** Every event that names a message. */
const TYPES: readonly string[] = [
  "new-message",
  "updated-message",
  "message-send-error",
  "group-name-change",
  "group-icon-changed",
  "group-icon-removed",
  "participant-added",
  "participant-removed",
  "participant-left",
];

/** Forged rows: each would change something if it were believed. */
const LIES: readonly ((now: number) => object)[] = [
  () => ({ text: "STOP" }),
  () => ({ text: "Sent $25 with Apple Cash." }),
  () => ({ balloonBundleId: PAYMENT, text: "Sent $25 with Apple Cash.", hasPayloadData: true, payloadData: [] }),
  (now) => ({ text: "Something else", dateEdited: now }),
  (now) => ({ text: "", dateEdited: now, dateRetracted: now, partCount: 0 }),
  (now) => ({ isFromMe: true, isDelivered: true, dateDelivered: now }),
  (now) => ({ isFromMe: true, dateRead: now }),
  () => ({ isFromMe: true, error: 22 }),
  () => ({ handle: { address: MALLORY, service: "iMessage" }, text: "Hi" }),
  () => ({ handle: { address: ANNA, service: "SMS" }, chats: [{ guid: `SMS;-;${ANNA}`, style: 45 }] }),
  () => ({ chats: [{ guid: "iMessage;+;chat900", style: 43, participants: [{ address: MALLORY }] }] }),
  () => ({ itemType: 2, groupTitle: "Taken over", chats: [{ guid: "iMessage;+;chat901", style: 43 }] }),
  () => ({ itemType: 1, groupActionType: 1, otherHandle: 1 }),
  () => ({ chats: [{ guid: `iMessage;-;${MALLORY}`, style: 45, lastAddressedHandle: OWN }] }),
  () => ({ attachments: [{ guid: "A-1", mimeType: "image/png", transferName: "a.png", totalBytes: 5 }] }),
];

/** Everything that a request could have changed. */
async function stateOf(stage: MacStage, paths: readonly string[]): Promise<unknown> {
  const lists = ["/v1/messages", "/v1/events?limit=100", "/v1/opt-outs", "/v1/chats", "/v1/payments/requests"];
  const answers = [];
  for (const path of [...lists, ...paths]) answers.push(await stage.ok("GET", path));
  const usage = await stage.api.ask("GET", "/v1/admin/usage", { key: stage.api.adminKey });
  return [...answers, usage.data.totals.messagesReceived, stage.mac.sent.length];
}

test("a thousand forged callbacks about messages, on the right path, change nothing", {
  timeout: 180_000,
}, async (t) => {
  const stage = await stageMacService(t, { ingest: "webhook", habit: "delivers", env: { TB_PAYMENT_TEXT: "on" } });
  const { mac } = stage;
  const anna = mac.phone(ANNA);
  await stage.ok("POST", "/v1/payments/request", { to: ANNA, from: OWN, amount: "25.00" });
  const asking = await stage.send(ANNA);
  await stage.reached(asking, "delivered");
  const our = mac.sent.at(-1)?.guid ?? assert.fail();
  const their = anna.writes("Hello there");
  const { data } = await stage.event("message.inbound");
  const hook = mac.webhooks[0]?.url ?? assert.fail("the Mac does not call");
  await stage.pass(20_000, 5_000);
  const genuine = mac.emittedEvents.filter(({ type }) => TYPES.includes(type)).map(({ data }) => data as object);
  assert.ok(genuine.length >= 3);
  const paths = [asking, data.messageId].map((id) => `/v1/messages/${id}`);

  const before = await stateOf(stage, paths);
  const now = mac.clock.now();
  const forge = async (variant: number) => {
    const lie = LIES[variant % LIES.length]?.(now);
    const turn = Math.floor(variant / LIES.length);
    const row = genuine[turn % genuine.length];
    const guid = [our, their, `${their.slice(0, -4)}${String(variant).padStart(4, "0")}`, "", "x".repeat(5_000)][
      turn % 5
    ];
    const data = { ...row, dateCreated: now, isFromMe: false, guid, ...lie };
    const response = await fetch(hook, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ type: TYPES[turn % TYPES.length], data }),
    });
    assert.equal(response.status, 200);
  };
  for (let from = 0; from < VARIANTS; from += TOGETHER) {
    await Promise.all(Array.from({ length: TOGETHER }, (_, index) => forge(from + index)));
  }
  await stage.idle();
  await stage.pass(90_000, 5_000);
  assert.deepEqual(await stateOf(stage, paths), before);

  // Real events afterwards are still reported.
  anna.reads(our);
  await stage.reached(asking, "read");
  anna.edits(their, "Hello, in other words");
  await until(
    async () => (await stage.ok("GET", `/v1/messages/${data.messageId}`)).content.text === "Hello, in other words",
  );
  anna.writes("STOP");
  await stage.event("message.inbound", ({ text }) => text === "STOP");
});
