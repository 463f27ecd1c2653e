/** The store's suite: transactions, their events and deliveries, and reads of both. */

import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import type { Event } from "../../server/core/event.ts";
import { listEvents, type PositionedEvent } from "../../server/store/events.ts";
import type { Records } from "../../server/store/records.ts";
import type { Operation, Transaction } from "../../server/store/store.ts";
import { attemptAt, idempotencyOf, keyOf, NOW, numberOf, type Promises, type Stage } from "./store-stage.ts";

const USED: Operation = { op: "insertUnique", table: "idempotency", record: idempotencyOf("used") };

/** Operations that make the store refuse their transaction: `USED` was committed before, and the message does not exist. */
const REFUSALS: readonly [string, Operation][] = [
  ["its unique record exists already", USED],
  ["a record has changed", { op: "update", table: "messages", id: "msg_none", version: 1, set: { text: "x" } }],
];

async function everything(stage: Stage): Promise<unknown> {
  const tables = ["messages", "events", "deliveries", "memory", "idempotency"] as const;
  return Promise.all(tables.map((table) => stage.all(table)));
}

function withoutPosition(events: readonly PositionedEvent[]): Event[] {
  return events.map(({ position, ...event }) => event);
}

/** Transactions are all or nothing, however many commit at once. */
export function transactions(promise: Promises): void {
  promise("a transaction commits its record, event and deliveries together", async (stage) => {
    const customer = await stage.addCustomer();
    const endpoint = await stage.addEndpoint(customer);
    const message = stage.message(customer);
    const event = stage.event(message);
    const lanes = await stage.ok([
      { op: "insert", table: "messages", record: message },
      { op: "event", event, callbackUrl: null },
    ]);
    assert.deepEqual(lanes, [endpoint.id]);
    assert.deepEqual(await stage.all("messages"), [message]);
    assert.deepEqual(await stage.all("events"), [event]);
    const deliveries = await stage.all("deliveries");
    assert.deepEqual(
      deliveries.map(({ eventId, endpointId }) => ({ eventId, endpointId })),
      [{ eventId: event.id, endpointId: endpoint.id }],
    );
  });

  for (const [refusal, refusing] of REFUSALS) {
    promise(`nothing of a transaction is committed if ${refusal}`, async (stage) => {
      const customer = await stage.addCustomer();
      await stage.addEndpoint(customer);
      const known = await stage.addMessage(customer);
      await stage.ok([USED]);
      const before = await everything(stage);
      const more = stage.message(customer);
      const also: Transaction = [
        { op: "insert", table: "messages", record: more },
        { op: "put", table: "memory", record: { instanceId: "inst_1", key: "k", value: "v" } },
        { op: "event", event: stage.event(more), callbackUrl: "https://callback.example/" },
        { op: "update", table: "messages", id: known.id, version: known.version, set: { text: "changed" } },
      ];
      for (const transaction of [
        [refusing, ...also],
        [...also, refusing],
      ]) {
        const { result: answer } = await stage.store.commit(transaction);
        assert.equal(answer, refusing.op === "insertUnique" ? "duplicate" : "conflict");
        assert.deepEqual(await everything(stage), before);
      }
    });
  }

  promise("an update changes the given properties and increments the version", async (stage) => {
    const customer = await stage.addCustomer();
    const message = await stage.addMessage(customer, { timeline: [{ status: "queued", at: NOW, channel: "sms" }] });
    const set = { status: "pending", metadata: { a: [1, null] }, fallback: false, dueAt: NOW } as const;
    assert.equal(await stage.update("messages", message, set), "ok");
    assert.deepEqual(await stage.one("messages", message.id), { ...message, ...set, version: 2 });
    assert.equal(await stage.update("messages", message, { text: "late" }), "conflict");
    assert.equal(await stage.update("messages", { ...message, version: 2 }, {}), "ok");
    assert.deepEqual(await stage.one("messages", message.id), { ...message, ...set, version: 3 });
    assert.equal(await stage.update("messages", { ...message, version: 3 }, { metadata: null, dueAt: null }), "ok");
    const cleared = { ...message, ...set, metadata: null, dueAt: null, version: 4 };
    assert.deepEqual(await stage.one("messages", message.id), cleared);
  });

  promise("an update of a missing record is a conflict, and creates none", async (stage) => {
    assert.equal(await stage.update("keys", { id: "key_none", version: 1 }, { name: "x" }), "conflict");
    assert.deepEqual(await stage.all("keys"), []);
  });

  promise("exactly one of 200 racing updates of one version commits", async (stage) => {
    const customer = await stage.addCustomer();
    const message = await stage.addMessage(customer);
    const texts = Array.from({ length: 200 }, (_, index) => `text ${index}`);
    const answers = await Promise.all(texts.map((text) => stage.update("messages", message, { text })));
    const winners = texts.filter((_, index) => answers[index] === "ok");
    assert.equal(winners.length, 1);
    assert.equal(answers.filter((answer) => answer === "conflict").length, 199);
    assert.deepEqual(await stage.one("messages", message.id), { ...message, text: winners[0], version: 2 });
  });

  promise("exactly one of 200 racing transactions with the same unique record commits", async (stage) => {
    const customer = await stage.addCustomer();
    const messages = Array.from({ length: 200 }, () => stage.message(customer));
    const answers = await Promise.all(
      messages.map((record) =>
        stage.store.commit([
          { op: "insertUnique", table: "idempotency", record: { ...idempotencyOf("key"), result: record.id } },
          { op: "insert", table: "messages", record },
        ]),
      ),
    );
    const winners = messages.filter((_, index) => answers[index]?.result === "ok");
    assert.equal(winners.length, 1);
    assert.equal(answers.filter(({ result }) => result === "duplicate").length, 199);
    assert.deepEqual(await stage.all("messages"), winners);
    assert.deepEqual(
      (await stage.all("idempotency")).map(({ result }) => result),
      winners.map(({ id }) => id),
    );
  });

  promise("a refused transaction neither disturbs its commit group nor advances a version", async (stage) => {
    const customer = await stage.addCustomer();
    const records = await Promise.all([1, 2, 3].map(() => stage.addMessage(customer)));
    const [first, second, third] = records as [Records["messages"], Records["messages"], Records["messages"]];
    await stage.ok([USED]);
    const update = ({ id }: { id: string }, version: number, text: string): Operation => {
      return { op: "update", table: "messages", id, version, set: { text } };
    };
    const group: Transaction[] = [
      [update(first, 1, "one")],
      [update(second, 1, "no"), USED],
      [update(second, 1, "two")],
      [update(third, 1, "no"), update(first, 99, "no")],
      [update(third, 1, "three")],
    ];
    const answers = await Promise.all(group.map((transaction) => stage.store.commit(transaction)));
    assert.deepEqual(
      answers.map(({ result }) => result),
      ["ok", "duplicate", "ok", "conflict", "ok"],
    );
    assert.deepEqual(
      (await stage.all("messages")).map(({ text, version }) => ({ text, version })),
      ["one", "two", "three"].map((text) => ({ text, version: 2 })),
    );
  });

  promise("an impossible transaction rejects and leaves nothing; the rest of its group commits", async (stage) => {
    const customer = await stage.addCustomer();
    const endpoint = await stage.addEndpoint(customer);
    const known = await stage.addMessage(customer);
    const twice = stage.message(customer);
    const kept = [stage.message(customer), stage.message(customer)];
    const insert = (record: Records["messages"]): Operation => ({ op: "insert", table: "messages", record });
    const pause: Operation = {
      op: "update",
      table: "endpoints",
      id: endpoint.id,
      version: 1,
      set: { active: false },
    };
    const answers = await Promise.allSettled(
      [
        ...kept.slice(0, 1).map((record) => [insert(record)]),
        [pause, insert(twice), insert(known)],
        ...kept.slice(1).map((record) => [insert(record)]),
      ].map((transaction) => stage.store.commit(transaction)),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled"],
    );
    assert.deepEqual(await stage.all("messages"), [known, ...kept]);
    assert.deepEqual(await stage.all("endpoints"), [endpoint]);
    const { deliveries } = await stage.addEvent(known);
    assert.equal(deliveries.length, 1, "the endpoint was not paused after all");
  });

  promise(
    "a unique record is found by its unique property: an address, the hash of a key, the id of a delivery",
    async (stage) => {
      const customer = await stage.addCustomer();
      const number = numberOf(stage, customer);
      const key = keyOf(stage, customer);
      await stage.ok([{ op: "insertUnique", table: "numbers", record: number }]);
      await stage.ok([{ op: "insertUnique", table: "keys", record: key }]);
      await stage.addEndpoint(customer);
      const [delivery = assert.fail()] = (await stage.addEvent(await stage.addMessage(customer))).deliveries;
      const again: Operation[] = [
        { op: "insertUnique", table: "numbers", record: numberOf(stage, customer, number.address) },
        { op: "insertUnique", table: "keys", record: { ...keyOf(stage, customer), hash: key.hash } },
        { op: "insertUnique", table: "deliveries", record: delivery },
      ];
      for (const operation of again) assert.deepEqual(await stage.store.commit([operation]), { result: "duplicate" });
      assert.deepEqual(await stage.all("numbers"), [number]);
      assert.deepEqual(await stage.all("keys"), [key]);
    },
  );

  promise("a put replaces the record with its key, and no other", async (stage) => {
    const customer = await stage.addCustomer();
    const entry = (key: string, value: string): Operation => {
      return { op: "put", table: "memory", record: { instanceId: "inst_1", key, value } };
    };
    await stage.ok([entry("a", "1"), entry("b", "2")]);
    await stage.ok([entry("a", "3")]);
    const values = (await stage.all("memory")).map(({ key, value }) => `${key}=${value}`).sort();
    assert.deepEqual(values, ["a=3", "b=2"]);
    const [mine, other] = [numberOf(stage, customer), numberOf(stage, customer, "+15550000009")];
    await stage.ok([mine, other].map((record) => ({ op: "insert", table: "numbers", record })));
    const stolen = { ...mine, address: other.address };
    await assert.rejects(stage.store.commit([{ op: "put", table: "numbers", record: stolen }]));
    await stage.ok([{ op: "put", table: "numbers", record: { ...mine, isDefault: false } }]);
    assert.deepEqual(await stage.all("numbers"), [{ ...mine, isDefault: false }, other]);
  });

  promise("a delete removes the matching records, if any", async (stage) => {
    const entries = ["a", "b", "c"].map((key) => ({ instanceId: key === "c" ? "inst_2" : "inst_1", key, value: "v" }));
    await stage.ok(entries.map((record) => ({ op: "insert", table: "memory", record })));
    await stage.ok([{ op: "delete", table: "memory", where: { instanceId: "inst_1", key: "a" } }]);
    await stage.ok([{ op: "delete", table: "memory", where: { key: "none" } }]);
    assert.deepEqual(await stage.all("memory"), entries.slice(1));
    await stage.ok([{ op: "delete", table: "memory", where: { instanceId: "inst_2" } }]);
    assert.deepEqual(await stage.all("memory"), entries.slice(1, 2));
  });
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
        retryRequested: false,
        createdAt: NOW,
      });
    }
    assert.equal(new Set(deliveries.map(({ id }) => id)).size, deliveries.length);
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
