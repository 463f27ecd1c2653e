/** Accepts wait while work lags, in turns by customer and at most a second, and are refused only when too many wait. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import type { CustomerId } from "../../core/id.ts";
import { BackPressure } from "./back-pressure.ts";

const ANNA = "cus_a" as CustomerId;
const BERT = "cus_b" as CustomerId;

/** A client that stays. */
const stays = () => new AbortController().signal;

/** The clock of a busy process: its timers come up at the end of a turn of the event loop. */
class BusyClock extends SimulatedClock {
  override after(ms: number, action: () => void): () => void {
    return super.after(this.busyMs === 0 ? ms : Math.ceil(ms / this.busyMs) * this.busyMs, action);
  }
}

/** Back-pressure over a pipeline whose lag and progress a test sets. */
class Door {
  readonly clock = new BusyClock();
  readonly store = { backlog: 0, isFull: false };
  readonly lagMs = { dispatch: 0, deliver: 0 };
  ended = 0;
  /** Customers of admitted accepts, in their order. */
  readonly admitted: CustomerId[] = [];
  readonly refused: string[] = [];
  readonly clients: AbortController[] = [];
  readonly backPressure = new BackPressure(
    { clock: this.clock, store: this.store },
    { lagMs: () => this.lagMs, ended: () => this.ended },
  );

  accept(customerId: CustomerId, count = 1): void {
    for (let left = count; left > 0; left -= 1) {
      const client = new AbortController();
      this.clients.push(client);
      const turn = this.backPressure.turn(customerId, () => client.signal);
      if (turn === undefined) this.admitted.push(customerId);
      else
        turn.then(
          () => this.admitted.push(customerId),
          ({ message }: Error) => this.refused.push(message),
        );
    }
  }
}

test("without lag an accept begins at once, and waits beyond 100 ms of lag of either loop", async () => {
  for (const loop of ["dispatch", "deliver"] as const) {
    const door = new Door();
    door.lagMs[loop] = 100;
    assert.equal(door.backPressure.turn(ANNA, stays), undefined);
    await door.clock.advance(10);
    door.lagMs[loop] = 101;
    door.accept(ANNA);
    await door.clock.advance(900);
    assert.deepEqual([door.admitted, door.backPressure.waiting], [[], 1]);
    door.lagMs[loop] = 0;
    await door.clock.advance(10);
    assert.deepEqual([door.admitted, door.backPressure.waiting], [[ANNA], 0]);
    assert.equal(door.clock.pending, 0, "no timer while nobody waits");
  }
});

test("an accept begins after a second whatever lags", async () => {
  const door = new Door();
  door.lagMs.deliver = 60_000;
  door.accept(ANNA);
  await door.clock.advance(500);
  door.accept(BERT);
  await door.clock.advance(495);
  assert.deepEqual(door.admitted, []);
  await door.clock.advance(5);
  assert.deepEqual(door.admitted, [ANNA]);
  await door.clock.advance(500);
  assert.deepEqual(door.admitted, [ANNA, BERT]);
});

test("while work lags, accepts begin at the pace of the pipeline, and customers have turns", async () => {
  const door = new Door();
  door.lagMs.dispatch = 5_000;
  door.ended = 1_000;
  door.accept(ANNA, 100);
  door.accept(BERT);
  for (let runs = 0; runs < 64; runs += 1) {
    door.ended += 1;
    await door.clock.advance(5);
  }
  assert.deepEqual(door.admitted, [ANNA, BERT, ANNA, ANNA], "one after every 16 runs");
});

test("once nothing lags, those that wait begin a few at a time, and nobody overtakes them", async () => {
  const door = new Door();
  door.lagMs.deliver = 500;
  door.accept(ANNA, 40);
  door.lagMs.deliver = 0;
  await door.clock.advance(5);
  assert.equal(door.admitted.length, 16);
  door.accept(ANNA);
  door.accept(BERT);
  assert.equal(door.admitted.length, 16, "both have to wait");
  await door.clock.advance(5);
  assert.equal(door.admitted.indexOf(BERT), 17, "and Bert's turn is the second one");
  door.lagMs.deliver = 500;
  await door.clock.advance(20);
  assert.equal(door.admitted.length, 32, "and all wait when work lags again");
});

test("once nothing lags, a busy event loop admits as many accepts in a second as an idle one", async () => {
  const door = new Door();
  door.clock.busyMs = 25;
  door.lagMs.deliver = 500;
  door.accept(ANNA, 1_000);
  door.lagMs.deliver = 0;
  await door.clock.advance(250);
  assert.equal(door.admitted.length, 800);
  door.clock.busyMs = 400;
  door.accept(ANNA, 600);
  await door.clock.advance(25 + 400);
  assert.equal(door.admitted.length, 800 + 80 + 128, "at most 128 at a time");
});

test("a full disk is no lag: accepts are refused at once for want of space, and do not wait for it", () => {
  const door = new Door();
  door.lagMs.deliver = 5_000;
  door.store.isFull = true;
  assert.equal(door.backPressure.turn(ANNA, stays), undefined);
  assert.deepEqual(door.backPressure.lagMs(), { dispatch: 0, deliver: 0 });
});

test("reading the lag of very many lanes takes a small part of the time", () => {
  let now = 0;
  let reads = 0;
  const lagMs = () => {
    reads += 1;
    now += 4;
    return { dispatch: 0, deliver: 0 };
  };
  const clock = Object.assign(new SimulatedClock(), { monotonic: () => now });
  const door = new BackPressure({ clock, store: { backlog: 0, isFull: false } }, { lagMs, ended: () => 0 });
  for (; now < 1_000; now += 1) void door.turn(ANNA, stays);
  assert.ok(reads <= 30, `${reads} reads of 4 ms in a second`);
});

test("a pause of the process while the lag is read does not make the old lag count for long", () => {
  let now = 0;
  let pauseMs = 2_000;
  const lagMs = () => {
    now += pauseMs;
    return { dispatch: 0, deliver: pauseMs };
  };
  const clock = Object.assign(new SimulatedClock(), { monotonic: () => now });
  const door = new BackPressure({ clock, store: { backlog: 0, isFull: false } }, { lagMs, ended: () => 0 });
  const client = new AbortController();
  void door.turn(ANNA, () => client.signal)?.catch(() => {});
  client.abort();
  pauseMs = 0;
  now += 500;
  assert.equal(door.turn(ANNA, stays), undefined);
});

test("a client that leaves leaves the queue", async () => {
  const door = new Door();
  door.lagMs.dispatch = 500;
  door.accept(ANNA, 2);
  door.clients[0]?.abort(new Error("gone"));
  assert.equal(door.backPressure.waiting, 1);
  await door.clock.advance(1_000);
  assert.deepEqual([door.admitted, door.refused], [[ANNA], ["gone"]]);
});

test("writes are refused while 2,000 requests and transactions wait, and an accept beyond its customer's share of 2,000 places", () => {
  const door = new Door();
  door.lagMs.dispatch = 500;
  door.accept(ANNA, 1_500);
  door.store.backlog = 500;
  assert.equal(door.backPressure.overloadSeconds, null);
  door.store.backlog = 501;
  assert.equal(door.backPressure.overloadSeconds, 1);
  door.store.backlog = 0;
  door.accept(ANNA, 100);
  const refusal = /overloaded: too many requests wait already\. Try again in 1 s/;
  assert.throws(() => door.accept(ANNA), refusal);
  assert.equal(door.backPressure.overloadSeconds, null, "the others are not refused");
  door.accept(BERT, 320);
  assert.throws(() => door.accept(BERT), refusal);
  for (let other = 0; other < 80; other += 1) door.accept(`cus_${other}` as CustomerId);
  assert.equal(door.backPressure.waiting, 2_000);
  assert.throws(() => door.accept("cus_new" as CustomerId), refusal);
});

test("a stop lets the accepts that wait begin, and those of requests that came before it", async () => {
  const door = new Door();
  door.lagMs.dispatch = 500;
  door.accept(ANNA, 3);
  door.backPressure.stop();
  await door.clock.advance(0);
  door.accept(BERT);
  assert.deepEqual(door.admitted, [ANNA, ANNA, ANNA, BERT]);
  assert.equal(door.clock.pending, 0);
});
