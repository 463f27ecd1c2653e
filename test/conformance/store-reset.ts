/** The store's suite: what a reset of one customer removes, and what it leaves. */

import assert from "node:assert/strict";
import type { Customer } from "../../server/core/customer.ts";
import type { MessageId } from "../../server/core/id.ts";
import { openReference } from "../../server/core/send-attempt.ts";
import type { Records, TableName } from "../../server/store/records.ts";
import { TABLES } from "../../server/store/tables.ts";
import { recordsBeside } from "./store-records.ts";
import { attemptAt, idempotencyOf, keyOf, NOW, numberOf, type Promises, requestOf, type Stage } from "./store-stage.ts";

/** A reset takes all of one customer and nothing of another. */
export function resetting(promise: Promises): void {
  promise(
    "a reset removes messages, events, chats and contacts of one customer, and nothing of another",
    async (stage) => {
      const one = await stage.addCustomer();
      // Ids that end alike, as indexes begin.
      const other = await stage.addCustomer({ id: `cust_other${one.id.slice(-20)}` });
      await fill(stage, other, "+15550000002");
      const untouched = await everything(stage);
      await fill(stage, one, "+15550000001");
      const full = await everything(stage);
      const counts = [];
      for (let count = 1; count > 0; counts.push(count)) count = await stage.store.reset(one.id, 2);
      assert.ok(counts.length > 2, "it goes on by its limit");
      assert.equal(await stage.store.reset(one.id, 100), 0);
      const left = await everything(stage);
      for (const table of Object.keys(TABLES) as TableName[]) {
        const expected = KEPT.has(table) ? full[table] : untouched[table];
        assert.deepEqual(left[table], expected, table);
      }
    },
  );

  promise("a reset removes the references of its messages, wherever they are among many others", async (stage) => {
    const [customer, other] = [await stage.addCustomer(), await stage.addCustomer()];
    const [mine, theirs] = [await stage.addMessage(customer), await stage.addMessage(other)];
    const own = ["a", "r 3000", "z"].map((reference) => referenceOf(stage, mine.id, reference));
    const others = Array.from({ length: 6_000 }, (_, index) => referenceOf(stage, theirs.id, `r ${index}x`));
    await stage.ok([...own, ...others, attemptOf(stage, mine.id, "named")]);
    while ((await stage.store.reset(customer.id, 100)) > 0);
    const left = await stage.all("providerReferences");
    assert.deepEqual(
      left.map(({ reference }) => reference),
      others.map(({ record }) => record.reference).sort(),
    );
    assert.deepEqual(await stage.all("sendAttempts"), []);
  });

  promise("a reset after one that ended in the middle removes the references that came since", async (stage) => {
    const customer = await stage.addCustomer();
    await stage.addMessage(customer);
    // Both tables of references are read by now, and the message is left.
    for (const begins of [true, false]) await stage.store.reset(customer.id, 100, begins);
    assert.equal((await stage.all("messages")).length, 1);
    const since = await stage.addMessage(customer, { providerMessageId: "by SMS" });
    await stage.ok([referenceOf(stage, since.id, "by SMS"), referenceOf(stage, since.id, "by iMessage, given up")]);
    for (let begins = true; (await stage.store.reset(customer.id, 100, begins)) > 0; begins = false);
    assert.deepEqual(await stage.all("providerReferences"), []);
    assert.deepEqual(await stage.all("messages"), []);
  });

  promise("a reset also deletes records committed while it runs, and can be repeated", async (stage) => {
    const customer = await stage.addCustomer();
    for (let round = 0; round < 3; round += 1) {
      await fill(stage, customer, `+1555000001${round}`);
      await stage.store.reset(customer.id, 1);
      const late = await stage.addMessage(customer, { providerMessageId: `late ${round}` });
      const unnamed = attemptOf(stage, late.id, null);
      const note = { ...unnamed, record: { ...unnamed.record, reference: openReference({ ...late, timeline: [] }) } };
      await stage.ok([referenceOf(stage, late.id, `late ${round}`), note]);
      while ((await stage.store.reset(customer.id, 1)) > 0);
      assert.deepEqual(await stage.all("messages"), []);
      assert.deepEqual(await stage.all("providerReferences"), []);
      assert.deepEqual(await stage.all("sendAttempts"), []);
    }
  });
}

/** Tables that a reset leaves as they are. What providers told once has no customer: it ends by its age. */
const KEPT: ReadonlySet<TableName> = new Set([
  "customers",
  "numbers",
  "keys",
  "instances",
  "endpoints",
  "usage",
  "memory",
  "settings",
  "arrivals",
]);

async function everything(stage: Stage): Promise<{ [Name in TableName]?: Records[Name][] }> {
  const names = Object.keys(TABLES) as TableName[];
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await stage.all(name)])));
}

function referenceOf(stage: Stage, messageId: string, reference: string) {
  const record = { instanceId: stage.instanceId, reference, messageId, channel: "imessage", createdAt: NOW };
  return { op: "insert", table: "providerReferences", record } as const;
}

/** The last attempt of a message: open with a note if the provider has not named it. */
function attemptOf({ instanceId }: Stage, messageId: MessageId, name: string | null) {
  const [state, reference] = name === null ? (["open", messageId] as const) : (["accepted", name] as const);
  const record = { messageId, number: 1, channel: "sms", instanceId, state, reference } as const;
  const times = { startedAt: NOW, endedAt: name === null ? null : NOW };
  return { op: "insert", table: "sendAttempts", record: { ...record, ...times, note: "{}" } } as const;
}

/** Records of every kind of a customer: three messages of which one was sent on two channels, and all beside them. */
async function fill(stage: Stage, customer: Customer, address: string): Promise<void> {
  const { newId, instanceId } = stage;
  await stage.addEndpoint(customer);
  const references = [`${address} sms`, null, null];
  for (const providerMessageId of references) {
    const message = await stage.addMessage(customer, { providerMessageId });
    const event = stage.event(message);
    const delivery = stage.delivery(event, { status: "succeeded", dueAt: null, attempts: [attemptAt(NOW)] });
    await stage.ok([
      { op: "insert", table: "events", record: event },
      { op: "insert", table: "deliveries", record: delivery },
    ]);
    await stage.ok([attemptOf(stage, message.id, providerMessageId)]);
    // Another customer's client may use the same id.
    await stage.store.logRequests([requestOf(stage, customer, "req_1"), requestOf(stage, customer, address)]);
    if (providerMessageId === null) continue;
    const beside = recordsBeside({ newId, customerId: customer.id, messageId: message.id, instanceId, now: NOW });
    const at = (index: number) => `${address} ${index}`;
    await stage.ok([
      referenceOf(stage, message.id, providerMessageId),
      referenceOf(stage, message.id, `${address} imessage`),
      ...beside.chats.map(
        (record, index) => ({ op: "insert", table: "chats", record: { ...record, key: at(index) } }) as const,
      ),
      ...beside.contacts.map((record) => ({ op: "insert", table: "contacts", record }) as const),
      ...beside.contactAddresses.map((record) => ({ op: "insert", table: "contactAddresses", record }) as const),
      ...beside.payments.map((record) => ({ op: "insert", table: "payments", record }) as const),
      ...beside.calls.map(
        (record, index) => ({ op: "insert", table: "calls", record: { ...record, callUuid: at(index) } }) as const,
      ),
      ...beside.replays.map((record) => ({ op: "insert", table: "replays", record }) as const),
      ...beside.contents.map((record) => ({ op: "insert", table: "contents", record }) as const),
      ...beside.optOuts.map(
        (record) => ({ op: "insert", table: "optOuts", record: { ...record, number: address } }) as const,
      ),
      { op: "insert", table: "idempotency", record: idempotencyOf(address, { scope: customer.id }) },
      { op: "put", table: "memory", record: { instanceId, key: address, value: "" } },
      { op: "put", table: "arrivals", record: { instanceId, reference: address, createdAt: NOW } },
    ]);
  }
  if (address === "+15550000001") {
    await stage.ok([
      { op: "insert", table: "numbers", record: numberOf(stage, customer, address) },
      { op: "insert", table: "keys", record: keyOf(stage, customer) },
    ]);
  }
}
