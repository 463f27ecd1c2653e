/** Requests leave the queue in turns by owner and in order within an owner, none waits longer than the limit, and no owner takes all places. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { AcceptQueue, type WaitingAccept } from "./accept-queue.ts";

const LIMITS = { waitingMax: 12, waitMsMax: 1_000 };
/** Few places, so that they are often all taken. */
const WAITING_MAX = 6;

test("one request of each owner leaves before a second one of any", () => {
  const queue = new AcceptQueue<string>(LIMITS);
  for (const entry of ["a1", "a2", "a3", "b1", "c1", "b2"]) queue.join(entry.charAt(0), 0, entry);
  assert.deepEqual(queue.admit(10, 4), ["a1", "b1", "c1", "a2"]);
  assert.deepEqual(queue.admit(10, 4), ["b2", "a3"]);
  assert.equal(queue.size, 0);
});

test("whatever joins, leaves and is admitted, and whenever: order, turns, longest wait and largest number hold", () => {
  const action = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant("join" as const), owner: fc.constantFrom("a", "b", "c", "d") }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("admit" as const), count: fc.nat({ max: 3 }) }) },
    fc.record({ kind: fc.constant("pass" as const), ms: fc.nat({ max: 600 }) }),
    fc.record({ kind: fc.constant("leave" as const), index: fc.nat({ max: 20 }) }),
  );
  fc.assert(
    fc.property(fc.array(action, { maxLength: 100 }), (actions) => {
      const queue = new AcceptQueue<number>({ ...LIMITS, waitingMax: WAITING_MAX });
      let waiting: WaitingAccept<number>[] = [];
      /** Owners that waited when an owner was last admitted in turn, and have not been admitted since. */
      const passedOver = new Map<string, Set<string>>();
      let now = 0;
      let nextId = 0;
      const admit = (count: number) => {
        const before = [...waiting];
        const admitted = queue.admit(now, count).map((id) => before.find(({ entry }) => entry === id));
        const late = before.filter(({ since }) => now - since >= LIMITS.waitMsMax);
        assert.deepEqual(admitted.slice(0, late.length), late, "late ones leave first, in order of arrival");
        assert.equal(admitted.length, Math.min(before.length, late.length + count));
        for (const request of admitted) {
          assert.ok(request !== undefined);
          const isFirst = waiting.find(({ owner }) => owner === request.owner) === request;
          assert.ok(isFirst, "nobody overtakes within an owner");
          waiting = waiting.filter((other) => other !== request);
          if (late.includes(request)) continue;
          const overtaken = [...(passedOver.get(request.owner) ?? [])].filter((owner) =>
            waiting.some((one) => one.owner === owner),
          );
          assert.deepEqual(overtaken, [], `${request.owner} has a second turn before others had one`);
          for (const owners of passedOver.values()) owners.delete(request.owner);
          passedOver.set(
            request.owner,
            new Set(waiting.map(({ owner }) => owner).filter((owner) => owner !== request.owner)),
          );
        }
        assert.ok(
          waiting.every(({ since }) => now - since < LIMITS.waitMsMax),
          "nobody waits longer than the limit",
        );
      };
      for (const one of actions) {
        if (one.kind === "pass") now += one.ms;
        else if (one.kind === "admit") admit(one.count);
        else if (one.kind === "join") {
          const request = queue.join(one.owner, now, nextId++);
          const left = WAITING_MAX - waiting.length - 1;
          const held = waiting.filter(({ owner }) => owner === one.owner).length;
          const fits = left >= 0 && (held === 0 || held + 1 <= 4 * left);
          assert.equal(
            request !== null,
            fits,
            "an owner gets a place while it holds less than four times what is free",
          );
          if (request !== null) waiting.push(request);
        } else {
          const [request] = waiting.splice(one.index, 1);
          if (request !== undefined) queue.leave(request);
        }
        for (const owners of passedOver.values())
          for (const owner of owners) if (!waiting.some((request) => request.owner === owner)) owners.delete(owner);
        assert.equal(queue.size, waiting.length);
      }
      now += LIMITS.waitMsMax;
      admit(0);
      assert.equal(queue.size, 0);
    }),
  );
});
