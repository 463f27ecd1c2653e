/** Payment requests over HTTP: the whole service, its sandbox, and a receiver. */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { PaymentRequest } from "../../sdk/wire.ts";
import { SECRET, startNotifiedService } from "../support/notified.ts";
import { isSigned, startReceiver } from "../support/receiver.ts";
import { until, WITHIN_A_SECOND } from "../support/wait.ts";

const PAYS = "+15005550112";
const IGNORES = "+15005550113";
const UNREACHABLE = "+15005550105";

const { api, receiver, stop } = await startNotifiedService();
after(stop);

const request = (body: object, headers: Record<string, string> = {}) =>
  api.ask("POST", "/v1/payments/request", { body: { to: IGNORES, amount: 25, ...body }, headers });
const get = async (id: string) => (await api.ask("GET", `/v1/payments/requests/${id}`)).data as PaymentRequest;
const cancel = (id: string, asking: { key?: string; headers?: Record<string, string> } = {}) =>
  api.ask("POST", `/v1/payments/requests/${id}/cancel`, asking);
const list = async (query = "", key?: string) =>
  (await api.ask("GET", `/v1/payments/requests${query}`, key === undefined ? {} : { key })).data as {
    requests: PaymentRequest[];
    pagination: { hasMore: boolean; nextCursor: string | null };
  };
const reaches = (id: string, status: string) =>
  until(async () => (await get(id)).status === status, { what: `${id} to be ${status}` });
/** Payment events of a request, as the receiver got them. */
const eventsOf = (id: string) =>
  receiver.received.filter(({ event }) => event.type.startsWith("payment.") && event.data.id === id);

async function addCustomer(name: string): Promise<string> {
  const body = { key: api.adminKey };
  const customer = await api.ask("POST", "/v1/admin/customers", { ...body, body: { name } });
  const made = await api.ask("POST", "/v1/admin/keys", { ...body, body: { name, customerId: customer.data.id } });
  return made.data.key;
}

describe("POST /v1/payments/request", () => {
  test("returns 202 with the whole record, and sends the request's message", async () => {
    const metadata = { order: 7 };
    const { status, data } = await request({ amount: "1234.5", note: "Lunch", metadata, expiresInSeconds: 60 });
    assert.equal(status, 202);
    const { id, messageId, from, createdAt } = data;
    assert.match(id, /^pay_/);
    const expiresAt = new Date(Date.parse(createdAt) + 60_000).toISOString();
    assert.deepEqual(data, {
      id,
      messageId,
      to: IGNORES,
      from,
      amount: "1234.50",
      currency: "USD",
      note: "Lunch",
      status: "pending",
      metadata,
      paidBy: null,
      reason: null,
      expiresAt,
      paidAt: null,
      cancelledAt: null,
      createdAt,
      updatedAt: createdAt,
    });
    assert.deepEqual(await get(id), data);
    const message = await api.ask("GET", `/v1/messages/${messageId}`);
    assert.equal(message.data.content.text, "Payment request: $1,234.50 - Lunch");
    assert.deepEqual(message.data.metadata, metadata);
    await until(() => eventsOf(id).length > 0);
    const [created] = eventsOf(id);
    assert.equal(created?.event.type, "payment.request.created");
    assert.deepEqual(created?.event.data, data);
    assert.ok(created !== undefined && isSigned(created, SECRET));
  });

  test("a request expires after 30 days by default", async () => {
    const { data } = await request({});
    assert.equal(Date.parse(data.expiresAt) - Date.parse(data.createdAt), 30 * 86_400_000);
  });

  test("an error quotes an invalid amount as sent", async () => {
    const refusal = async (amount: string) => {
      const answer = await fetch(`${api.url}/v1/payments/request`, {
        method: "POST",
        headers: { authorization: `Bearer ${api.key}`, "content-type": "application/json" },
        body: `{"note": "1.50", "to": "+15005550112", "metadata": {"amount": 7.0}, "amount": ${amount}}`,
      });
      const { error } = (await answer.json()) as { error?: { details?: { path: string; message: string }[] } };
      assert.deepEqual([answer.status, error?.details?.map(({ path }) => path)], [400, ["amount"]], amount);
      return error?.details?.[0]?.message ?? "";
    };
    const numbers = [
      "25.0010",
      "1000000.00",
      "1e21",
      "0.000000001",
      "-0",
      "1e-2000",
      "12345.678901234567890123",
      "1E400",
    ];
    for (const amount of [...numbers, '"25,00"', '" 25"', '"1e3"']) {
      const message = await refusal(amount);
      assert.ok(message.endsWith(`; got ${amount}`), `${amount}: ${message}`);
    }
  });

  test("an invalid or empty recipient and another customer's number have the same codes as for a message", async () => {
    const codes = [{ to: "12345" }, { from: "+15559999999" }, { to: "" }].map(
      async (body) => (await request(body)).error?.code,
    );
    assert.deepEqual(await Promise.all(codes), ["INVALID_PHONE_NUMBER", "ADDRESS_NOT_AUTHORIZED", "INVALID_RECIPIENT"]);
  });

  test("a repeated idempotency key returns the current state of the one request; 25 and “25.00” are the same", async () => {
    const headers = { "idempotency-key": "request-1" };
    const first = await request({ amount: 25 }, headers);
    await cancel(first.data.id);
    const again = await request({ amount: "25.00", currency: "USD", note: "" }, headers);
    assert.deepEqual([first.status, again.status], [202, 200]);
    assert.deepEqual([again.data.id, again.data.status], [first.data.id, "cancelled"]);
    const other = await request({ amount: 26 }, headers);
    assert.equal(other.error?.code, "IDEMPOTENCY_KEY_REUSED");
  });
});

test("a payment has the events created, inbound and paid, each once, for the callbackUrl too", async () => {
  const callback = await startReceiver();
  try {
    const { data } = await request({ to: PAYS, amount: 12.34, callbackUrl: callback.url });
    await reaches(data.id, "paid");
    const paid = await get(data.id);
    assert.equal(paid.paidBy?.evidence, "apple_cash");
    const inbound = await api.ask("GET", `/v1/messages/${paid.paidBy?.messageId}`);
    assert.deepEqual([inbound.data.direction, inbound.data.from], ["inbound", PAYS]);
    await until(() => eventsOf(data.id).length === 2);
    assert.deepEqual(
      eventsOf(data.id).map(({ event }) => event.type),
      ["payment.request.created", "payment.request.paid"],
    );
    assert.deepEqual(eventsOf(data.id)[1]?.event.data, paid);
    await until(() => callback.types().includes("payment.request.paid"));
    await until(() => callback.types().includes("message.delivered"));
    const own = callback.received.map(({ event }) => event.data.messageId);
    assert.deepEqual([...new Set(own)], [data.messageId], "nothing of another message");
  } finally {
    await callback.stop();
  }
});

test("a payment on the contact's phone pays the request with its amount", async () => {
  const { data } = await request({ amount: "3.21" });
  const pay = (amount: string) => api.ask("POST", `/v1/sandbox/phones/${IGNORES}/payments`, { body: { amount } });
  await pay("3.20");
  assert.equal((await get(data.id)).status, "pending");
  const paying = await pay("3.21");
  assert.equal((await get(data.id)).paidBy?.messageId, paying.data.id);
});

test("a failed message cancels its request, and cannot be retried", async () => {
  const { data } = await request({ to: UNREACHABLE });
  await reaches(data.id, "cancelled");
  const { reason, cancelledAt } = await get(data.id);
  assert.equal(reason, "MESSAGE_FAILED");
  assert.ok(cancelledAt !== null);
  const retried = await api.ask("POST", `/v1/messages/${data.messageId}/retry`);
  assert.equal(retried.error?.code, "INVALID_STATUS");
});

test("cancelling returns the record; again it is 400 INVALID_STATUS, but the same record for its idempotency key", async () => {
  const { data } = await request({});
  const headers = { "idempotency-key": "cancel-1", "content-type": "application/json" };
  const cancelled = await cancel(data.id, { headers });
  assert.equal(cancelled.status, 200);
  assert.deepEqual([cancelled.data.status, cancelled.data.reason], ["cancelled", "CANCELLED_BY_CALLER"]);
  assert.deepEqual(await get(data.id), cancelled.data);
  assert.deepEqual((await cancel(data.id, { headers })).data, cancelled.data);
  const again = await cancel(data.id);
  assert.deepEqual([again.status, again.error?.code], [400, "INVALID_STATUS"]);
  await until(() => eventsOf(data.id).length === 2);
  assert.deepEqual(eventsOf(data.id)[1]?.event.data, cancelled.data);
});

test("a request expires on the clock within a second, and after a restart at once", async () => {
  const [soon, later] = [await request({ expiresInSeconds: 60 }), await request({ expiresInSeconds: 120 })];
  await api.ask("POST", "/v1/sandbox/clock", { body: { advance: "60s" } });
  await until(async () => (await get(soon.data.id)).status === "expired", WITHIN_A_SECOND);
  assert.equal((await get(later.data.id)).status, "pending");
  const cancelled = await cancel(soon.data.id);
  assert.match(cancelled.error?.message ?? "", /is expired/);
  await api.ask("POST", "/v1/sandbox/clock", { body: { advance: "59s" } });
  await api.restart();
  await until(async () => (await get(later.data.id)).status === "expired", WITHIN_A_SECOND);
  await until(() => eventsOf(later.data.id).length === 2);
  assert.deepEqual(
    eventsOf(later.data.id).map(({ event }) => event.type),
    ["payment.request.created", "payment.request.expired"],
  );
});

describe("GET /v1/payments/requests", () => {
  test("pages newest first, filters by status and dates, and lists only the customer's own requests", async () => {
    const key = await addCustomer("Lister");
    assert.deepEqual(await list("", key), { requests: [], pagination: { hasMore: false, nextCursor: null } });
    const all = (await list("?limit=100")).requests;
    const ids = all.map(({ id }) => id);
    assert.deepEqual(ids, [...ids].sort().reverse());
    const paged: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const found = await list(`?limit=3${cursor === "" ? "" : `&cursor=${cursor}`}`);
      paged.push(...found.requests.map(({ id }) => id));
      cursor = found.pagination.nextCursor;
    }
    assert.deepEqual(paged, ids);
    for (const status of ["pending", "paid", "cancelled", "expired"]) {
      const found = (await list(`?status=${status}&limit=100`)).requests.map(({ id }) => id);
      assert.deepEqual(
        found,
        all.filter((one) => one.status === status).map(({ id }) => id),
      );
      assert.ok(found.length > 0);
    }
    const { createdAt = "" } = all[2] ?? {};
    const since = await list(`?from=${createdAt}&limit=100`);
    assert.deepEqual(
      since.requests.map(({ id }) => id),
      all.filter((one) => one.createdAt >= createdAt).map(({ id }) => id),
    );
    const until_ = await list(`?to=${createdAt}&limit=100`);
    assert.deepEqual(
      until_.requests.map(({ id }) => id),
      all.filter((one) => one.createdAt < createdAt).map(({ id }) => id),
    );
    const day = createdAt.slice(0, 10);
    assert.ok((await list(`?from=${day}&to=${day}&limit=100`)).requests.some((one) => one.createdAt === createdAt));
    assert.deepEqual((await list("?to=2020-01-01")).requests, []);
  });

  test("names every invalid parameter", async () => {
    const { status, error } = await api.ask("GET", "/v1/payments/requests?from=yesterday&to=2026-02-30");
    assert.equal(status, 400);
    assert.deepEqual(
      error?.details?.map(({ path }) => path),
      ["from", "to"],
    );
    assert.equal((await api.ask("GET", "/v1/payments/requests?status=open")).status, 400);
    assert.equal((await api.ask("GET", "/v1/payments/requests?cursor=x")).status, 400);
  });

  test("an unknown request and another customer's request are 404 NOT_FOUND", async () => {
    const { data } = await request({});
    const key = await addCustomer("Stranger");
    const answers = [
      await api.ask("GET", `/v1/payments/requests/${data.id}`, { key }),
      await cancel(data.id, { key }),
      await api.ask("GET", "/v1/payments/requests/pay_00000000-0000-7000-8000-000000000000"),
      await cancel("x"),
    ];
    assert.deepEqual(
      answers.map(({ status, error }) => [status, error?.code]),
      answers.map(() => [404, "NOT_FOUND"]),
    );
    assert.equal((await get(data.id)).status, "pending");
  });
});
