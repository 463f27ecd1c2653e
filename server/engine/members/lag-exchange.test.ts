/** Tests of when a process knows how far the others lag. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import type { Store } from "../../store/store.ts";
import { LagExchange } from "./lag-exchange.ts";

/** Processes of a database: the lag of this one, and the longest of the others. The first exchange has ended. */
async function scene({ elsewhere = 0, accepts = true } = {}) {
  const clock = new SimulatedClock();
  const lags = { own: 0, elsewhere, isReachable: true };
  const told: number[] = [];
  const faults: string[] = [];
  const exchangeLag = async (lagMs: number) => {
    if (!lags.isReachable) throw new Error("the database is away");
    told.push(lagMs);
    return lags.elsewhere;
  };
  const exchange = new LagExchange({
    store: { shared: { exchangeLag } } as unknown as Store,
    clock,
    observer: { fault: (where: string) => void faults.push(where) } as never,
    ownLagMs: () => lags.own,
    lagMsMax: 100,
    accepts,
  });
  exchange.start();
  await clock.advance(1);
  return { clock, lags, told, faults, exchange };
}

test("a lag elsewhere is known within 250 ms, and its end within 50", async () => {
  const { clock, lags, exchange } = await scene();
  lags.elsewhere = 800;
  await clock.advance(250);
  assert.equal(exchange.elsewhereMs, 800);
  lags.elsewhere = 0;
  await clock.advance(50);
  assert.equal(exchange.elsewhereMs, 0);
});

test("a process that lags says so within 250 ms, in steps, and within 50 when it lags no more", async () => {
  const { clock, lags, told } = await scene();
  lags.own = 100;
  await clock.advance(250);
  assert.deepEqual(told.splice(0), [0, 0], "nobody waits for a lag of 100 ms");
  lags.own = 100.1;
  await clock.advance(250);
  lags.own = 399;
  await clock.advance(50);
  lags.own = 0;
  await clock.advance(50);
  assert.deepEqual(told.splice(0), [200, 400, 0]);
  await clock.advance(1_000);
  assert.equal(told.length, 4, "then four times a second");
});

test("a process that accepts nothing asks no more often while others lag", async () => {
  const { clock, told } = await scene({ elsewhere: 800, accepts: false });
  await clock.advance(1_000);
  assert.equal(told.length, 5);
});

test("a lag counts until another is told, and for 5 s while the database is out of reach", async () => {
  const { clock, lags, faults, exchange } = await scene({ elsewhere: 800 });
  lags.isReachable = false;
  await clock.advance(4_999);
  assert.equal(exchange.elsewhereMs, 800);
  await clock.advance(2);
  assert.equal(exchange.elsewhereMs, 0);
  assert.equal(faults[0], "lag-exchange");
  lags.isReachable = true;
  await clock.advance(250);
  assert.equal(exchange.elsewhereMs, 800);
  await exchange.stop();
});
