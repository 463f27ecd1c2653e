/** One-to-one threads: one for each pair of addresses of a customer, also under concurrency. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { commitAll } from "../../../test/support/context.ts";
import { CORRELATION, chats, openContext, send, TO } from "../../../test/support/sending.ts";
import { newMessage } from "../../core/new-message.ts";
import { accept } from "../messages/accept.ts";
import { prepareThread } from "./threads.ts";

describe("a one-to-one thread is created with its first message", () => {
  test("fifty concurrent messages to a new contact create one thread, and none is lost", async (t) => {
    const made = await openContext(t);
    const sent = await Promise.all(Array.from({ length: 50 }, () => send(made, { to: TO })));
    const [chat, ...more] = await chats(made);
    assert.deepEqual([more.length, new Set(sent.map(({ id }) => id)).size], [0, 50]);
    for (const { chatId } of sent) assert.equal(chatId, chat?.id);
  });

  test("concurrent messages with idempotency keys create one thread, and one message for each key", async (t) => {
    const made = await openContext(t);
    const keyed = Array.from({ length: 20 }, (_, index) => send(made, { to: TO, idempotencyKey: `k${index % 2}` }));
    const sent = await Promise.all(keyed);
    assert.deepEqual([(await chats(made)).length, new Set(sent.map(({ id }) => id)).size], [1, 2]);
  });

  test("a thread is not cached if its commit failed", async (t) => {
    const made = await openContext(t);
    const { store } = made.deps;
    const { commit } = store;
    store.commit = () => Promise.reject(new Error("the disk broke"));
    await assert.rejects(send(made, { to: TO }), { message: "the disk broke" });
    store.commit = commit;
    const message = await send(made, { to: TO });
    assert.deepEqual(
      (await chats(made)).map(({ id }) => id),
      [message.chatId],
    );
  });

  test("two customers that had the same pair of numbers one after the other have a thread each", async (t) => {
    const made = await openContext(t);
    const other = await made.addTenant("Other");
    const mine = await send(made, { to: TO });
    await commitAll(made.deps, [
      { op: "delete", table: "numbers", where: { customerId: made.customer.id } },
      { op: "put", table: "numbers", record: { ...other.number, address: made.number.address } },
    ]);
    made.deps.configCache.clear();
    const theirs = await send(made, { to: TO }, other);
    assert.deepEqual([theirs.from, theirs.to], [mine.from, mine.to]);
    assert.notEqual(theirs.chatId, mine.chatId);
    assert.deepEqual(
      (await chats(made)).map(({ customer_id }) => customer_id),
      [made.customer.id, other.customer.id],
    );
    const chatId = mine.chatId ?? "";
    await assert.rejects(send(made, { chatId }, other), { code: "CONVERSATION_NOT_FOUND" });
  });

  test("a text in a cached thread is one transaction, and reads nothing", async (t) => {
    const made = await openContext(t);
    await send(made, { to: TO });
    const { store } = made.deps;
    const transactions: number[] = [];
    const reads: string[] = [];
    const watched = new Proxy(store, {
      get(_, name) {
        if (name === "db") reads.push("db");
        const value: unknown = Reflect.get(store, name);
        if (name !== "commit") return typeof value === "function" ? value.bind(store) : value;
        return (transaction: readonly unknown[]) => {
          transactions.push(transaction.length);
          return store.commit(transaction as Parameters<typeof store.commit>[0]);
        };
      },
    });
    const { customer, apiKey } = made;
    await accept(
      { ...made.deps, store: watched },
      newMessage(
        { customerId: customer.id, keyId: apiKey.id, correlationId: CORRELATION },
        { to: TO, content: { text: "Hello" } },
      ),
      null,
    );
    assert.deepEqual([transactions, reads], [[3], []]);
  });

  test("a thread is not cached if a reset deletes it during its read", async (t) => {
    const made = await openContext(t);
    const { deps, customer, number, instance } = made;
    const { chatId } = await send(made, { to: TO });
    const pair = {
      customerId: customer.id,
      from: number.address,
      contact: TO,
      channel: "imessage",
      instanceId: instance.id,
    } as const;
    deps.threadCache.clear();
    const reading = prepareThread(deps, pair);
    deps.threadCache.clear();
    assert.equal((await reading).chat.id, chatId);
    await commitAll(deps, [{ op: "delete", table: "chats", where: { customerId: customer.id } }]);
    const { chat, make } = await prepareThread(deps, pair);
    assert.notEqual(chat.id, chatId);
    assert.equal(make.length, 1);
  });
});
