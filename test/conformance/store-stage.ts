/** Helpers of the store's suite: complete records with ids of their own, and short calls to commit, claim and read. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { TestContext } from "node:test";
import { sql } from "kysely";
import type { EventType } from "../../sdk/wire.ts";
import type { Customer } from "../../server/core/customer.ts";
import { type Attempt, type Delivery, deliveriesOf } from "../../server/core/delivery.ts";
import { type Event, makeEvent } from "../../server/core/event.ts";
import { createIdSource, type EventId, type InstanceId, type NewId, type Random } from "../../server/core/id.ts";
import type { ApiKey } from "../../server/core/key.ts";
import type { LoggedRequest } from "../../server/core/logged-request.ts";
import { type Message, NEW_MESSAGE } from "../../server/core/message.ts";
import type { CustomerNumber } from "../../server/core/number.ts";
import type { Endpoint } from "../../server/core/webhook.ts";
import { DueQueue, type HeldDelivery } from "../../server/engine/queue/due-deliveries.ts";
import type { DeliveryOutcome, FinishResult } from "../../server/store/due-deliveries.ts";
import type { Idempotency, Records, TableName } from "../../server/store/records.ts";
import { columnOf, decode } from "../../server/store/rows.ts";
import type {
  ClaimedMessage,
  CommitResult,
  MessageClaim,
  Operation,
  Store,
  Transaction,
  Versioned,
} from "../../server/store/store.ts";
import { TABLES } from "../../server/store/tables.ts";

/** Registers one promise of a store as a test; `run` gets a store of its own. */
export type Promises = (title: string, run: (stage: Stage, deps: TestContext) => Promise<void>) => void;

/** A store, and how it is opened again and taken away. */
export interface StoreUnderTest {
  store: Store;
  /** Closes the store and opens it again on the same data; absent where data does not outlive the store. */
  reopen?: () => Promise<Store>;
  /** Removes what the data was kept in; the store is closed. */
  remove(): Promise<void>;
}

/** The shifted time of every record, unless a test says otherwise, and the real time of every id. */
export const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
/** The end of a lease taken at `NOW`. */
export const LEASE_END = NOW + 45_000;
/** The length of a lease. */
export const LEASE_MS = 45_000;

/** One test's store, with makers of records. Makers only make; what begins with `add` also commits. */
export class Stage {
  store: Store;
  readonly newId: NewId = createIdSource(() => NOW, repeatable());
  readonly instanceId: InstanceId = this.newId("inst");
  #due: DueStage | null = null;

  constructor(store: Store) {
    this.store = store;
  }

  customer(changes: Partial<Customer> = {}): Customer {
    return {
      id: this.newId("cust"),
      version: 1,
      name: "Test customer",
      email: null,
      company: null,
      secret: "sealed: customer",
      secretKnown: false,
      previousSecret: null,
      previousSecretUntil: null,
      routes: [],
      quietHours: null,
      optOuts: null,
      createdAt: NOW,
      updatedAt: NOW,
      ...changes,
    };
  }

  async addCustomer(changes: Partial<Customer> = {}): Promise<Customer> {
    const record = this.customer(changes);
    await this.ok([{ op: "insert", table: "customers", record }]);
    return record;
  }

  endpoint(customer: Customer, changes: Partial<Endpoint> = {}): Endpoint {
    const id = this.newId("wh");
    return {
      id,
      version: 1,
      customerId: customer.id,
      kind: "extra",
      name: null,
      url: `https://${id.slice(-12)}.example/hook`,
      events: ["*"],
      active: true,
      maxInFlight: null,
      secret: "sealed: endpoint",
      previousSecret: null,
      previousSecretUntil: null,
      goneSince: null,
      createdAt: NOW,
      updatedAt: NOW,
      ...changes,
    };
  }

  async addEndpoint(customer: Customer, changes: Partial<Endpoint> = {}): Promise<Endpoint> {
    const record = this.endpoint(customer, changes);
    await this.ok([{ op: "insert", table: "endpoints", record }]);
    return record;
  }

  message(customer: Customer, changes: Partial<Message> = {}): Message {
    return {
      id: this.newId("msg"),
      ...NEW_MESSAGE,
      customerId: customer.id,
      keyId: null,
      from: "+15550000001",
      to: "+15005550100",
      channel: "imessage",
      channelsLeft: ["sms"],
      fallback: true,
      fallbackAfterMs: null,
      text: "Hello",
      correlationId: `cor_${"0".repeat(32)}`,
      instanceId: this.instanceId,
      dueAt: null,
      expiresAt: null,
      scheduledAt: null,
      createdAt: NOW,
      updatedAt: NOW,
      ...changes,
    };
  }

  async addMessage(customer: Customer, changes: Partial<Message> = {}): Promise<Message> {
    const record = this.message(customer, changes);
    await this.ok([{ op: "insert", table: "messages", record }]);
    return record;
  }

  /** An event of a message, or of none; its `sequence` is the message's next where it is not given. */
  event(owner: Customer | Message, changes: Partial<Omit<Event, "bytes">> = {}): Event {
    const ofMessage = "customerId" in owner;
    const type: EventType = ofMessage ? "message.queued" : "typing.indicator";
    const event = {
      id: this.newId("evt"),
      customerId: ofMessage ? owner.customerId : owner.id,
      type,
      messageId: ofMessage ? owner.id : null,
      sequence: ofMessage ? owner.sequence + 1 : 0,
      correlationId: `cor_${"0".repeat(32)}`,
      createdAt: NOW,
      ...changes,
    };
    return makeEvent(event, { messageId: event.messageId });
  }

  /** A delivery of `event` as one to a callback is made, with an id of its own. */
  delivery(event: Event, changes: Partial<Delivery> = {}): Delivery {
    const url = "https://callback.example/";
    const [made] = deliveriesOf(event, [], url);
    assert.ok(made);
    return { ...made, id: this.newId("dlv"), ...changes };
  }

  /** Commits an event by itself; answers it with the deliveries it made. */
  async addEvent(
    owner: Customer | Message,
    changes: Partial<Omit<Event, "bytes">> = {},
    callbackUrl: string | null = null,
  ): Promise<{ event: Event; deliveries: Delivery[]; lanes: string[] }> {
    const event = this.event(owner, changes);
    const lanes = await this.ok([{ op: "event", event, callbackUrl }]);
    return { event, deliveries: await this.deliveriesOf(event.id), lanes };
  }

  /** Commits a transaction that must be taken in. Answers where deliveries became due. */
  async ok(transaction: Transaction): Promise<string[]> {
    const answer = await this.store.commit(transaction);
    assert.equal(answer.result, "ok");
    return answer.result === "ok" ? answer.lanes : [];
  }

  /** Commits an update of a record; answers what the store says to it. */
  async update<Name extends Versioned>(
    table: Name,
    { id, version }: { id: string; version: number },
    set: Partial<Records[Name]>,
  ): Promise<CommitResult["result"]> {
    const operation = { op: "update", table, id, version, set } as Operation;
    return (await this.store.commit([operation])).result;
  }

  async leaseMessages(lane: string, permits: number, changes: Partial<MessageClaim> = {}): Promise<ClaimedMessage[]> {
    const claim = { lanes: [{ lane, permits }], now: NOW, leaseMs: LEASE_MS, ...changes };
    return (await this.store.claimMessages(claim)).claimed;
  }

  async claimMessages(lane: string, permits: number, changes: Partial<MessageClaim> = {}): Promise<Message[]> {
    return (await this.leaseMessages(lane, permits, changes)).map(({ message }) => message);
  }

  /** The due deliveries of the store, of which this test is the holder from the first call on. */
  get due(): DueStage {
    if (this.#due?.store !== this.store) this.#due = new DueStage(this.store);
    return this.#due;
  }

  /** Takes due deliveries of a lane into hand: those that were pushed, and then those that are read. */
  async holdDeliveries(lane: string, permits: number, now = NOW): Promise<HeldDelivery[]> {
    return (await this.due.claim([{ lane, permits }], now)).items;
  }

  async claimDeliveries(lane: string, permits: number, now = NOW): Promise<Delivery[]> {
    return (await this.holdDeliveries(lane, permits, now)).map(({ delivery }) => delivery);
  }

  /** All records of a table in the order of their keys, events and requests by position. */
  async all<Name extends TableName>(table: Name): Promise<Records[Name][]> {
    const columns = table === "events" || table === "requests" ? ["position"] : TABLES[table].key.map(columnOf);
    const order = sql.join(columns.map((column) => sql.ref(column)));
    const query = sql<object>`select * from ${sql.table(TABLES[table].name)} order by ${order}`;
    const { rows } = await query.execute(this.store.db);
    return rows.map((row) => decode(table, row));
  }

  async one<Name extends Versioned>(table: Name, id: string): Promise<Records[Name]> {
    const found = (await this.all(table)).find((record) => record.id === id);
    assert.ok(found, `${table} has no ${id}`);
    return found;
  }

  async deliveriesOf(eventId: EventId): Promise<Delivery[]> {
    return (await this.all("deliveries")).filter((delivery) => delivery.eventId === eventId);
  }
}

/** The holder of a store's deliveries, which runs none of them. */
export class DueStage {
  readonly store: Store;
  readonly queue: DueQueue;
  /** New deliveries that were pushed, and not claimed since. */
  pushed: HeldDelivery[] = [];
  /** Ends the hold. */
  readonly end: () => void;
  #now = NOW;

  constructor(store: Store) {
    this.store = store;
    const clock = { now: () => this.#now, monotonic: () => performance.now() };
    this.queue = new DueQueue({ store, clock });
    this.end = this.queue.start({
      take: (items) => void this.pushed.push(...items),
      wake: () => {},
      giveBack: (lanes) => this.giveUp(this.#take(({ delivery }) => [...lanes].includes(delivery.lane))),
      look: () => {},
    });
  }

  async claim(wanted: readonly { lane: string; permits: number }[], now = NOW) {
    this.#now = now;
    const items = wanted.flatMap(({ lane, permits }) => {
      let left = permits;
      return this.#take(({ delivery }) => delivery.lane === lane && left-- > 0);
    });
    let more = wanted.map(({ lane }) => lane);
    for (;;) {
      const left = wanted.flatMap(({ lane, permits }) => {
        const wants = permits - items.filter(({ delivery }) => delivery.lane === lane).length;
        return wants > 0 && more.includes(lane) ? [{ lane, permits: wants }] : [];
      });
      if (left.length === 0) return { items, more };
      // A read may pass nothing but what is in hand: the loop goes on behind it.
      const claimed = await this.queue.claim(left);
      items.push(...claimed.items);
      more = [...claimed.more, ...more.filter((lane) => left.every((one) => one.lane !== lane))];
    }
  }

  /** Writes ends of attempts, as the loop does. */
  async finish(outcomes: readonly DeliveryOutcome[]): Promise<FinishResult[]> {
    const results = await this.store.finishDeliveries(outcomes);
    for (const [index, { result }] of results.entries()) {
      const { id, set } = outcomes[index] ?? assert.fail();
      if (result !== "changed") this.queue.ended(id, result === "ok" ? set.dueAt : null);
    }
    return results;
  }

  giveUp(items: readonly HeldDelivery[]): void {
    this.queue.giveUp(items);
  }

  #take(matches: (item: HeldDelivery) => boolean): HeldDelivery[] {
    const taken = this.pushed.filter(matches);
    this.pushed = this.pushed.filter((item) => !taken.includes(item));
    return taken;
  }
}

/** Bytes that look random, the same ones in every test. */
function repeatable(): Random {
  let drawn = 0;
  return (size) => {
    drawn += 1;
    return createHash("sha512").update(String(drawn)).digest().subarray(0, size);
  };
}

/** A key of `customer` that has never been used. */
export function keyOf(stage: Stage, customer: Customer): ApiKey {
  const id = stage.newId("key");
  return {
    id,
    version: 1,
    name: "Test key",
    customerId: customer.id,
    scope: "messages",
    permissions: ["read", "send", "webhooks"],
    hash: `hash of ${id}`,
    last4: id.slice(-4),
    rateLimit: null,
    createdAt: NOW,
    lastUsedAt: null,
    expiresAt: null,
    revokedAt: null,
    replacedBy: null,
  };
}

/** A number of `customer`, `+15550000001` in each test's first one. */
export function numberOf(stage: Stage, customer: Customer, address = "+15550000001"): CustomerNumber {
  const { instanceId } = stage;
  const provider = "sandbox" as const;
  return {
    id: stage.newId("num"),
    customerId: customer.id,
    address,
    provider,
    instanceId,
    isDefault: true,
    createdAt: NOW,
  };
}

/** A request of a customer's key in the log. */
export function requestOf(stage: Stage, customer: Customer | null, id: string): LoggedRequest {
  return {
    id,
    customerId: customer?.id ?? null,
    keyId: stage.newId("key"),
    method: "GET",
    path: "/v1/messages?limit=1",
    route: "/v1/messages",
    status: 200,
    durationUs: 1_234,
    correlationId: `cor_${"0".repeat(32)}`,
    errorCode: null,
    createdAt: NOW,
    loggedAt: NOW,
    requestCut: false,
    responseCut: false,
    request: null,
    response: "{}",
  };
}

/** The first use of an idempotency key of the scope `cust_1`. */
export function idempotencyOf(key: string, changes: Partial<Idempotency> = {}): Idempotency {
  return { scope: "cust_1", key, fingerprint: "0".repeat(64), result: "msg_1", createdAt: NOW, ...changes };
}

/** An attempt that ended at `at`. */
export function attemptAt(at: number): Attempt {
  return { at, status: 500, durationMs: 12, response: "no", error: null, headers: "1.2.3 ri0a0g AAECAw" };
}
