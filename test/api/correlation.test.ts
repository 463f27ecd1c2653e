import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

let service: TestService;
before(async () => {
  service = await startTestService({ TB_SANDBOX_INBOX: "on" });
});
after(() => service.stop());

const correlation = (digit: string) => ({ "X-Correlation-Id": `cor_${digit.repeat(32)}` });

async function sent(to: string, more: object = {}): Promise<string> {
  const body = { to, content: { text: "Hello" }, ...more };
  const { data } = await service.ask("POST", "/v1/messages", { body, headers: correlation("1") });
  return data.id;
}

async function reached(id: string, status: string): Promise<void> {
  await until(async () => (await service.ask("GET", `/v1/messages/${id}`)).data.status === status, { limitMs: 60_000 });
}

/** The correlation ids of a webhook, as its header and its data have them. */
async function idsOf(type: string, about: (data: Record<string, unknown>) => boolean): Promise<unknown[]> {
  let found: unknown[] | null = null;
  await until(async () => {
    const { data } = await service.ask("GET", "/v1/sandbox/inbox");
    for (const { headers, body } of data.requests) {
      const event = JSON.parse(body);
      if (event.type === type && about(event.data)) found = [headers["x-correlation-id"], event.data.correlationId];
    }
    return found !== null;
  });
  return found ?? [];
}

test("events carry the correlation id of the request that caused them, not of the first request", async () => {
  const [first, second] = ["1", "2"].map((digit) => `cor_${digit.repeat(32)}`);
  const id = await sent("+15005550100");
  await reached(id, "delivered");
  await service.ask("PUT", `/v1/messages/${id}`, { body: { text: "Hello!" }, headers: correlation("2") });
  await service.ask("POST", `/v1/messages/${id}/unsend`, { headers: correlation("2") });
  const isIt = ({ messageId }: Record<string, unknown>) => messageId === id;
  assert.deepEqual(await idsOf("message.delivered", isIt), [first, first]);
  assert.deepEqual(await idsOf("message.edited", isIt), [second, second]);
  assert.deepEqual(await idsOf("message.unsent", isIt), [second, second]);
  const later = await sent("+15005550100", { scheduledAt: new Date(Date.now() + 3_600_000).toISOString() });
  await service.ask("DELETE", `/v1/messages/${later}/schedule`, { headers: correlation("2") });
  assert.deepEqual(await idsOf("message.schedule_cancelled", ({ messageId }) => messageId === later), [second, second]);
  await service.ask("DELETE", `/v1/messages/${later}`, { headers: correlation("2") });
  assert.deepEqual(await idsOf("message.deleted", ({ messageId }) => messageId === later), [second, second]);
});

test("the event of a cancelled payment request carries the correlation id of the cancelling request", async () => {
  const body = { to: "+15005550113", amount: "5.00" };
  const { data } = await service.ask("POST", "/v1/payments/request", { body, headers: correlation("3") });
  await service.ask("POST", `/v1/payments/requests/${data.id}/cancel`, { headers: correlation("4") });
  const isIt = ({ id }: Record<string, unknown>) => id === data.id;
  assert.deepEqual(await idsOf("payment.request.created", isIt), [`cor_${"3".repeat(32)}`, undefined]);
  assert.deepEqual(await idsOf("payment.request.cancelled", isIt), [`cor_${"4".repeat(32)}`, undefined]);
});

test("a key for an e-mail address of several customers is refused", async () => {
  const admin = (path: string, body: object) => service.ask("POST", path, { key: service.adminKey, body });
  for (const name of ["One", "Two"]) await admin("/v1/admin/customers", { name, email: "shared@example.com" });
  const refused = await admin("/v1/admin/keys", { name: "k", customerEmail: "Shared@example.com" });
  assert.equal(refused.status, 400);
  assert.deepEqual(
    refused.error?.details?.map(({ path }) => path),
    ["customerEmail"],
  );
});
