/** The service on PostgreSQL: a message falls back, its webhooks arrive, and the contact replies; also in a second life. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isSigned, startReceiver } from "../support/receiver.ts";
import { startTestService } from "../support/service.ts";
import { type PreparedPostgres, preparePostgres } from "../support/service-database.ts";
import { until } from "../support/wait.ts";

const SECRET = "a secret of my own";
/** The sandbox has it on SMS only. */
const ANDROID = "+15005550102";
/** Replies to each message with its text. */
const ECHO = "+15005550110";

let postgres: PreparedPostgres;
before(async () => {
  postgres = await preparePostgres();
});
after(() => postgres.server.stop());

test("a message falls back to SMS, every webhook arrives signed, a contact replies, and a restart knows all of it", async (t) => {
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  const api = await startTestService({}, { postgres });
  t.after(() => api.stop());
  const body = { url: receiver.url, events: ["*"], secret: SECRET };
  assert.equal((await api.ask("PUT", "/v1/webhooks", { body })).status, 200);

  const send = async (to: string, text: string) => {
    const answer = await api.ask("POST", "/v1/messages", { body: { to, content: { text } } });
    assert.equal(answer.status, 202, JSON.stringify(answer.error));
    return answer.data.id as string;
  };
  const id = await send(ANDROID, "Grüße 👋");
  await until(() => receiver.types(id).includes("message.delivered"), { what: "the delivery by SMS" });
  assert.deepEqual(receiver.types(id), ["message.queued", "message.fallback", "message.sent", "message.delivered"]);
  const { data: message } = await api.ask("GET", `/v1/messages/${id}`);
  assert.deepEqual([message.status, message.channel, message.fallbackTriggered], ["delivered", "sms", true]);

  await send(ECHO, "Hallo");
  await until(() => receiver.types().includes("message.inbound"), { what: "the reply" });
  assert.ok(
    receiver.received.every((webhook) => isSigned(webhook, SECRET)),
    "every webhook is signed",
  );

  await api.restart();
  const { data: known } = await api.ask("GET", `/v1/messages/${id}`);
  assert.deepEqual(known, message);
  const again = await send(ANDROID, "After the restart");
  await until(() => receiver.types(again).includes("message.delivered"), { what: "the delivery after the restart" });
  const ids = receiver.received.map(({ event }) => event.id);
  assert.deepEqual(ids, [...new Set(ids)], "no webhook came twice");
});
