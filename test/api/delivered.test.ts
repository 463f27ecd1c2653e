/** Webhooks of every event type, compared with the webhooks of the OpenAPI document. */

import assert from "node:assert/strict";
import test from "node:test";
import { type AnyEvent, EVENT_TYPES, type EventType, type InboxRequest } from "../../sdk/wire.ts";
import { assertEvent, readDocument } from "../support/contract.ts";
import { startTestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

const api = await startTestService({ TB_SANDBOX_INBOX: "on" });
test.after(() => api.stop());

async function done(method: string, path: string, body?: unknown) {
  const answer = await api.ask(method, path, body === undefined ? {} : { body });
  assert.equal(answer.error, undefined, `${method} ${path}`);
  return answer.data;
}

async function happened(type: EventType, messageId?: string): Promise<void> {
  const query = new URLSearchParams({ type, timeoutSeconds: "20", ...(messageId === undefined ? {} : { messageId }) });
  assert.ok((await done("GET", `/v1/sandbox/wait?${query}`)) !== null, type);
}

async function send(to: string, more: object = {}): Promise<string> {
  const { id } = await done("POST", "/v1/messages", { to, content: { text: "Hello" }, metadata: { a: [1] }, ...more });
  return id;
}

async function liveOfMessages(): Promise<void> {
  const read = await send("+15005550101", { externalMessageId: "order-1" });
  await happened("message.read", read);
  await done("PUT", `/v1/messages/${read}`, { text: "Hello again" });
  await done("POST", `/v1/messages/${read}/unsend`);
  await done("DELETE", `/v1/messages/${read}`);
  await happened("message.deleted", read);
  await happened("message.failed", await send("+15005550105"));
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  await done("DELETE", `/v1/messages/${await send("+15005550100", { scheduledAt })}/schedule`);
  await happened("message.schedule_cancelled");
}

/** A WAV without a sound in it. */
const SILENCE = Buffer.from(`RIFF${"\0".repeat(4)}WAVEfmt `).toString("base64");

async function whatPhonesRefuseAndKeep(): Promise<void> {
  const phone = "/v1/sandbox/phones/+15005550160";
  const sent = await send("+15005550160");
  await happened("message.delivered", sent);
  await done("PUT", `${phone}/settings`, { edits: false });
  const refused = await api.ask("PUT", `/v1/messages/${sent}`, { body: { text: "Hello again" } });
  assert.deepEqual([refused.status, refused.error?.code], [502, "EDIT_FAILED"]);
  await happened("message.edit_failed", sent);
  const attachments = [{ type: "base64", data: SILENCE, filename: "hello.wav", isAudioMessage: true }];
  const audio = await send("+15005550160", { attachments });
  await happened("message.delivered", audio);
  await done("POST", `${phone}/audio-kept`, { messageId: audio });
  await happened("message.audio_kept", audio);
}

async function whatContactsDo(): Promise<void> {
  for (const [text, type] of [
    ["STOP", "contact.opted_out"],
    ["START", "contact.opted_in"],
  ] as const) {
    await done("POST", "/v1/sandbox/phones/+15005550170/messages", { text });
    await happened(type);
  }
  await send("+15005550110");
  await happened("message.inbound");
  await happened("typing.indicator");
  await happened("message.reaction", await send("+15005550111"));
  const picture = { type: "base64", data: Buffer.from("GIF89a").toString("base64"), filename: "late.gif" };
  const late = { text: "START", attachments: [picture], attachmentsAfterMs: 50 };
  const { id: written } = await done("POST", "/v1/sandbox/phones/+15005550110/messages", late);
  await happened("message.attachments_added", written);
  await send("+15005550114");
  await happened("facetime.status_changed");
  const group = { name: "Six", participants: ["+15005550101", "+15005550110"] };
  const { id } = await done("POST", "/v1/chats/groups", group);
  await happened("message.delivered", (await done("POST", "/v1/messages", { chatId: id, content: { text: "Hi" } })).id);
  await done("PUT", `/v1/chats/${id}/name`, { name: "Seven" });
  await done("POST", `/v1/chats/${id}/participants`, { participant: "+15005550111" });
  await done("DELETE", `/v1/chats/${id}/participants/+15005550111`);
  await done("POST", "/v1/sandbox/phones/+15005550101/group-photo", { chatId: id });
  await happened("chat.photo.changed");
  await happened("chat.participant.left");
}

async function payments(): Promise<void> {
  const asked = { to: "+15005550113", amount: "1.00", expiresInSeconds: 60 };
  await done("POST", "/v1/payments/request", { ...asked, to: "+15005550112" });
  await happened("payment.request.paid");
  const { id } = await done("POST", "/v1/payments/request", asked);
  await done("POST", `/v1/payments/requests/${id}/cancel`);
  await done("POST", "/v1/payments/request", asked);
  await done("POST", "/v1/sandbox/clock", { advance: "2m" });
  await happened("payment.request.expired");
  await done("POST", "/v1/sandbox/clock", { reset: true });
}

test("webhooks of every type match the OpenAPI document, headers included", async () => {
  await liveOfMessages();
  await whatPhonesRefuseAndKeep();
  await whatContactsDo();
  await payments();
  const webhook = { url: "http://127.0.0.1:9/hooks", events: ["payment.request.paid"] };
  await done("PUT", "/v1/webhooks", webhook);
  await done("POST", "/v1/webhooks/test");
  await happened("webhook.test");
  // The list holds every event; reading it compares each with the document.
  const events: AnyEvent[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page = await done("GET", `/v1/events?limit=100${cursor}`);
    events.push(...page.events);
    cursor = page.pagination.nextCursor === null ? null : `&cursor=${page.pagination.nextCursor}`;
  }
  const missing = EVENT_TYPES.filter((type) => !events.some((event) => event.type === type));
  assert.deepEqual(missing, []);
  // The inbox gets no `webhook.test`: that goes to the endpoint that is tested.
  const delivered: string[] = events.flatMap(({ id, type }) => (type === "webhook.test" ? [] : [id]));
  let requests: InboxRequest[] = [];
  await until(
    async () => {
      ({ requests } = await done("GET", "/v1/sandbox/inbox"));
      const received = new Set(requests.map(({ body }) => JSON.parse(body).id));
      return delivered.every((id) => received.has(id));
    },
    { what: "every event to be delivered" },
  );
  const { parameters } = readDocument().components;
  const names = Object.values(parameters).filter(({ name }) => !["X-Request-Id", "Idempotency-Key"].includes(name));
  for (const { body, headers, verified } of requests) {
    assert.ok(verified);
    assertEvent(JSON.parse(body));
    for (const { name } of names) assert.ok(headers[name.toLowerCase()] !== undefined, name);
  }
});
