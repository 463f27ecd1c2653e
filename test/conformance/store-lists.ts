/** The store's suite: lists hold what matches, in order; the change feed passes nothing over. */

import assert from "node:assert/strict";
import type { Customer } from "../../server/core/customer.ts";
import type { ChatId, MessageId } from "../../server/core/id.ts";
import type { Message } from "../../server/core/message.ts";
import { hasWords, searchWords } from "../../server/core/search.ts";
import type { PageStart } from "../../server/store/list-windows.ts";
import { type ChangesCursor, listChanges } from "../../server/store/message-changes.ts";
import { listMessages, type MessageFilter } from "../../server/store/message-lists.ts";
import { NOW, type Promises, type Stage } from "./store-stage.ts";

const MESSAGES = 120;
const LIMIT = 7;
const TIMES = { real: NOW, shiftMs: 0, retentionMs: null };

/** Lists hold what matches, and are read beside everything else. */
export function lists(promise: Promises): void {
  promise("a list returns each record that matches all filters once, newest first, page by page", async (stage) => {
    const customer = await stage.addCustomer();
    // Ids that end alike, as indexes begin.
    await addVaried(stage, await stage.addCustomer({ id: `cust_other${customer.id.slice(-20)}` }));
    const messages = await addVaried(stage, customer);
    for (const filter of FILTERS) {
      const expected = messages.filter((message) => matches(message, filter)).map(({ id }) => id);
      assert.deepEqual(await listed(stage, customer, filter), expected.toReversed(), JSON.stringify(filter));
    }
  });

  promise("a list goes on where the message of its cursor was, although the message is gone", async (stage) => {
    const customer = await stage.addCustomer();
    for (let count = 0; count < 10; count += 1) await stage.addMessage(customer);
    const ids = await listed(stage, customer, {});
    const from = (ids[3] ?? assert.fail()) as MessageId;
    await stage.ok([{ op: "delete", table: "messages", where: { id: from } }]);
    const { records } = await listMessages(stage.store.db, customer.id, {}, { from, skip: 0 }, 4);
    assert.deepEqual(
      records.map(({ id }) => id),
      ids.slice(4, 8),
    );
  });

  promise("a list includes every transaction committed before it began", async (stage) => {
    const customer = await stage.addCustomer();
    for (let round = 1; round <= 20; round += 1) {
      await stage.addMessage(customer);
      assert.equal((await listed(stage, customer, {})).length, round);
    }
  });

  promise("an aborted list rejects with the reason", async (stage) => {
    const reason = new Error("gone");
    const db = stage.store.lists("cust_1", AbortSignal.abort(reason));
    await assert.rejects(db.selectFrom("settings").selectAll().execute(), reason);
  });

  promise("concurrent lists of many customers all complete", async (stage) => {
    const customers = await Promise.all([1, 2, 3, 4, 5].map(() => stage.addCustomer()));
    for (const customer of customers) await stage.addMessage(customer);
    const asked = customers.flatMap((customer) => [1, 2, 3, 4].map(() => listed(stage, customer, {})));
    for (const ids of await Promise.all(asked)) assert.equal(ids.length, 1);
  });

  promise(
    "a reader of the change feed sees every change, whenever it commits and wherever pages end",
    async (stage) => {
      const customer = await stage.addCustomer();
      const other = await stage.addCustomer();
      const messages = await Promise.all(Array.from({ length: 9 }, () => stage.addMessage(customer)));
      const seen = new Map<MessageId, number>();
      let place: ChangesCursor = { in: "events", position: 0, readAt: NOW, since: null };
      for (let round = 0; round < 60; round += 1) {
        const message = messages[(round * 5) % messages.length] ?? assert.fail();
        messages[messages.indexOf(message)] = await changed(stage, message);
        await stage.addEvent(await stage.addMessage(other));
        await stage.addEvent(customer);
        if (round % 4 !== 0) continue;
        const page = await listChanges(
          stage.store.lists(customer.id),
          customer.id,
          {},
          { place, limit: 2, times: TIMES },
        );
        for (const { id, sequence } of page.messages) seen.set(id, sequence);
        place = page.next;
      }
      for (let hasMore = true; hasMore; ) {
        const page = await listChanges(
          stage.store.lists(customer.id),
          customer.id,
          {},
          { place, limit: 2, times: TIMES },
        );
        for (const { id, sequence } of page.messages) seen.set(id, sequence);
        ({ next: place, hasMore } = page);
      }
      assert.deepEqual(new Map([...seen].toSorted()), new Map(messages.map(({ id, sequence }) => [id, sequence])));
    },
  );
}

/** Commits a change of a message with its event. */
async function changed(stage: Stage, message: Message): Promise<Message> {
  const sequence = message.sequence + 1;
  const event = stage.event(message);
  await stage.ok([
    { op: "update", table: "messages", id: message.id, version: message.version, set: { sequence } },
    { op: "event", event, callbackUrl: null },
  ]);
  return { ...message, sequence, version: message.version + 1 };
}

const FILTERS: readonly MessageFilter[] = [
  {},
  { status: "delivered" },
  { status: "failed" },
  { status: "unsent", to: "+15005550101" },
  { to: "+15005550102" },
  { from: "+15550000002" },
  { direction: "inbound", channel: "sms" },
  { externalMessageId: "order-1" },
  { externalMessageId: "order-1", chatId: "chat_1", status: "failed" },
  { chatId: "chat_0" },
  { chatId: "chat_1", to: "+15005550101" },
  { words: searchWords("GREEN apple") },
  { words: searchWords("apple"), createdAfter: NOW + 40, createdBefore: NOW + 80, status: "failed" },
  { createdAfter: NOW + 100 },
  { createdBefore: NOW + 10, direction: "outbound" },
];

/** Messages of a customer in which every filter finds some; one in ten is deleted. Answers those that are not, the oldest first. */
async function addVaried(stage: Stage, customer: Customer): Promise<Message[]> {
  const records = Array.from({ length: MESSAGES }, (_, index) =>
    stage.message(customer, {
      status: (["delivered", "failed", "unsent", "read", "sent"] as const)[index % 5] ?? "sent",
      to: `+1500555010${index % 3}`,
      from: `+1555000000${index % 4}`,
      direction: index % 7 === 0 ? "inbound" : "outbound",
      channel: index % 2 === 0 ? "sms" : "imessage",
      externalMessageId: index % 11 === 0 ? null : `order-${index % 4}`,
      chatId: `chat_${index % 2}` as ChatId,
      text: index % 13 === 0 ? null : `${index % 2 === 0 ? "Green" : "red"} ${index % 3 === 0 ? "APPLES" : "pears"}`,
      createdAt: NOW + index,
      deletedAt: index % 10 === 0 ? NOW : null,
    }),
  );
  await stage.ok(records.map((record) => ({ op: "insert", table: "messages", record })));
  return records.filter(({ deletedAt }) => deletedAt === null);
}

function matches(message: Message, { words, createdAfter, createdBefore, ...equal }: MessageFilter): boolean {
  if (words !== undefined && !(message.text !== null && hasWords(message.text, words))) return false;
  if (message.createdAt < (createdAfter ?? 0) || message.createdAt >= (createdBefore ?? Number.POSITIVE_INFINITY)) {
    return false;
  }
  return Object.entries(equal).every(([name, value]) => message[name as keyof Message] === value);
}

async function listed(stage: Stage, customer: Customer, filter: MessageFilter): Promise<string[]> {
  const ids: string[] = [];
  for (let start: PageStart | null = { from: null, skip: 0 }; start !== null; ) {
    const db = stage.store.lists(customer.id);
    const page: Awaited<ReturnType<typeof listMessages>> = await listMessages(db, customer.id, filter, start, LIMIT);
    ids.push(...page.records.map(({ id }) => id));
    start = page.next;
  }
  return ids;
}
