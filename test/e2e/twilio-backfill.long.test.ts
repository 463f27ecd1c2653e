/** Messages that contacts write while the process is down, or crashing: the next process reports each one once. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Message } from "../../sdk/wire.ts";
import { emptyDirectory } from "../support/cli.ts";
import { ADMIN_KEY, allPages, type Running, startProcess } from "../support/process.ts";
import { FakeTwilio } from "../support/twilio/fake-twilio.ts";
import { until } from "../support/wait.ts";

const OWN = "+15550000001";
const contact = (index: number) => `+1555010${String(index).padStart(4, "0")}`;
const KILLS = 4;
const WRITTEN_EACH = 12;

interface Stage {
  fake: FakeTwilio;
  /** Starts the service on the same data, and returns the hook's address. */
  start(): Promise<{ service: Running; hookUrl: string }>;
}

/** A service with a Twilio instance and a number, stopped after its first backfill. */
async function stageOf(t: TestContext): Promise<Stage> {
  const fake = await new FakeTwilio().start();
  t.after(() => fake.stop());
  const dataDir = join(emptyDirectory(t), "data");
  const service = await startProcess(t, { dataDir });
  const admin = async (path: string, body: unknown) => {
    const made = await service.ask("POST", `/v1/admin${path}`, body, ADMIN_KEY);
    assert.ok(made.status < 300, made.text);
    return made.data;
  };
  const { data } = await service.ask("GET", "/v1/admin/customers", undefined, ADMIN_KEY);
  const { id } = await admin("/instances", { name: "Twilio", provider: "twilio", config: fake.config });
  const number = { phoneNumber: OWN, provider: "twilio", instanceId: id };
  await admin(`/customers/${data.customers[0].id}/numbers`, number);
  await service.end("SIGTERM");
  const start = async () => {
    const running = await startProcess(t, { dataDir });
    const instance = await running.ask("GET", `/v1/admin/instances/${id}`, undefined, ADMIN_KEY);
    return { service: running, hookUrl: instance.data.hookUrl as string };
  };
  const first = await start();
  await until(() => lists(fake) > 0, { what: "the first look" });
  await first.service.end("SIGTERM");
  return { fake, start };
}

function lists({ asked }: FakeTwilio): number {
  return asked.filter(({ path, method }) => method === "GET" && path.endsWith("/Messages.json")).length;
}

async function inbounds(service: Running): Promise<Message[]> {
  const pages = await allPages<Message>(service, "/v1/messages?direction=inbound", "messages");
  return pages.flatMap(({ items }) => items).reverse();
}

test("killed again and again during the backfill, with calls of the hook as well: each message is reported once, in order", {
  timeout: 180_000,
}, async (t) => {
  const { fake, start } = await stageOf(t);
  fake.pageSizeMax = 5;
  let written = 0;
  const write = () => {
    for (let index = 0; index < WRITTEN_EACH; index += 1) {
      fake.arrive({ from: contact(index % 3), to: OWN, body: String(written) });
      written += 1;
    }
  };
  for (let kill = 0; kill < KILLS; kill += 1) {
    write();
    const before = lists(fake);
    const { service } = await start();
    // In the middle of the pages, or of the reports.
    if (kill % 2 === 0) await until(() => lists(fake) > before + 1, { what: "a second page" });
    else await until(async () => (await inbounds(service)).length > 0, { what: "the first that is told" });
    assert.equal((await service.end("SIGKILL")).signal, "SIGKILL");
  }
  write();
  const { service, hookUrl } = await start();
  const called = await Promise.all(fake.messages.slice(-WRITTEN_EACH).map((one) => fake.deliver(hookUrl, one)));
  assert.deepEqual(new Set(called.map(({ status }) => status)), new Set([200]));
  await until(async () => (await inbounds(service)).length >= written, { what: "all messages" });
  const messages = await inbounds(service);
  const sids = messages.map(({ providerMessageId }) => providerMessageId);
  assert.deepEqual(sids.toSorted(), fake.messages.map(({ sid }) => sid).toSorted());
  // The hook reported the last ones in its own order.
  const missed = new Set(fake.messages.slice(0, -WRITTEN_EACH).map(({ sid }) => sid));
  for (const from of [0, 1, 2].map(contact)) {
    const thread = messages.filter((one) => one.from === from && missed.has(one.providerMessageId ?? ""));
    const texts = thread.map(({ content }) => Number(content.text));
    assert.deepEqual(
      texts,
      texts.toSorted((a, b) => a - b),
    );
  }
  const events = await allPages<{ type: string }>(service, "/v1/events?type=message.inbound", "events");
  assert.equal(events.flatMap(({ items }) => items).length, written);
  await service.end("SIGTERM");
});

test("a STOP and a picture from the time of the downtime count as if the hook had received them", async (t) => {
  const { fake, start } = await stageOf(t);
  const bytes = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
  fake.files.set("ME1", bytes);
  const url = `${fake.url}/2010-04-01/Accounts/${fake.accountSid}/Messages/MM1/Media/ME1`;
  fake.arrive({ from: contact(1), to: OWN, body: "Look", media: [{ url, type: "image/png" }] });
  fake.arrive({ from: contact(2), to: OWN, body: " stop " });
  fake.arrive({ from: contact(3), to: "+15550000009", body: "another number of the account" });
  const { service } = await start();
  await until(async () => (await inbounds(service)).length === 2, { what: "both messages" });
  const [picture] = await inbounds(service);
  const download = picture?.attachments?.[0]?.downloadUrl ?? assert.fail("there is no picture");
  assert.deepEqual(Buffer.from(await (await fetch(download)).arrayBuffer()), bytes);
  const refused = await service.ask("POST", "/v1/messages", { to: contact(2), from: OWN, content: { text: "Hi" } });
  assert.deepEqual([refused.status, refused.error?.code], [403, "RECIPIENT_OPTED_OUT"]);
  await service.end("SIGTERM");
});
