/** A service that moves to PostgreSQL with work in flight finishes that work there, and sends nothing twice. */

import assert from "node:assert/strict";
import test from "node:test";
import { migrateToPostgres } from "../../server/app/migrate-to-postgres.ts";
import { createDatabase, sharedPostgres } from "../support/postgres.ts";
import { startReceiver } from "../support/receiver.ts";
import { startTestService } from "../support/service.ts";
import { SKIP_ON_POSTGRES } from "../support/service-database.ts";
import { until } from "../support/wait.ts";

const MESSAGES = 60;

test("messages and webhooks that waited on the embedded database are sent once by the service on PostgreSQL", {
  skip: SKIP_ON_POSTGRES,
}, async (t) => {
  const postgres = await sharedPostgres();
  t.after(() => postgres.stop());
  const { url } = await createDatabase(postgres);
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  const api = await startTestService({ TB_SANDBOX_INBOX: "off" });
  t.after(() => api.stop());
  await api.ask("PUT", "/v1/webhooks", { body: { url: receiver.url, events: ["*"] } });
  receiver.answer = (_, response) => response.writeHead(500).end();
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  const bodies = Array.from({ length: MESSAGES }, (_, index) => ({
    to: "+15005550100",
    content: { text: `Number ${index}` },
    ...(index % 10 === 0 ? { scheduledAt } : {}),
  }));
  const headers = { "idempotency-key": "before" };
  const [first, ...others] = await Promise.all(
    bodies.map((body, index) =>
      api
        .ask("POST", "/v1/messages", { body, ...(index === 1 ? { headers } : {}) })
        .then(({ data }) => String(data.id)),
    ),
  );
  await api.restart(async () => {
    const { tables } = await migrateToPostgres(api, url, { now: Date.now(), progress() {} });
    assert.equal(tables.find(({ table }) => table === "messages")?.rows, MESSAGES);
    receiver.answer = (_, response) => response.end("ok");
    return { DATABASE_URL: url };
  });
  const ids = [first, ...others];
  assert.equal((await api.ask("POST", "/v1/sandbox/clock", { body: { advance: "2h" } })).error, undefined);
  const statusOf = async (id = "") => (await api.ask("GET", `/v1/messages/${id}`)).data.status;
  for (const id of ids)
    await until(async () => (await statusOf(id)) === "delivered", { limitMs: 60_000, what: `the delivery of ${id}` });
  const answered = () => receiver.received.filter(({ status }) => status === 200);
  await until(() => answered().filter(({ event }) => event.type === "message.delivered").length >= MESSAGES, {
    limitMs: 60_000,
    what: "the webhooks",
  });
  const { data } = await api.ask("GET", "/v1/events?type=message.sent&limit=100");
  assert.deepEqual(
    (data.events as { data: { messageId: string } }[]).map((event) => event.data.messageId).sort(),
    ids.toSorted(),
    "each message was sent once",
  );
  const eventIds = answered().map(({ event }) => event.id);
  assert.equal(new Set(eventIds).size, eventIds.length, "no webhook that was answered came again");
  const repeated = await api.ask("POST", "/v1/messages", { body: bodies[1], headers });
  assert.equal(repeated.data.id, ids[1], "idempotency keys hold");
});
