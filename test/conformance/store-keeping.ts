/** The store's suite: what is cancelled, what is removed after its time, what is counted. */

import assert from "node:assert/strict";
import type { Content } from "../../server/core/attachment.ts";
import type { Delivery } from "../../server/core/delivery.ts";
import { type CustomerId, hashedId } from "../../server/core/id.ts";
import type { LoggedRequest } from "../../server/core/logged-request.ts";
import type { Message } from "../../server/core/message.ts";
import type { SendAttempt } from "../../server/core/send-attempt.ts";
import { noUsage, type UsageHour } from "../../server/core/usage.ts";
import { findRequest, listRequestTexts } from "../../server/store/requests.ts";
import type { RequestRemoval } from "../../server/store/store.ts";
import { addUsage } from "../support/usage.ts";
import { attemptAt, idempotencyOf, NOW, type Promises, requestOf, type Stage } from "./store-stage.ts";

/** Cancelling, pruning and counting do what they say and touch nothing else. */
export function keeping(promise: Promises): void {
  cancelling(promise);
  pruning(promise);

  promise("requests of the log go by age and by owner, oldest first, and no others", async (stage) => {
    const request = (id: string, customerId: CustomerId | null, loggedAt = NOW): LoggedRequest => {
      return { ...requestOf(stage, null, id), customerId, loggedAt, response: '{"a":"\\u0000\\ud800"}' };
    };
    const ids = async () => (await stage.all("requests")).map(({ id }) => id);
    await stage.store.logRequests([
      request("old", "cust_1", NOW - 10),
      request("same", null),
      request("same", "cust_1"),
    ]);
    await stage.store.logRequests([request("b", "cust_1"), request("c", "cust_2"), request("d", null)]);
    await stage.store.logRequests([]);
    assert.deepEqual(await ids(), ["old", "same", "same", "b", "c", "d"]);
    const remove = (removal: Partial<RequestRemoval>) =>
      stage.store.removeRequests({ before: 0, oldest: [], limit: 100, ...removal });
    assert.equal(await remove({ before: NOW }), 1);
    assert.equal(await remove({ before: NOW }), 0);
    assert.equal(
      await remove({
        oldest: [
          ["cust_1", 1],
          [null, 1],
        ],
      }),
      2,
    );
    assert.deepEqual(await ids(), ["b", "c", "d"]);
    assert.equal(
      await remove({
        oldest: [
          ["cust_1", 9],
          [null, 9],
        ],
        limit: 1,
      }),
      1,
    );
    assert.deepEqual(await ids(), ["c", "d"]);
    const { position } = (await findRequest(stage.store.db, "d", {})) ?? assert.fail();
    assert.equal(await remove({ before: NOW + 1 }), 2);
    await stage.store.logRequests([request("e", null)]);
    assert.ok(((await findRequest(stage.store.db, "e", {}))?.position ?? 0) > position, "no position is used twice");
  });

  promise(
    "an erased request of the log has other texts at its old place, and no other request changes",
    async (stage) => {
      const { db } = stage.store;
      const request = (id: string, customerId: CustomerId | null): LoggedRequest => {
        return { ...requestOf(stage, null, id), customerId, request: "{", requestCut: true, responseCut: true };
      };
      const owners = [null, "cust_1", "cust_2", "cust_1", null, "cust_1"] as const;
      const logged = owners.map((owner, index) => request(`req_${index}`, owner));
      await stage.store.logRequests(logged);
      const read = (owner: CustomerId | null, after: number, limit = 9) => listRequestTexts(db, owner, after, limit);
      const [first = assert.fail(), second = assert.fail(), ...rest] = await read("cust_1", 0);
      const { path, route, request: asked, response } = request("", null);
      const { position } = first;
      assert.deepEqual(first, { position, path, route, request: asked, response, requestCut: true, responseCut: true });
      assert.deepEqual([rest.length, (await read(null, 0)).length], [1, 2]);
      assert.deepEqual(await read("cust_1", first.position, 1), [second]);
      const texts = { path: "/v1/chats/***", request: '"erased"', response: null };
      await stage.store.eraseRequests([
        { position: second.position, ...texts },
        { position: Number.MAX_SAFE_INTEGER, ...texts },
      ]);
      await stage.store.eraseRequests([]);
      const changed = { ...texts, requestCut: false, responseCut: false };
      const expected = logged.map((one) => (one.id === "req_3" ? { ...one, ...changed } : one));
      assert.deepEqual(await stage.all("requests"), expected);
      assert.deepEqual(await read("cust_1", 0), [first, { ...second, ...changed }, ...rest]);
    },
  );

  promise("usage adds up by subject and hour", async (stage) => {
    const hour = (subject: UsageHour["subject"], at: number, requests: number, segments: number): UsageHour => {
      const none = { rateLimited: 0, messagesSent: 0, messagesReceived: 0, webhooksDelivered: 0, webhooksFailed: 0 };
      return { ...none, subject, at, requests, segments };
    };
    await addUsage(stage.store, [hour("key_1", 0, 1, 2), hour("cust_1", 0, 3, 0), hour("key_1", 3_600_000, 5, 0)]);
    await Promise.all(Array.from({ length: 50 }, () => addUsage(stage.store, [hour("key_1", 0, 1, 2)])));
    await addUsage(stage.store, []);
    assert.deepEqual(await stage.all("usage"), [
      hour("cust_1", 0, 3, 0),
      hour("key_1", 0, 51, 102),
      hour("key_1", 3_600_000, 5, 0),
    ]);
  });

  promise(
    "a batch of usage counts once, however often it is given, and the next one of its owner counts",
    async (stage) => {
      const subject: UsageHour["subject"] = "key_1";
      const give = (owner: string, number: number) =>
        stage.store.addUsage({ owner, number, hours: [{ ...noUsage(), subject, at: 0, requests: 1 }] }, NOW);
      const requests = async () => (await stage.all("usage")).map((hour) => hour.requests);
      await give("one", 1);
      await give("one", 1);
      await Promise.all([give("one", 1), give("other", 1), give("one", 1)]);
      assert.deepEqual(await requests(), [2]);
      await give("one", 2);
      await give("one", 2);
      assert.deepEqual(await requests(), [3]);
      assert.equal((await stage.all("idempotency")).length, 2, "an owner has one row");
      await stage.store.prune(NOW + 1, 100);
      assert.deepEqual([await stage.all("idempotency"), await requests()], [[], [3]]);
    },
  );
}

function cancelling(promise: Promises): void {
  promise("pausing an endpoint cancels its waiting deliveries", async (stage) => {
    const customer = await stage.addCustomer();
    const [paused, other] = [await stage.addEndpoint(customer), await stage.addEndpoint(customer)];
    const event = stage.event(customer);
    const at = (changes: Partial<Delivery>) =>
      stage.delivery(event, { endpointId: paused.id, lane: paused.id, ...changes });
    const waiting = [at({}), at({ dueAt: NOW + 86_400_000, attemptCount: 3, retryCount: 3 })];
    const again = at({ status: "succeeded", byHand: true });
    const extra = at({ status: "pending", byHand: true, resumeAt: NOW + 60_000 });
    const untouched = [
      at({ dueAt: null, status: "exhausted" }),
      stage.delivery(event, { endpointId: other.id, lane: other.id }),
    ];
    const deliveries = [...waiting, again, extra, ...untouched];
    await stage.ok(deliveries.map((record) => ({ op: "insert", table: "deliveries", record })));
    assert.equal(await stage.store.cancelDeliveries(paused.id, 100), 0, "it is active");
    assert.equal(await stage.update("endpoints", paused, { active: false }), "ok");
    assert.equal(await stage.store.cancelDeliveries(paused.id, 100), 4);
    const done = { dueAt: null, byHand: false, resumeAt: null, version: 2 };
    const expected = [
      ...[...waiting, extra].map((delivery) => ({ ...delivery, ...done, status: "cancelled" })),
      { ...again, ...done },
      ...untouched,
    ];
    const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
    assert.deepEqual((await stage.all("deliveries")).sort(byId), expected.sort(byId));
    assert.equal(await stage.store.cancelDeliveries(paused.id, 100), 0);
  });

  promise("cancelling continues in batches, also for a deleted endpoint", async (stage) => {
    const customer = await stage.addCustomer();
    const endpoint = await stage.addEndpoint(customer);
    for (let count = 0; count < 5; count += 1) await stage.addEvent(customer);
    await stage.ok([{ op: "delete", table: "endpoints", where: { id: endpoint.id } }]);
    const counts = [];
    for (let round = 0; round < 4; round += 1) counts.push(await stage.store.cancelDeliveries(endpoint.id, 2));
    assert.deepEqual(counts, [2, 2, 1, 0]);
    const statuses = (await stage.all("deliveries")).map(({ status }) => status);
    assert.deepEqual(statuses, Array(5).fill("cancelled"));
    assert.deepEqual(await stage.store.dueLanes("deliveries", NOW), []);
  });
}

function pruning(promise: Promises): void {
  const DAY_MS = 86_400_000;

  /** Commits an event of that age with one delivery and its attempts. */
  async function addOld(stage: Stage, ageMs: number, changes: Partial<Delivery> = {}) {
    // The shifted clock may be far ahead: age goes by the real time in the id.
    const id = hashedId("evt", NOW - ageMs, stage.newId("evt"));
    const event = stage.event(stage.customer(), { id, createdAt: NOW + 365 * DAY_MS });
    const attempts = [attemptAt(NOW), attemptAt(NOW + 1)];
    const delivery = stage.delivery(event, { status: "succeeded", dueAt: null, attemptCount: 2, attempts, ...changes });
    await stage.ok([
      { op: "insert", table: "events", record: event },
      { op: "insert", table: "deliveries", record: delivery },
    ]);
    return { event, delivery };
  }

  promise("expired events are deleted with deliveries and attempts, newer ones stay", async (stage) => {
    await addOld(stage, 40 * DAY_MS);
    await addOld(stage, 30 * DAY_MS + 1, { status: "cancelled" });
    const kept = [await addOld(stage, 30 * DAY_MS), await addOld(stage, 0)];
    assert.equal(await stage.store.prune(NOW - 30 * DAY_MS, 100), 2);
    assert.deepEqual(
      await stage.all("events"),
      kept.map(({ event }) => event),
    );
    const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
    assert.deepEqual((await stage.all("deliveries")).sort(byId), kept.map(({ delivery }) => delivery).sort(byId));
    assert.equal(await stage.store.prune(NOW - 30 * DAY_MS, 100), 0);
  });

  promise("an event stays while one of its deliveries is due or in flight", async (stage) => {
    await addOld(stage, 40 * DAY_MS, { status: "pending", dueAt: NOW });
    await addOld(stage, 40 * DAY_MS, { status: "pending", dueAt: NOW });
    const asked = await addOld(stage, 40 * DAY_MS, { status: "exhausted", byHand: true, dueAt: NOW });
    await addOld(stage, 40 * DAY_MS, { status: "exhausted" });
    assert.equal(await stage.store.prune(NOW, 100), 1);
    assert.equal((await stage.all("events")).length, 3);
    assert.equal(await stage.update("deliveries", asked.delivery, { dueAt: null, byHand: false }), "ok");
    assert.equal(await stage.store.prune(NOW, 100), 1);
    assert.equal((await stage.all("deliveries")).length, 2);
  });

  promise("expired idempotency keys are deleted; messages and provider references stay", async (stage) => {
    const customer = await stage.addCustomer();
    const message = await stage.addMessage(customer, { createdAt: NOW - 400 * DAY_MS });
    const reference = {
      instanceId: stage.instanceId,
      reference: "r",
      messageId: message.id,
      channel: "sms",
      createdAt: 0,
    };
    await stage.ok([{ op: "insert", table: "providerReferences", record: reference }]);
    const keys = [NOW - 1, NOW, NOW + 1].map((createdAt, index) => idempotencyOf(`key ${index}`, { createdAt }));
    await stage.ok(keys.map((record) => ({ op: "insertUnique", table: "idempotency", record })));
    assert.equal(await stage.store.prune(NOW, 100), 1);
    assert.deepEqual(await stage.all("idempotency"), keys.slice(1));
    assert.deepEqual(await stage.all("messages"), [message]);
    assert.deepEqual(await stage.all("providerReferences"), [reference]);
  });

  promise("a file stays while an event of its message exists, or until the message was sent", async (stage) => {
    const customer = await stage.addCustomer();
    const old = { createdAt: NOW - 40 * DAY_MS };
    const contentOf = (message: Message, createdAt = old.createdAt): Content => ({
      id: stage.newId("att"),
      customerId: customer.id,
      messageId: message.id,
      mimeType: "text/plain",
      filename: null,
      totalBytes: 2,
      data: Buffer.from([0, 255]),
      instanceId: null,
      reference: null,
      createdAt,
    });
    const sent = await stage.addMessage(customer, { ...old, status: "sent" });
    const scheduled = await stage.addMessage(customer, { ...old, status: "scheduled" });
    const announced = await stage.addMessage(customer, { ...old, status: "read" });
    await stage.ok([{ op: "insert", table: "events", record: stage.event(customer, { messageId: announced.id }) }]);
    const young = contentOf(sent, NOW);
    const kept = [young, contentOf(scheduled), contentOf(announced)];
    const contents = [contentOf(sent), ...kept, contentOf(sent)];
    await stage.ok(contents.map((record) => ({ op: "insert", table: "contents", record })));
    assert.equal(await stage.store.prune(NOW - 30 * DAY_MS, 1), 1, "by its limit");
    assert.equal(await stage.store.prune(NOW - 30 * DAY_MS, 100), 1);
    const left = (await stage.all("contents")).map(({ id }) => id).sort();
    assert.deepEqual(left, kept.map(({ id }) => id).sort());
    assert.equal(await stage.store.prune(NOW - 30 * DAY_MS, 100), 0);
  });

  promise("notes about attempts are deleted after their time, and attempts without a name with them", async (stage) => {
    const customer = await stage.addCustomer();
    const [failed, pending] = [
      await stage.addMessage(customer, { status: "failed" }),
      await stage.addMessage(customer, { status: "pending" }),
    ];
    const attemptOf = (message: Message, reference: string, startedAt: number): SendAttempt => {
      const common = { instanceId: stage.instanceId, messageId: message.id, number: 1, channel: "sms" } as const;
      return { ...common, reference, startedAt, state: "unknown", endedAt: null, note: "{}" };
    };
    const old = NOW - 1;
    const kept = [attemptOf(failed, "attempt:new/1", NOW), attemptOf(pending, "attempt:pending/1", old)];
    const named = attemptOf(failed, "named", old);
    const all = [attemptOf(failed, "attempt:old/1", old), ...kept, named];
    await stage.ok(all.map((record) => ({ op: "insert", table: "sendAttempts", record })));
    assert.equal(await stage.store.prune(NOW, 100), 2);
    assert.deepEqual(await stage.all("sendAttempts"), [...kept, { ...named, note: null }]);
    assert.equal(await stage.store.prune(NOW, 100), 0);
  });

  promise("records of reported signals are deleted after their time", async (stage) => {
    const arrivals = [NOW - 1, NOW, NOW + 1].map((createdAt, index) => {
      return { instanceId: stage.instanceId, reference: `arrival ${index}`, createdAt };
    });
    await stage.ok(arrivals.map((record) => ({ op: "insertUnique", table: "arrivals", record })));
    assert.equal(await stage.store.prune(NOW, 100), 1);
    assert.deepEqual(await stage.all("arrivals"), arrivals.slice(1));
  });

  promise(
    "pruning takes the oldest first, as many events and as many keys as its limit, and counts both",
    async (stage) => {
      for (const age of [5, 4, 3, 2, 1]) await addOld(stage, age * DAY_MS);
      const keys = [1, 2, 3].map((index) => idempotencyOf(`key ${index}`, { createdAt: NOW - DAY_MS }));
      await stage.ok(keys.map((record) => ({ op: "insertUnique", table: "idempotency", record })));
      const events = await stage.all("events");
      assert.equal(await stage.store.prune(NOW, 2), 4);
      assert.deepEqual(await stage.all("events"), events.slice(2));
      assert.equal(await stage.store.prune(NOW, 2), 3);
      assert.equal(await stage.store.prune(NOW, 2), 1);
      assert.equal(await stage.store.prune(NOW, 2), 0);
      assert.deepEqual(await stage.all("deliveries"), []);
    },
  );
}
