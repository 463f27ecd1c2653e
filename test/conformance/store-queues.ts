/** The store's suite: reads of a queue that filter it go through it window by window, and pass nothing over. */

import assert from "node:assert/strict";
import type { Message } from "../../server/core/message.ts";
import { listDeliveriesAhead } from "../../server/store/deliveries.ts";
import { listDeferred, listMessagesAhead, type QueuePosition } from "../../server/store/messages.ts";
import { NOW, type Promises } from "./store-stage.ts";

/** More than two windows. */
const WAITING = 1_300;
const HOUR_MS = 3_600_000;

/** Reads that filter a queue. */
export function filteredQueues(promise: Promises): void {
  promise(
    "a customer's postponed messages are read in order, among those of others that are due at one time",
    async (stage) => {
      const [customer, other] = [await stage.addCustomer(), await stage.addCustomer()];
      const messages = Array.from({ length: WAITING }, (_, index) =>
        stage.message(index % 3 === 0 ? customer : other, {
          dueAt: NOW + (index < 700 ? HOUR_MS : 2 * HOUR_MS),
          status: index % 7 === 0 ? "pending" : "queued",
        }),
      );
      await stage.ok(messages.map((record) => ({ op: "insert", table: "messages", record })));
      const lane = { customerId: customer.id, instanceId: stage.instanceId };
      const found: Message[] = [];
      let after: QueuePosition | null = null;
      do {
        const span = { from: NOW, until: NOW + 2 * HOUR_MS };
        const window: Awaited<ReturnType<typeof listDeferred>> = await listDeferred(stage.store.db, lane, span, after);
        found.push(...window.records);
        after = window.next;
      } while (after !== null);
      const wanted = messages.filter(({ customerId, status }) => customerId === customer.id && status === "queued");
      assert.deepEqual(
        found.map(({ id }) => id),
        wanted.map(({ id }) => id),
      );
    },
  );

  promise("messages that a clock put into the future are found behind any number of scheduled ones", async (stage) => {
    const customer = await stage.addCustomer();
    const messages = Array.from({ length: WAITING }, (_, index) =>
      index % 100 === 99
        ? stage.message(customer, { dueAt: NOW + HOUR_MS, updatedAt: NOW + HOUR_MS })
        : stage.message(customer, { dueAt: NOW + HOUR_MS, status: "scheduled" }),
    );
    await stage.ok(messages.map((record) => ({ op: "insert", table: "messages", record })));
    const found: string[] = [];
    let after: QueuePosition | null = null;
    do {
      const times = { now: NOW, lookupsUntil: NOW };
      const window: Awaited<ReturnType<typeof listMessagesAhead>> = await listMessagesAhead(
        stage.store.db,
        stage.instanceId,
        times,
        after,
      );
      found.push(...window.records.map(({ id }) => id));
      after = window.next;
    } while (after !== null);
    assert.deepEqual(
      found,
      messages.filter(({ status }) => status === "queued").map(({ id }) => id),
    );
  });

  promise(
    "deliveries that a clock put into the future are found behind any number of planned retries",
    async (stage) => {
      const { event } = await stage.addEvent(await stage.addCustomer());
      const deliveries = Array.from({ length: WAITING }, (_, index) =>
        stage.delivery(event, {
          lane: "wh_lane",
          dueAt: NOW + HOUR_MS + index,
          createdAt: index % 100 === 99 ? NOW + HOUR_MS : NOW,
        }),
      );
      await stage.ok(deliveries.map((record) => ({ op: "insert", table: "deliveries", record })));
      const found: string[] = [];
      for (let from: number | null = NOW; from !== null; ) {
        const page: Awaited<ReturnType<typeof listDeliveriesAhead>> = await listDeliveriesAhead(
          stage.store.db,
          "wh_lane",
          { now: NOW, from },
          WAITING,
        );
        found.push(...page.records.map(({ id }) => id));
        from = page.until;
      }
      assert.deepEqual(
        found,
        deliveries.filter(({ createdAt }) => createdAt > NOW).map(({ id }) => id),
      );
    },
  );
}
