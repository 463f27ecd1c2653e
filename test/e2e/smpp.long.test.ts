/** SMS over SMPP through the whole service, against a message centre with another codec, as a customer sees it. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { startTestService, type TestService } from "../support/service.ts";
import { hasSmsc, PASSWORD, type Smsc, SYSTEM_ID, startSmsc } from "../support/smsc/smsc.ts";
import { until } from "../support/wait.ts";

const OWN = "+15550002001";
const TO = "+155501002";
const LONG = "0123456789".repeat(40);

interface Stage {
  service: TestService;
  smsc: Smsc;
  instanceId: string;
  send(to: string, text?: string): Promise<string>;
  /** The message once it has this status. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read records field by field.
  becomes(id: string, status: string): Promise<any>;
  /** Events of a type, oldest first. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read events field by field.
  events(type: string): Promise<any[]>;
}

/**
 * A service with one SMPP instance, created with the admin API, and a customer's number on it; null if the test is
 * skipped.
 */
async function stage(t: TestContext, config: Record<string, unknown> = {}): Promise<Stage | null> {
  if (!hasSmsc(t)) return null;
  const smsc = await startSmsc();
  t.after(() => smsc.kill());
  const service = await startTestService({}, { inThreads: true });
  t.after(() => service.stop());
  const admin = async (method: string, path: string, body?: unknown) => {
    const { status, data } = await service.ask(method, path, { key: service.adminKey, body });
    assert.ok(status < 300, `${method} ${path}: ${status}`);
    return data;
  };
  const instance = await admin("POST", "/v1/admin/instances", {
    name: "Carrier",
    provider: "smpp",
    config: {
      host: "127.0.0.1",
      port: smsc.port,
      systemId: SYSTEM_ID,
      password: PASSWORD,
      bindMode: "transceiver",
      ...config,
    },
  });
  const customer = await admin("POST", "/v1/admin/customers", { name: "Anna's shop" });
  const number = { phoneNumber: OWN, provider: "smpp", instanceId: instance.id };
  await admin("POST", `/v1/admin/customers/${customer.id}/numbers`, number);
  const { key } = await admin("POST", "/v1/admin/keys", { name: "shop", customerId: customer.id });
  await until(async () => (await admin("GET", `/v1/admin/instances/${instance.id}`)).health === "healthy");
  const get = async (path: string) => (await service.ask("GET", path, { key })).data;
  return {
    service,
    smsc,
    instanceId: instance.id,
    async send(to, text = "Hello") {
      const { status, data } = await service.ask("POST", "/v1/messages", { key, body: { to, content: { text } } });
      assert.equal(status, 202);
      return data.id;
    },
    becomes: (id, status) =>
      until(
        async () => {
          const message = await get(`/v1/messages/${id}`);
          return message.status === status ? message : null;
        },
        { what: `the message being ${status}` },
      ),
    events: async (type) => (await get(`/v1/events?type=${type}&limit=100`)).events.reverse(),
  };
}

test("a message is sent, and delivered by a real receipt, with its segments and the carrier's id", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { smsc, send, becomes, events } = at;
  const message = await becomes(await send(`${TO}00`, "{€} 3.50"), "delivered");
  assert.deepEqual([message.channel, message.segments, message.encoding], ["sms", 1, "GSM-7"]);
  assert.equal(message.providerMessageId, smsc.submits[0]?.id);
  const long = await becomes(await send(`${TO}00`, LONG), "delivered");
  assert.deepEqual([long.segments, long.encoding, smsc.submits.length], [3, "GSM-7", 4]);
  const delivered = await events("message.delivered");
  assert.deepEqual(
    delivered.map(({ data }) => data.messageId),
    [message.id, long.id],
  );
});

test("receipts that are early, repeated, reversed, in another base or with a user reference each count as one delivery", async (t) => {
  const at = await stage(t, { messageIdBase: "hexThenDecimal" });
  if (at === null) return;
  const { send, becomes, events } = at;
  const kinds = ["16", "15", "02"];
  const ids = await Promise.all(kinds.map((kind) => send(TO + kind)));
  for (const id of ids) await becomes(id, "delivered");
  assert.equal((await events("message.delivered")).length, kinds.length);
  const other = await stage(t);
  const both = ["99", "20", "22"];
  for (const id of await Promise.all(both.map((kind) => other?.send(TO + kind))))
    await other?.becomes(id ?? "", "delivered");
  assert.equal((await other?.events("message.delivered"))?.length, both.length);
});

test("a message that the carrier refuses or cannot deliver is failed, with the carrier's code", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { send, becomes } = at;
  const refused = await becomes(await send(`${TO}11`), "failed");
  assert.deepEqual([refused.errorCode, refused.providerErrorCode], ["REJECTED", "ESME_RINVDSTADR"]);
  const expired = await becomes(await send(`${TO}03`), "failed");
  assert.deepEqual([expired.errorCode, expired.providerErrorCode], ["SMS_SEND_FAILED", "043"]);
  const inPart = await becomes(await send(`${TO}21`, LONG), "failed");
  assert.deepEqual([inPart.errorCode, inPart.providerErrorCode], ["SMS_SEND_FAILED", "045"]);
  const throttled = await becomes(await send(`${TO}58`), "delivered");
  assert.equal(throttled.errorCode, null);
});

test("an inbound SMS is message.inbound, also in parts, and STOP is an opt-out", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { smsc, events } = at;
  const from = `${TO}07`.slice(1);
  const texts = ["Yes, at noon 👋", LONG, "STOP"];
  const wide = (text: string) => Buffer.from(text, "utf16le").swap16().toString("hex");
  await smsc.deliver(from, OWN.slice(1), { data_coding: 8, short_message: wide(texts[0] ?? "") });
  for (const part of [3, 1, 2]) {
    const piece = Buffer.from(LONG.slice((part - 1) * 150, part * 150)).toString("hex");
    await smsc.deliver(from, OWN.slice(1), { esm_class: 0x40, short_message: `050003aa030${part}${piece}` });
  }
  await smsc.deliver(from, OWN.slice(1), { short_message: Buffer.from("STOP").toString("hex") });
  const inbound = await until(async () => {
    const found = await events("message.inbound");
    return found.length === 3 ? found : null;
  });
  assert.deepEqual(new Set(inbound.map(({ data }) => data.text)), new Set(texts));
  for (const { data } of inbound) assert.deepEqual([data.from, data.to, data.channel], [`+${from}`, OWN, "sms"]);
});

test("after the carrier was killed and is back, messages accepted during the outage are sent once, in order", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { service, smsc, instanceId, send, becomes } = at;
  await becomes(await send(`${TO}00`, "Before"), "delivered");
  await smsc.kill();
  const shown = async () =>
    (await service.ask("GET", `/v1/admin/instances/${instanceId}`, { key: service.adminKey })).data;
  await until(async () => (await shown()).health === "unhealthy");
  assert.match((await shown()).warnings[0], /^Not connected to 127\.0\.0\.1:\d+ since/);
  const texts = ["One", "Two", LONG, "Three"];
  const ids: string[] = [];
  for (const text of texts) ids.push(await send(`${TO}00`, text));
  const back = await startSmsc({ port: smsc.port, "first-id": 5_000 });
  t.after(() => back.kill());
  for (const id of ids) await becomes(id, "delivered");
  const seen = back.submits.map(({ octets }) => Buffer.from(octets, "hex").toString());
  assert.equal(seen.join(""), texts.join(""));
});

test("after a restart of the service, later receipts still find their messages", async (t) => {
  const at = await stage(t);
  if (at === null) return;
  const { service, smsc, send, becomes } = at;
  const ids = [await send(`${TO}06`), await send(`${TO}06`, LONG)];
  for (const id of ids) await becomes(id, "sent");
  await until(() => smsc.submits.length === 4);
  await service.restart();
  for (const { id } of smsc.submits) {
    const short_message = Buffer.from(`id:${id} stat:DELIVRD err:000`).toString("hex");
    await smsc.deliver(`${TO}06`.slice(1), OWN.slice(1), { esm_class: 4, short_message });
  }
  for (const id of ids) await becomes(id, "delivered");
});
