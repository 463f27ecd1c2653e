/** Claims of deliveries read each row once, and a SQL transaction that fails changes no lease. Counts, not times. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { LEASE_MS, NOW, Stage } from "../../../test/conformance/store-stage.ts";
import { runsOf } from "../../../test/support/runs.ts";
import type { Customer } from "../../core/customer.ts";
import { type Delivery, deliveryTo } from "../../core/delivery.ts";
import type { Event } from "../../core/event.ts";
import type { Endpoint } from "../../core/webhook.ts";
import {
  type ClaimedRows,
  encodeOutcome,
  encodeTransaction,
  type FinishedRow,
  type Job,
  type WrittenGroup,
} from "../jobs/jobs.ts";
import { decodeRecord } from "../rows.ts";
import type { CommitResult, Operation, Store } from "../store.ts";
import { makeTables } from "./make-tables.ts";
import { SqliteWriter } from "./writer.ts";

const EVENTS_PER_MESSAGE = 3;
const PERMITS = 128;

/** A leased delivery. */
interface Leased {
  lease: number;
  delivery: Delivery;
}

/** The writer on an empty database with one customer and one endpoint. */
class Writer {
  readonly engine = new SqliteWriter(":memory:");
  /** Makes records only: it has no store. */
  readonly make = new Stage({} as Store);
  readonly customer: Customer = this.make.customer();
  readonly endpoint: Endpoint = this.make.endpoint(this.customer);

  static async open(): Promise<Writer> {
    const writer = new Writer();
    makeTables(writer.engine.database);
    writer.commit([
      { op: "insert", table: "customers", record: writer.customer },
      { op: "insert", table: "endpoints", record: writer.endpoint },
    ]);
    return writer;
  }

  run(job: Job): unknown {
    const [result] = this.engine.run([job]);
    assert.ok(result !== undefined && "value" in result, JSON.stringify(result));
    return result.value;
  }

  commit(transaction: readonly Operation[]): WrittenGroup {
    const group = this.engine.runGroup([["commit", encodeTransaction(transaction)]]);
    const [reply] = group.results;
    assert.ok(reply !== undefined && "value" in reply, JSON.stringify(reply));
    assert.equal((reply.value as CommitResult).result, "ok");
    return group;
  }

  /** Stores events of so many messages, in the order in which they happened. */
  addEvents(messages: number): Event[] {
    const events = Array.from({ length: messages }, () => this.make.message(this.customer)).flatMap((message) =>
      Array.from({ length: EVENTS_PER_MESSAGE }, (_, index) => this.make.event(message, { sequence: index + 1 })),
    );
    this.commit(events.map((record) => ({ op: "insert", table: "events", record })));
    return events;
  }

  /** Makes a delivery of each event, all due at once, as a replay does. */
  replay(events: readonly Event[], dueAt = NOW): void {
    const salt = this.make.newId("rpl");
    const records = events.map((event) => deliveryTo(event, this.endpoint, dueAt, salt));
    this.commit(records.map((record) => ({ op: "insert", table: "deliveries", record })));
  }

  claim(permits: number, now = NOW + 1_000): Leased[] {
    const claim = { lanes: [{ lane: this.endpoint.id, permits }], now, leaseMs: LEASE_MS };
    const { rows } = this.run(["claimDeliveries", claim]) as ClaimedRows;
    return rows.map(([lease, values]) => ({ lease, delivery: decodeRecord("deliveries", values) }));
  }

  end({ lease, delivery }: Leased, changes: Partial<Delivery> = { status: "succeeded" }): void {
    const { id, version } = delivery;
    const set = { ...delivery, attemptCount: delivery.attemptCount + 1, dueAt: null, ...changes };
    const finished = this.run(["finishDeliveries", [encodeOutcome({ id, lease, version, set })]]) as FinishedRow[];
    assert.deepEqual(finished, ["ok"]);
  }

  /** Claims and ends deliveries until nothing is left. Returns them as they were claimed. */
  drain(permits: number): Delivery[] {
    const inFlight: Leased[] = [];
    const began: Delivery[] = [];
    for (;;) {
      const claimed = inFlight.length < permits / 2 ? this.claim(permits - inFlight.length) : [];
      inFlight.push(...claimed);
      began.push(...claimed.map(({ delivery }) => delivery));
      const first = inFlight.shift();
      if (first === undefined) return began;
      this.end(first);
    }
  }
}

const REPLAYED = runsOf(100_000);

for (const replays of [1, 2]) {
  test(`after ${replays} replay(s) of ${REPLAYED} deliveries each is read once, however many wait`, async () => {
    const rows = async (messages: number): Promise<number> => {
      const writer = await Writer.open();
      const events = writer.addEvents(messages);
      for (let count = 0; count < replays; count += 1) writer.replay(events, NOW + count);
      const before = writer.engine.rowsRead;
      assert.equal(writer.drain(PERMITS).length, events.length * replays);
      const read = (writer.engine.rowsRead - before) / (events.length * replays);
      writer.engine.close();
      return read;
    };
    const many = Math.ceil(REPLAYED / EVENTS_PER_MESSAGE / replays);
    for (const messages of [50, many]) assert.equal(await rows(messages), 1);
  });
}

test("replayed events of a message are claimed in their original order, message by message", async () => {
  const writer = await Writer.open();
  const events = writer.addEvents(20);
  writer.replay(events);
  assert.deepEqual(
    writer.drain(1).map(({ eventId }) => eventId),
    events.map(({ id }) => id),
  );
});

test("retries due between waiting deliveries are claimed when they are due, each once", async () => {
  const writer = await Writer.open();
  const events = writer.addEvents(60);
  writer.replay(events);
  let failed = 0;
  const began: string[] = [];
  for (let now = NOW; began.length < events.length + failed; now += 10) {
    const claimed = writer.claim(4, now);
    assert.ok(now < NOW + 100_000);
    for (const [index, leased] of claimed.entries()) {
      const { delivery } = leased;
      began.push(delivery.eventId);
      const fails = delivery.attemptCount === 0 && (began.length + index) % 3 === 0;
      failed += fails ? 1 : 0;
      writer.end(leased, fails ? { dueAt: now + ((began.length * 7) % 50) * 10 } : { status: "succeeded" });
    }
  }
  assert.ok(failed > 20);
  assert.equal(new Set(began).size, events.length);
  assert.equal(writer.claim(99, NOW + 1_000_000).length, 0);
});

test("a failed SQL transaction changes no lease, and leases nothing new", async () => {
  const writer = await Writer.open();
  writer.run(["hold", LEASE_MS]);
  const event = () => writer.make.event(writer.customer);
  writer.commit([{ op: "event", event: event(), callbackUrl: null }]);
  const [leased] = writer.claim(9);
  assert.ok(leased !== undefined);
  assert.deepEqual(writer.claim(9), [], "the lane has caught up");
  const { id, version } = leased.delivery;
  const set = { ...leased.delivery, status: "succeeded", dueAt: null } as const;
  const outcome = encodeOutcome({ id, lease: leased.lease, version, set });
  const added: Job = ["commit", encodeTransaction([{ op: "event", event: event(), callbackUrl: null }])];
  const { database } = writer.engine;
  database.exec(`create temp trigger full before insert on events when new.type = 'typing.indicator'
    begin select raise(abort, 'no'); end`);
  const results = writer.engine.run([added, ["removeRequests", { before: 0, oldest: [], limit: 1 }]]);
  assert.ok("error" in (results[0] ?? {}));
  database.exec("drop trigger full");
  const { results: ended, born } = writer.engine.runGroup([["finishDeliveries", [outcome]], added]);
  const [finished, committed] = ended;
  assert.deepEqual(finished, { value: ["ok"] });
  assert.ok(committed !== undefined && "value" in committed);
  const { lanes } = committed.value as Extract<CommitResult, { result: "ok" }>;
  assert.deepEqual([born.length, lanes], [1, []], "a new delivery of a lane that has caught up is leased at once");
  assert.deepEqual(writer.claim(9), [], "and not claimed");
});

test("a claim that was asked for before the newest delivery was made finds it, so that no later one is leased before it", async () => {
  const writer = await Writer.open();
  writer.run(["hold", LEASE_MS]);
  const add = (createdAt: number) =>
    writer.commit([{ op: "event", event: writer.make.event(writer.customer, { createdAt }), callbackUrl: null }]);
  assert.equal(add(NOW + 3_000).born.length, 0, "nobody has looked at the lane");
  const claimed = writer.claim(9, NOW);
  const { born } = add(NOW);
  assert.deepEqual([claimed.length, born.length], [1, 1]);
});
