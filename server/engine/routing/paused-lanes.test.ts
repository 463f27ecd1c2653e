/**
 * Messages of an instance that is down: they keep their order, expire in time, move to other instances, and cost
 * nothing while they wait.
 */

import assert from "node:assert/strict";
import { describe, type TestContext as NodeTest, test } from "node:test";
import { type Carrier, carriersOn, handedTo, reasonsOf, SMS_ONLY } from "../../../test/support/carriers.ts";
import type { SimulatedClock } from "../../../test/support/clock.ts";
import { type EngineStage, engineStage } from "../../../test/support/engine.ts";
import { deferred, inbound, ScriptedProvider, UNKNOWN } from "../../../test/support/provider.ts";
import type { MessageId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import type { Operation, Store } from "../../store/store.ts";
import { apply } from "../apply.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** After a start nothing goes elsewhere for so long. */
const CONNECTING_MS = 5_000;
/** Time within which an outage that was not reported is noticed. */
const WALK_MS = 62_000;

const DOWN = { outcome: "deferred", retryAfterMs: null, reason: "the line is down", isDown: true } as const;
const to = (index: number) => `+1555010${String(index).padStart(4, "0")}`;

/** The number's SMS carrier, and another carrier to which a test may add a route. */
async function outage(t: NodeTest, concurrency = 8) {
  const carriers = await carriersOn(t);
  const make = () => carriers.add(new ScriptedProvider({ channels: ["sms"], concurrency }));
  const [a, b] = [await make(), await make()];
  const routeTo = (...named: Carrier[]) =>
    carriers.setRoutes(named.map(({ id }) => ({ prefix: "+1", instanceId: id })));
  await routeTo(a);
  await carriers.stage.clock.advance(CONNECTING_MS);
  return { ...carriers, a, b, routeTo };
}

async function sendMany(stage: EngineStage, count: number, first = 0): Promise<MessageId[]> {
  const ids: MessageId[] = [];
  for (let index = first; index < first + count; index += 1) {
    ids.push(await stage.send({ ...SMS_ONLY, to: to(index) }));
    await stage.clock.advance(1);
  }
  return ids;
}

/** Puts `count` messages into a carrier's queue as if they had been accepted, one each millisecond. */
async function queueUp({ deps, customer, number }: EngineStage, { id }: Carrier, like: Message, count: number) {
  for (let made = 0; made < count; made += 500) {
    const transaction = Array.from({ length: 500 }, (_, index): Operation => {
      const dueAt = (like.dueAt ?? 0) + made + index;
      const own = { id: deps.newId("msg"), customerId: customer.id, from: number.address, to: to(index % 1_000) };
      const when = { dueAt, expiresAt: dueAt + deps.settings.messageTtlMs, createdAt: dueAt, updatedAt: dueAt };
      return { op: "insert", table: "messages", record: { ...like, ...own, ...when, instanceId: id } };
    });
    await deps.store.commit(transaction);
  }
}

describe("while an instance is down", () => {
  test("its messages wait, and are sent once, in the order of acceptance, when it is up", async (t) => {
    const { stage, a, flip } = await outage(t, 4);
    await flip(false, a);
    const ids = await sendMany(stage, 30);
    await stage.pass(48 * HOUR_MS);
    await stage.clock.advance(10 * SECOND_MS);
    const later = await sendMany(stage, 10, 30);
    assert.deepEqual(handedTo(a), []);
    let most = 0;
    let running = 0;
    a.provider.onSend = async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => stage.clock.after(5, resolve));
      running -= 1;
      return a.provider.accepted();
    };
    await flip(true, a);
    await stage.clock.advance(SECOND_MS);
    assert.deepEqual(handedTo(a), [...ids, ...later]);
    assert.equal(most, 4, "its own pace: so many at once as it takes");
    for (const id of ids) assert.deepEqual(await stage.eventTypes(id), ["queued", "sent"]);
    assert.equal((await stage.message(ids[0] ?? "msg_")).timeline.length, 3, "waiting is not noted over and over");
  });

  test("the messages in flight when it went down keep their places before later messages", async (t) => {
    const { stage, a, flip } = await outage(t, 4);
    a.provider.onSend = () => {
      a.provider.isUp = false;
      return DOWN;
    };
    const ids = await sendMany(stage, 12);
    await stage.run();
    const tried = a.provider.handed.length;
    assert.ok(tried >= 1 && tried <= 4, `${tried} were handed to an instance that said that it was down`);
    await stage.pass(10 * MINUTE_MS);
    assert.equal(a.provider.handed.length, tried);
    a.provider.onSend = () => a.provider.accepted();
    await flip(true, a);
    await stage.clock.advance(SECOND_MS);
    assert.deepEqual(handedTo(a).slice(tried), ids);
  });

  test("if only its send attempts report it, it gets one probe message at a time, less and less often", async (t) => {
    const { stage, a } = await outage(t, 4);
    a.provider.onSend = () => DOWN;
    const ids = await sendMany(stage, 20);
    for (let seconds = 0; seconds < 600; seconds += 1) await stage.pass(SECOND_MS);
    assert.ok(a.provider.handed.length < 40, `${a.provider.handed.length} send attempts in ten minutes`);
    assert.ok(a.provider.handed.length > 5, `${a.provider.handed.length} send attempts in ten minutes`);
    a.provider.handed.length = 0;
    a.provider.onSend = () => a.provider.accepted();
    await stage.pass(MINUTE_MS);
    await stage.clock.advance(SECOND_MS);
    assert.deepEqual(handedTo(a), ids);
  });

  test("5,000 waiting messages are neither claimed nor written, nor read in a loop", async (t) => {
    const { stage, a, flip } = await outage(t);
    await flip(false, a);
    const [id = "msg_"] = await sendMany(stage, 1);
    await queueUp(stage, a, await stage.message(id), 5_000);
    await stage.clock.advance(SECOND_MS);
    const { life } = stage;
    const [writes, reads] = [life.writes, life.reads];
    await stage.clock.advance(30 * SECOND_MS);
    assert.equal(life.writes - writes, 0);
    // A poll for due lanes every 200 ms, and a check of the oldest message every second.
    assert.ok(life.reads - reads <= 200, `${life.reads - reads} looks at due lanes in 30 s`);
    assert.deepEqual(handedTo(a), []);
    await stage.send({ ...SMS_ONLY, to: to(5_000) });
    await stage.clock.advance(SECOND_MS);
    assert.ok(life.writes - writes <= 3, `${life.writes - writes} writes to accept one more`);
  });

  test("a message that waits longer than its time to live fails in time", async (t) => {
    const { stage, a, flip } = await outage(t);
    a.provider.sendNext.push(deferred(71 * HOUR_MS));
    const deferredOne = await stage.send({ ...SMS_ONLY, to: to(99) });
    await stage.run();
    await flip(false, a);
    const [first = "msg_", ...others] = await sendMany(stage, 5);
    const last = others.at(-1) ?? "msg_";
    await stage.pass(71 * HOUR_MS);
    await queueUp(stage, a, await stage.message(last), 1_000);
    await stage.clock.advance(WALK_MS);
    assert.equal((await stage.message(first)).status, "queued");
    await stage.pass(HOUR_MS - WALK_MS - 100);
    await stage.clock.advance(SECOND_MS + 100);
    for (const id of [first, last]) {
      const { status, errorCode, fallbackTriggered } = await stage.message(id);
      assert.deepEqual([status, errorCode, fallbackTriggered], ["failed", "EXPIRED", false]);
      assert.deepEqual(await stage.eventTypes(id), ["queued", "failed"]);
    }
    await stage.clock.advance(WALK_MS);
    assert.equal((await stage.message(deferredOne)).errorCode, "EXPIRED", "one that was put off too");
    assert.equal(a.provider.handed.length, 1);
  });

  test("schedules come due, unknown outcomes are reconciled, and channels are given up in time", async (t) => {
    const { stage, mac, a, flip } = await outage(t);
    const scheduledAt = new Date(stage.clock.now() + MINUTE_MS).toISOString();
    const scheduled = await stage.send({ ...SMS_ONLY, scheduledAt });
    a.provider.sendNext.push(UNKNOWN);
    const unknown = await stage.send({ ...SMS_ONLY, to: to(1) });
    const sent = await stage.send({
      to: to(2),
      routing: { preference: ["sms", "imessage"], fallbackAfterSeconds: 60 },
    });
    await stage.run();
    await flip(false, a);
    const [waiting = "msg_"] = await sendMany(stage, 1, 3);
    await queueUp(stage, a, await stage.message(waiting), 1_000);
    for (let passed = 0; passed < 6; passed += 1) {
      await stage.pass(MINUTE_MS);
      await stage.clock.advance(SECOND_MS);
    }
    assert.deepEqual(await stage.eventTypes(scheduled), ["scheduled", "queued"]);
    assert.equal((await stage.message(unknown)).errorCode, "OUTCOME_UNKNOWN");
    assert.deepEqual([await stage.eventTypes(sent), handedTo(mac)], [["queued", "sent", "fallback", "sent"], [sent]]);
  });

  test("a contact that wrote STOP during the outage gets nothing when it is up", async (t) => {
    const { stage, a, flip } = await outage(t);
    await flip(false, a);
    const [id = "msg_", other = "msg_"] = await sendMany(stage, 2);
    await apply(stage.life.deps, a.id, inbound({ from: to(0), channel: "sms", text: "STOP" }));
    await flip(true, a);
    assert.deepEqual([(await stage.message(id)).errorCode, handedTo(a)], ["RECIPIENT_OPTED_OUT", [other]]);
  });

  test("a restart loses nothing and changes no order", async (t) => {
    const { stage, a, flip } = await outage(t);
    await flip(false, a);
    const ids = await sendMany(stage, 20);
    await stage.restart();
    ids.push(...(await sendMany(stage, 5, 20)));
    await stage.restart();
    await stage.clock.advance(CONNECTING_MS);
    await flip(true, a);
    await stage.clock.advance(SECOND_MS);
    assert.deepEqual(handedTo(a), ids);
  });
});

describe("a message that waits for an instance that is down moves to another instance of its route", () => {
  test("at once when the instance goes down, unless it is in flight", async (t) => {
    const { stage, a, b, flip, routeTo } = await outage(t, 4);
    await routeTo(a, b);
    a.provider.onSend = () => "never";
    const ids = await sendMany(stage, 10);
    await stage.run();
    assert.deepEqual([handedTo(a), handedTo(b)], [ids.slice(0, 4), []]);
    await flip(false, a);
    assert.deepEqual([handedTo(a), handedTo(b)], [ids.slice(0, 4), ids.slice(4)]);
  });

  test("at once when the other instance is up again, in order", async (t) => {
    const { stage, a, b, flip, routeTo } = await outage(t);
    await routeTo(a, b);
    await flip(false, a, b);
    const ids = await sendMany(stage, 300);
    assert.deepEqual(handedTo(b), []);
    await flip(true, b);
    await stage.clock.advance(10 * SECOND_MS);
    assert.deepEqual([handedTo(a), handedTo(b)], [[], ids]);
    for (const id of ids.slice(0, 3)) {
      const message = await stage.message(id);
      assert.equal(reasonsOf(message).at(-1), `moved: ${a.name} is down; SMS via ${b.name} (route +1)`);
      assert.equal(message.timeline[1]?.instanceId, b.id);
      assert.deepEqual(await stage.eventTypes(id), ["queued", "sent"]);
    }
  });

  test("even if only a send attempt reported that the instance is down", async (t) => {
    const { stage, a, b, routeTo } = await outage(t);
    await routeTo(a, b);
    a.provider.onSend = () => DOWN;
    const ids = await sendMany(stage, 5);
    await stage.clock.advance(SECOND_MS);
    assert.deepEqual(handedTo(b).sort(), ids);
  });

  test("within a minute if nothing reported the outage or the change of the routes", async (t) => {
    const { stage, a, b, routeTo } = await outage(t);
    a.provider.isUp = false;
    const ids = await sendMany(stage, 5);
    await stage.clock.advance(SECOND_MS);
    await routeTo(a, b);
    await stage.clock.advance(WALK_MS);
    assert.deepEqual([handedTo(a), handedTo(b)], [[], ids]);
  });

  test("unless the service has just started, because the instance may still connect", async (t) => {
    const { stage, a, b, flip, routeTo } = await outage(t);
    await routeTo(a, b);
    await flip(false, a, b);
    const ids = await sendMany(stage, 5);
    await stage.restart();
    await flip(true, b);
    await stage.clock.advance(CONNECTING_MS - 100);
    assert.deepEqual(handedTo(b), []);
    await flip(true, a);
    await stage.clock.advance(SECOND_MS);
    assert.deepEqual([handedTo(a), handedTo(b)], [ids, []]);
  });

  test("never over iMessage, because a number belongs to one Mac", async (t) => {
    const { stage, mac, flip } = await outage(t);
    await flip(false, mac);
    const id = await stage.send();
    await stage.clock.advance(WALK_MS);
    assert.deepEqual([(await stage.message(id)).status, (await stage.message(id)).instanceId], ["queued", mac.id]);
    assert.equal((await stage.message(id)).fallbackTriggered, false, "an instance that is down is not given up");
    await flip(true, mac);
    assert.deepEqual(handedTo(mac), [id]);
  });

  test("for good, even if the first instance is up again", async (t) => {
    const { stage, a, b, flip, routeTo } = await outage(t);
    await routeTo(a, b);
    await flip(false, a, b);
    const [id = "msg_"] = await sendMany(stage, 1);
    b.provider.sendNext.push(deferred(MINUTE_MS));
    await flip(true, b);
    await flip(true, a);
    await stage.pass(MINUTE_MS);
    assert.deepEqual([handedTo(a), handedTo(b)], [[], [id, id]]);
  });
});

test("a message of a missing instance waits, and its schedule comes due", async (t) => {
  const stage = await engineStage(t);
  stage.providers.clear();
  const ids = [
    await stage.send(),
    await stage.send({ scheduledAt: new Date(stage.clock.now() + SECOND_MS).toISOString() }),
  ];
  await stage.pass(SECOND_MS);
  await stage.clock.advance(SECOND_MS);
  for (const id of ids) assert.equal((await stage.message(id)).status, "queued");
});

describe("messages to one recipient keep their order when their instance goes down", () => {
  for (const count of [3, 40]) {
    test(`${count} messages, the first of which is in flight`, async (t) => {
      const { stage, a, b, routeTo } = await outage(t, 8);
      await routeTo(a, b);
      a.provider.onSend = () =>
        new Promise((resolve) => {
          stage.clock.after(SECOND_MS, () => resolve(DOWN));
        });
      const ids: MessageId[] = [];
      for (let sent = 0; sent < count; sent += 1) {
        ids.push(await stage.send({ ...SMS_ONLY, to: to(1) }));
        await stage.clock.advance(10);
      }
      assert.deepEqual([handedTo(a), handedTo(b)], [ids.slice(0, 1), []]);
      for (let seconds = 0; seconds < 60 && handedTo(b).length < count; seconds += 1) {
        await stage.clock.advance(SECOND_MS);
        await stage.run();
      }
      assert.deepEqual(
        handedTo(b).map((id) => ids.indexOf(id)),
        [...ids.keys()],
      );
    });

    test(`${count} messages, if it reports that it is down before the first has ended`, async (t) => {
      const { stage, a, b, routeTo, flip } = await outage(t, 8);
      await routeTo(a, b);
      a.provider.onSend = () =>
        new Promise((resolve) => {
          stage.clock.after(SECOND_MS, () => resolve(DOWN));
        });
      const ids: MessageId[] = [];
      for (let sent = 0; sent < count; sent += 1) ids.push(await stage.send({ ...SMS_ONLY, to: to(1) }));
      await stage.clock.advance(10);
      await flip(false, a);
      await stage.clock.advance(3 * SECOND_MS);
      await stage.run();
      assert.deepEqual(
        handedTo(b).map((id) => ids.indexOf(id)),
        [...ids.keys()],
      );
    });
  }
});

test("a message that moves between two unstable instances has each move in its timeline once", async (t) => {
  const { stage, a, b, routeTo } = await outage(t, 4);
  await routeTo(a, b);
  a.provider.onSend = () => DOWN;
  b.provider.onSend = () => DOWN;
  const ids = await sendMany(stage, 40);
  for (let seconds = 0; seconds < 600; seconds += 1) await stage.clock.advance(SECOND_MS);
  const { sendAttempts, timeline } = await stage.message(ids.at(-1) ?? "msg_");
  assert.ok(timeline.length <= 3 + 4 * sendAttempts, `${timeline.length} entries after ${sendAttempts} send attempts`);
});

/** Counts the lists of due lanes that dispatch and the check of paused lanes ask for in `ms`, while each ends as `list` does. */
async function listsIn(t: NodeTest, ms: number, list: (clock: SimulatedClock) => Promise<never[]>): Promise<number> {
  const { stage } = await carriersOn(t, { faults: ["paused-lanes", "dispatch"] });
  await stage.clock.advance(CONNECTING_MS);
  let lists = 0;
  const { deps } = stage.life;
  const broken = {
    get(store: Store, name: keyof Store) {
      if (name !== "dueLanes") return store[name];
      return () => {
        lists += 1;
        return list(stage.clock);
      };
    },
  };
  Object.assign(deps, { store: new Proxy(deps.store, broken as ProxyHandler<Store>) });
  deps.wake.pausedLanes();
  await stage.clock.advance(ms);
  return lists;
}

test("while reads of the store fail, waiting messages are looked for at a bounded rate and not in a loop", async (t) => {
  const lists = await listsIn(t, 10 * SECOND_MS, async () => {
    throw new Error("it cannot be read");
  });
  // Dispatch and the check of paused lanes each look again after 500 ms.
  assert.ok(lists >= 35 && lists <= 45, `${lists} lists in ten seconds`);
});

test("a list of due lanes that took 9 s is followed by another within 2 s", async (t) => {
  const lists = await listsIn(t, 110 * SECOND_MS, async (clock) => {
    await new Promise<void>((resolve) => clock.after(9 * SECOND_MS, resolve));
    return [];
  });
  assert.ok(lists >= 18, `${lists} lists by two loops in 110 s`);
});
