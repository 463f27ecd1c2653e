/** The leases of messages do the same as a naive list of them, for any operations. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runsOf } from "../../../test/support/runs.ts";
import { type DuePlace, MessageLeases } from "./message-leases.ts";

type Step =
  | { do: "add"; message: number; forMs: number }
  | { do: "hold" | "end"; message: number }
  | { do: "release"; tokens: number[] }
  | { do: "pass"; ms: number }
  | { do: "expire" | "clear" };

const message = fc.nat(11);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("add" as const), message, forMs: fc.nat(20) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("hold" as const, "end" as const), message }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("release" as const), tokens: fc.array(fc.nat(40), { maxLength: 4 }) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.nat(15) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("expire" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("clear" as const) }) },
);

const placeOf = (index: number): DuePlace => ({
  id: `msg_${index}`,
  lane: `lane ${index % 2}`,
  dueAt: index,
  pair: ["me", `recipient ${index % 3}`],
  isLookup: index % 4 === 0,
});

interface Naive {
  token: number;
  place: DuePlace;
  endsAt: number;
}

const byToken = (a: Naive, b: Naive) => a.token - b.token;

test("leases behave like a plain list of leases, for any operations", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 100, maxLength: 300, size: "max" }), (steps) => {
      const leases = new MessageLeases();
      let model: Naive[] = [];
      let now = 0;
      const tokens = new Set<number>();
      /** Removes leases of the model, and answers what the other must have ended. */
      const endAll = (isOver: (one: Naive) => boolean) => {
        const over = model.filter(isOver).sort(byToken);
        model = model.filter((one) => !isOver(one));
        return over.map(({ place, endsAt }) => {
          const isHeld = endsAt === Number.POSITIVE_INFINITY;
          return { ...place, isLookup: place.isLookup && !isHeld, isHeld };
        });
      };
      const sorted = (ended: readonly DuePlace[]) => ended.toSorted((a, b) => a.dueAt - b.dueAt);
      for (const one of steps) {
        switch (one.do) {
          case "add": {
            const place = placeOf(one.message);
            if (model.some(({ place: { id } }) => id === place.id)) {
              assert.throws(() => leases.add(place, now));
              break;
            }
            const token = leases.add(place, now + one.forMs);
            assert.ok(!tokens.has(token), "a token is used once");
            tokens.add(token);
            model.push({ token, place, endsAt: now + one.forMs });
            break;
          }
          case "hold":
            leases.hold(`msg_${one.message}`);
            for (const held of model)
              if (held.place.id === `msg_${one.message}`) held.endsAt = Number.POSITIVE_INFINITY;
            break;
          case "end": {
            const [ended = null] = endAll(({ place }) => place.id === `msg_${one.message}`);
            assert.deepEqual(leases.end(`msg_${one.message}`), ended);
            break;
          }
          case "release":
            assert.deepEqual(
              sorted(leases.release(one.tokens)),
              sorted(endAll(({ token }) => one.tokens.includes(token))),
            );
            break;
          case "pass":
            now += one.ms;
            break;
          case "expire":
            assert.deepEqual(sorted(leases.expire(now)), sorted(endAll(({ endsAt }) => endsAt <= now)));
            break;
          case "clear":
            leases.clear();
            model = [];
        }
        assert.equal(leases.size, model.length);
        for (let index = 0; index < 12; index += 1) {
          const { id, lane, pair } = placeOf(index);
          assert.equal(
            leases.has(id),
            model.some(({ place }) => place.id === id),
          );
          const leased = model.filter(({ place }) => place.lane === lane && place.pair[1] === pair[1]);
          const lookups = leased.filter(({ place, endsAt }) => place.isLookup && endsAt !== Number.POSITIVE_INFINITY);
          assert.equal(leases.isLeased(lane, pair), leased.length > 0);
          assert.equal(leases.isBusy(lane, pair), leased.length > lookups.length);
          assert.equal(leases.lookups(lane, pair), lookups.length);
        }
        for (const lane of ["lane 0", "lane 1"]) {
          const held = new Set(model.filter(({ place }) => place.lane === lane).map(({ place }) => place.pair[1]));
          assert.deepEqual(new Set(leases.pairs(lane).map(([, to]) => to)), held);
        }
      }
    }),
    { numRuns: runsOf(500) },
  );
});
