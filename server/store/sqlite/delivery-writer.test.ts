/** Reads of due deliveries read each row once, and a SQL transaction that fails pushes nothing. Counts, not times. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { NOW, Stage } from "../../../test/conformance/store-stage.ts";
import { runsOf } from "../../../test/support/runs.ts";
import type { Customer } from "../../core/customer.ts";
import { type Delivery, deliveryTo } from "../../core/delivery.ts";
import type { Event } from "../../core/event.ts";
import type { Endpoint } from "../../core/webhook.ts";
import {
  type DueRows,
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

/** A delivery that was read. */
interface Read {
  row: number;
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

  /** The place behind which the next read begins. */
  #after = { dueAt: 0, row: 0 };

  read(limit: number, now = NOW + 1_000): Read[] {
    const lanes = [{ lane: this.endpoint.id, after: this.#after, limit }];
    const { rows } = this.run(["dueDeliveries", { lanes, now, bytesMax: 2 ** 30 }]) as DueRows;
    const read = rows.map(([row, values]) => ({ row, delivery: decodeRecord("deliveries", values) }));
    const last = read.at(-1);
    if (last !== undefined) this.#after = { dueAt: last.delivery.dueAt ?? 0, row: last.row };
    return read;
  }

  end({ row, delivery }: Read, changes: Partial<Delivery> = { status: "succeeded" }): void {
    const { id, version } = delivery;
    const set = { ...delivery, attemptCount: delivery.attemptCount + 1, dueAt: null, ...changes };
    const finished = this.run(["finishDeliveries", [encodeOutcome({ id, row, version, set })]]) as FinishedRow[];
    assert.deepEqual(finished, ["ok"]);
  }

  /** Reads and ends deliveries until nothing is left. Returns them as they were read. */
  drain(permits: number): Delivery[] {
    const inFlight: Read[] = [];
    const began: Delivery[] = [];
    for (;;) {
      const claimed = inFlight.length < permits / 2 ? this.read(permits - inFlight.length) : [];
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

test("replayed events of a message are read in their original order, message by message", async () => {
  const writer = await Writer.open();
  const events = writer.addEvents(20);
  writer.replay(events);
  assert.deepEqual(
    writer.drain(1).map(({ eventId }) => eventId),
    events.map(({ id }) => id),
  );
});

test("a failed SQL transaction pushes nothing, and a new delivery of a lane that has caught up is pushed with its COMMIT", async () => {
  const writer = await Writer.open();
  writer.run(["hold", true]);
  const event = () => writer.make.event(writer.customer);
  const first = writer.commit([{ op: "event", event: event(), callbackUrl: null }]);
  assert.deepEqual(
    first.pushed.map(([kind]) => kind),
    ["due"],
    "nobody has read the lane",
  );
  const [read] = writer.read(9);
  assert.ok(read !== undefined);
  const { id, version } = read.delivery;
  const set = { ...read.delivery, status: "succeeded", dueAt: null } as const;
  const outcome = encodeOutcome({ id, row: read.row, version, set });
  const added: Job = ["commit", encodeTransaction([{ op: "event", event: event(), callbackUrl: null }])];
  const { database } = writer.engine;
  database.exec(`create temp trigger full before insert on events when new.type = 'typing.indicator'
    begin select raise(abort, 'no'); end`);
  const failed = writer.engine.runGroup([added, ["removeRequests", { before: 0, oldest: [], limit: 1 }]]);
  assert.ok("error" in (failed.results[0] ?? {}));
  assert.deepEqual(failed.pushed, []);
  database.exec("drop trigger full");
  const { results, pushed } = writer.engine.runGroup([["finishDeliveries", [outcome]], added]);
  const [finished, committed] = results;
  assert.deepEqual(finished, { value: ["ok"] });
  assert.ok(committed !== undefined && "value" in committed);
  const { lanes } = committed.value as Extract<CommitResult, { result: "ok" }>;
  assert.deepEqual([pushed.map(([kind]) => kind), lanes], [["new"], []]);
});

test("a read that was asked for before the newest delivery was made finds it, so that no later one is pushed before it", async () => {
  const writer = await Writer.open();
  writer.run(["hold", true]);
  const add = (createdAt: number) =>
    writer.commit([{ op: "event", event: writer.make.event(writer.customer, { createdAt }), callbackUrl: null }]);
  const kindsOf = ({ pushed }: WrittenGroup) => pushed.map(([kind]) => kind);
  assert.deepEqual(kindsOf(add(NOW + 3_000)), ["due"], "nobody has read the lane");
  const read = writer.read(9, NOW);
  assert.deepEqual([read.length, kindsOf(add(NOW))], [1, ["new"]]);
});

test("a lane that is behind names its new deliveries once until it is read, and again for an earlier place", async () => {
  const writer = await Writer.open();
  writer.run(["hold", true]);
  const add = (createdAt: number) =>
    writer.commit([{ op: "event", event: writer.make.event(writer.customer, { createdAt }), callbackUrl: null }])
      .pushed;
  const row = (dueAt: number, number: number) => [["due", null, writer.endpoint.id, dueAt, number]];
  assert.deepEqual([add(NOW), add(NOW + 1), add(NOW - 5)], [row(NOW, 1), [], row(NOW - 5, 3)]);
  assert.equal(writer.read(2).length, 2);
  assert.deepEqual([add(NOW), add(NOW + 1)], [row(NOW, 4), []], "it was not read to its end");
});

test("the writer pushes no more than may be on the way, and goes on when it is told that some have arrived", async () => {
  const writer = await Writer.open();
  writer.run(["hold", true]);
  writer.read(1);
  const kinds = (count: number) => {
    const events = Array.from({ length: count }, () => writer.make.event(writer.customer));
    const group = writer.commit(events.map((event) => ({ op: "event", event, callbackUrl: null })));
    return group.pushed.map(([kind]) => kind);
  };
  const first = kinds(5_000);
  assert.deepEqual([first.filter((kind) => kind === "new").length, first.at(-1)], [4_096, "due"]);
  writer.run(["credit", { arrived: 4_096, bytes: 1_000_000, behind: [] }]);
  assert.deepEqual(kinds(1), [], "the lane is behind");
  assert.equal(writer.read(9_999).length, 5_001);
  assert.deepEqual(kinds(1), ["new"]);
  writer.run(["credit", { arrived: 1, bytes: 0, behind: [writer.endpoint.id] }]);
  assert.deepEqual(kinds(1), ["due"], "its holder did not take one");
});
