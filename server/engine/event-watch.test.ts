/** Tests that listeners of one process learn of events that another process committed. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Stage } from "../../test/conformance/store-stage.ts";
import { SimulatedClock } from "../../test/support/clock.ts";
import type { DeliveryId } from "../core/id.ts";
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
