/** The store's suite: transactions that require that a record is there, or that none is. */

import assert from "node:assert/strict";
import type { Chat } from "../../server/core/chat.ts";
import type { Customer } from "../../server/core/customer.ts";
import type { Message } from "../../server/core/message.ts";
import type { Operation, Transaction } from "../../server/store/store.ts";
import { NOW, type Promises, type Stage } from "./store-stage.ts";

const CONTACT = "+15005550199";
const ROUNDS = 20;

function chatOf(stage: Stage, customer: Customer, changes: Partial<Chat> = {}): Chat {
  const id = stage.newId("chat");
  return {
    id,
    version: 1,
    customerId: customer.id,
    key: `key of ${id}`,
    isGroup: false,
    from: "+15550000001",
    contact: CONTACT,
    lastForm: null,
    instanceId: stage.instanceId,
    reference: null,
    channel: "sms",
    name: null,
    participants: [CONTACT],
    leftAt: null,
    createdAt: NOW,
    updatedAt: NOW,
    ...changes,
  };
}

export async function addChat(stage: Stage, customer: Customer): Promise<Chat> {
  const chat = chatOf(stage, customer);
  await stage.ok([{ op: "insertUnique", table: "chats", record: chat }]);
  return chat;
}

/** A message in a chat, which must still be there. */
export function write(stage: Stage, customer: Customer, chat: Chat): { message: Message; transaction: Operation[] } {
  const message = stage.message(customer, { to: CONTACT, chatId: chat.id });
  return {
    message,
    transaction: [
      { op: "require", table: "chats", where: { id: chat.id }, scope: customer.id },
      { op: "insert", table: "messages", record: message },
      { op: "event", event: stage.event(message), callbackUrl: null },
    ],
  };
}

/** Deletes a chat without messages. */
export function deleteEmpty(customer: Customer, chat: Chat): Transaction {
  return [
    { op: "requireNone", table: "messages", where: { chatId: chat.id, to: CONTACT }, scope: customer.id },
    { op: "requireNone", table: "messages", where: { chatId: chat.id, from: CONTACT }, scope: customer.id },
    { op: "delete", table: "chats", where: { id: chat.id } },
  ];
}

/** Transactions that need a record, or its absence, and those that take it away. */
export function requirements(promise: Promises): void {
  promise("a transaction that requires a record is a conflict without it, and changes nothing", async (stage) => {
    const customer = await stage.addCustomer();
    const chat = await addChat(stage, customer);
    const [first, second, third] = [1, 2, 3].map(() => write(stage, customer, chat));
    assert.ok(first !== undefined && second !== undefined && third !== undefined);
    await stage.ok(first.transaction);
    await stage.ok(second.transaction);
    await stage.ok([{ op: "delete", table: "chats", where: { id: chat.id } }]);
    assert.deepEqual(await stage.store.commit(third.transaction), { result: "conflict" });
    assert.deepEqual(await stage.store.commit(third.transaction.toReversed()), { result: "conflict" });
    assert.deepEqual(
      (await stage.all("messages")).map(({ id }) => id),
      [first.message.id, second.message.id],
    );
    assert.equal((await stage.all("events")).length, 2);
  });

  promise("a transaction that requires a record is a conflict after a reset removed it", async (stage) => {
    const customer = await stage.addCustomer();
    const chat = await addChat(stage, customer);
    await stage.ok(write(stage, customer, chat).transaction);
    while ((await stage.store.reset(customer.id, 1)) > 0);
    assert.deepEqual(await stage.store.commit(write(stage, customer, chat).transaction), { result: "conflict" });
    assert.deepEqual(await stage.all("messages"), []);
  });

  promise("a transaction that requires that no record matches is a conflict if one does", async (stage) => {
    const [customer, other] = [await stage.addCustomer(), await stage.addCustomer()];
    const [chat, theirs] = [await addChat(stage, customer), await addChat(stage, other)];
    await stage.ok(write(stage, other, theirs).transaction);
    const { message, transaction } = write(stage, customer, chat);
    await stage.ok(transaction);
    assert.deepEqual(await stage.store.commit(deleteEmpty(customer, chat)), { result: "conflict" });
    await stage.ok([{ op: "delete", table: "messages", where: { id: message.id } }]);
    const inbound = stage.message(customer, { from: CONTACT, chatId: chat.id, direction: "inbound" });
    await stage.ok([{ op: "insert", table: "messages", record: inbound }]);
    assert.deepEqual(await stage.store.commit(deleteEmpty(customer, chat)), { result: "conflict" });
    await stage.ok([{ op: "delete", table: "messages", where: { id: inbound.id } }]);
    await stage.ok(deleteEmpty(customer, chat));
    assert.deepEqual(
      (await stage.all("chats")).map(({ id }) => id),
      [theirs.id],
    );
  });

  promise("a requirement names the values of the record too", async (stage) => {
    const move = (from: string, to: string): Promise<{ result: string }> =>
      stage.store.commit([
        { op: "require", table: "settings", where: { name: "n", value: from }, scope: "n" },
        { op: "put", table: "settings", record: { name: "n", value: to } },
      ]);
    await stage.ok([{ op: "put", table: "settings", record: { name: "n", value: "1" } }]);
    assert.equal((await move("1", "2")).result, "ok");
    const racing = await Promise.all(["3", "4", "5"].map((to) => move("2", to)));
    assert.deepEqual(racing.map(({ result }) => result).toSorted(), ["conflict", "conflict", "ok"]);
    assert.equal((await move("1", "6")).result, "conflict");
  });

  promise("a message into a chat and the delete of that chat at the same time do not both commit", async (stage) => {
    const customer = await stage.addCustomer();
    for (let round = 0; round < ROUNDS; round += 1) {
      const chat = await addChat(stage, customer);
      const { message, transaction } = write(stage, customer, chat);
      const both = [transaction, deleteEmpty(customer, chat)];
      if (round % 2 === 1) both.reverse();
      const results = await Promise.all(both.map((one) => stage.store.commit(one)));
      assert.deepEqual(results.map(({ result }) => result).toSorted(), ["conflict", "ok"]);
      const chats = await stage.all("chats");
      const messages = await stage.all("messages");
      assert.equal(chats.length, messages.length);
      if (messages.length === 0) continue;
      await stage.ok([{ op: "delete", table: "messages", where: { id: message.id } }]);
      await stage.ok(deleteEmpty(customer, chat));
    }
  });
}
