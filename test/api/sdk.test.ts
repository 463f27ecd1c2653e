import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Tightbeam } from "../../sdk/client.ts";
import { TightbeamError } from "../../sdk/errors.ts";
import type { AnyEvent } from "../../sdk/wire.ts";
import { signIn } from "../support/browser-session.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

/** One pixel. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const CLIENT_PARTS = new Set(["constructor"]);

/** Every method that a client has, by its path: `messages.send`, `sandbox.clock.advance`. */
function methodsOf(value: object, path = ""): string[] {
  const own = Object.keys(value);
  const inherited = value instanceof Tightbeam ? Object.getOwnPropertyNames(Tightbeam.prototype) : [];
  return [...own, ...inherited.filter((name) => !CLIENT_PARTS.has(name))].flatMap((name) => {
    const member = (value as Record<string, unknown>)[name];
    if (typeof member === "function") return [`${path}${name}`];
    return typeof member === "object" && member !== null ? methodsOf(member, `${path}${name}.`) : [];
  });
}

/** The unchanged client, with a record of its calls. */
function noting<Client extends object>(client: Client, called: Set<string>, path = ""): Client {
  return new Proxy(client, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      const at = `${path}${String(name)}`;
      if (typeof member === "function") {
        return (...given: unknown[]) => {
          called.add(at);
          const answer: unknown = member.apply(target, given);
          return at === "sandbox.phone" ? noting(answer as object, called, "phone.") : answer;
        };
      }
      return typeof member === "object" && member !== null ? noting(member, called, `${at}.`) : member;
    },
  });
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe("the client against a running service", () => {
  let service: TestService;
  const called = new Set<string>();
  let tb: Tightbeam;
  let admin: Tightbeam;

  before(async () => {
    service = await startTestService({ TB_SANDBOX_INBOX: "on", TB_RATE_LIMIT: "100000/60s" });
    tb = noting(new Tightbeam({ apiKey: service.key, baseUrl: service.url }), called);
    admin = noting(new Tightbeam({ apiKey: service.adminKey, baseUrl: service.url }), called);
  });
  after(() => service.stop());

  const happened = async (type: AnyEvent["type"], messageId: string): Promise<AnyEvent> => {
    const event = await tb.sandbox.wait({ type, messageId, timeoutSeconds: 10 });
    assert.ok(event, `no ${type} of ${messageId}`);
    return event;
  };

  test("messages: sent, followed, changed, reacted to, unsent, retried, cancelled, deleted", async () => {
    const sent = await tb.messages.send({ to: "+15005550100", content: { text: "Hello" }, metadata: { order: 7 } });
    await happened("message.delivered", sent.id);
    assert.equal((await tb.messages.get(sent.id)).status, "delivered");
    assert.equal((await tb.messages.edit(sent.id, { text: "Hello!" })).content.text, "Hello!");
    assert.deepEqual(await tb.messages.react(sent.id, "love"), { messageId: sent.id, reaction: "love" });
    assert.equal((await tb.messages.unsend(sent.id)).status, "unsent");
    const rehearsed = await tb.messages.dryRun({ to: "+15005550102", content: { text: "Hello" } });
    assert.deepEqual([rehearsed.channel, rehearsed.segments], ["sms", 1]);
    const failing = await tb.messages.send({ to: "+15005550105", content: { text: "Nowhere" } });
    await happened("message.failed", failing.id);
    assert.equal((await tb.messages.retry(failing.id)).status, "queued");
    const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
    const later = await tb.messages.send({ to: "+15005550100", content: { text: "Later" }, scheduledAt });
    assert.equal((await tb.messages.update(later.id, { content: { text: "Much later" } })).content.text, "Much later");
    assert.deepEqual(
      (await tb.messages.scheduled()).messages.map(({ id }) => id),
      [later.id],
    );
    assert.equal((await tb.messages.cancel(later.id)).status, "cancelled");
    assert.equal((await tb.messages.delete(later.id)).deleted, true);
    assert.equal((await tb.messages.list({ limit: 1 })).messages.length, 1);
    assert.equal((await all(tb.messages.listAll({ limit: 1 }))).length, 2);
    const images = ["https://images.example/1.png", "https://images.example/2.png"];
    assert.equal((await tb.messages.carousel({ to: "+15005550100", mediaUrls: images })).imageCount, 2);
  });

  test("chats: a thread that appears by itself, and a group", async () => {
    const thread = await tb.chats.get("+15005550100");
    assert.deepEqual(thread.participants, ["+15005550100"]);
    assert.ok((await tb.chats.messages(thread.id, { limit: 1 })).pagination.hasMore);
    assert.ok((await all(tb.chats.messagesAll(thread.id))).length >= 2);
    const group = await tb.chats.createGroup({ name: "Lunch", participants: ["+15005550100", "+15005550101"] });
    assert.equal(group.isGroup, true);
    assert.equal((await tb.chats.rename(group.id, "Dinner")).name, "Dinner");
    assert.equal((await tb.chats.addParticipant(group.id, "+15005550106")).participants.length, 3);
    assert.equal((await tb.chats.removeParticipant(group.id, "+15005550106")).participants.length, 2);
    assert.deepEqual(await tb.chats.typing(thread.id), { chatId: thread.id, status: "start" });
    assert.equal((await tb.chats.markRead(thread.id)).id, thread.id);
    assert.equal((await tb.chats.markUnread(thread.id)).id, thread.id);
    assert.equal((await tb.chats.leave(group.id)).id, group.id);
    assert.equal((await tb.chats.list()).chats.length, (await all(tb.chats.listAll({ limit: 1 }))).length);
  });

  test("contacts: created, found, updated, deleted, single and bulk; capabilities; opt-outs", async () => {
    const ada = await tb.contacts.create({ firstName: "Ada", phoneNumber: "+15005550110", tags: ["vip"] });
    assert.equal((await tb.contacts.get(ada.id)).firstName, "Ada");
    assert.equal((await tb.contacts.update(ada.id, { company: "Engines" })).company, "Engines");
    const made = await tb.contacts.createMany([{ email: "b@example.com" }, { email: "b@example.com" }]);
    assert.deepEqual([made.created, made.failed, made.errors[0]?.index], [1, 1, 1]);
    assert.equal((await tb.contacts.list({ search: "engines" })).contacts.length, 1);
    const found = await all(tb.contacts.listAll({ limit: 1 }));
    assert.equal(found.length, 2);
    assert.equal((await tb.contacts.facetime("+15005550110")).phoneNumber, "+15005550110");
    const echo = await tb.messages.send({ to: "+15005550110", content: { text: "Hi" } });
    await happened("message.delivered", echo.id);
    const answer = await tb.sandbox.wait({ type: "message.inbound", timeoutSeconds: 10 });
    assert.ok(answer?.type === "message.inbound");
    assert.equal(answer.data.text, "You said: Hi");
    assert.equal((await tb.contacts.focus("+15005550110")).focused, false);
    assert.equal((await tb.capabilities("+15005550110")).iMessage, true);
    assert.equal((await tb.contacts.deleteMany(found.map(({ id }) => id))).deleted, 2);
    const again = await tb.contacts.create({ phoneNumber: "+15005550110" });
    assert.equal((await tb.contacts.delete(again.id)).deleted, true);
    const gone = await tb.contacts.create({ phoneNumber: "+15005550110" });
    assert.equal((await tb.contacts.erase(gone.id)).deleted, true);
    const [number] = await tb.numbers();
    const own = number?.phoneNumber ?? "";
    assert.equal((await tb.optOuts.add(own, "+15005550117")).source, "api");
    assert.equal((await tb.optOuts.get(own, "+15005550117")).contact, "+15005550117");
    await assert.rejects(
      tb.messages.send({ to: "+15005550117", content: { text: "Hi" } }),
      (error) => error instanceof TightbeamError && error.code === "RECIPIENT_OPTED_OUT",
    );
    assert.equal((await tb.optOuts.list({ number: own })).optOuts.length, (await all(tb.optOuts.listAll())).length);
    assert.equal((await tb.optOuts.remove(own, "+15005550117", { reason: "asked" })).deleted, true);
    assert.deepEqual((await tb.optOuts.changeSettings({ keywords: ["BASTA"] })).keywords, ["BASTA"]);
    assert.deepEqual((await tb.optOuts.settings()).resume, ["START", "UNSTOP"]);
  });

  test("payments and calls", async () => {
    const asked = await tb.payments.request({ to: "+15005550112", amount: "25.00", note: "Lunch" });
    assert.equal(asked.amount, "25.00");
    assert.ok(await tb.sandbox.wait({ type: "payment.request.paid", timeoutSeconds: 10 }));
    assert.equal((await tb.payments.get(asked.id)).paidBy?.evidence, "apple_cash");
    const ignored = await tb.payments.request({ to: "+15005550113", amount: 10 });
    assert.equal((await tb.payments.cancel(ignored.id)).status, "cancelled");
    assert.equal((await tb.payments.list({ status: "paid" })).requests.length, 1);
    assert.equal((await all(tb.payments.listAll({ limit: 1 }))).length, 2);
    await tb.messages.send({ to: "+15005550115", content: { text: "Ring me" } });
    assert.ok(await tb.sandbox.wait({ type: "facetime.status_changed", timeoutSeconds: 10 }));
    const [call] = (await tb.calls.list()).calls;
    assert.equal((await tb.calls.get(call?.id ?? "")).status, "missed");
    assert.equal((await all(tb.calls.listAll())).length, 1);
  });

  test("the sandbox: phone actions, the clock, the inbox", async () => {
    const phone = tb.sandbox.phone("+15005550199");
    const inbound = await phone.write({
      text: "Hello?",
      attachments: [{ type: "base64", data: PNG, filename: "dot.png" }],
    });
    assert.equal(inbound.direction, "inbound");
    const link = inbound.attachments[0]?.downloadUrl ?? "";
    assert.equal(Buffer.from(await (await fetch(link)).arrayBuffer()).toString("base64"), PNG);
    await phone.type({ typing: true });
    await phone.react({ messageId: inbound.id, type: "love" });
    const data = "UklGRgAAAABXQVZFZm10IA==";
    const attachments = [{ type: "base64" as const, data, filename: "hello.wav", isAudioMessage: true }];
    const { id: messageId } = await tb.messages.send({ to: "+15005550199", attachments });
    await tb.sandbox.wait({ type: "message.delivered", messageId, timeoutSeconds: 10 });
    assert.equal((await phone.keepAudio({ messageId })).id, messageId);
    const { id: chatId } = await tb.chats.createGroup({ participants: ["+15005550199", "+15005550100"] });
    assert.equal((await phone.changePhoto({ chatId })).id, chatId);
    await phone.pay({ amount: "5.00" });
    assert.equal((await phone.call({ action: "ring" })).status, "incoming");
    assert.equal((await phone.change({ online: false })).online, false);
    assert.equal((await phone.settings()).online, false);
    const { offsetMs } = await tb.sandbox.clock.advance("1m");
    assert.ok(offsetMs >= 60_000);
    assert.equal((await tb.sandbox.clock.get()).offsetMs, offsetMs);
    assert.equal((await tb.sandbox.clock.reset()).offsetMs, 0);
    assert.equal((await tb.sandbox.inbox.behave({ status: 200 })).behaviour.status, 200);
    assert.ok((await tb.sandbox.inbox.get()).requests.length > 0);
    assert.deepEqual((await tb.sandbox.inbox.clear()).requests, []);
  });

  test("events: listed, read, streamed", async () => {
    const { events } = await tb.events.list({ limit: 2 });
    assert.equal(events.length, 2);
    const [newest, before] = events;
    assert.deepEqual(await tb.events.get(newest?.id ?? ""), newest);
    for await (const event of tb.events.stream({ lastEventId: before?.id })) {
      assert.deepEqual(event, newest);
      break;
    }
    const types = (await all(tb.events.listAll({ type: "message.queued", limit: 50 }))).map(({ type }) => type);
    assert.ok(types.length > 2 && types.every((type) => type === "message.queued"));
  });

  test("the request log: listed, read, counted, and followed on the Wire", async () => {
    await assert.rejects(async () => await tb.messages.get("msg_none"), { code: "NOT_FOUND" });
    const refused = await until(async () => (await tb.requests.list({ status: "404", limit: 1 })).requests[0]);
    assert.equal(refused.errorCode, "NOT_FOUND");
    assert.equal((await tb.requests.get(refused.id)).path, "/v1/messages/msg_none");
    assert.ok((await all(tb.requests.listAll({ status: "404", limit: 1 }))).some(({ id }) => id === refused.id));
    assert.ok((await tb.requests.errors()).errors.some(({ code }) => code === "NOT_FOUND"));
    const [newest] = (await tb.events.list({ limit: 2 })).events.slice(1);
    for await (const item of tb.wire.stream({ lastEventId: newest?.id })) {
      assert.ok(["request", "event", "delivery", "message"].includes(item.kind));
      break;
    }
  });

  test("webhooks: the primary endpoint, further endpoints, the delivery log", async () => {
    const url = `${service.url}/nowhere`;
    assert.equal(await tb.webhooks.get(), null);
    const configured = await tb.webhooks.set({ url, events: ["message.failed"] });
    assert.match(configured.secret ?? "", /^whsec_/);
    const tested = await tb.webhooks.test();
    assert.equal((await tb.webhooks.deliveries.get(tested.id)).id, tested.id);
    assert.equal((await tb.webhooks.deliveries.retry(tested.id)).id, tested.id);
    assert.ok((await tb.webhooks.deliveries.list()).deliveries.length >= 1);
    assert.ok((await all(tb.webhooks.deliveries.listAll({ limit: 1 }))).length >= 1);
    assert.match((await tb.webhooks.rotateSecret()).secret ?? "", /^whsec_/);
    const other = await tb.webhooks.endpoints.create({ url: `${url}/2`, events: ["*"], name: "Other" });
    assert.equal((await tb.webhooks.endpoints.get(other.id)).name, "Other");
    assert.equal((await tb.webhooks.endpoints.update(other.id, { active: false })).active, false);
    assert.equal((await tb.webhooks.endpoints.list()).length, 2);
    await tb.webhooks.endpoints.update(other.id, { active: true });
    const since = new Date(Date.now() - 3_600_000).toISOString();
    const begun = await tb.webhooks.replay(other.id, { since, types: ["message.failed"] });
    assert.ok(Number(begun.deliveries) >= 1);
    const done = await until(async () => {
      const replay = await tb.webhooks.getReplay(other.id);
      return replay?.status === "done" ? replay : null;
    });
    assert.deepEqual([done.id, done.made], [begun.id, begun.deliveries]);
    await assert.rejects(tb.webhooks.stopReplay(other.id), { code: "NOT_FOUND" });
    assert.equal((await tb.webhooks.delete(other.id)).deleted, true);
    assert.equal((await tb.webhooks.delete()).deleted, true);
  });

  test("usage and admin routes", async () => {
    assert.ok((await tb.usage()).totals.messagesSent >= 1);
    assert.ok((await admin.usage()).totals.requests >= 1);
    const customer = await admin.admin.customers.create({ name: "Second" });
    assert.equal((await admin.admin.customers.get(customer.id)).name, "Second");
    assert.equal((await admin.admin.customers.list()).customers.length, 2);
    assert.equal((await all(admin.admin.customers.listAll({ limit: 1 }))).length, 2);
    const [sandbox] = (await admin.admin.instances.list()).instances;
    const routes = [{ prefix: "+1", instanceId: sandbox?.id ?? "" }];
    assert.deepEqual(await admin.admin.customers.setRoutes(customer.id, routes), routes);
    assert.deepEqual(await admin.admin.customers.routes(customer.id), routes);
    assert.equal(await admin.admin.customers.quietHours(customer.id), null);
    const hours = { start: "21:00", end: "08:00", timeZone: "America/New_York" };
    assert.deepEqual(await admin.admin.customers.setQuietHours(customer.id, hours), hours);
    assert.equal(await admin.admin.customers.deleteQuietHours(customer.id), null);
    const first = await admin.admin.numbers.add(customer.id, { phoneNumber: "+15005550002", provider: "sandbox" });
    assert.equal(first.isDefault, true);
    const second = await admin.admin.numbers.add(customer.id, { phoneNumber: "+15005550003", provider: "sandbox" });
    assert.equal((await admin.admin.numbers.makeDefault(customer.id, second.id)).isDefault, true);
    assert.equal((await admin.admin.numbers.remove(customer.id, first.id)).deleted, true);
    const key = await admin.admin.keys.create({ name: "k", customerId: customer.id });
    const rotated = await admin.admin.keys.rotate(key.id, { gracePeriodSeconds: 0 });
    assert.ok((await admin.admin.keys.revoke(rotated.id)).revokedAt);
    assert.ok((await admin.admin.keys.list()).keys.length >= 4);
    assert.ok((await all(admin.admin.keys.listAll({ limit: 1 }))).length >= 4);
    await signIn(service);
    const [session] = (await admin.admin.sessions.list()).sessions;
    assert.equal((await all(admin.admin.sessions.listAll({ limit: 1 }))).length, 1);
    assert.equal((await admin.admin.sessions.end(session?.id ?? "")).deleted, true);
    const instance = await admin.admin.instances.create({ name: "More", provider: "sandbox", config: {} });
    assert.equal((await admin.admin.instances.update(instance.id, { name: "Most" })).name, "Most");
    assert.equal((await admin.admin.instances.get(instance.id)).health, "healthy");
    assert.equal((await admin.admin.instances.list()).instances.length, 2);
    assert.equal((await all(admin.admin.instances.listAll({ limit: 1 }))).length, 2);
    assert.equal((await admin.admin.instances.delete(instance.id)).deleted, true);
    assert.deepEqual((await admin.admin.held.list()).messages, []);
    assert.deepEqual(await all(admin.admin.held.listAll()), []);
    assert.deepEqual(await admin.admin.held.release({ ids: ["msg_none"] }), {
      count: 0,
      notHeld: ["msg_none"],
      hasMore: false,
    });
    assert.equal((await admin.admin.held.discard({ all: true })).count, 0);
    const { version, health, database, clock, settings } = await admin.admin.service();
    assert.deepEqual([version, health.status, clock.offsetMs], ["test", "ok", 0]);
    assert.equal(health.checks[sandbox?.id ?? ""]?.status, "ok");
    assert.ok(database.bytes > 0 && (database.walBytes === null) === (database.engine === "postgres"));
    assert.equal(settings.find(({ name }) => name === "PORT")?.source, "environment");
    assert.ok(!JSON.stringify(settings).includes(service.adminKey));
  });

  test("a success has its request id and the key's rate limit", async () => {
    const { data, requestId, rateLimit } = await tb.numbers().withResponse();
    assert.equal(data.length, 1);
    assert.match(requestId ?? "", /^req_/);
    assert.ok(rateLimit !== null && rateLimit.remaining < rateLimit.limit && rateLimit.resetAt.getTime() > Date.now());
  });

  test("last: a reset deletes all records, and the tests above called every method", async () => {
    assert.deepEqual(await tb.sandbox.reset(), { reset: true });
    assert.deepEqual((await tb.messages.list()).messages, []);
    assert.deepEqual(await tb.request("GET", "/v1/webhooks"), null);
    const phone = Object.keys(tb.sandbox.phone("+15005550100")).map((name) => `phone.${name}`);
    const missed = [...methodsOf(new Tightbeam({ apiKey: service.key })), ...phone].filter((name) => !called.has(name));
    assert.deepEqual(missed, []);
  });
});
