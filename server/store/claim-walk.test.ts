/** Tests of the walk through a lane behind its front: how each claim leaves it, and when the lane may have more. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type ClaimWalk,
  IDLE_CLAIMS_MAX,
  PASSED_MAX,
  type PairPosition,
  type TimerPosition,
  WALK_BEGINS,
  type WalkedPart,
  walkOn,
} from "./claim-walk.ts";

const PAIR = ["+1", "+2"] as const;
const LATER_PAIR = ["+1", "+3"] as const;
const TIMER = [5, "msg_5"] as const;
const LATER_TIMER = [5, "msg_6"] as const;

const partOf = (changes: Partial<WalkedPart> = {}): WalkedPart => ({ pair: null, timer: null, passed: [], ...changes });
const names = (count: number) => Array.from({ length: count }, (_, index) => `+1 +${index}`);

/** A walk: after a pair and a timer, with the rounds that are left of each. */
const walkOf = (
  pairs: [PairPosition | null, left: number],
  timers: [TimerPosition | null, left: number],
  passed: readonly string[] = [],
  idle = 0,
): ClaimWalk => ({
  pairs: { last: pairs[0], left: pairs[1] },
  timers: { last: timers[0], left: timers[1] },
  passed,
  idle,
});

const NONE = { leased: 0, permits: 3 };
const SOME = { leased: 2, permits: 3 };
const ALL = { leased: 3, permits: 3 };

interface Row {
  what: string;
  walk?: ClaimWalk;
  read: WalkedPart;
  claim: { leased: number; permits: number };
  becomes: ClaimWalk;
  more: boolean;
}

const ROWS: readonly Row[] = [
  {
    what: "a claim that reads all pairs and timers at once and leases nothing ends the walk",
    read: partOf({ passed: ["+1 +2"] }),
    claim: NONE,
    becomes: WALK_BEGINS,
    more: false,
  },
  {
    what: "so does one that leases what there is",
    read: partOf(),
    claim: SOME,
    becomes: WALK_BEGINS,
    more: false,
  },
  {
    what: "a claim with too few permits is followed by another",
    read: partOf(),
    claim: ALL,
    becomes: WALK_BEGINS,
    more: true,
  },
  {
    what: "a claim goes on after the last pair",
    read: partOf({ pair: PAIR }),
    claim: NONE,
    becomes: walkOf([PAIR, 1], [null, 0], [], 1),
    more: true,
  },
  {
    what: "a claim goes on after the last timer, and leaves the pairs of those that it passed to the next round",
    read: partOf({ timer: TIMER, passed: ["+1 +2"] }),
    claim: NONE,
    becomes: walkOf([null, 0], [TIMER, 1], ["+1 +2"], 1),
    more: true,
  },
  {
    what: "pairs that were passed are collected until the round ends, each once",
    walk: walkOf([null, 0], [TIMER, 1], ["+1 +2", "+1 +3"]),
    read: partOf({ timer: LATER_TIMER, passed: ["+1 +3", "+1 +4"] }),
    claim: SOME,
    becomes: walkOf([null, 0], [LATER_TIMER, 1], ["+1 +2", "+1 +3", "+1 +4"]),
    more: true,
  },
  {
    what: "the round that began with the walk is the last one",
    walk: walkOf([null, 0], [TIMER, 1], ["+1 +2"], 2),
    read: partOf({ passed: ["+1 +3"] }),
    claim: NONE,
    becomes: WALK_BEGINS,
    more: false,
  },
  {
    what: "a round that a claim with too few permits was in is followed by another, from the first timer on",
    walk: walkOf([null, 0], [TIMER, 2], ["+1 +2"], 2),
    read: partOf({ passed: ["+1 +3"] }),
    claim: NONE,
    becomes: walkOf([null, 0], [null, 1], [], 3),
    more: true,
  },
  {
    what: "pairs and timers begin again each by itself, until both have been read",
    walk: walkOf([PAIR, 1], [TIMER, 1], ["+1 +2"]),
    read: partOf({ pair: LATER_PAIR, passed: ["+1 +2"] }),
    claim: SOME,
    becomes: walkOf([LATER_PAIR, 1], [null, 0]),
    more: true,
  },
  {
    what: "what has been read is read again while the other has not, and does not keep the walk from ending",
    walk: walkOf([LATER_PAIR, 1], [LATER_TIMER, 0], ["+1 +2"]),
    read: partOf({ timer: [6, "msg_7"] }),
    claim: SOME,
    becomes: walkOf([null, 1], [[6, "msg_7"], 2], ["+1 +2"]),
    more: false,
  },
  {
    what: "a claim with too few permits reads the same timers again, and everything has to be read once more",
    walk: walkOf([PAIR, 1], [TIMER, 0], ["+1 +2"], 7),
    read: partOf({ pair: LATER_PAIR, timer: LATER_TIMER, passed: ["+1 +3"] }),
    claim: ALL,
    becomes: walkOf([LATER_PAIR, 2], [TIMER, 2], ["+1 +2"]),
    more: true,
  },
  {
    what: "a lease ends the count of claims that found nothing",
    walk: walkOf([PAIR, 1], [null, 0], [], IDLE_CLAIMS_MAX - 1),
    read: partOf({ pair: LATER_PAIR }),
    claim: SOME,
    becomes: walkOf([LATER_PAIR, 1], [null, 0]),
    more: true,
  },
  {
    what: "after too many claims that find nothing the walk rests where it is",
    walk: walkOf([PAIR, 1], [TIMER, 1], ["+1 +2"], IDLE_CLAIMS_MAX - 1),
    read: partOf({ pair: LATER_PAIR, timer: LATER_TIMER }),
    claim: NONE,
    becomes: walkOf([LATER_PAIR, 2], [LATER_TIMER, 2], ["+1 +2"]),
    more: false,
  },
  {
    what: "a round through the timers ends when it has passed too many pairs",
    walk: walkOf([PAIR, 1], [TIMER, 1], names(PASSED_MAX)),
    read: partOf({ pair: LATER_PAIR, timer: LATER_TIMER, passed: ["+1 +2 more"] }),
    claim: NONE,
    becomes: walkOf([LATER_PAIR, 1], [null, 0], [], 1),
    more: true,
  },
];

for (const { what, walk = WALK_BEGINS, read, claim, becomes, more } of ROWS)
  test(what, () => assert.deepEqual(walkOn(walk, read, claim), { walk: becomes, more }));

test("a lane in which nothing can be leased has no more after one round", () => {
  const claims = [partOf({ pair: PAIR, timer: TIMER }), partOf({ timer: LATER_TIMER }), partOf({ pair: PAIR })];
  let walk = WALK_BEGINS;
  const more = claims.map((read) => {
    const after = walkOn(walk, read, NONE);
    walk = after.walk;
    return after.more;
  });
  assert.deepEqual(more, [true, true, false]);
});

test("a lane in which nothing can be leased has no more after a bounded number of claims, however long a round is", () => {
  let walk = WALK_BEGINS;
  let claims = 0;
  for (let more = true; more; claims += 1)
    ({ walk, more } = walkOn(walk, partOf({ pair: ["+1", `+${claims}`], timer: [claims, ""] }), NONE));
  assert.equal(claims, IDLE_CLAIMS_MAX);
});
