/** Dry runs over HTTP: the plan of a message; nothing is stored or sent. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Tightbeam } from "../../sdk/client.ts";
import { startTestService, type TestService } from "../support/service.ts";

const api: TestService = await startTestService();
test.after(() => api.stop());

const rehearse = (body: object, path = "/v1/messages?dryRun=true") =>
  api.ask("POST", path, { body: { content: { text: "Hello" }, ...body } });

async function assertNothingKept(): Promise<void> {
  for (const [path, list] of [
    ["/v1/messages", "messages"],
    ["/v1/events", "events"],
    ["/v1/chats", "chats"],
    ["/v1/contacts", "contacts"],
  ] as const) {
    const kept: { type?: string }[] = (await api.ask("GET", path)).data[list];
    // A test opts a contact out, which is no dry run.
    assert.deepEqual(
      kept.filter(({ type }) => type !== "contact.opted_out"),
      [],
      path,
    );
  }
}

test("a dry run returns the channel, every possible attempt and the segments, and stores nothing", async () => {
  const { status, data } = await rehearse({ to: "+15005550100", createContact: true });
  assert.equal(status, 200);
  const [number] = (await api.ask("GET", "/v1/numbers")).data;
  assert.match(data.instanceId, /^inst_/);
  assert.deepEqual(data, {
    dryRun: true,
    to: "+15005550100",
    from: number.phoneNumber,
    channel: "imessage",
    instanceId: data.instanceId,
    reason: `iMessage (preferred), via ${number.instanceName} (this number's instance); from ${number.phoneNumber} (default number)`,
    attachmentsDropped: 0,
    hops: data.hops,
    segments: 1,
    encoding: "GSM-7",
    scheduledAt: null,
    quietUntil: null,
  });
  assert.deepEqual(
    data.hops.map(({ channel, usable }: { channel: string; usable: boolean }) => [channel, usable]),
    [
      ["imessage", true],
      ["sms", true],
    ],
  );
  await assertNothingKept();
});

test("a recipient without iMessage would get the message by SMS", async () => {
  const { data } = await rehearse({ to: "+15005550102", content: { text: "😀".repeat(36) } });
  assert.deepEqual([data.channel, data.segments, data.encoding], ["sms", 2, "UCS-2"]);
  assert.equal(data.hops[0].usable, false);
  assert.match(data.hops[0].reason, /^\+15005550102 is not on iMessage/);
  await assertNothingKept();
});

test("a dry run works for a carousel, and dryRun=false sends", async () => {
  const images = { mediaUrls: ["https://example.com/1.png", "https://example.com/2.png"], text: "Two" };
  const body = { to: "+15005550100", ...images };
  const run = await api.ask("POST", "/v1/messages/carousel?dryRun=true", { body });
  assert.deepEqual([run.status, run.data.dryRun, run.data.channel], [200, true, "imessage"]);
  assert.deepEqual(
    run.data.hops.map((hop: { attachmentsDropped: number }) => hop.attachmentsDropped),
    [0, 2],
    "SMS of the sandbox carry no files",
  );
  await assertNothingKept();
  const sent = await api.ask("POST", "/v1/messages?dryRun=false", {
    body: { to: "+15005550199", content: { text: "Hello" }, scheduledAt: new Date(Date.now() + 60_000).toISOString() },
  });
  assert.equal(sent.status, 202);
  await api.ask("POST", "/v1/sandbox/reset");
});

test("a dry run does not use up an idempotency key, in the header or in the body", async () => {
  const body = { to: "+15005550199", content: { text: "Hello" } };
  const headers = { "idempotency-key": "dry" };
  for (let times = 0; times < 2; times += 1) {
    assert.equal((await api.ask("POST", "/v1/messages?dryRun=true", { body, headers })).data.dryRun, true);
  }
  const other = { ...body, content: { text: "Other" } };
  const sent = await api.ask("POST", "/v1/messages", { body: other, headers });
  assert.equal(sent.status, 202);
  const again = await api.ask("POST", "/v1/messages?dryRun=true", { body: other, headers });
  assert.deepEqual([again.status, again.data.dryRun], [200, true]);
  await api.ask("POST", "/v1/sandbox/reset");
});

/** Requests that sending refuses, and the reasons. */
const REFUSED: [body: object, status: number, code: string][] = [
  [{ to: "+15005550100", content: {} }, 400, "VALIDATION_ERROR"],
  [{ to: "nobody" }, 400, "INVALID_PHONE_NUMBER"],
  [{}, 400, "INVALID_RECIPIENT"],
  [{ to: "+15005550100", from: "+15005559999" }, 403, "ADDRESS_NOT_AUTHORIZED"],
  [{ to: "jo@example.com", routing: { preference: ["sms"] } }, 400, "NO_CHANNEL_AVAILABLE"],
  [{ to: "+15005550100", routing: { preference: ["rcs"] } }, 400, "NO_CHANNEL_AVAILABLE"],
  [{ to: "+15005550100", scheduledAt: "2020-01-01T00:00:00Z" }, 400, "SCHEDULED_IN_PAST"],
  [{ to: "+15005550100", replyTo: "msg_none" }, 404, "REPLY_NOT_FOUND"],
  [{ chatId: "chat_none" }, 404, "CONVERSATION_NOT_FOUND"],
  [{ to: "+15005550144" }, 403, "RECIPIENT_OPTED_OUT"],
];

test("a dry run refuses whatever sending refuses, in the same words", async () => {
  const [number] = (await api.ask("GET", "/v1/numbers")).data;
  await api.ask("PUT", `/v1/opt-outs/${number.phoneNumber}/+15005550144`);
  for (const [body, status, code] of REFUSED) {
    const run = await rehearse(body);
    assert.deepEqual([run.status, run.error?.code], [status, code], JSON.stringify(body));
    const sent = await rehearse(body, "/v1/messages");
    const withoutTimes = (error: unknown) => JSON.stringify(error).replaceAll(/it is \d[^ "]+ now/g, "");
    assert.equal(withoutTimes(run.error), withoutTimes(sent.error));
  }
  const odd = await rehearse({ to: "+15005550100" }, "/v1/messages?dryRun=maybe");
  assert.deepEqual([odd.status, odd.error?.details?.[0]?.path], [400, "dryRun"]);
  await assertNothingKept();
});

test("a dry run counts against the rate limit like sending", async () => {
  const limited = await startTestService({ TB_RATE_LIMIT: "2/60s" });
  try {
    const statuses = [];
    for (let times = 0; times < 3; times += 1) {
      const body = { to: "+15005550100", content: { text: "Hello" } };
      statuses.push((await limited.ask("POST", "/v1/messages?dryRun=true", { body })).status);
    }
    assert.deepEqual(statuses, [200, 200, 429]);
  } finally {
    await limited.stop();
  }
});

test("the client supports dry runs", async () => {
  const client = new Tightbeam({ apiKey: api.key, baseUrl: api.url });
  const run = await client.messages.dryRun({ to: "+15005550102", content: { text: "Hello" } });
  assert.deepEqual([run.dryRun, run.channel, run.segments], [true, "sms", 1]);
  await assertNothingKept();
});
