/** The store's suite: events, their deliveries, and reads of both. */

import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { EVENT_TYPES, type EventType } from "../../sdk/wire.ts";
import type { Event } from "../../server/core/event.ts";
import { listEvents, type PositionedEvent } from "../../server/store/events.ts";
import type { Operation } from "../../server/store/store.ts";
import { attemptAt, NOW, type Promises } from "./store-stage.ts";

function withoutPosition(events: readonly PositionedEvent[]): Event[] {
  return events.map(({ position, ...event }) => event);
}

/** Events are ordered, keep their bytes, and make their deliveries in the commit. */
export function eventsAndDeliveries(promise: Promises): void {
  promise("an event creates a delivery for each subscribed active endpoint and for its callback", async (stage) => {
    const customer = await stage.addCustomer();
    const other = await stage.addCustomer();
    const all = await stage.addEndpoint(customer, { kind: "primary", secret: null });
    const some = await stage.addEndpoint(customer, { events: ["message.sent", "message.queued"] });
    const inbox = await stage.addEndpoint(customer, { kind: "inbox", url: "/sandbox/inbox/token" });
    await stage.addEndpoint(customer, { events: ["message.sent"] });
    await stage.addEndpoint(customer, { active: false });
    await stage.addEndpoint(other);
    const message = await stage.addMessage(customer);
    const callbackUrl = "https://callback.example/path?x=1";
    const { event, deliveries, lanes } = await stage.addEvent(message, {}, callbackUrl);
    const callbackLane = `${customer.id} https://callback.example`;
    const expected = [
      ...[all, some, inbox].map(({ id, url }) => ({ endpointId: id as string | null, url, lane: id as string })),
      { endpointId: null, url: callbackUrl, lane: callbackLane },
    ];
    const byLane = (a: { lane: string }, b: { lane: string }) => (a.lane < b.lane ? -1 : 1);
    assert.deepEqual(
      deliveries.map(({ endpointId, url, lane }) => ({ endpointId, url, lane })).sort(byLane),
      expected.sort(byLane),
    );
    assert.deepEqual([...lanes].sort(), expected.map(({ lane }) => lane).sort());
    for (const delivery of deliveries) {
      assert.match(delivery.id, /^dlv_/);
      assert.partialDeepStrictEqual(delivery, {
        version: 1,
        customerId: customer.id,
        eventId: event.id,
        eventType: "message.queued",
        messageId: message.id,
        sequence: event.sequence,
        status: "pending",
        attemptCount: 0,
        retryCount: 0,
        dueAt: NOW,
        attempts: [],
        byHand: false,
        resumeAt: null,
        retriesAsked: 0,
        createdAt: NOW,
      });
    }
    assert.equal(new Set(deliveries.map(({ id }) => id)).size, deliveries.length);
  });

  promise("an event of any type creates a delivery at the endpoints that name its type or `*`", async (stage) => {
    const customer = await stage.addCustomer();
    const all = await stage.addEndpoint(customer);
    const some = new Map<EventType, string>();
    for (const type of EVENT_TYPES) some.set(type, (await stage.addEndpoint(customer, { events: [type] })).id);
    const message = await stage.addMessage(customer);
    for (const [type, id] of some) {
      const { deliveries } = await stage.addEvent(message, { type });
      assert.deepEqual(deliveries.map(({ endpointId }) => endpointId).sort(), [all.id, id].sort(), type);
    }
  });

  promise(
    "a callback with the URL of an endpoint that receives the event creates no second delivery",
    async (stage) => {
      const customer = await stage.addCustomer();
      const subscribed = await stage.addEndpoint(customer, { events: ["message.queued"] });
      const otherwise = await stage.addEndpoint(customer, { events: ["message.read"] });
      const paused = await stage.addEndpoint(customer, { active: false });
      const message = await stage.addMessage(customer);
      const same = await stage.addEvent(message, {}, subscribed.url);
      assert.deepEqual(
        same.deliveries.map(({ endpointId }) => endpointId),
        [subscribed.id],
      );
      for (const { url } of [otherwise, paused]) {
        const { deliveries } = await stage.addEvent(message, {}, url);
        assert.deepEqual(deliveries.map(({ endpointId }) => endpointId).sort(), [null, subscribed.id].sort());
      }
    },
  );

  promise(
    "deliveries follow the endpoints at the time of the commit: added, paused, changed, resumed, deleted",
    async (stage) => {
      const customer = await stage.addCustomer();
      const message = await stage.addMessage(customer);
      const made = async () => (await stage.addEvent(message)).deliveries.map(({ url }) => url);
      assert.deepEqual(await made(), []);
      const endpoint = await stage.addEndpoint(customer);
      assert.deepEqual(await made(), [endpoint.url]);
      assert.equal(await stage.update("endpoints", endpoint, { active: false }), "ok");
      assert.deepEqual(await made(), []);
      const url = "https://moved.example/";
      assert.equal(await stage.update("endpoints", { id: endpoint.id, version: 2 }, { active: true, url }), "ok");
      assert.deepEqual(await made(), [url]);
      await stage.ok([
        { op: "put", table: "endpoints", record: { ...endpoint, version: 3, events: ["message.read"] } },
      ]);
      assert.deepEqual(await made(), []);
      await stage.ok([{ op: "put", table: "endpoints", record: { ...endpoint, version: 3 } }]);
      assert.deepEqual(await made(), [endpoint.url]);
      await stage.ok([{ op: "delete", table: "endpoints", where: { id: endpoint.id } }]);
      assert.deepEqual(await made(), []);
    },
  );

  promise("events keep their bytes and the order of their commits", async (stage) => {
    const customer = await stage.addCustomer();
    const message = await stage.addMessage(customer);
    const events: Event[] = [];
    for (let sequence = 1; sequence <= 5; sequence += 1) {
      const pair = [stage.event(message, { sequence: 2 * sequence }), stage.event(customer)];
      await stage.ok(pair.map((event): Operation => ({ op: "event", event, callbackUrl: null })));
      events.push(...pair);
    }
    const read = await listEvents(stage.store.db, customer.id, {}, { order: "oldest", from: null, limit: 100 });
    assert.deepEqual(withoutPosition(read), events);
    for (const [index, { position }] of read.entries()) assert.ok(position > (read[index - 1]?.position ?? 0));
  });

  promise(
    "reading on from the last position misses no event, however many transactions commit at once",
    async (stage) => {
      const customer = await stage.addCustomer();
      const message = await stage.addMessage(customer);
      const events = Array.from({ length: 300 }, (_, index) => stage.event(message, { sequence: index + 1 }));
      let open = true;
      const commits = Promise.all(events.map((event) => stage.ok([{ op: "event", event, callbackUrl: null }]))).finally(
        () => {
          open = false;
        },
      );
      const seen: PositionedEvent[] = [];
      for (let more = true; more; ) {
        more = open;
        const from = seen.at(-1)?.position ?? null;
        const page = await listEvents(stage.store.db, customer.id, {}, { order: "oldest", from, limit: 37 });
        seen.push(...page);
        more ||= page.length > 0;
        await turn();
      }
      await commits;
      assert.equal(seen.length, events.length);
      assert.deepEqual(new Set(withoutPosition(seen)), new Set(events));
    },
  );

  promise("a rewritten event has new bytes and its old place, and the responses to it are erased", async (stage) => {
    const customer = await stage.addCustomer();
    const events = [stage.event(customer), stage.event(customer)];
    await stage.ok(
      events.map((event): Operation => ({ op: "event", event, callbackUrl: "https://callback.example/" })),
    );
    const page = { order: "oldest", from: null, limit: 10 } as const;
    const before = await listEvents(stage.store.db, customer.id, {}, page);
    const [first, second] = before;
    assert.ok(first !== undefined && second !== undefined);
    // Older versions kept NUL, and half of a character that was cut.
    const odd = { ...attemptAt(NOW + 2), response: "\\u0000 \0 \ud83d" };
    const attempts = [attemptAt(NOW), { ...attemptAt(NOW + 1), status: null, response: null, error: "TIMEOUT" }, odd];
    for (const one of await stage.all("deliveries"))
      assert.equal(await stage.update("deliveries", one, { attempts }), "ok");
    await stage.ok([{ op: "rewrite", eventId: first.id, bytes: '{"data":{"text":null}}' }]);
    const after = await listEvents(stage.store.db, customer.id, {}, page);
    assert.deepEqual(after, [{ ...first, bytes: '{"data":{"text":null}}' }, second]);
    const erased = attempts.map((attempt) => ({ ...attempt, response: null }));
    assert.deepEqual(
      (await stage.deliveriesOf(first.id)).map((one) => [one.version, one.attempts]),
      [[3, erased]],
    );
    assert.deepEqual(
      (await stage.deliveriesOf(second.id)).map((one) => [one.version, one.attempts]),
      [[2, attempts]],
    );
  });
}
