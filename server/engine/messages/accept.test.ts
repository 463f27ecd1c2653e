/** An accepted message is on disk, and two requests are the same under the rules of idempotency. */

import assert from "node:assert/strict";
import { describe, type TestContext as NodeTest, test } from "node:test";
import type { SendMessage } from "../../../sdk/wire.ts";
import { type TestContext, testContext } from "../../../test/support/context.ts";
import { configure } from "../../../test/support/deliver.ts";
import type { MessageId } from "../../core/id.ts";
import { newMessage } from "../../core/new-message.ts";
import { listEventsOfMessage } from "../../store/events.ts";
import { findMessage } from "../../store/messages.ts";
import { StoreFull } from "../../store/store.ts";
import { accept } from "./accept.ts";

async function open(t: NodeTest, ...[options]: Parameters<typeof testContext>): Promise<TestContext> {
  const made = await testContext(options);
  t.after(() => made.close());
  return made;
}

const BODY: SendMessage = { to: "+15550100001", content: { text: "Hello" } };

function send({ deps, customer, apiKey }: TestContext, more: Partial<SendMessage> = {}) {
  const correlationId = `cor_${"0".repeat(32)}`;
  const body = { ...BODY, ...more };
  const requester = { customerId: customer.id, keyId: apiKey.id, correlationId };
  return accept(deps, newMessage(requester, body), more.idempotencyKey ?? null);
}

const rows = async ({ deps }: TestContext, table: "messages" | "events" | "deliveries") =>
  (await deps.store.db.selectFrom(table).selectAll().execute()).length;

test("an accepted message, its first event and that event's deliveries are committed together", async (t) => {
  const made = await open(t);
  await configure(made);
  const { commit } = made.deps.store;
  const transactions: number[] = [];
  made.deps.store.commit = (transaction) => {
    transactions.push(transaction.length);
    return commit.call(made.deps.store, transaction);
  };
  const { record } = await send(made, { callbackUrl: "http://127.0.0.1:9/callback" });
  assert.deepEqual(transactions, [3], "one transaction: the thread, the message and its event");
  assert.deepEqual([await rows(made, "events"), await rows(made, "deliveries")], [1, 2]);
  const [event] = await listEventsOfMessage(made.deps.store.db, record.id as MessageId);
  assert.deepEqual([event?.type, event?.sequence], ["message.queued", 1]);
  assert.deepEqual(made.woken.messages, [made.instance.id]);
});

test("a message that a full disk cannot store is a 503, and nothing of it is kept or sent", async (t) => {
  const made = await open(t);
  made.deps.store.commit = () => Promise.reject(new StoreFull("no room"));
  await assert.rejects(send(made), { code: "SERVICE_UNAVAILABLE" });
  assert.deepEqual([await rows(made, "messages"), await rows(made, "events")], [0, 0]);
  assert.deepEqual([made.woken.messages, made.observed.accepted], [[], 0]);
});

test("a message expires TB_MESSAGE_TTL after it was queued; a scheduled message has no expiry before that", async (t) => {
  const made = await open(t, { settings: { messageTtlMs: 1_000, fallbackAfterMs: 5_000 } });
  const now = made.clock.now();
  const found = async (more: Partial<SendMessage>) => {
    const { record } = await send(made, more);
    return findMessage(made.deps.store.db, record.id as MessageId);
  };
  const queued = await found({});
  assert.deepEqual([queued?.dueAt, queued?.expiresAt, queued?.fallbackAfterMs], [now, now + 1_000, 5_000]);
  const scheduled = await found({ scheduledAt: new Date(now + 60_000).toISOString() });
  assert.deepEqual([scheduled?.dueAt, scheduled?.expiresAt], [now + 60_000, null]);
  const own = await found({ routing: { fallbackAfterSeconds: 30 } });
  assert.equal(own?.fallbackAfterMs, 30_000);
  assert.equal(made.woken.messages.length, 2, "a scheduled message wakes nobody");
});

describe("the channels of a message follow its addresses and preference", () => {
  const ROUTES: [title: string, body: Partial<SendMessage>, channel: string, left: string[]][] = [
    ["iMessage and then SMS are the default", {}, "imessage", ["sms"]],
    ["routing.preference sets the order", { routing: { preference: ["sms", "imessage"] } }, "sms", ["imessage"]],
    ["a channel named twice counts once", { routing: { preference: ["sms", "sms"] } }, "sms", []],
    ["an e-mail address has no SMS", { to: "a@example.com" }, "imessage", []],
    [
      "an e-mail address has no SMS, even if SMS is preferred",
      { to: "a@example.com", routing: { preference: ["sms", "imessage"] } },
      "imessage",
      [],
    ],
  ];
  for (const [title, body, channel, left] of ROUTES) {
    test(title, async (t) => {
      const made = await open(t);
      const { record } = await send(made, body);
      const message = await findMessage(made.deps.store.db, record.id as MessageId);
      assert.deepEqual([message?.channel, message?.channelsLeft], [channel, left]);
    });
  }
});

describe("a repeated idempotency key", () => {
  const KEYED = { idempotencyKey: "k", metadata: { a: 1, b: { c: [1, 2], d: null } } };
  const SAME: [title: string, body: Partial<SendMessage>][] = [
    ["the same body", KEYED],
    ["its fields in another order", { metadata: { b: { d: null, c: [1, 2] }, a: 1 }, idempotencyKey: "k" }],
    ["the defaults written out", { ...KEYED, routing: { preference: ["imessage", "sms"], fallback: true } }],
    ["some defaults written out", { ...KEYED, routing: { fallback: true } }],
  ];
  for (const [title, body] of SAME) {
    test(`with ${title} returns the first message`, async (t) => {
      const made = await open(t);
      const first = await send(made, KEYED);
      const second = await send(made, body);
      assert.deepEqual([first.repeated, second.repeated], [false, true]);
      assert.equal(second.record.id, first.record.id);
      assert.deepEqual([await rows(made, "messages"), await rows(made, "events")], [1, 1]);
    });
  }

  const OTHER: [title: string, body: Partial<SendMessage>][] = [
    ["another text", { ...KEYED, content: { text: "hello" } }],
    ["a list in another order", { ...KEYED, metadata: { a: 1, b: { c: [2, 1], d: null } } }],
    ["null in place of a missing value", { ...KEYED, metadata: { a: 1, b: { c: [1, 2], d: null }, e: null } }],
    ["another route", { ...KEYED, routing: { preference: ["sms"] } }],
    ["a schedule", { ...KEYED, scheduledAt: "2026-01-01T00:00:01Z" }],
  ];
  for (const [title, body] of OTHER) {
    test(`with ${title} is IDEMPOTENCY_KEY_REUSED`, async (t) => {
      const made = await open(t);
      await send(made, KEYED);
      await assert.rejects(send(made, body), { code: "IDEMPOTENCY_KEY_REUSED" });
      assert.equal(await rows(made, "messages"), 1);
    });
  }

  test("returns the first message also after its scheduled time", async (t) => {
    const made = await open(t);
    const keyed = { ...KEYED, scheduledAt: new Date(made.clock.now() + 1_000).toISOString() };
    const first = await send(made, keyed);
    await made.clock.advance(60_000);
    assert.equal((await send(made, keyed)).record.id, first.record.id);
  });

  test("in fifty concurrent requests creates one message", async (t) => {
    const made = await open(t);
    const answers = await Promise.all(Array.from({ length: 50 }, () => send(made, KEYED)));
    assert.equal(new Set(answers.map(({ record }) => record.id)).size, 1);
    assert.equal(answers.filter(({ repeated }) => !repeated).length, 1);
    assert.deepEqual([await rows(made, "messages"), await rows(made, "events")], [1, 1]);
  });
});
