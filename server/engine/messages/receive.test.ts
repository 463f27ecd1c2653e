/** Messages of contacts: one message, one event and one chat, however often and in whatever form they are reported. */

import assert from "node:assert/strict";
import { describe, type TestContext as NodeTest, test } from "node:test";
import type { InboundEventData } from "../../../sdk/wire.ts";
import { carriersOn } from "../../../test/support/carriers.ts";
import { commitAll, type TestContext, testContext } from "../../../test/support/context.ts";
import { engineStage } from "../../../test/support/engine.ts";
import { inbound, ScriptedProvider } from "../../../test/support/provider.ts";
import type { InstanceId, MessageId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import { SerialQueue } from "../../core/serial-queue.ts";
import type { InboundSignal, ProviderContext } from "../../providers/provider.ts";
import { listEventsOfMessage } from "../../store/events.ts";
import { decode } from "../../store/rows.ts";
import { apply } from "../apply.ts";
import { Engine } from "../engine.ts";
import type { EngineDeps } from "../engine-deps.ts";
import { updateInstance } from "../instances/instances.ts";
import { Deliver } from "../webhooks/deliver.ts";

async function messagesOf({ deps }: TestContext): Promise<Message[]> {
  const rows = await deps.store.db.selectFrom("messages").selectAll().orderBy("id").execute();
  return rows.map((row) => decode("messages", row));
}

async function eventsOf({ deps }: TestContext) {
  const rows = await deps.store.db.selectFrom("events").select(["type", "bytes"]).orderBy("position").execute();
  return rows.map(({ type, bytes }) => ({ type, data: JSON.parse(bytes).data as InboundEventData }));
}

async function opened(t: { after(end: () => Promise<void>): void }): Promise<TestContext> {
  const made = await testContext();
  t.after(made.close);
  return made;
}

const report = (made: TestContext, signal: InboundSignal, deps: EngineDeps = made.deps) =>
  apply(deps, made.instance.id, signal);

test("a contact's message is one record with the status received, in its thread, with one message.inbound", async (t) => {
  const made = await opened(t);
  await report(made, inbound({ effect: "echo" }));
  const [message, ...others] = await messagesOf(made);
  assert.ok(message !== undefined && others.length === 0);
  const now = made.clock.now();
  assert.partialDeepStrictEqual(message, {
    customerId: made.customer.id,
    keyId: null,
    direction: "inbound",
    status: "received",
    from: "+15550100001",
    to: made.number.address,
    channel: "imessage",
    text: "Hi",
    messageType: "text",
    effect: "echo",
    providerMessageId: "in-1",
    parentMessageId: null,
    sequence: 1,
    deliveredAt: now,
    createdAt: now,
    dueAt: null,
    timeline: [{ status: "received", at: now, channel: "imessage", instanceId: made.instance.id }],
  });
  assert.match(message.correlationId, /^cor_[0-9a-f]{32}$/);
  const chats = await made.deps.store.db.selectFrom("chats").selectAll().execute();
  assert.deepEqual(
    chats.map(({ id, contact, from }) => [id, contact, from]),
    [[message.chatId, "+15550100001", made.number.address]],
  );
  assert.deepEqual(await eventsOf(made), [
    {
      type: "message.inbound",
      data: {
        messageId: message.id,
        from: "+15550100001",
        to: made.number.address,
        text: "Hi",
        channel: "imessage",
        sequence: 1,
        correlationId: message.correlationId,
        deliveredAt: new Date(now).toISOString(),
        parentMessageId: null,
        attachments: [],
      },
    },
  ]);
  assert.equal(made.observed.received, 1);
});

test("a message reported fifty times at once, by two processes, is one message and one event", async (t) => {
  const made = await opened(t);
  const other: EngineDeps = { ...made.deps, serial: new SerialQueue() };
  const loose = Array.from({ length: 24 }, (): EngineDeps => ({ ...made.deps, serial: new SerialQueue() }));
  const contexts = [...Array<EngineDeps>(13).fill(made.deps), ...Array<EngineDeps>(13).fill(other), ...loose];
  await Promise.all(contexts.map((deps) => report(made, inbound(), deps)));
  await report(made, inbound());
  assert.equal((await messagesOf(made)).length, 1);
  assert.equal((await eventsOf(made)).length, 1);
  assert.equal(made.observed.received, 1);
});

test("fifty different first messages of one contact at once are fifty messages in one thread", async (t) => {
  const made = await opened(t);
  const signals = Array.from({ length: 50 }, (_, index) => inbound({ reference: `in-${index}`, text: `${index}` }));
  await Promise.all(signals.map((signal) => report(made, signal)));
  const messages = await messagesOf(made);
  assert.equal(messages.length, 50);
  assert.equal(new Set(messages.map(({ chatId }) => chatId)).size, 1);
  assert.equal((await eventsOf(made)).length, 50);
});

test("parentMessageId names the message that a reply answers, in either direction, and only of the same customer", async (t) => {
  const stage = await engineStage(t);
  const id = await stage.send();
  await stage.run();
  await stage.report(inbound({ replyTo: "ref-1" }));
  await stage.report(inbound({ reference: "in-2", replyTo: "in-1" }));
  await stage.report(inbound({ reference: "in-3", replyTo: "nobody knows" }));
  const other = await stage.addTenant("Another");
  await stage.report(inbound({ reference: "in-4", replyTo: "ref-1", to: other.number.address }));
  const [, first, second, third, fourth] = await messagesOf(stage);
  assert.equal(first?.parentMessageId, id);
  assert.equal(second?.parentMessageId, first?.id);
  assert.equal(third?.parentMessageId, null);
  assert.deepEqual([fourth?.customerId, fourth?.parentMessageId], [other.customer.id, null]);
  const data = (await stage.events(first?.id ?? id))[0]?.data;
  assert.equal(data?.parentMessageId, id);
  // Both directions share the thread.
  assert.equal((await stage.message(id)).chatId ?? first?.chatId, first?.chatId);
});

test("a message to a group belongs to the group's chat, and its event names the chat", async (t) => {
  const made = await opened(t);
  const group = { reference: "group-1", name: "Lunch", participants: ["+15550100001", "+15550100002"] };
  await report(made, inbound({ group }));
  await report(made, inbound({ group, reference: "in-2", from: "+15550100002" }));
  const messages = await messagesOf(made);
  const chats = await made.deps.store.db.selectFrom("chats").selectAll().execute();
  assert.deepEqual(
    chats.map(({ id, is_group, name }) => [id, is_group, name]),
    [[messages[0]?.chatId, 1, "Lunch"]],
  );
  assert.equal(messages[1]?.chatId, messages[0]?.chatId);
  const reported = (await eventsOf(made)).filter(({ type }) => type === "message.inbound");
  assert.deepEqual(
    reported.map(({ data }) => data.chatId),
    [chats[0]?.id, chats[0]?.id],
  );
});

test("a message to an unknown number changes nothing, is logged, and its `forget` key is deleted", async (t) => {
  const made = await opened(t);
  const record = { instanceId: made.instance.id, key: "journal", value: "1" };
  await commitAll(made.deps, [{ op: "put", table: "memory", record }]);
  await report(made, inbound({ to: "+15559999999", forget: "journal" }));
  assert.deepEqual(await messagesOf(made), []);
  assert.equal((await made.deps.store.db.selectFrom("memory").selectAll().execute()).length, 0);
  assert.deepEqual(
    made.observed.faults.map(({ where }) => where),
    ["receive"],
  );
});

test("the `forget` key of a message is deleted with its commit, and with a repeat of the message", async (t) => {
  const made = await opened(t);
  const keys = async () => (await made.deps.store.db.selectFrom("memory").select("key").execute()).length;
  for (const _ of ["first", "repeat"]) {
    const record = { instanceId: made.instance.id, key: "journal", value: "1" };
    await commitAll(made.deps, [{ op: "put", table: "memory", record }]);
    await report(made, inbound({ forget: "journal" }));
    assert.equal(await keys(), 0);
  }
  assert.equal((await messagesOf(made)).length, 1);
});

test("messages to a number that moved to another customer go to that customer", async (t) => {
  const made = await opened(t);
  await report(made, inbound());
  const other = await made.addTenant("Another");
  await commitAll(made.deps, [
    { op: "put", table: "numbers", record: { ...made.number, customerId: other.customer.id } },
  ]);
  made.deps.configCache.clear();
  await report(made, inbound({ reference: "in-2" }));
  assert.deepEqual(
    (await messagesOf(made)).map(({ customerId }) => customerId),
    [made.customer.id, other.customer.id],
  );
});

const ODD: [string, Partial<InboundSignal>, text: string | null, from: string][] = [
  ["no text", { text: null }, null, "+15550100001"],
  ["an empty text", { text: "" }, null, "+15550100001"],
  ["a text of 10,000 characters", { text: "x".repeat(10_000) }, "x".repeat(10_000), "+15550100001"],
  [
    "a text of a million characters, of which 64 KiB stay,",
    { text: "é".repeat(1_000_000) },
    "é".repeat(32_768),
    "+15550100001",
  ],
  ["NUL in its text", { text: "a\0b" }, "a\ufffdb", "+15550100001"],
  ["half a surrogate pair in its text", { text: "a\ud83d" }, "a\ufffd", "+15550100001"],
  ["NUL in its reference", { reference: "in\0" }, "Hi", "+15550100001"],
  ["a short code as its sender", { from: "72345" }, "Hi", "72345"],
  ["a name as its sender", { from: "Tightbeam", channel: "sms" }, "Hi", "Tightbeam"],
  ["an e-mail address in capitals as its sender", { from: "Kim@Example.COM" }, "Hi", "kim@example.com"],
  ["an empty sender", { from: "" }, "Hi", ""],
];

for (const [what, more, text, from] of ODD) {
  test(`a message with ${what} is kept, once`, async (t) => {
    const made = await opened(t);
    await report(made, inbound(more));
    await report(made, inbound(more));
    const messages = await messagesOf(made);
    assert.deepEqual(
      messages.map((message) => [message.text, message.from]),
      [[text, from]],
    );
    const events = await listEventsOfMessage(made.deps.store.db, messages[0]?.id as MessageId);
    assert.deepEqual(
      events.map(({ bytes }) => JSON.parse(bytes).data.text),
      [text],
    );
  });
}

test("a message that could not be committed is kept when it is reported again", async (t) => {
  const made = await opened(t);
  let failures = 1;
  const store = new Proxy(made.deps.store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name === "commit" && failures > 0) {
        return async () => {
          failures -= 1;
          throw new Error("the disk is gone");
        };
      }
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const deps: EngineDeps = { ...made.deps, store };
  await assert.rejects(report(made, inbound(), deps));
  assert.equal((await messagesOf(made)).length, 0);
  assert.equal(made.observed.received, 0);
  await report(made, inbound(), deps);
  assert.equal((await messagesOf(made)).length, 1);
});

test("a message that two instances of one account report is one message, and at two accounts two messages", async (t) => {
  const create = () => new ScriptedProvider({ channels: ["sms"] });
  const { stage, add } = await carriersOn(t, { create });
  const at = async (accountSid: string) => {
    const { id } = await add(create(), "twilio");
    const merge = () => ({ accountSid, authToken: "secret" });
    await updateInstance(stage.life.deps, id, { name: null, merge });
    return id;
  };
  const [first, second, other] = [await at("one"), await at("one"), await at("two")];
  const { deps } = stage.life;
  const signal = inbound({ reference: "SM1", channel: "sms", to: stage.number.address });
  // The thread already exists, so that nothing else serialises the two.
  await apply(deps, first, { ...signal, reference: "SM0" });
  await Promise.all([apply(deps, first, signal), apply(deps, second, signal)]);
  await apply(deps, second, signal);
  const count = async () => (await messagesOf(stage)).length;
  assert.equal(await count(), 2);
  await apply(deps, other, signal);
  assert.equal(await count(), 3);
});

describe("a message that one of two instances of an account reported is not received again from the other", () => {
  const CONFIG = { accountSid: "one", authToken: "secret" };

  async function twoOfOneAccount(t: NodeTest) {
    const create = () => new ScriptedProvider({ channels: ["sms"] });
    const { stage, add } = await carriersOn(t, { create });
    const ids: InstanceId[] = [];
    for (let made = 0; made < 2; made += 1) {
      const { id } = await add(create(), "twilio");
      await updateInstance(stage.life.deps, id, { name: null, merge: () => CONFIG });
      ids.push(id);
    }
    const [first, second] = ids as [InstanceId, InstanceId];
    const signal = inbound({ reference: "SM1", channel: "sms", to: stage.number.address });
    return { stage, first, second, signal, deps: stage.life.deps };
  }

  test("after the first instance was disconnected", async (t) => {
    const { stage, first, second, signal, deps } = await twoOfOneAccount(t);
    await apply(deps, first, signal);
    await deps.connections.disconnect(deps, first);
    await apply(deps, second, signal);
    assert.equal((await messagesOf(stage)).length, 1);
  });

  test("in the next process, even if the other instance connects and reports it first", async (t) => {
    const { stage, first, second, signal, deps } = await twoOfOneAccount(t);
    await apply(deps, second, signal);
    const started: InstanceId[] = [];
    const createProvider = (_: string, { instanceId }: ProviderContext) => {
      const provider = new ScriptedProvider({ channels: ["sms"] });
      provider.start = async (signals?: (signal: InboundSignal) => Promise<unknown>) => {
        started.push(instanceId);
        if (instanceId === first) await signals?.(signal);
      };
      return provider;
    };
    const engine = new Engine({ ...stage.deps, createProvider });
    const sender = { poster: { post: () => new Promise<never>(() => {}) }, inboxUrl: (path: string) => path };
    await engine.start(new Deliver(stage.deps, sender));
    t.after(() => engine.stop());
    assert.deepEqual(started.slice(-2), [first, second]);
    assert.equal((await messagesOf(stage)).length, 1);
  });
});
