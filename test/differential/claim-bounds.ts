/** The bounds that a claim of messages with scarce permits must keep, found by a naive search of all due messages. */

import assert from "node:assert/strict";
import { sql } from "kysely";
import type { InstanceId } from "../../server/core/id.ts";
import type { ClaimedMessage, MessageClaim, MessageLane } from "../../server/store/store.ts";
import type { Stage } from "../conformance/store-stage.ts";

/** Due messages that a claim reads in a lane at least, besides one per permit. */
const ROWS_PASSED = 64;
/** The most messages of one sender and recipient in a claim, if the lane does not say. */
const RUN_MAX = 8;

interface DueRow {
  id: string;
  lane: string;
  from: string;
  to: string;
  status: string;
}

/** How many messages of a lane a claim leases at least and at most, and from which runs. */
export interface ClaimBounds {
  lane: string;
  least: number;
  most: number;
  /** The most that each pair may get, by its name: its ids in the order of due time. */
  runs: Map<string, DueRow[]>;
  /** Pairs that must get a message as long as permits are left. */
  served: string[];
  permits: number;
  /** Pairs that wait: of what they wait for, they get what the database finds first. */
  waits: ReadonlySet<string>;
}

const isLookup = ({ status }: DueRow) => status === "pending";
const pairOf = ({ from, to }: { from: string; to: string }) => `${from} ${to}`;

/** The bounds of a claim in each of its lanes, before it is made. */
export async function boundsOf({ store }: Stage, claim: MessageClaim): Promise<ClaimBounds[]> {
  const { rows } = await sql<DueRow>`
    select id, instance_id as lane, "from", "to", status from messages where due_at <= ${claim.now}
    order by due_at, id`.execute(store.db);
  return Promise.all(
    claim.lanes.map(async (lane) => {
      const leased = await store.leasedPairs(lane.lane as InstanceId);
      const due = rows.filter((row) => row.lane === lane.lane);
      return laneBounds(lane, due, new Set(leased.map(pairOf)), claim.waiting ?? []);
    }),
  );
}

function laneBounds(
  { lane, permits, paused = false, runMax = RUN_MAX }: MessageLane,
  due: readonly DueRow[],
  busy: ReadonlySet<string>,
  waiting: NonNullable<MessageClaim["waiting"]>,
): ClaimBounds {
  // Which of a busy pair's messages are leased is not known: only lookups, which hold up nothing, or others too.
  const unsure = new Set(due.filter(isLookup).map(pairOf));
  const free = due.filter((row) => !busy.has(pairOf(row)) || unsure.has(pairOf(row)));
  const waits = new Set(paused ? [] : waiting.map(pairOf));
  const named = new Set<string>(waiting.flatMap(({ except }) => except));
  const taken = free.filter((row) => {
    if (paused) return row.status !== "queued";
    return !waits.has(pairOf(row)) || row.status !== "queued" || named.has(row.id);
  });
  const runs = Map.groupBy(taken, pairOf);
  const lengths = [...runs].map(([pair, run]) => {
    const lookups = run.filter(isLookup).length;
    const length = lookups + Math.min(run.length - lookups, waits.has(pair) ? 1 : runMax);
    return { length, isSure: !busy.has(pair) };
  });
  const sumOf = (all: typeof lengths) =>
    Math.min(
      permits,
      all.reduce((sum, { length }) => sum + length, 0),
    );
  const most = sumOf(lengths);
  const queued = free.filter(
    (row) => !paused && row.status === "queued" && !waits.has(pairOf(row)) && !busy.has(pairOf(row)),
  );
  const served = [...new Set(queued.map(pairOf))];
  // A claim reads all of a short lane, so that nothing is left to the database.
  const isShort = due.length <= permits + ROWS_PASSED;
  return {
    lane,
    permits,
    runs,
    waits,
    served,
    most,
    least: isShort ? sumOf(lengths.filter(({ isSure }) => isSure)) : Math.min(permits, served.length),
  };
}

/** Fails if what was claimed is not within the bounds of its lane. */
export function checkBounds(bounds: ClaimBounds, claimed: readonly ClaimedMessage[], what: string): void {
  const { lane, least, most, runs, served, permits, waits } = bounds;
  const ours = claimed.map(({ message }) => message).filter((message) => message.instanceId === lane);
  const count = `${ours.length} of ${lane} instead of ${least} to ${most}`;
  assert.ok(ours.length >= least && ours.length <= most, `${what}: ${count}`);
  const got = Map.groupBy(ours, pairOf);
  if (ours.length < permits) {
    const missed = served.filter((pair) => !got.has(pair));
    assert.deepEqual(missed, [], `${what}: permits are left, and free pairs got nothing`);
  }
  for (const [pair, run] of got) {
    const wanted = runs.get(pair) ?? [];
    const ids = new Set<string>(run.map(({ id }) => id));
    const known = wanted.filter(({ id }) => ids.has(id));
    assert.equal(known.length, run.length, `${what}: a message of ${pair} is not due, or its pair is not free`);
    if (waits.has(pair)) continue;
    const queued = wanted.filter(({ status }) => status === "queued").map(({ id }) => id);
    const taken = queued.filter((id) => ids.has(id));
    assert.deepEqual(taken, queued.slice(0, taken.length), `${what}: a run of ${pair} is not its oldest messages`);
  }
}
