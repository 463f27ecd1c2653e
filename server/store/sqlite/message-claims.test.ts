/** Claims of messages find and lease the same as a naive search of all rows, for any changes of them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { NOW, Stage } from "../../../test/conformance/store-stage.ts";
import { runsOf } from "../../../test/support/runs.ts";
import type { Message } from "../../core/message.ts";
import { type ClaimedMessageRows, encodeTransaction } from "../jobs/jobs.ts";
import { decodeRecord } from "../rows.ts";
import type { Operation, Store } from "../store.ts";
import { makeTables } from "./make-tables.ts";
import { SqliteWriter } from "./writer.ts";

const LEASE_MS = 10;
const RECIPIENTS = 4;

type Step =
  | { do: "accept"; recipient: number; dueInMs: number; second: boolean }
  | { do: "claim"; permits: number; second: boolean }
  | { do: "begin" | "conclude" | "release"; index: number }
  | { do: "defer" | "lose"; index: number; dueInMs: number }
  | { do: "move" | "delete"; index: number }
  | { do: "pass"; ms: number }
  | { do: "set back"; ms: number };

const index = fc.nat(30);
const dueInMs = fc.integer({ min: -20, max: 8 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("accept" as const),
      recipient: fc.nat(RECIPIENTS - 1),
      dueInMs,
      second: fc.boolean(),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("claim" as const),
      permits: fc.integer({ min: 1, max: 6 }),
      second: fc.boolean(),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constantFrom("begin" as const, "conclude" as const, "release" as const), index }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("defer" as const), index, dueInMs }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("lose" as const), index, dueInMs }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("move" as const, "delete" as const), index }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.nat(6) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("set back" as const), ms: fc.nat(12) }) },
);

/** A message as the model knows it. */
interface Known {
  message: Message;
  lease: number | null;
  leaseEndsAt: number;
}

/** Whether the message is due for a lookup, which has no place in the order of its pair. */
const isLookup = ({ message }: Known) => message.status === "pending" && message.dueAt !== null;

test("in any history of messages a claim leases lookups and due messages of free pairs only, and in the end all are claimed", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 50, maxLength: 200, size: "max" }), async (steps) => {
      let now = 0;
      /** How far the service's clock was set back. The monotonic clock, which leases use, never is. */
      let backMs = 0;
      const engine = new SqliteWriter(":memory:", () => now);
      await makeTables(engine.database);
      const make = new Stage({} as Store);
      const customer = make.customer();
      const lanes = [make.newId("inst"), make.newId("inst")] as const;
      const known = new Map<string, Known>();
      const commit = (operation: Operation) => {
        const [result] = engine.run([["commit", encodeTransaction([operation])]]);
        assert.deepEqual(result, { value: { result: "ok", lanes: [] } });
      };
      const at = (number: number) => [...known.values()][number % Math.max(known.size, 1)];
      const isLeased = ({ lease, leaseEndsAt }: Known) => lease !== null && leaseEndsAt > now;
      const update = (one: Known, set: Partial<Message>) => {
        const { id, version } = one.message;
        commit({ op: "update", table: "messages", id, version, set });
        one.message = { ...one.message, ...set, version: version + 1 };
      };
      const claim = (lane: (typeof lanes)[number], permits: number) => {
        const due = [...known.values()].filter(
          ({ message: { instanceId, dueAt } }) => instanceId === lane && dueAt !== null && dueAt <= NOW + now - backMs,
        );
        const pair = ({ message: { instanceId, to } }: Known) => `${instanceId} ${to}`;
        const busy = new Set([...known.values()].filter((one) => isLeased(one) && !isLookup(one)).map(pair));
        const free = due.filter((one) => !isLeased(one) && (isLookup(one) || !busy.has(pair(one))));
        const wanted = { lanes: [{ lane, permits }], now: NOW + now - backMs, leaseMs: LEASE_MS };
        const [result] = engine.run([["claimMessages", wanted]]);
        assert.ok(result !== undefined && "value" in result);
        const { rows, more } = result.value as ClaimedMessageRows;
        for (const { values, lease } of rows) {
          const message = decodeRecord("messages", values);
          const one = known.get(message.id);
          assert.ok(one !== undefined && free.includes(one) && !isLeased(one));
          assert.deepEqual(one.message, message);
          one.lease = lease;
          one.leaseEndsAt = now + LEASE_MS;
        }
        assert.ok(rows.length > 0 || free.length === 0, "a lookup or a free pair is found");
        assert.ok(rows.length <= permits);
        const ids = rows.map(({ values }) => decodeRecord("messages", values));
        for (const to of new Set(ids.map((one) => one.to))) {
          const run = ids.filter((one) => one.to === to).map(({ id }) => id);
          assert.deepEqual(run, run.toSorted(), "a run is in the order of acceptance");
        }
        return more.length > 0 || rows.length > 0;
      };
      for (const one of steps) {
        if (one.do === "pass") now += one.ms;
        else if (one.do === "set back") backMs += one.ms;
        else if (one.do === "accept") {
          const to = `+1500555010${one.recipient}`;
          const instanceId = lanes[one.second ? 1 : 0];
          const record = make.message(customer, { to, instanceId, dueAt: NOW + now - backMs + one.dueInMs });
          commit({ op: "insert", table: "messages", record });
          known.set(record.id, { message: record, lease: null, leaseEndsAt: 0 });
        } else if (one.do === "claim") claim(lanes[one.second ? 1 : 0], one.permits);
        else {
          const found = at(one.index);
          if (found === undefined) continue;
          const { lease, message } = found;
          if (one.do === "delete") {
            commit({ op: "delete", table: "messages", where: { id: message.id } });
            known.delete(message.id);
          } else if (one.do === "release") {
            if (lease !== null) engine.run([["release", [lease]]]);
            found.lease = null;
          } else if (one.do === "begin") {
            if (!isLeased(found)) continue;
            update(found, { status: "pending", dueAt: null, claimedUntil: NOW + 1_000_000 });
            found.leaseEndsAt = Number.POSITIVE_INFINITY;
          } else {
            if (one.do === "conclude") update(found, { status: "sent", dueAt: null, claimedUntil: null });
            if (one.do === "lose")
              update(found, { status: "pending", dueAt: NOW + now - backMs + one.dueInMs, claimedUntil: null });
            if (one.do === "defer")
              update(found, { status: "queued", dueAt: NOW + now - backMs + one.dueInMs, claimedUntil: null });
            if (one.do === "move") update(found, { instanceId: message.instanceId === lanes[0] ? lanes[1] : lanes[0] });
            found.lease = null;
          }
        }
      }
      // All leases end, and everything that is due is claimed.
      const open = [...known.values()].flatMap(({ lease }) => (lease === null ? [] : [lease]));
      engine.run([["release", open]]);
      for (const one of known.values()) one.lease = null;
      now += 1_000 + backMs;
      for (const lane of lanes) for (let left = 1_000; left > 0 && claim(lane, 64); left -= 1);
      const missed = [...known.values()].filter(({ message, lease }) => message.dueAt !== null && lease === null);
      const busy = new Set(
        [...known.values()]
          .filter((one) => one.lease !== null && !isLookup(one))
          .map(({ message }) => `${message.instanceId} ${message.to}`),
      );
      assert.ok(
        missed.every((one) => !isLookup(one) && busy.has(`${one.message.instanceId} ${one.message.to}`)),
        "whatever waits for no other message is claimed",
      );
      engine.close();
    }),
    { numRuns: runsOf(60) },
  );
});
