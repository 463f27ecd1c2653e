/** Finds what a claim may lease, by a bounded number of rows, however many rows that must wait stand in front. */

import type { Claim, WaitingPair } from "../store.ts";
import type { Statements } from "./statements.ts";

/** Messages of one sender and recipient that one claim may take: they are sent one after the other. */
const RUN_MAX = 8;
/** Due deliveries that one look reads for a lane. A claim looks at most twice: from the front, and where the last look ended. */
const DELIVERIES_LOOKED_AT_MAX = 1_000;
/** Due messages that a claim reads from the front of a lane, beside one for each permit. */
const MESSAGES_LOOKED_AT = 64;
/** Pairs of sender and recipient that a claim reads for a lane whose front is full of busy ones. */
const PAIRS_LOOKED_AT_MAX = 256;
/** Lanes whose place is remembered. To forget one costs rows that are looked at again. */
const PLACES_KEPT_MAX = 1_000;

type LaneClaim = Claim["lanes"][number];

/** A due delivery that may be leased. */
export interface DueDelivery {
  id: string;
  dueAt: number;
}

/** A place in the order in which a lane's deliveries are claimed: by due time, then by insertion. */
interface LanePosition {
  dueAt: number;
  row: number;
}

const FRONT: LanePosition = { dueAt: Number.MIN_SAFE_INTEGER, row: 0 };

/** A sender and recipient. */
type AddressPair = readonly [from: string, to: string];

const FIRST_PAIR: AddressPair = ["", ""];

/** A due message that may be leased. */
interface DueMessage {
  id: string;
  pair: string;
}

/** The reads of claims, and the memory that keeps them small. It is advice only: without it a claim finds the same rows later. */
export class Claims {
  readonly #statements: Statements;
  /** Lanes whose front is full of deliveries that wait, and where the next look behind the front begins. */
  readonly #places = new Map<string, LanePosition>();
  /** The last pair that was looked at in lanes whose front is full of busy pairs. */
  readonly #pairs = new Map<string, AddressPair>();
  #rowsLookedAt = 0;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  /** Rows read so far to find what may be leased. */
  get rowsLookedAt(): number {
    return this.#rowsLookedAt;
  }

  /** Due deliveries of a lane, at most `permits`, in order of due time and insertion, without those that an event before them holds up. */
  freeDeliveries({ lane, permits }: LaneClaim, now: number): DueDelivery[] {
    const free: DueDelivery[] = [];
    const front = this.#look(lane, now, FRONT, permits, free);
    if (free.length === permits) return free;
    if (front === null) {
      this.#places.delete(lane);
      return free;
    }
    const behind = this.#look(lane, now, later(front, this.#places.get(lane) ?? front), permits, free);
    if (behind === null) this.#places.delete(lane);
    else keep(this.#places, lane, behind);
    return free;
  }

  /**
   * Adds what is free after a place, until `free` holds `permits` or enough rows were looked at. Answers the last row it
   * looked at, or null when it looked at all there are.
   */
  #look(lane: string, now: number, after: LanePosition, permits: number, free: DueDelivery[]): LanePosition | null {
    const { dueAt, row } = after;
    let left = DELIVERIES_LOOKED_AT_MAX;
    let last: LanePosition | null = null;
    // SQLite finds a row number by the index only beside an exact due time.
    for (const rows of [
      () => this.#statements.deliveriesDueAt().iterate(lane, dueAt, row, left),
      () => this.#statements.deliveriesDueAfter().iterate(lane, dueAt, now, left),
    ]) {
      for (const found of rows() as unknown as Iterable<[string, number, number, number]>) {
        const [id, at, number, isHeldUp] = found;
        left -= 1;
        this.#rowsLookedAt += 1;
        last = { dueAt: at, row: number };
        if (isHeldUp === 0 && free.push({ id, dueAt: at }) === permits) return last;
      }
      if (left === 0) return last;
    }
    return null;
  }

  /**
   * Ids of due messages of a lane, at most `permits`, whose sender and recipient have none leased: the oldest first, those
   * of one sender and recipient in the order of acceptance. Where the front is full of busy pairs it takes other pairs in turns.
   * Of pairs that wait it takes only what they are waiting for, and what is not `queued`.
   */
  freeMessages(wanted: LaneClaim, now: number, waiting: readonly WaitingPair[] = []): string[] {
    const { lane, permits, paused = false } = wanted;
    const leased = this.#statements.leasedPairs().all(lane) as unknown as AddressPair[];
    const busy = new Set(leased.map(nameOf));
    this.#rowsLookedAt += leased.length;
    const free: DueMessage[] = [];
    if (waiting.length > 0 && !paused) this.#lookAtWaiting(wanted, now, busy, waiting, free);
    const isAll = this.#lookAtFront(wanted, now, busy, free);
    if (isAll) this.#pairs.delete(lane);
    else if (!paused && free.length < permits) this.#lookAtPairs(wanted, now, busy, free);
    return inOrderOfAcceptance(free);
  }

  /** Adds what may be taken of pairs that wait, one message of each, and makes the pairs busy. */
  #lookAtWaiting(
    { lane, permits }: LaneClaim,
    now: number,
    busy: Set<string>,
    waiting: readonly WaitingPair[],
    free: DueMessage[],
  ): void {
    const pairs = new Set(waiting.map(({ from, to }) => nameOf([from, to])));
    const awaited = waiting.flatMap(({ except }) => except.flatMap((id) => this.#dueMessage(lane, id, now)));
    const beside = this.#statements.dueBeside().all(lane, now, permits + MESSAGES_LOOKED_AT);
    this.#rowsLookedAt += awaited.length + beside.length;
    for (const [id, from, to] of [...awaited, ...(beside as unknown as [string, string, string][])]) {
      const pair = nameOf([from, to]);
      if (free.length >= permits || !pairs.has(pair) || busy.has(pair)) continue;
      free.push({ id, pair });
      busy.add(pair);
    }
    for (const pair of pairs) busy.add(pair);
  }

  #dueMessage(lane: string, id: string, now: number): [string, string, string][] {
    return this.#statements.dueMessage().all(id, lane, now) as unknown as [string, string, string][];
  }

  /** Adds what is free at the front, at most a run of each pair. Makes pairs busy of which it took some. Answers whether that was all. */
  #lookAtFront(
    { lane, permits, paused = false }: LaneClaim,
    now: number,
    busy: Set<string>,
    free: DueMessage[],
  ): boolean {
    const runs = new Map<string, number>();
    let left = permits + MESSAGES_LOOKED_AT;
    const statement = paused ? this.#statements.dueBeside() : this.#statements.dueMessages();
    for (const found of statement.iterate(lane, now, left) as unknown as Iterable<[string, string, string]>) {
      const [id, from, to] = found;
      left -= 1;
      this.#rowsLookedAt += 1;
      const pair = nameOf([from, to]);
      const taken = runs.get(pair) ?? 0;
      if (free.length >= permits) break;
      if (busy.has(pair) || taken === RUN_MAX) continue;
      runs.set(pair, taken + 1);
      if (free.push({ id, pair }) === permits) break;
    }
    for (const pair of runs.keys()) busy.add(pair);
    return left > 0 && free.length < permits;
  }

  /** Adds runs of pairs that are not busy, one pair after the other, from where the last claim ended. */
  #lookAtPairs({ lane, permits }: LaneClaim, now: number, busy: ReadonlySet<string>, free: DueMessage[]): void {
    let after = this.#pairs.get(lane) ?? FIRST_PAIR;
    for (let looked = 0; looked < PAIRS_LOOKED_AT_MAX && free.length < permits; looked += 1) {
      this.#rowsLookedAt += 1;
      const next = this.#statements.nextPair().get(lane, ...after) as unknown as [string, string, number] | undefined;
      if (next === undefined) {
        this.#pairs.delete(lane);
        return;
      }
      const [from, to, dueAt] = next;
      after = [from, to];
      const pair = nameOf(after);
      if (dueAt > now || busy.has(pair)) continue;
      const run = this.#statements.dueOfPair().all(lane, from, to, now, Math.min(RUN_MAX, permits - free.length));
      this.#rowsLookedAt += run.length;
      for (const [id = ""] of run as unknown as string[][]) free.push({ id, pair });
    }
    keep(this.#pairs, lane, after);
  }
}

function later(one: LanePosition, other: LanePosition): LanePosition {
  if (one.dueAt !== other.dueAt) return one.dueAt > other.dueAt ? one : other;
  return one.row > other.row ? one : other;
}

function keep<Kept>(places: Map<string, Kept>, lane: string, place: Kept): void {
  if (places.size >= PLACES_KEPT_MAX && !places.has(lane)) places.clear();
  places.set(lane, place);
}

function nameOf([from, to]: AddressPair): string {
  return `${from} ${to}`;
}

/** Ids of due messages, those of each pair in the order of acceptance, which is that of their ids. */
function inOrderOfAcceptance(due: readonly DueMessage[]): string[] {
  const runs = Map.groupBy(
    due.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    ({ pair }) => pair,
  );
  return due.map(({ id, pair }) => runs.get(pair)?.shift()?.id ?? id);
}
