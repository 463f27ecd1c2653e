/** The store's suite: what was committed is read as it was put in. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { findMessage } from "../../server/store/messages.ts";
import type { Records, TableName } from "../../server/store/records.ts";
import type { Operation } from "../../server/store/store.ts";
import { ANY_CHARACTER } from "../support/any-character.ts";
import { recordsBeside } from "./store-records.ts";
import { attemptAt, idempotencyOf, keyOf, NOW, numberOf, type Promises, requestOf, type Stage } from "./store-stage.ts";

/** Reads return records as they were committed. */
export function reads(promise: Promises): void {
  promise("a read includes every transaction committed before it began", async (stage) => {
    const customer = await stage.addCustomer();
    for (let round = 0; round < 50; round += 1) {
      const message = await stage.addMessage(customer);
      assert.deepEqual(await findMessage(stage.store.db, message.id), message);
      assert.equal(await stage.update("messages", message, { sequence: round }), "ok");
      assert.equal((await findMessage(stage.store.db, message.id))?.sequence, round);
    }
  });

  promise("text of any characters except NUL and lone surrogates is returned unchanged", async (stage) => {
    const customer = await stage.addCustomer();
    const legal = fc.string({ unit: ANY_CHARACTER, maxLength: 200 }).map((text) => text.replaceAll("\0", "0"));
    const property = fc.asyncProperty(legal, legal, async (text, externalMessageId) => {
      const metadata = { [`k${text}`]: [externalMessageId, { text }] };
      const message = await stage.addMessage(customer, { text, externalMessageId, metadata });
      assert.deepEqual(await findMessage(stage.store.db, message.id), message);
    });
    const awkward = [
      "",
      "\uFEFFmarked",
      "\uFFFF\uFFFE",
      "\u{1F469}\u{200D}\u{1F680}",
      "\u{10FFFF}",
      "'\"\\%_;--",
      "\r\n\t",
    ];
    await fc.assert(property, { numRuns: 60, examples: awkward.map((text) => [text, text]) });
  });

  promise(
    "10,000 characters of four bytes each are returned unchanged, also in the bytes of their event",
    async (stage) => {
      const customer = await stage.addCustomer();
      const text = "\u{1F600}".repeat(10_000);
      const message = await stage.addMessage(customer, { text, metadata: { text } });
      const event = { ...stage.event(message), bytes: JSON.stringify({ data: { text } }) };
      await stage.ok([{ op: "event", event, callbackUrl: null }]);
      assert.deepEqual(await findMessage(stage.store.db, message.id), message);
      assert.deepEqual(await stage.all("events"), [event]);
    },
  );

  promise("every column of every table stores its value, and null if it is nullable", async (stage) => {
    for (const [table, list] of Object.entries(wholeRecords(stage)) as [TableName, object[]][]) {
      await stage.ok(list.map((record) => ({ op: "insert", table, record }) as Operation));
      assert.deepEqual(await stage.all(table), list, table);
    }
  });

  promise("the backlog is the number of uncommitted transactions, and ends at zero", async (stage) => {
    const customer = await stage.addCustomer();
    const commits = Array.from({ length: 500 }, () => stage.addMessage(customer));
    assert.ok(stage.store.backlog > 0);
    await Promise.all(commits);
    assert.equal(stage.store.backlog, 0);
  });
}

const SECRETS = { secret: "v1.sealed/+==", previousSecret: "v1.before", previousSecretUntil: NOW + 1 };
const NO_SECRETS = { previousSecret: null, previousSecretUntil: null };

/** Values for the columns of a message that may be empty. */
const FILLED = {
  fallbackAfterMs: 10_000,
  fallbackTriggered: true,
  attachmentsRule: "require",
  attachmentsDropped: 3,
  metadata: { order: 1, nested: { list: [true, null, "x"] } },
  externalMessageId: "order-1",
  callbackUrl: "https://callback.example/",
  origin: "service",
  dueAt: NOW + 1,
  claimedUntil: NOW + 2,
  expiresAt: NOW + 3,
  sendAttempts: 4,
  unknownSince: NOW + 5,
  sequence: 6,
  retryCount: 7,
  providerMessageId: "p-1",
  errorCode: "REJECTED",
  errorMessage: "It was refused.",
  providerErrorCode: "30006",
  segments: 3,
  encoding: "GSM-7",
  scheduledAt: NOW + 8,
  sentAt: NOW + 9,
  deliveredAt: NOW + 10,
  readAt: NOW + 11,
  deletedAt: NOW + 12,
  erasedAt: NOW + 13,
  messageType: "carousel",
  chatId: "chat_1",
  effect: "slam",
  replyTo: "msg_1",
  parentMessageId: "msg_2",
  payment: { id: "pay_1", amountCents: 2_500 },
  editedAt: NOW + 14,
  timeline: [{ status: "sent", at: NOW, channel: "sms", reason: "why", instanceId: "inst_1" }],
} as const;

const HOUR = { requests: 1, rateLimited: 2, messagesSent: 3, segments: 4, messagesReceived: 5 };

/** Of each table two records: one with every column filled, one with every column empty that may be. */
function wholeRecords(stage: Stage): { [Name in TableName]: Records[Name][] } {
  const customer = stage.customer({ ...SECRETS, email: "a@b.example", company: "Ä & Co", secretKnown: true });
  const endpoint = stage.endpoint(customer, { ...SECRETS, name: "Endpoint", events: ["message.read"], active: false });
  const key = { ...keyOf(stage, customer), lastUsedAt: 1, expiresAt: 2, revokedAt: 3, replacedBy: stage.newId("key") };
  const message = stage.message(customer, { ...FILLED, timeline: [...FILLED.timeline], keyId: key.id });
  const event = stage.event(message);
  const leased = {
    endpointId: endpoint.id,
    byHand: true,
    resumeAt: NOW,
    retriesAsked: 1,
  } as const;
  const attempts = [
    { ...attemptAt(NOW), error: "ECONNRESET" },
    { ...attemptAt(NOW), status: null, response: null },
  ];
  const delivery = stage.delivery(event, { ...leased, attemptCount: 3, retryCount: 2, status: "exhausted" });
  const instance = { name: "Sandbox", provider: "sandbox", createdAt: NOW } as const;
  const common = { instanceId: stage.instanceId, messageId: message.id, channel: "sms", createdAt: NOW };
  const attempt = {
    instanceId: stage.instanceId,
    reference: "r",
    messageId: message.id,
    number: 1,
    channel: "sms",
    state: "accepted",
    startedAt: NOW,
    endedAt: NOW + 1,
    note: null,
  } as const;
  const usage = { ...HOUR, webhooksDelivered: 6, webhooksFailed: 7, subject: customer.id };
  return {
    customers: [customer, stage.customer(NO_SECRETS)],
    numbers: [numberOf(stage, customer), { ...numberOf(stage, customer, "me@icloud.example"), isDefault: false }],
    keys: [
      { ...key, rateLimit: { limit: 5, windowSeconds: 60 } },
      { ...keyOf(stage, customer), customerId: null, scope: "admin" },
    ],
    instances: [1, 2].map(() => ({ ...instance, version: 1, config: null, updatedAt: 1, id: stage.newId("inst") })),
    messages: [message, stage.message(customer, { text: null, channelsLeft: [], fallback: false })],
    sendAttempts: [
      { ...attempt, number: 2, state: "open", reference: "open", endedAt: null, note: '{"a":1}' },
      attempt,
    ],
    providerReferences: ["a", "b"].map((reference) => ({ ...common, reference })),
    events: [event, stage.event(customer)],
    endpoints: [endpoint, stage.endpoint(customer, { ...NO_SECRETS, secret: null, name: null, events: ["*"] })],
    deliveries: [
      { ...delivery, attempts, replayId: stage.newId("rpl") },
      stage.delivery(event, { messageId: null, endpointId: null, dueAt: null }),
    ],
    idempotency: ["a", "b"].map((name) => idempotencyOf(name)),
    usage: [
      { ...usage, at: NOW },
      { ...usage, at: NOW + 3_600_000, requests: 0 },
    ],
    memory: ["a", "b"].map((name) => ({ instanceId: "inst_1", key: name, value: `{"${name}":1}` })),
    settings: ["a", "b"].map((name) => ({ name, value: name })),
    erasures: [null, NOW].map((completedAt) => ({
      contactId: stage.newId("con"),
      customerId: customer.id,
      addresses: completedAt === null ? ["+15005550100", "a@b.example"] : [],
      before: stage.newId("msg"),
      position: 1,
      eventsUntil: 2,
      requestedAt: NOW,
      completedAt,
    })),
    sessions: (["link", "session"] as const).map((kind) => ({
      id: stage.newId("ses"),
      version: 1,
      kind,
      hash: `hash of ${kind}`,
      keyId: key.id,
      createdAt: NOW,
      expiresAt: NOW + 2,
      lastUsedAt: NOW + 1,
    })),
    requests: [
      requestOf(stage, null, "req_twice"),
      {
        ...requestOf(stage, customer, "req_twice"),
        ...{ route: null, errorCode: "NOT_FOUND", requestCut: true, request: '{"to":"+1', response: null },
      },
    ],
    ...recordsBeside({
      newId: stage.newId,
      customerId: customer.id,
      messageId: message.id,
      instanceId: stage.instanceId,
      now: NOW,
    }),
  };
}
