/** The store's suite: transactions. */

import assert from "node:assert/strict";
import type { Records } from "../../server/store/records.ts";
import type { Operation, Transaction } from "../../server/store/store.ts";
import { idempotencyOf, keyOf, NOW, numberOf, type Promises, type Stage } from "./store-stage.ts";

const USED: Operation = { op: "insertUnique", table: "idempotency", record: idempotencyOf("used") };

/** Operations that make the store refuse their transaction: `USED` was committed before, and the message does not exist. */
const REFUSALS: readonly [string, Operation][] = [
  ["its unique record exists already", USED],
  ["a record has changed", { op: "update", table: "messages", id: "msg_none", version: 1, set: { text: "x" } }],
];

async function everything(stage: Stage): Promise<unknown> {
  const tables = ["messages", "events", "deliveries", "memory", "idempotency"] as const;
  return Promise.all(tables.map((table) => stage.all(table)));
}

/** Transactions are all or nothing, however many commit at once. */
export function transactions(promise: Promises): void {
  promise("a transaction commits its record, event and deliveries together", async (stage) => {
    const customer = await stage.addCustomer();
    const endpoint = await stage.addEndpoint(customer);
    const message = stage.message(customer);
    const event = stage.event(message);
    const lanes = await stage.ok([
      { op: "insert", table: "messages", record: message },
      { op: "event", event, callbackUrl: null },
    ]);
    assert.deepEqual(lanes, [endpoint.id]);
    assert.deepEqual(await stage.all("messages"), [message]);
    assert.deepEqual(await stage.all("events"), [event]);
    const deliveries = await stage.all("deliveries");
    assert.deepEqual(
      deliveries.map(({ eventId, endpointId }) => ({ eventId, endpointId })),
      [{ eventId: event.id, endpointId: endpoint.id }],
    );
  });

  for (const [refusal, refusing] of REFUSALS) {
    promise(`nothing of a transaction is committed if ${refusal}`, async (stage) => {
      const customer = await stage.addCustomer();
      await stage.addEndpoint(customer);
      const known = await stage.addMessage(customer);
      await stage.ok([USED]);
      const before = await everything(stage);
      const more = stage.message(customer);
      const also: Transaction = [
        { op: "insert", table: "messages", record: more },
        { op: "put", table: "memory", record: { instanceId: "inst_1", key: "k", value: "v" } },
        { op: "event", event: stage.event(more), callbackUrl: "https://callback.example/" },
        { op: "update", table: "messages", id: known.id, version: known.version, set: { text: "changed" } },
      ];
      for (const transaction of [
        [refusing, ...also],
        [...also, refusing],
      ]) {
        const { result: answer } = await stage.store.commit(transaction);
        assert.equal(answer, refusing.op === "insertUnique" ? "duplicate" : "conflict");
        assert.deepEqual(await everything(stage), before);
      }
    });
  }

  promise("an update changes the given properties and increments the version", async (stage) => {
    const customer = await stage.addCustomer();
    const message = await stage.addMessage(customer, { timeline: [{ status: "queued", at: NOW, channel: "sms" }] });
    const set = { status: "pending", metadata: { a: [1, null] }, fallback: false, dueAt: NOW } as const;
    assert.equal(await stage.update("messages", message, set), "ok");
    assert.deepEqual(await stage.one("messages", message.id), { ...message, ...set, version: 2 });
    assert.equal(await stage.update("messages", message, { text: "late" }), "conflict");
    assert.equal(await stage.update("messages", { ...message, version: 2 }, {}), "ok");
    assert.deepEqual(await stage.one("messages", message.id), { ...message, ...set, version: 3 });
    assert.equal(await stage.update("messages", { ...message, version: 3 }, { metadata: null, dueAt: null }), "ok");
    const cleared = { ...message, ...set, metadata: null, dueAt: null, version: 4 };
    assert.deepEqual(await stage.one("messages", message.id), cleared);
  });

  promise("an update of a missing record is a conflict, and creates none", async (stage) => {
    assert.equal(await stage.update("keys", { id: "key_none", version: 1 }, { name: "x" }), "conflict");
    assert.deepEqual(await stage.all("keys"), []);
  });

  promise("exactly one of 200 racing updates of one version commits", async (stage) => {
    const customer = await stage.addCustomer();
    const message = await stage.addMessage(customer);
    const texts = Array.from({ length: 200 }, (_, index) => `text ${index}`);
    const answers = await Promise.all(texts.map((text) => stage.update("messages", message, { text })));
    const winners = texts.filter((_, index) => answers[index] === "ok");
    assert.equal(winners.length, 1);
    assert.equal(answers.filter((answer) => answer === "conflict").length, 199);
    assert.deepEqual(await stage.one("messages", message.id), { ...message, text: winners[0], version: 2 });
  });

  promise("exactly one of 200 racing transactions with the same unique record commits", async (stage) => {
    const customer = await stage.addCustomer();
    const messages = Array.from({ length: 200 }, () => stage.message(customer));
    const answers = await Promise.all(
      messages.map((record) =>
        stage.store.commit([
          { op: "insertUnique", table: "idempotency", record: { ...idempotencyOf("key"), result: record.id } },
          { op: "insert", table: "messages", record },
        ]),
      ),
    );
    const winners = messages.filter((_, index) => answers[index]?.result === "ok");
    assert.equal(winners.length, 1);
    assert.equal(answers.filter(({ result }) => result === "duplicate").length, 199);
    assert.deepEqual(await stage.all("messages"), winners);
    assert.deepEqual(
      (await stage.all("idempotency")).map(({ result }) => result),
      winners.map(({ id }) => id),
    );
  });

  promise("a refused transaction neither disturbs its commit group nor advances a version", async (stage) => {
    const customer = await stage.addCustomer();
    const records = await Promise.all([1, 2, 3].map(() => stage.addMessage(customer)));
    const [first, second, third] = records as [Records["messages"], Records["messages"], Records["messages"]];
    await stage.ok([USED]);
    const update = ({ id }: { id: string }, version: number, text: string): Operation => {
      return { op: "update", table: "messages", id, version, set: { text } };
    };
    const group: Transaction[] = [
      [update(first, 1, "one")],
      [update(second, 1, "no"), USED],
      [update(second, 1, "two")],
      [update(third, 1, "no"), update(first, 99, "no")],
      [update(third, 1, "three")],
    ];
    const answers = await Promise.all(group.map((transaction) => stage.store.commit(transaction)));
    assert.deepEqual(
      answers.map(({ result }) => result),
      ["ok", "duplicate", "ok", "conflict", "ok"],
    );
    assert.deepEqual(
      (await stage.all("messages")).map(({ text, version }) => ({ text, version })),
      ["one", "two", "three"].map((text) => ({ text, version: 2 })),
    );
  });

  promise("an impossible transaction rejects and leaves nothing; the rest of its group commits", async (stage) => {
    const customer = await stage.addCustomer();
    const endpoint = await stage.addEndpoint(customer);
    const known = await stage.addMessage(customer);
    const twice = stage.message(customer);
    const kept = [stage.message(customer), stage.message(customer)];
    const insert = (record: Records["messages"]): Operation => ({ op: "insert", table: "messages", record });
    const pause: Operation = {
      op: "update",
      table: "endpoints",
      id: endpoint.id,
      version: 1,
      set: { active: false },
    };
    const answers = await Promise.allSettled(
      [
        ...kept.slice(0, 1).map((record) => [insert(record)]),
        [pause, insert(twice), insert(known)],
        ...kept.slice(1).map((record) => [insert(record)]),
      ].map((transaction) => stage.store.commit(transaction)),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled"],
    );
    assert.deepEqual(await stage.all("messages"), [known, ...kept]);
    assert.deepEqual(await stage.all("endpoints"), [endpoint]);
    const { deliveries } = await stage.addEvent(known);
    assert.equal(deliveries.length, 1, "the endpoint was not paused after all");
  });

  promise(
    "a unique record is found by its unique property: an address, the hash of a key, the id of a delivery",
    async (stage) => {
      const customer = await stage.addCustomer();
      const number = numberOf(stage, customer);
      const key = keyOf(stage, customer);
      await stage.ok([{ op: "insertUnique", table: "numbers", record: number }]);
      await stage.ok([{ op: "insertUnique", table: "keys", record: key }]);
      await stage.addEndpoint(customer);
      const [delivery = assert.fail()] = (await stage.addEvent(await stage.addMessage(customer))).deliveries;
      const again: Operation[] = [
        { op: "insertUnique", table: "numbers", record: numberOf(stage, customer, number.address) },
        { op: "insertUnique", table: "keys", record: { ...keyOf(stage, customer), hash: key.hash } },
        { op: "insertUnique", table: "deliveries", record: delivery },
      ];
      for (const operation of again) assert.deepEqual(await stage.store.commit([operation]), { result: "duplicate" });
      assert.deepEqual(await stage.all("numbers"), [number]);
      assert.deepEqual(await stage.all("keys"), [key]);
    },
  );

  promise("a put replaces the record with its key, and no other", async (stage) => {
    const customer = await stage.addCustomer();
    const entry = (key: string, value: string): Operation => {
      return { op: "put", table: "memory", record: { instanceId: "inst_1", key, value } };
    };
    await stage.ok([entry("a", "1"), entry("b", "2")]);
    await stage.ok([entry("a", "3")]);
    const values = (await stage.all("memory")).map(({ key, value }) => `${key}=${value}`).sort();
    assert.deepEqual(values, ["a=3", "b=2"]);
    const [mine, other] = [numberOf(stage, customer), numberOf(stage, customer, "+15550000009")];
    await stage.ok([mine, other].map((record) => ({ op: "insert", table: "numbers", record })));
    const stolen = { ...mine, address: other.address };
    await assert.rejects(stage.store.commit([{ op: "put", table: "numbers", record: stolen }]));
    await stage.ok([{ op: "put", table: "numbers", record: { ...mine, isDefault: false } }]);
    assert.deepEqual(await stage.all("numbers"), [{ ...mine, isDefault: false }, other]);
  });

  promise("a delete removes the matching records, if any", async (stage) => {
    const entries = ["a", "b", "c"].map((key) => ({ instanceId: key === "c" ? "inst_2" : "inst_1", key, value: "v" }));
    await stage.ok(entries.map((record) => ({ op: "insert", table: "memory", record })));
    await stage.ok([{ op: "delete", table: "memory", where: { instanceId: "inst_1", key: "a" } }]);
    await stage.ok([{ op: "delete", table: "memory", where: { key: "none" } }]);
    assert.deepEqual(await stage.all("memory"), entries.slice(1));
    await stage.ok([{ op: "delete", table: "memory", where: { instanceId: "inst_2" } }]);
    assert.deepEqual(await stage.all("memory"), entries.slice(1, 2));
  });
}
