/** The sandbox over HTTP: numbers that do more than receive, settings of phones, and who has a sandbox. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Data, number, phone, type SandboxEvent, SandboxStage } from "../support/sandbox.ts";
import { until } from "../support/wait.ts";

let stage: SandboxStage;

before(async () => {
  stage = await SandboxStage.start({ TB_SANDBOX_INBOX: "on" });
});

after(() => stage.api.stop());

describe("a number whose row says more than how a message ends does it", () => {
  test("0110: types, then replies", async () => {
    const types = ["queued", "sent", "delivered", "typing.indicator", "typing.indicator", "inbound"];
    const events = await stage.emits(() => stage.send("0110", { content: { text: "Is anybody there?" } }), types);
    const [begins, ends, inbound] = events.slice(3);
    assert.deepEqual([begins?.data.typing, ends?.data.typing], [true, false]);
    assert.deepEqual([begins?.data.from, begins?.data.to], [number("0110"), "+15005550001"]);
    assert.equal(inbound?.data.text, "You said: Is anybody there?");
    assert.deepEqual([inbound?.data.from, inbound?.data.to], [number("0110"), "+15005550001"]);
    const message = await stage.data("GET", `/v1/messages/${inbound?.data.messageId}`);
    assert.equal(message.direction, "inbound");
  });

  test("0110 over SMS: replies, and shows no typing", async () => {
    const events = await stage.emits(
      () => stage.send("0110", { routing: { preference: ["sms"] } }),
      ["queued", "sent", "delivered", "inbound"],
    );
    assert.equal(events.at(-1)?.data.channel, "sms");
  });

  test("0111: reacts with love", async () => {
    const events = await stage.emits(() => stage.send("0111"), ["queued", "sent", "delivered", "reaction"]);
    const [queued, , , reaction] = events;
    assert.equal(reaction?.data.messageId, queued?.data.messageId);
    assert.equal(reaction?.data.reaction.type, "love");
    assert.equal(reaction?.data.reaction.content, "Loved “Hello”");
  });

  test("0112: pays every payment request, and does nothing about other messages", async () => {
    await stage.emits(() => stage.send("0112"), ["queued", "sent", "delivered"]);
    const events = await stage.emits(
      () => stage.data("POST", "/v1/payments/request", { to: number("0112"), amount: 25, note: "Tea" }),
      ["queued", "payment.request.created", "sent", "delivered", "inbound", "payment.request.paid"],
    );
    const paid = events.find(({ type }) => type === "payment.request.paid");
    const inbound = events.find(({ type }) => type === "message.inbound");
    assert.equal(paid?.data.amount, "25.00");
    assert.deepEqual(paid?.data.paidBy, { messageId: inbound?.data.messageId, evidence: "apple_cash" });
  });

  test("0114: rings after the message and hangs up; 0115 is missed", async () => {
    for (const [last4, status] of [
      ["0114", "disconnected"],
      ["0115", "missed"],
    ] as const) {
      const types = ["queued", "sent", "delivered", "facetime.incoming", "facetime.status_changed"];
      const events = await stage.emits(() => stage.send(last4), types);
      const [incoming, changed] = events.slice(3);
      assert.deepEqual([incoming?.data.status, changed?.data.status], ["incoming", status]);
      assert.equal(incoming?.data.callId, changed?.data.callId);
      assert.equal(incoming?.data.caller, number(last4));
      const rang = Date.parse(changed?.id === undefined ? "" : ((await historyOf(changed)).at(-1)?.at ?? ""));
      const began = Date.parse((await historyOf(changed as SandboxEvent)).at(0)?.at ?? "");
      assert.ok(rang - began >= 490, `rang for ${rang - began} ms`);
    }
  });

  test("0116: three in ten messages fail, always the same ones", async () => {
    const sent = await Promise.all(
      Array.from({ length: 40 }, () => stage.send("0116", { routing: { preference: ["imessage"] } })),
    );
    const read = (): Promise<Data[]> => Promise.all(sent.map(({ id }) => stage.data("GET", `/v1/messages/${id}`)));
    await until(async () => (await read()).every(({ status }) => status === "delivered" || status === "failed"));
    const failed = (await read()).filter(({ status }) => status === "failed");
    assert.ok(failed.length > 1 && failed.length < 30, `${failed.length} of 40`);
    assert.equal(failed[0].providerErrorCode, "SANDBOX_FAILED");
  });
});

async function historyOf({ data: { callId } }: SandboxEvent): Promise<{ status: string; at: string }[]> {
  return (await stage.data("GET", `/v1/facetime/calls/${callId}`)).history;
}

describe("phone settings", () => {
  const set = (last4: string, settings: object) => stage.data("PUT", `${phone(last4)}/settings`, settings);
  const DEFAULTS = { online: true, imessage: true, readReceipts: false, edits: true, latencyMs: 0, lossPercent: 0 };

  test("default to the table", async () => {
    assert.deepEqual(await stage.data("GET", `${phone("0100")}/settings`), DEFAULTS);
    assert.deepEqual(await stage.data("GET", `${phone("0101")}/settings`), { ...DEFAULTS, readReceipts: true });
    assert.deepEqual(await stage.data("GET", `${phone("0105")}/settings`), { ...DEFAULTS, imessage: false });
    assert.deepEqual(await stage.data("GET", `${phone("0109")}/settings`), { ...DEFAULTS, latencyMs: 5_000 });
    assert.deepEqual(await stage.data("GET", `${phone("0116")}/settings`), { ...DEFAULTS, lossPercent: 30 });
    for (const bad of [{ lossPercent: 101 }, { latencyMs: -1 }, { latencyMs: 0.5 }, { online: 1 }, { colour: 1 }]) {
      await stage.refused("PUT", `${phone("0100")}/settings`, bad, 400, "VALIDATION_ERROR");
    }
  });

  test("online: a phone that is offline gets its messages when it is online again, also after a restart", async () => {
    assert.deepEqual(await set("0140", { online: false }), { ...DEFAULTS, online: false });
    const sent = [await stage.send("0140"), await stage.send("0140")];
    for (const { id } of sent) await stage.reached(id, "sent");
    await stage.api.restart();
    assert.equal((await stage.data("GET", `${phone("0140")}/settings`)).online, false);
    for (const { id } of sent) assert.equal((await stage.data("GET", `/v1/messages/${id}`)).status, "sent");
    await stage.emits(() => set("0140", { online: true }), ["delivered", "delivered"]);
  });

  test("imessage, reads and fails: SMS for a phone without iMessage, read receipts, failures", async () => {
    await set("0141", { imessage: false });
    const events = await stage.emits(() => stage.send("0141"), ["queued", "fallback", "sent", "delivered"]);
    assert.equal(events.at(-1)?.data.channel, "sms");
    const channel = (await stage.data("POST", `${phone("0141")}/messages`, { text: "Hi" })).channel;
    assert.equal(channel, "sms");
    await stage.refused("POST", `${phone("0141")}/typing`, { typing: true }, 400, "CHANNEL_NOT_SUPPORTED");
    await set("0102", { imessage: true });
    await stage.emits(() => stage.send("0102"), ["queued", "sent", "delivered"]);
    await set("0142", { readReceipts: true });
    await stage.emits(() => stage.send("0142"), ["queued", "sent", "delivered", "read"]);
    await set("0143", { lossPercent: 100 });
    await stage.emits(() => stage.send("0143", { routing: { fallback: false } }), ["queued", "sent", "failed"]);
  });

  test("latency delays each receipt", async () => {
    await set("0144", { latencyMs: 300, readReceipts: true });
    const message = await stage.send("0144");
    const read = await until(async () => {
      const record = await stage.data("GET", `/v1/messages/${message.id}`);
      return record.status === "read" && record;
    });
    const [sent, delivered, seen] = [read.sentAt, read.deliveredAt, read.readAt].map((at) => Date.parse(at));
    assert.ok((delivered ?? 0) - (sent ?? 0) >= 290 && (seen ?? 0) - (delivered ?? 0) >= 490);
  });
});

describe("the sandbox is per customer", () => {
  test("another customer's phones, messages and requests are 404", async () => {
    const { id } = await stage.admin("POST", "/v1/admin/customers", { name: "Other" });
    await stage.admin("POST", `/v1/admin/customers/${id}/numbers`, {
      phoneNumber: "+15005550002",
      provider: "sandbox",
    });
    const { key } = await stage.admin("POST", "/v1/admin/keys", { name: "Other", customerId: id });
    const ours = await stage.send("0150");
    await stage.reached(ours.id, "delivered");
    const ask = (path: string, body: object) => stage.api.ask("POST", `${phone("0150")}/${path}`, { key, body });
    assert.equal((await ask("reactions", { messageId: ours.id, type: "love" })).error?.code, "NOT_FOUND");
    assert.equal((await ask("messages", { text: "x", replyTo: ours.id })).error?.code, "REPLY_NOT_FOUND");
    assert.equal((await ask("messages", { text: "x", to: "+15005550001" })).error?.code, "ADDRESS_NOT_AUTHORIZED");
    await stage.data("PUT", `${phone("0150")}/settings`, { online: false });
    const theirs = await stage.api.ask("GET", `${phone("0150")}/settings`, { key });
    assert.equal(theirs.data.online, true);
  });

  test("a customer with a number on a real provider has no sandbox", async () => {
    const { id } = await stage.admin("POST", "/v1/admin/customers", { name: "Real" });
    const { key } = await stage.admin("POST", "/v1/admin/keys", { name: "Real", customerId: id });
    const routes: [string, string, object?][] = [
      ["GET", "/v1/sandbox/inbox"],
      ["DELETE", "/v1/sandbox/inbox"],
      ["PUT", "/v1/sandbox/inbox/behaviour", {}],
      ["GET", "/v1/sandbox/clock"],
      ["POST", "/v1/sandbox/clock", { reset: true }],
      ["POST", "/v1/sandbox/reset"],
      ["GET", `${phone("0100")}/settings`],
      ["PUT", `${phone("0100")}/settings`, {}],
      ["POST", `${phone("0100")}/messages`, { text: "x" }],
      ["POST", `${phone("0100")}/typing`, { typing: true }],
      ["POST", `${phone("0100")}/reactions`, { messageId: "msg_1", type: "love" }],
      ["POST", `${phone("0100")}/payments`, { amount: 1 }],
      ["POST", `${phone("0100")}/calls`, { action: "ring" }],
    ];
    const before = await stage.api.ask("GET", "/v1/sandbox/clock", { key });
    assert.equal(before.status, 200);
    const config = { accountSid: `AC${"0".repeat(32)}`, authToken: "0".repeat(32), baseUrl: "http://127.0.0.1:9" };
    await stage.admin("POST", "/v1/admin/instances", { name: "Carrier", provider: "twilio", config });
    await stage.admin("POST", `/v1/admin/customers/${id}/numbers`, { phoneNumber: "+14155550100", provider: "twilio" });
    for (const [method, path, body] of routes) {
      const { status, error } = await stage.api.ask(method, path, { key, ...(body === undefined ? {} : { body }) });
      assert.deepEqual([status, error?.code], [404, "NOT_FOUND"], `${method} ${path}`);
    }
    assert.equal((await stage.api.ask("GET", `${phone("0100")}/settings`)).status, 200);
  });
});
