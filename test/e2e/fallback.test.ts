/**
 * A number on a Mac with a carrier for its SMS: recipients without iMessage are reached, and reply, through the
 * carrier.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type MacStage, OWN, stageMacService } from "../support/mac-stage.ts";
import { hasSmsc, PASSWORD, type Smsc, SYSTEM_ID, startSmsc } from "../support/smsc/smsc.ts";
import { until } from "../support/wait.ts";

const ANDROID = "+15005554400";
/** By its last two digits, the carrier reports it as undeliverable. */
const UNDELIVERABLE = "+15005554405";

interface Stage extends MacStage {
  carriers: { smsc: Smsc; id: string }[];
}

/** A Mac with the customer's number, and the named carriers for its SMS, in order. */
async function stage(t: TestContext, names: readonly string[]): Promise<Stage> {
  const made = await stageMacService(t, { ingest: "socket", habit: "delivers" });
  const { api } = made;
  const admin = { key: api.adminKey };
  const carriers: Stage["carriers"] = [];
  for (const [index, name] of names.entries()) {
    const smsc = await startSmsc({ "first-id": 1_000 * (index + 1) });
    t.after(() => smsc.kill());
    const config = {
      host: "127.0.0.1",
      port: smsc.port,
      systemId: SYSTEM_ID,
      password: PASSWORD,
      bindMode: "transceiver",
      responseTimeoutSeconds: 5,
    };
    const asked = { ...admin, body: { name, provider: "smpp", config } };
    const { id } = (await api.ask("POST", "/v1/admin/instances", asked)).data;
    await until(async () => (await api.ask("GET", `/v1/admin/instances/${id}`, admin)).data.health === "healthy");
    carriers.push({ smsc, id });
  }
  const customerId = (await api.ask("GET", "/v1/admin/customers", admin)).data.customers[0].id;
  const body = carriers.map(({ id }) => ({ prefix: "+1500", instanceId: id }));
  const set = await api.ask("PUT", `/v1/admin/customers/${customerId}/routes`, { ...admin, body });
  assert.equal(set.status, 200, JSON.stringify(set.error));
  for (const number of [ANDROID, UNDELIVERABLE]) made.mac.phone(number).isOnIMessage = false;
  return { ...made, carriers };
}

const reasonsOf = (message: { timeline: { reason?: string }[] }) =>
  message.timeline.flatMap(({ reason }) => (reason === undefined ? [] : [reason]));

test("a recipient without iMessage gets the message by SMS from the route's carrier, with a receipt, and replies into the same thread", async (t) => {
  if (!hasSmsc(t)) return;
  const made = await stage(t, ["Carrier"]);
  const [carrier] = made.carriers;
  assert.ok(carrier !== undefined);
  const id = await made.send(ANDROID, { content: { text: "Grüße {€} 👋" } });
  const message = await made.reached(id, "delivered");
  assert.deepEqual(
    [message.channel, message.fallbackTriggered, message.encoding, message.segments],
    ["sms", true, "UCS-2", 1],
  );
  assert.equal(made.mac.sent.length, 0);
  assert.equal(carrier.smsc.submits.length, 1);
  assert.equal(message.providerMessageId, carrier.smsc.submits[0]?.id);
  const { data: fallback } = await made.event("message.fallback");
  assert.deepEqual([fallback.fallbackFrom, fallback.reason, fallback.channel], ["imessage", "NOT_REACHABLE", "sms"]);
  const reasons = reasonsOf(message).join("\n");
  assert.match(reasons, /fallback: NOT_REACHABLE/);
  assert.match(reasons, /SMS via Carrier \(route/, "the timeline says which instance took the SMS, and why");
  const { instanceId } = message.timeline.find((entry: { status: string }) => entry.status === "sent");
  assert.equal(instanceId, carrier.id);

  await carrier.smsc.deliver(ANDROID.slice(1), OWN.slice(1), { short_message: Buffer.from("Hallo").toString("hex") });
  const { data: inbound } = await made.event("message.inbound");
  assert.deepEqual([inbound.from, inbound.to, inbound.text, inbound.channel], [ANDROID, OWN, "Hallo", "sms"]);
  const answer = await made.ok("GET", `/v1/messages/${inbound.messageId}`);
  assert.equal(answer.chatId, message.chatId);

  await carrier.smsc.deliver(ANDROID.slice(1), OWN.slice(1), { short_message: Buffer.from("stop").toString("hex") });
  await until(async () => (await made.ok("GET", "/v1/opt-outs")).optOuts.length === 1);
  const refused = await made.api.ask("POST", "/v1/messages", { body: { to: ANDROID, content: { text: "Again" } } });
  assert.deepEqual([refused.status, refused.error?.code], [403, "RECIPIENT_OPTED_OUT"]);
});

test("a carrier that is down is skipped for the other carrier of the same prefix, without a fallback", async (t) => {
  if (!hasSmsc(t)) return;
  const made = await stage(t, ["First", "Second"]);
  const [first, second] = made.carriers;
  assert.ok(first !== undefined && second !== undefined);
  await first.smsc.kill();
  const admin = { key: made.api.adminKey };
  const isDown = async () => (await made.api.ask("GET", `/v1/admin/instances/${first.id}`, admin)).data.health;
  await until(async () => (await isDown()) === "unhealthy");
  const message = await made.reached(await made.send(ANDROID), "delivered");
  assert.deepEqual([first.smsc.submits.length, second.smsc.submits.length], [0, 1]);
  assert.equal(message.providerMessageId, second.smsc.submits[0]?.id);
});

test("a message that the carrier cannot deliver fails with the carrier's own code, and is sent by no other carrier", async (t) => {
  if (!hasSmsc(t)) return;
  const made = await stage(t, ["First", "Second"]);
  const message = await made.reached(await made.send(UNDELIVERABLE), "failed");
  assert.equal(message.errorCode, "SMS_SEND_FAILED");
  assert.ok(message.providerErrorCode !== null);
  const submits = made.carriers.map(({ smsc }) => smsc.submits.length);
  assert.deepEqual(submits, [1, 0]);
});

test("a Mac without SMS forwarding has no SMS channel: a recipient without iMessage is not tried a second time", async (t) => {
  const made = await stageMacService(t, { ingest: "socket", habit: "delivers" });
  const looks = () => made.mac.requests.filter((request) => request.endsWith("/availability/imessage")).length;
  await until(() => looks() === 1);
  made.mac.fault("smsNotForwarded");
  // The account is checked every five minutes.
  made.clock.jump(360_000);
  await until(() => looks() === 2);
  made.mac.phone(ANDROID).isOnIMessage = false;
  const dryRun = { body: { to: ANDROID, from: OWN, content: { text: "Hello" } } };
  const plan = async () => (await made.api.ask("POST", "/v1/messages?dryRun=true", dryRun)).data;
  await until(async () => (await plan()).segments === null);
  const message = await made.reached(await made.send(ANDROID), "failed");
  assert.deepEqual([message.errorCode, message.fallbackTriggered], ["NO_CHANNEL_AVAILABLE", false]);
  assert.equal(made.mac.sent.length, 0);
});
