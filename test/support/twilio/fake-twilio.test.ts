/** Twilio's own client against the small Twilio, which behaves like the real Twilio. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import twilio from "twilio";
import { until } from "../wait.ts";
import { FakeTwilio } from "./fake-twilio.ts";
import { listen, readText } from "./loopback.ts";
import { accepted, message, NEVER } from "./sending.ts";
import { twilioStage } from "./stage.ts";

type Client = ReturnType<typeof twilio>;
type HttpOptions<Data> = Parameters<typeof twilio.RequestClient.prototype.request<Data>>[0];

/** The official client, with another host. */
function clientOf(fake: FakeTwilio, authToken = fake.authToken): Client {
  class OnLoopback extends twilio.RequestClient {
    override request<Data>(options: HttpOptions<Data>) {
      options.uri = options.uri.replace("https://api.twilio.com", fake.url);
      return super.request<Data>(options);
    }
  }
  return twilio(fake.accountSid, authToken, { httpClient: new OnLoopback() });
}

async function started(t: TestContext): Promise<FakeTwilio> {
  const fake = await new FakeTwilio().start();
  t.after(() => fake.stop());
  return fake;
}

test("a message that the client creates is accepted, shown and listed page by page, as the client expects", async (t) => {
  const fake = await started(t);
  fake.pageSizeMax = 2;
  fake.behaviours.set("+15550100001", { statuses: ["sent", { status: "undelivered", errorCode: 30003 }] });
  const client = clientOf(fake);
  const given = { to: "+15550100001", from: "+15005550006" };
  const made = await client.messages.create({ ...given, body: "Grüße & 😀" });
  assert.match(made.sid, /^SM[0-9a-f]{32}$/);
  assert.deepEqual(
    [made.status, made.body, made.to, made.from, made.numSegments, made.direction, made.errorCode],
    ["queued", "Grüße & 😀", given.to, given.from, "1", "outbound-api", null],
  );
  assert.ok(made.dateCreated instanceof Date && Math.abs(made.dateCreated.getTime() - Date.now()) < 10_000);
  const media = ["https://example.com/a.png", "https://example.com/b.png"];
  const mms = await client.messages.create({ ...given, mediaUrl: media });
  assert.deepEqual([mms.sid.slice(0, 2), mms.numMedia], ["MM", "2"]);
  assert.deepEqual(fake.taken({ to: given.to })[1]?.media, media);
  await client.messages.create({ ...given, body: "Third", messagingServiceSid: `MG${"0".repeat(32)}` });
  await client.messages.create({ ...given, to: "+15550100002", body: "Other" });
  await until(async () => (await client.messages(made.sid).fetch()).status === "undelivered");
  assert.equal((await client.messages(made.sid).fetch()).errorCode, 30003);
  const listed = await client.messages.list(given);
  assert.deepEqual(
    listed.map(({ body }) => body),
    ["Third", "", "Grüße & 😀"],
  );
  const account = await client.api.accounts(fake.accountSid).fetch();
  assert.deepEqual([account.sid, account.status], [fake.accountSid, "active"]);
});

test("inbound messages are listed by number and day, newest first, with their files, as the client expects", async (t) => {
  const fake = await started(t);
  const client = clientOf(fake);
  const [to, day] = ["+15005550006", Date.UTC(2026, 0, 2)];
  const media = [
    { url: `${fake.url}/2010-04-01/Accounts/${fake.accountSid}/Messages/MM1/Media/ME1`, type: "image/png" },
  ];
  const written = { from: "+15550100001", to };
  fake.arrive({ ...written, body: "old", createdAt: day - 1 });
  fake.arrive({ ...written, body: "one", createdAt: day });
  fake.arrive({ ...written, body: "two", createdAt: day + 90_000_000, media });
  fake.arrive({ ...written, to: "+15005550007", body: "elsewhere", createdAt: day });
  const bodies = async (given: object) => (await client.messages.list({ to, ...given })).map(({ body }) => body);
  assert.deepEqual(await bodies({ dateSentAfter: new Date(day) }), ["two", "one"]);
  assert.deepEqual(await bodies({ dateSent: new Date(day) }), ["one"]);
  assert.deepEqual(await bodies({ dateSentBefore: new Date(day) }), ["one", "old"]);
  const [newest] = await client.messages.list({ to, limit: 1 });
  assert.deepEqual(
    [newest?.direction, newest?.numMedia, newest?.dateSent?.getTime()],
    ["inbound", "1", day + 90_000_000],
  );
  const files = await client.messages(newest?.sid ?? "").media.list();
  assert.deepEqual(
    files.map(({ contentType, uri }) => [contentType, `${fake.url}${uri}`]),
    [["image/png", `${media[0]?.url}.json`]],
  );
});

test("a refusal is an error in the client, with Twilio's code and status", async (t) => {
  const fake = await started(t);
  const given = { to: "+15550100001", from: "+15005550006", body: "Hi" };
  const refusal = { code: 21610, message: "stopped" };
  fake.behaviours.set(given.to, { refuse: { status: 400, body: refusal } });
  const refused = (code: number, status: number) => (error: unknown) => {
    assert.ok(error instanceof twilio.RestException);
    assert.deepEqual([error.code, error.status], [code, status]);
    return true;
  };
  await assert.rejects(clientOf(fake).messages.create(given), refused(21610, 400));
  await assert.rejects(clientOf(fake, "wrong").messages.create(given), refused(20003, 401));
  await assert.rejects(clientOf(fake).messages("SM0").fetch(), refused(20404, 404));
  assert.equal(fake.messages.length, 0);
});

test("our provider sends the form that the official client sends", async (t) => {
  const stage = await twilioStage(t, { config: { messagingServiceSid: `MG${"0".repeat(32)}` } });
  const { fake } = stage;
  const media = ["https://example.com/a.png?x=1&y=é", "https://example.com/b.png"];
  const file = { mimeType: "image/png", filename: "a.png", bytes: new Uint8Array(1), isAudioMessage: false };
  const sent = message({ text: "Grüße & +1 😀\n", attachments: media.map((url) => ({ ...file, url })) });
  await accepted(stage.provider.send(sent, NEVER));
  const ours = fake.asked.find(({ method }) => method === "POST") ?? assert.fail();
  await clientOf(fake).messages.create({
    to: sent.to,
    from: sent.from,
    body: sent.text,
    mediaUrl: media,
    messagingServiceSid: `MG${"0".repeat(32)}`,
    statusCallback: ours.form.get("StatusCallback") ?? "",
  });
  const theirs = fake.asked.findLast(({ method }) => method === "POST") ?? assert.fail();
  assert.notEqual(theirs, ours);
  assert.equal(theirs.path, ours.path);
  assert.deepEqual([...ours.form].sort(), [...theirs.form].sort());
});

test("its callbacks and inbound messages pass the library's signature check", async (t) => {
  const fake = await started(t);
  const taken: boolean[] = [];
  const receiver = await listen(async (request, response) => {
    const parameters = Object.fromEntries(new URLSearchParams(await readText(request)));
    const signature = String(request.headers["x-twilio-signature"]);
    taken.push(twilio.validateRequest(fake.authToken, signature, `${receiver.url}${request.url}`, parameters));
    response.end();
  });
  t.after(() => receiver.close());
  const given = { to: "+15550100001", from: "+15005550006", body: "Hi", statusCallback: `${receiver.url}/s?a=1` };
  await clientOf(fake).messages.create(given);
  await fake.write(`${receiver.url}/inbound`, { from: given.to, to: given.from, body: "+&=é 😀" });
  await until(() => taken.length === 3);
  assert.deepEqual(taken, [true, true, true]);
});
