/** `Retry-After` over two processes of one database: the delivery waits by its record, whichever process has its lane. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { startReceiver } from "../support/receiver.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { serviceDatabase, sharedPreparedPostgres } from "../support/service-database.ts";
import { data } from "../support/two-processes.ts";
import { until } from "../support/wait.ts";

const KEY = `tb_${"p".repeat(36)}`;
const ENV = { TB_API_KEY: KEY, TB_SECRET_KEY: Buffer.alloc(32, 7).toString("base64"), TB_SANDBOX_INBOX: "off" };
const ASKED_SECONDS = 600;
/** After the first retry of the schedule, and after the receiver's time. */
const [AFTER_SCHEDULE, AFTER_ASKED] = [{ advance: "60s" }, { advance: `${ASKED_SECONDS}s` }];

test("a delivery that a receiver answered with Retry-After to one process is not posted earlier by the process that takes its lane over", async () => {
  await using ends = new AsyncDisposableStack();
  const shared = await serviceDatabase("", await sharedPreparedPostgres());
  ends.defer(() => shared.drop());
  const receiver = await startReceiver();
  ends.defer(() => receiver.stop());
  const start = async () => {
    const service = await startTestService({ ...ENV, TB_PUBLIC_URL: "http://127.0.0.1:1" }, { shared });
    ends.defer(() => service.stop());
    return service;
  };
  const send = async (at: TestService): Promise<string> =>
    (await data(at, "POST /v1/messages", { body: { to: "+15005550100", content: { text: "Hello" } } })).id;
  const received = (messageId: string) => receiver.received.filter(({ event }) => event.data.messageId === messageId);
  const deliveryOf = async (at: TestService, messageId: string) => {
    const { deliveries } = await data(at, "GET /v1/webhooks/deliveries?limit=100");
    return deliveries.find((one: { messageId: string }) => one.messageId === messageId);
  };

  const first = await start();
  await data(first, "PUT /v1/webhooks", { body: { url: receiver.url, events: ["message.queued"] } });
  receiver.answer = (_, response) => response.writeHead(429, { "retry-after": String(ASKED_SECONDS) }).end();
  const asked = await send(first);
  const waiting = await until(
    async () => {
      const delivery = await deliveryOf(first, asked);
      return delivery?.attempts.length === 1 && delivery;
    },
    { what: "the attempt with Retry-After" },
  );
  const [{ at, retryAfterSeconds }] = waiting.attempts;
  assert.equal(retryAfterSeconds, ASKED_SECONDS);
  assert.ok(Date.parse(waiting.nextAttemptAt) >= Date.parse(at) + ASKED_SECONDS * 1_000);

  const second = await start();
  await first.stop();
  receiver.answer = (_, response) => response.end("ok");
  await data(second, "POST /v1/sandbox/clock", { body: AFTER_SCHEDULE });
  // Only the first process knew that the other deliveries of the endpoint wait too.
  const later = await send(second);
  await until(() => received(later).length === 1, { what: "a webhook of the second process" });
  assert.equal(received(asked).length, 1, "the delivery itself waits");
  const still = await deliveryOf(second, asked);
  assert.deepEqual([still.status, still.nextAttemptAt], ["pending", waiting.nextAttemptAt]);
  await data(second, "POST /v1/sandbox/clock", { body: AFTER_ASKED });
  await until(() => received(asked).length === 2, { what: "the retry after the receiver's time" });
});
