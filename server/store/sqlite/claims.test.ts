/** The cost of claims in rows read, however many rows wait in front. Counts, not times. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { NOW, Stage } from "../../../test/conformance/store-stage.ts";
import type { Customer } from "../../core/customer.ts";
import { type Delivery, deliveryTo } from "../../core/delivery.ts";
import type { Event } from "../../core/event.ts";
import type { Message } from "../../core/message.ts";
import type { Endpoint } from "../../core/webhook.ts";
import { decodeRecord } from "../rows.ts";
import type { Operation, Store } from "../store.ts";
import { SqliteEngine } from "./engine.ts";
import { type ClaimedRows, encodeTransaction } from "./jobs.ts";
import { migrate } from "./migrate.ts";

const UNTIL = NOW + 45_000;
const EVENTS_PER_MESSAGE = 3;

/** The writer on an empty database with one customer and one endpoint. */
class Writer {
  readonly engine = new SqliteEngine(":memory:");
  /** Makes records only: it has no store. */
  readonly make = new Stage({} as Store);
  readonly customer: Customer = this.make.customer();
  readonly endpoint: Endpoint = this.make.endpoint(this.customer);

  static async open(): Promise<Writer> {
    const writer = new Writer();
    await migrate(writer.engine.database);
    writer.commit([
      { op: "insert", table: "customers", record: writer.customer },
      { op: "insert", table: "endpoints", record: writer.endpoint },
    ]);
    return writer;
  }

  commit(transaction: readonly Operation[]): void {
    const [result] = this.engine.run([["commit", encodeTransaction(transaction)]]);
    assert.deepEqual(result, { value: { result: "ok", lanes: [] } });
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
    const salt = this.make.newId("replay");
    const records = events.map((event) => deliveryTo(event, this.endpoint, dueAt, salt));
    this.commit(records.map((record) => ({ op: "insert", table: "deliveries", record })));
  }

  claimDeliveries(permits: number, now = NOW + 1_000): Delivery[] {
    const claim = { lanes: [{ lane: this.endpoint.id, permits }], now, until: UNTIL };
    const [result] = this.engine.run([["claimDeliveries", claim]]);
    assert.ok(result !== undefined && "value" in result);
    return (result.value as ClaimedRows).deliveries.map(({ values }) => decodeRecord("deliveries", values));
  }

  end(delivery: Delivery, set: Partial<Delivery> = { status: "succeeded" }): void {
    const ended = { attemptCount: delivery.attemptCount + 1, claimedUntil: null, dueAt: null, ...set };
    const { id, version } = delivery;
    this.commit([{ op: "update", table: "deliveries", id, version, set: ended }]);
  }

  claimMessages(permits: number): Message[] {
    const lanes = [{ lane: this.make.instanceId, permits }];
    const [result] = this.engine.run([["claimMessages", { lanes, now: NOW, until: UNTIL }]]);
    assert.ok(result !== undefined && "value" in result);
    return (result.value as Parameters<typeof decodeRecord>[1][]).map((values) => decodeRecord("messages", values));
  }

  addMessages(count: number, changes: (index: number) => Partial<Message>): void {
    const records = Array.from({ length: count }, (_, index) =>
      this.make.message(this.customer, { status: "queued", dueAt: NOW, ...changes(index) }),
    );
    this.commit(records.map((record) => ({ op: "insert", table: "messages", record })));
  }

  /** Rows looked at while `work` is done. */
  rowsRead(work: () => void): number {
    const before = this.engine.rowsRead;
    work();
    return this.engine.rowsRead - before;
  }
}

/** Claims and ends deliveries until nothing is left, `permits` in flight. Answers the messages' events as they began. */
function drain(writer: Writer, permits: number): Delivery[] {
  const inFlight: Delivery[] = [];
  const began: Delivery[] = [];
  for (;;) {
    const claimed = writer.claimDeliveries(permits - inFlight.length);
    inFlight.push(...claimed);
    began.push(...claimed);
    const first = inFlight.shift();
    if (first === undefined) return began;
    writer.end(first);
  }
}

const SLOTS = 16;

for (const replays of [1, 2]) {
  test(`after ${replays} replay(s) at once a claim looks at a few rows a webhook, however many wait`, async () => {
    const rows = async (messages: number): Promise<number> => {
      const writer = await Writer.open();
      const events = writer.addEvents(messages);
      for (let count = 0; count < replays; count += 1) writer.replay(events, NOW + count);
      const began: Delivery[] = [];
      const looked = writer.rowsRead(() => began.push(...drain(writer, SLOTS)));
      assert.equal(began.length, events.length * replays);
      writer.engine.close();
      return looked / began.length;
    };
    const [few, many] = [await rows(50), await rows(400)];
    // In flight are 16: behind each wait two events of its message.
    assert.ok(many <= EVENTS_PER_MESSAGE * SLOTS, `${many} rows a webhook`);
    assert.ok(many <= few * 1.2, `${few} rows a webhook of 50 messages, ${many} of 400`);
  });
}

test("replayed events of a message come in the order in which they happened, message after message", async () => {
  const writer = await Writer.open();
  const events = writer.addEvents(20);
  writer.replay(events);
  const began = drain(writer, 1);
  assert.deepEqual(
    began.map(({ eventId }) => eventId),
    events.map(({ id }) => id),
  );
});

test("a replay does not wait for a later replay of the same events", async () => {
  const writer = await Writer.open();
  const [first, second] = writer.addEvents(1);
  assert.ok(first && second);
  writer.replay([first, second]);
  writer.replay([first], NOW + 1);
  const [one, ...none] = writer.claimDeliveries(1);
  assert.deepEqual([one?.eventId, none], [first.id, []]);
  writer.end(one as Delivery);
  assert.equal(writer.claimDeliveries(1)[0]?.eventId, second.id);
});

test("a first event that hangs with thousands behind it holds up no other message, and claims stay small", async () => {
  const writer = await Writer.open();
  const message = writer.make.message(writer.customer);
  const behind = Array.from({ length: 4_000 }, (_, index) => writer.make.event(message, { sequence: index + 1 }));
  const others = Array.from({ length: 50 }, () => writer.make.event(writer.customer));
  writer.commit([...behind, ...others].map((record) => ({ op: "insert", table: "events", record })));
  writer.replay([...behind, ...others]);
  const [hanging] = writer.claimDeliveries(1);
  assert.equal(hanging?.eventId, behind[0]?.id);
  const wanted = new Set<string>(others.map(({ id }) => id));
  for (let claims = 0; wanted.size > 0; claims += 1) {
    assert.ok(claims < 60, `${wanted.size} of the others are held up`);
    const rows = writer.rowsRead(() => {
      for (const delivery of writer.claimDeliveries(1)) {
        assert.ok(wanted.delete(delivery.eventId), "only the others can begin");
        writer.end(delivery);
      }
    });
    assert.ok(rows <= 2_001, `${rows} rows in one claim`);
  }
  writer.end(hanging as Delivery);
  assert.equal(writer.claimDeliveries(1)[0]?.eventId, behind[1]?.id, "and what waited goes on when it has ended");
});

test("retries of all kinds of times between what waits are claimed when they are due, each once", async () => {
  const writer = await Writer.open();
  const events = writer.addEvents(60);
  writer.replay(events);
  let failed = 0;
  const began: string[] = [];
  for (let now = NOW; began.length < events.length + failed; now += 10) {
    const claimed = writer.claimDeliveries(4, now);
    assert.ok(now < NOW + 100_000);
    for (const [index, delivery] of claimed.entries()) {
      began.push(delivery.eventId);
      const fails = delivery.attemptCount === 0 && (began.length + index) % 3 === 0;
      failed += fails ? 1 : 0;
      writer.end(delivery, fails ? { dueAt: now + ((began.length * 7) % 50) * 10 } : { status: "succeeded" });
    }
  }
  assert.ok(failed > 20);
  assert.equal(new Set(began).size, events.length);
  assert.equal(writer.claimDeliveries(99, NOW + 1_000_000).length, 0);
});

const BUSY = "+15005550100";

test("with one recipient whose run is leased a claim looks at a bounded number of rows, however many wait", async () => {
  const rows = async (waiting: number): Promise<number> => {
    const writer = await Writer.open();
    writer.addMessages(waiting, () => ({ to: BUSY }));
    assert.equal(writer.claimMessages(64).length, 8, "a run");
    return writer.rowsRead(() => assert.deepEqual(writer.claimMessages(64), []));
  };
  const [few, many] = [await rows(300), await rows(3_000)];
  assert.equal(many, few);
  assert.ok(many <= 200, `${many} rows`);
});

test("however much waits in front of them for one recipient, messages to others are claimed at once", async () => {
  const writer = await Writer.open();
  writer.addMessages(5_000, () => ({ to: BUSY, dueAt: NOW - 10 }));
  writer.addMessages(100, (index) => ({ to: `+1500556${String(index).padStart(4, "0")}` }));
  writer.addMessages(100, (index) => ({ to: `+1400556${String(index).padStart(4, "0")}`, from: "+15550000009" }));
  const claimed: Message[] = [];
  const looked = writer.rowsRead(() => claimed.push(...writer.claimMessages(64)));
  assert.equal(claimed.length, 64);
  assert.equal(claimed.filter(({ to }) => to === BUSY).length, 8);
  assert.ok(looked <= 400, `${looked} rows`);
  for (let claims = 0; claims < 3; claims += 1) claimed.push(...writer.claimMessages(64));
  assert.equal(claimed.length, 208, "one run of the busy recipient, and everything else");
});

test("behind a busy recipient the pairs that are looked at take turns: none is passed over for good", async () => {
  const writer = await Writer.open();
  writer.addMessages(2_000, () => ({ to: BUSY, dueAt: NOW - 10 }));
  const pairs = 1_000;
  writer.addMessages(pairs * 2, (index) => ({ to: `+1500556${String(index % pairs).padStart(4, "0")}` }));
  const seen = new Set<string>();
  for (let claims = 0; claims < pairs / 4 + 5; claims += 1) {
    for (const { to } of writer.claimMessages(8)) seen.add(to);
  }
  assert.equal(seen.size, pairs + 1);
});
