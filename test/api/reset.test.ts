/** The reset of the sandbox over HTTP: everything is removed, and work in flight ends quietly. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startReceiver } from "../support/receiver.ts";
import { type Data, number, phone, SandboxStage } from "../support/sandbox.ts";
import { until } from "../support/wait.ts";

let stage: SandboxStage;

before(async () => {
  stage = await SandboxStage.start({ TB_SANDBOX_INBOX: "on" });
});

after(() => stage.api.stop());

/** All that a customer can list, by path: how many there are. */
async function counts(): Promise<Record<string, number>> {
  const lists: [string, string][] = [
    ["/v1/messages", "messages"],
    ["/v1/messages/scheduled", "messages"],
    ["/v1/chats", "chats"],
    ["/v1/contacts", "contacts"],
    ["/v1/payments/requests", "requests"],
    ["/v1/facetime/calls", "calls"],
    ["/v1/opt-outs", "optOuts"],
    ["/v1/events", "events"],
    ["/v1/webhooks/deliveries", "deliveries"],
  ];
  const found = await Promise.all(lists.map(([path]) => stage.data("GET", path)));
  return Object.fromEntries(lists.map(([path, name], index) => [path, found[index][name].length]));
}

test("a reset removes messages, contacts and events, and keeps keys, numbers, endpoints and the inbox", async () => {
  const receiver = await startReceiver();
  const webhook = await stage.data("PUT", "/v1/webhooks", { url: receiver.url, events: ["*"] });
  await stage.data("PUT", "/v1/sandbox/inbox/behaviour", { status: 201 });
  const key = { idempotencyKey: "again" };
  const first = await stage.send("0110", key);
  await stage.send("0101", { scheduledAt: new Date(Date.now() + 86_400_000).toISOString() });
  await stage.data("POST", "/v1/contacts", { firstName: "Ada", phoneNumber: number("0100") });
  await stage.data("POST", "/v1/payments/request", { to: number("0113"), amount: 5 });
  await stage.data("POST", `${phone("0120")}/calls`, { action: "ring" });
  await stage.data("POST", `${phone("0121")}/messages`, { text: "STOP" });
  await stage.data("PUT", `${phone("0122")}/settings`, { imessage: false });
  await until(async () => Object.values(await counts()).every((count) => count > 0));
  assert.deepEqual(await stage.data("POST", "/v1/sandbox/reset"), { reset: true });
  for (const [path, count] of Object.entries(await counts())) assert.equal(count, 0, path);
  assert.equal((await stage.data("GET", `${phone("0122")}/settings`)).imessage, true);
  assert.equal((await stage.data("GET", "/v1/webhooks")).id, webhook.id);
  assert.equal((await stage.data("GET", "/v1/numbers")).length, 1);
  assert.equal((await stage.data("GET", "/v1/sandbox/inbox")).behaviour.status, 201);
  // Messages after the reset are sent, with the same idempotency key too, also to contacts who had opted out.
  const second = await stage.send("0110", key);
  assert.notEqual(second.id, first.id);
  await stage.reached(second.id, "delivered");
  await stage.send("0121");
  await stage.data("POST", `${phone("0120")}/calls`, { action: "ring" });
  const types = () => receiver.types(second.id);
  await until(() => types().length === 3);
  assert.deepEqual(types(), ["message.queued", "message.sent", "message.delivered"]);
  await receiver.stop();
});

test("a reset during traffic leaves nothing behind, and later records are complete", async () => {
  for (let round = 0; round < 5; round += 1) {
    const sent: Promise<Data>[] = [];
    for (const last4 of ["0100", "0101", "0106", "0107", "0108", "0110", "0111", "0114"]) {
      for (let count = 0; count < 5; count += 1) sent.push(stage.send(last4));
    }
    await Promise.all(sent.slice(0, round * 10));
    await Promise.all(sent);
    await stage.data("POST", "/v1/sandbox/reset");
    // All pending receipts would have been reported by the time that this message is read.
    const probe = await stage.send("0101");
    await stage.reached(probe.id, "read");
    const { messages } = await stage.data("GET", "/v1/messages?limit=100");
    assert.deepEqual(
      messages.map(({ id }: Data) => id),
      [probe.id],
    );
    const { events } = await stage.data("GET", "/v1/events?limit=100");
    assert.ok(events.every((event: Data) => event.data.messageId === probe.id));
  }
});

test("a reset affects no other customer, and accepts an idempotency key", async () => {
  const { id } = await stage.admin("POST", "/v1/admin/customers", { name: "Other" });
  await stage.admin("POST", `/v1/admin/customers/${id}/numbers`, { phoneNumber: "+15005550002", provider: "sandbox" });
  const { key } = await stage.admin("POST", "/v1/admin/keys", { name: "Other", customerId: id });
  const theirs = await stage.data("POST", "/v1/messages", { to: number("0100"), content: { text: "Mine" } }, key);
  await stage.data("POST", "/v1/sandbox/reset", { idempotencyKey: "reset-1" });
  const ours = await stage.send("0100");
  await stage.data("POST", "/v1/sandbox/reset", { idempotencyKey: "reset-1" });
  assert.equal((await stage.data("GET", `/v1/messages/${ours.id}`)).id, ours.id);
  assert.equal((await stage.data("GET", `/v1/messages/${theirs.id}`, undefined, key)).id, theirs.id);
});

test("a phone action with an idempotency key from before a reset emits its event again", async () => {
  const act = async () => {
    const { id } = await stage.send("0100");
    await stage.reached(id, "delivered");
    const from = await stage.newest();
    const keyed = { idempotencyKey: "act-1" };
    await stage.data("POST", `${phone("0100")}/messages`, { text: "Hi", ...keyed });
    await stage.data("POST", `${phone("0100")}/reactions`, { messageId: id, type: "love", idempotencyKey: "act-2" });
    await stage.data("POST", `${phone("0100")}/payments`, { amount: 5, idempotencyKey: "act-3" });
    await stage.data("POST", `${phone("0100")}/calls`, { action: "ring", idempotencyKey: "act-4" });
    return (await stage.eventsAfter(from)).map(({ type }) => type);
  };
  const first = await act();
  assert.deepEqual(first, ["message.inbound", "message.reaction", "message.inbound", "facetime.incoming"]);
  await stage.data("POST", "/v1/sandbox/reset");
  assert.deepEqual(await act(), first);
});
