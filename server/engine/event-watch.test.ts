/** Tests that listeners of one process learn of events that another process committed. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Stage } from "../../test/conformance/store-stage.ts";
import { SimulatedClock } from "../../test/support/clock.ts";
import type { CustomerId, DeliveryId } from "../core/id.ts";
import { openSqliteInProcess } from "../store/sqlite/store.ts";
import type { Store } from "../store/store.ts";
import { EventNotifier } from "./event-notifier.ts";
import { EventWatch } from "./event-watch.ts";
import { AttemptFeed } from "./webhooks/attempt-feed.ts";

test("a listener is called once for events of its customer that another process committed, and for nobody else's", async (t) => {
  const store = await openSqliteInProcess();
  t.after(() => store.close());
  const stage = new Stage(store);
  const [own, other] = [await stage.addCustomer(), await stage.addCustomer()];
  const clock = new SimulatedClock();
  const reads = { count: 0 };
  const shared = new Proxy(store, {
    get(target, name) {
      if (name === "db") reads.count += 1;
      return name === "shared" ? {} : Reflect.get(target, name);
    },
  }) as Store;
  const events = new EventNotifier();
  const attempts = new AttemptFeed();
  const watch = new EventWatch(
    { store: shared, clock, observer: { fault: assert.fail } as never },
    { events, attempts },
  );
  watch.start();
  await clock.advance(1_000);
  assert.equal(reads.count, 0, "nobody listens");
  const calls = { events: 0, attempts: 0 };
  const count = (of: keyof typeof calls) => () => {
    calls[of] += 1;
  };
  const ends = [events.listen(own.id, count("events")), attempts.listen("dlv_1" as DeliveryId, count("attempts"))];
  const passed = async (ms: number) => {
    await clock.advance(ms);
    return calls.events;
  };
  await stage.addEvent(own);
  assert.equal(await passed(250), 1);
  assert.equal(await passed(1_000), 1, "nothing new");
  await stage.addEvent(other);
  assert.equal(await passed(1_000), 1, "not its customer's");
  await stage.addEvent(own);
  await stage.addEvent(own);
  assert.equal(await passed(250), 2);
  assert.ok(calls.attempts > 5);
  for (const end of ends) end();
  await stage.addEvent(own);
  assert.equal(await passed(1_000), 2);
  await watch.stop();
});

test("a watcher of a customer's deliveries learns of those that another process announced since the last look", async (t) => {
  const store = await openSqliteInProcess();
  t.after(() => store.close());
  const clock = new SimulatedClock();
  const asked: { customerIds: readonly CustomerId[] | null; withinMs: number }[] = [];
  let isAway = false;
  const shared: Partial<NonNullable<Store["shared"]>> = {
    async announcedDeliveries(customerIds, withinMs) {
      asked.push({ customerIds, withinMs });
      if (isAway) throw new Error("the database is away");
      return [
        { customerId: "cust_1", ids: ["dlv_1", "dlv_2"], agoMs: 100 },
        { customerId: "cust_1", ids: ["dlv_3"], agoMs: 300 },
      ];
    },
  };
  const attempts = new AttemptFeed();
  const observer = { fault: () => {} } as never;
  const deps = { store: { ...store, db: store.db, shared } as Store, clock, observer };
  const watch = new EventWatch(deps, { events: new EventNotifier(), attempts });
  watch.start();
  await clock.advance(10_000);
  assert.equal(asked.length, 0, "nobody follows any");
  const changed: string[] = [];
  const since = clock.monotonic();
  attempts.watch({
    customers: () => [["cust_1", since]],
    changed: (id, customerId) => void changed.push(`${customerId} ${id}`),
  });
  await clock.advance(250);
  assert.deepEqual(changed, ["cust_1 dlv_1", "cust_1 dlv_2"], "the third was announced before");
  assert.deepEqual(asked, [{ customerIds: ["cust_1"], withinMs: 1_250 }]);
  isAway = true;
  await clock.advance(5_000);
  isAway = false;
  asked.length = 0;
  await clock.advance(250);
  assert.equal(asked[0]?.withinMs, 6_250, "after a failure it asks for the time since the last look that ended well");
  await watch.stop();
});
