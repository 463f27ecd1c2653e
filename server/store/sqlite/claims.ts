/** Finds records that a claim may lease. It reads a bounded number of rows, however many blocked rows are in front. */

import type { Claim, WaitingPair } from "../store.ts";
import type { Statements } from "./statements.ts";

/** The most messages of one sender and recipient in a claim: a run, sent in sequence. */
const RUN_MAX = 8;
/** Due messages that a claim reads from the front of a lane, besides one per permit. */
const MESSAGES_SCANNED = 64;
/** Pairs of sender and recipient that a claim reads in a lane whose front is full of busy pairs. */
const PAIRS_SCANNED_MAX = 256;
/** Lanes whose position is cached. A lost position costs a repeated scan. */
const POSITIONS_CACHED_MAX = 1_000;

type LaneClaim = Claim["lanes"][number];

/** A sender and recipient. */
type AddressPair = readonly [from: string, to: string];

const FIRST_PAIR: AddressPair = ["", ""];

/** A due message that may be leased. */
interface DueMessage {
  id: string;
  pair: string;
}

/** The reads of claims, and positions that keep them short. Positions are hints: without them a claim finds the same rows later. */
export class Claims {
  readonly #statements: Statements;
  /** The last pair read in lanes whose front is full of busy pairs. */
  readonly #pairs = new Map<string, AddressPair>();
  #rowsRead = 0;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  /** Rows read so far by claims. */
  get rowsRead(): number {
    return this.#rowsRead;
  }

  /**
   * Ids of due messages of a lane, at most `permits`, whose sender and recipient have no leased message: oldest first, those of
   * one pair in the order of acceptance. If the front is full of busy pairs, other pairs are served in turn. Of waiting pairs it
   * returns only the messages that they wait for, and messages that are not `queued`.
   */
  freeMessages(claim: LaneClaim, now: number, waiting: readonly WaitingPair[] = []): string[] {
    const { lane, permits, paused = false } = claim;
    const leased = this.#statements.leasedPairs().all(lane) as unknown as AddressPair[];
    const busy = new Set(leased.map(nameOf));
    this.#rowsRead += leased.length;
    const free: DueMessage[] = [];
    if (waiting.length > 0 && !paused) this.#addWaiting(claim, now, busy, waiting, free);
    const isAll = this.#addFront(claim, now, busy, free);
    if (isAll) this.#pairs.delete(lane);
    else if (!paused && free.length < permits) this.#addPairs(claim, now, busy, free);
    return inOrderOfAcceptance(free);
  }

  /** Adds at most one message of each waiting pair, and marks the pairs as busy. */
  #addWaiting(
    { lane, permits }: LaneClaim,
    now: number,
    busy: Set<string>,
    waiting: readonly WaitingPair[],
    free: DueMessage[],
  ): void {
    const pairs = new Set(waiting.map(({ from, to }) => nameOf([from, to])));
    const awaited = waiting.flatMap(({ except }) => except.flatMap((id) => this.#dueMessage(lane, id, now)));
    const timers = this.#statements.dueTimers().all(lane, now, permits + MESSAGES_SCANNED);
    this.#rowsRead += awaited.length + timers.length;
    for (const [id, from, to] of [...awaited, ...(timers as unknown as [string, string, string][])]) {
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

  /** Adds free messages from the front, at most a run of each pair, and marks those pairs as busy. Returns whether it read the whole lane. */
  #addFront({ lane, permits, paused = false }: LaneClaim, now: number, busy: Set<string>, free: DueMessage[]): boolean {
    const runs = new Map<string, number>();
    let left = permits + MESSAGES_SCANNED;
    const statement = paused ? this.#statements.dueTimers() : this.#statements.dueMessages();
    for (const found of statement.iterate(lane, now, left) as unknown as Iterable<[string, string, string]>) {
      const [id, from, to] = found;
      left -= 1;
      this.#rowsRead += 1;
      const pair = nameOf([from, to]);
      const count = runs.get(pair) ?? 0;
      if (free.length >= permits) break;
      if (busy.has(pair) || count === RUN_MAX) continue;
      runs.set(pair, count + 1);
      if (free.push({ id, pair }) === permits) break;
    }
    for (const pair of runs.keys()) busy.add(pair);
    return left > 0 && free.length < permits;
  }

  /** Adds runs of pairs that are not busy, in turn, from where the last claim ended. */
  #addPairs({ lane, permits }: LaneClaim, now: number, busy: ReadonlySet<string>, free: DueMessage[]): void {
    let after = this.#pairs.get(lane) ?? FIRST_PAIR;
    for (let read = 0; read < PAIRS_SCANNED_MAX && free.length < permits; read += 1) {
      this.#rowsRead += 1;
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
      this.#rowsRead += run.length;
      for (const [id = ""] of run as unknown as string[][]) free.push({ id, pair });
    }
    keep(this.#pairs, lane, after);
  }
}

function keep<Kept>(positions: Map<string, Kept>, lane: string, position: Kept): void {
  if (positions.size >= POSITIONS_CACHED_MAX && !positions.has(lane)) positions.clear();
  positions.set(lane, position);
}

function nameOf([from, to]: AddressPair): string {
  return `${from} ${to}`;
}

/** Ids of due messages, those of each pair in the order of acceptance, which is the order of ids. */
function inOrderOfAcceptance(due: readonly DueMessage[]): string[] {
  const runs = Map.groupBy(
    due.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    ({ pair }) => pair,
  );
  return due.map(({ id, pair }) => runs.get(pair)?.shift()?.id ?? id);
}
