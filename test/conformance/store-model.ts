/** The store's suite: for any transactions, the store returns and holds the same as a few maps in memory. */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { Customer } from "../../server/core/customer.ts";
import { type Delivery, deliveriesOf } from "../../server/core/delivery.ts";
import type { Event } from "../../server/core/event.ts";
import type { Message } from "../../server/core/message.ts";
import type { Endpoint } from "../../server/core/webhook.ts";
import type { Idempotency, MemoryEntry } from "../../server/store/records.ts";
import type { CommitResult, Operation, Transaction } from "../../server/store/store.ts";
import { idempotencyOf, type Promises, type Stage } from "./store-stage.ts";

/** A step before it is known which records it is about: `permit` is the transaction's place in its batch. */
type Wish =
  | { wish: "insert" | "remove"; index: number }
  | { wish: "update"; index: number; version: number; text: string | null }
  | { wish: "insertUnique" | "put"; index: number; value: string }
  | { wish: "event"; index: number; callback: boolean };

/** Transactions of one batch are handed in together; a change to an endpoint is a batch of its own. */
type Batch = { transactions: Wish[][] } | { endpoint: number; version: number; active: boolean };

const index = fc.integer({ min: 0, max: 2 });
const wish: fc.Arbitrary<Wish> = fc.oneof(
  fc.record({ wish: fc.constantFrom("insert" as const, "remove" as const), index }),
  fc.record({
    wish: fc.constant("update" as const),
    index,
    version: fc.integer({ min: 1, max: 4 }),
    text: fc.option(fc.string({ unit: "grapheme", maxLength: 20 })),
  }),
  fc.record({
    wish: fc.constantFrom("insertUnique" as const, "put" as const),
    index,
    value: fc.string({ maxLength: 5 }),
  }),
  fc.record({ wish: fc.constant("event" as const), index, callback: fc.boolean() }),
);
/** Each record at most once in a transaction: what two steps on one record come to is nobody's promise. */
const transaction = fc.uniqueArray(wish, {
  minLength: 1,
  maxLength: 5,
  selector: (one) => `${kindOf(one)} ${one.index}`,
});
const batch: fc.Arbitrary<Batch> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ transactions: fc.array(transaction, { minLength: 1, maxLength: 3 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      endpoint: fc.integer({ min: 0, max: 1 }),
      version: fc.integer({ min: 1, max: 3 }),
      active: fc.boolean(),
    }),
  },
);

function kindOf({ wish: kind }: Wish): string {
  return kind === "insert" || kind === "remove" || kind === "update" ? "message" : kind;
}

/** The contents of a store, in maps. */
interface Held {
  messages: Map<string, Message>;
  idempotency: Map<string, Idempotency>;
  memory: Map<string, MemoryEntry>;
  events: Map<string, Event>;
  deliveries: Map<string, Delivery>;
  endpoints: Map<string, Endpoint>;
}

/** The result of a commit; `impossible`: it rejects. */
type Said = CommitResult["result"] | "impossible";

/** Applies a transaction to the maps; answers all that a store may say to it. */
function apply(held: Held, steps: Transaction): Said[] {
  const refusals = new Set<Said>();
  for (const step of steps) {
    if (step.op === "insertUnique" && step.table === "idempotency" && held.idempotency.has(step.record.key)) {
      refusals.add("duplicate");
    }
    if (step.op === "update" && recordOf(held, step)?.version !== step.version) refusals.add("conflict");
  }
  if (refusals.size > 0) return [...refusals];
  const doubled = steps.some(
    (step) =>
      (step.op === "insert" && step.table === "messages" && held.messages.has(step.record.id)) ||
      (step.op === "event" && held.events.has(step.event.id)),
  );
  if (doubled) return ["impossible"];
  for (const step of steps) applyStep(held, step);
  return ["ok"];
}

function recordOf(held: Held, { table, id }: Extract<Operation, { op: "update" }>): Message | Endpoint | undefined {
  return table === "messages" ? held.messages.get(id) : held.endpoints.get(id);
}

function applyStep(held: Held, step: Operation): void {
  if (step.op === "insert" && step.table === "messages") held.messages.set(step.record.id, step.record);
  else if (step.op === "insertUnique" && step.table === "idempotency")
    held.idempotency.set(step.record.key, step.record);
  else if (step.op === "put" && step.table === "memory") held.memory.set(step.record.key, step.record);
  else if (step.op === "delete" && step.table === "messages") held.messages.delete(step.where.id ?? "");
  else if (step.op === "update" && step.table === "messages") merge(held.messages, step.id, step.set);
  else if (step.op === "update" && step.table === "endpoints") merge(held.endpoints, step.id, step.set);
  else if (step.op === "event") {
    held.events.set(step.event.id, step.event);
    const endpoints = [...held.endpoints.values()];
    for (const made of deliveriesOf(step.event, endpoints, step.callbackUrl)) held.deliveries.set(made.id, made);
  } else assert.fail(`the model knows no ${step.op}`);
}

function merge<Record_ extends { version: number }>(
  records: Map<string, Record_>,
  id: string,
  set: Partial<Record_>,
): void {
  const record = records.get(id);
  if (record !== undefined) records.set(id, { ...record, ...set, version: record.version + 1 });
}

/** Makes transactions of wishes; the same wish of the same permit is about the same record. */
function transactionsOf(stage: Stage, customer: Customer): (wishes: readonly Wish[], permit: number) => Transaction {
  const known = new Map<string, Message | Event>();
  const recall = <Value extends Message | Event>(name: string, make: () => Value): Value => {
    const value = (known.get(name) as Value | undefined) ?? make();
    known.set(name, value);
    return value;
  };
  return (wishes, permit) => wishes.map((one) => operationOf(one, `${permit} ${one.index}`));

  function operationOf(one: Wish, name: string): Operation {
    const message = () => recall(`message ${name}`, () => stage.message(customer));
    switch (one.wish) {
      case "insert":
        return { op: "insert", table: "messages", record: message() };
      case "remove":
        return { op: "delete", table: "messages", where: { id: message().id } };
      case "update": {
        const { version, text } = one;
        return { op: "update", table: "messages", id: message().id, version, set: { text, metadata: { text } } };
      }
      case "insertUnique": {
        const record = idempotencyOf(name, { scope: customer.id, result: one.value });
        return { op: "insertUnique", table: "idempotency", record };
      }
      case "put": {
        const record = { instanceId: stage.instanceId, key: name, value: one.value };
        return { op: "put", table: "memory", record };
      }
      case "event": {
        const event = recall(`event ${name}`, () => stage.event(message()));
        return { op: "event", event, callbackUrl: one.callback ? "https://callback.example/x" : null };
      }
    }
  }
}

async function said(stage: Stage, steps: Transaction): Promise<Said> {
  return stage.store.commit(steps).then(
    ({ result }) => result,
    () => "impossible",
  );
}

/** Removes what the run before left. */
async function clear(stage: Stage): Promise<void> {
  const tables = ["messages", "idempotency", "memory", "deliveries", "events", "endpoints"] as const;
  for (const table of tables) {
    for (const record of await stage.all(table)) {
      const where = "id" in record ? { id: record.id } : { key: record.key };
      await stage.ok([{ op: "delete", table, where } as Operation]);
    }
  }
}

/** Any history of transactions, alone or several at once, ends in what the model says. */
export function model(promise: Promises): void {
  promise("any history of transactions gives the results and contents of a model in memory", async (stage) => {
    const customer = await stage.addCustomer();
    await fc.assert(
      fc.asyncProperty(fc.array(batch, { minLength: 5, maxLength: 30 }), async (batches) => {
        await clear(stage);
        const endpoints = [await stage.addEndpoint(customer), await stage.addEndpoint(customer, { active: false })];
        const held: Held = {
          messages: new Map(),
          idempotency: new Map(),
          memory: new Map(),
          events: new Map(),
          deliveries: new Map(),
          endpoints: new Map(endpoints.map((endpoint) => [endpoint.id, endpoint])),
        };
        const make = transactionsOf(stage, customer);
        for (const one of batches) {
          const transactions = "transactions" in one ? one.transactions.map(make) : [changeOf(endpoints, one)];
          const answers = await Promise.all(transactions.map((steps) => said(stage, steps)));
          for (const [place, steps] of transactions.entries()) {
            const allowed = apply(held, steps);
            const answered = answers[place];
            assert.ok(answered !== undefined && allowed.includes(answered), `${answered}, not ${allowed}`);
          }
        }
        await same(stage, held);
      }),
      { numRuns: 10 },
    );
  });
}

function changeOf(endpoints: readonly Endpoint[], { endpoint, version, active }: Extract<Batch, { endpoint: number }>) {
  const id = endpoints[endpoint]?.id ?? "wh_none";
  return [{ op: "update", table: "endpoints", id, version, set: { active } }] satisfies Transaction;
}

async function same(stage: Stage, held: Held): Promise<void> {
  for (const table of Object.keys(held) as (keyof Held)[]) {
    const key = (record: object) => JSON.stringify("id" in record ? record.id : "key" in record ? record.key : null);
    const sorted = (records: Iterable<object>) => [...records].sort((a, b) => (key(a) < key(b) ? -1 : 1));
    assert.deepEqual(sorted(await stage.all(table)), sorted(held[table].values()), table);
  }
}
