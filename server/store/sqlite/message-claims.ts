/**
 * Finds due messages that may be leased, and leases them. However many messages wait in front, claims read each waiting
 * message about twice: when a lane's cursor passes the message, and when its pair of sender and recipient is free.
 */

import { subscriberForms } from "../../core/phone-forms.ts";
import { type ClaimWalk, STEPS_MAX, type TimerPosition, WALK_BEGINS, walkOn } from "../claim-walk.ts";
import type { LeasedRow } from "../jobs/jobs.ts";
import type { SqlValue } from "../rows.ts";
import type { MessageClaim, MessageLane, WaitingPair } from "../store.ts";
import { type Collecting, collect, inOrderOfAcceptance } from "./lane-claim.ts";
import {
  compare,
  cursorAtFront,
  FIRST_PAIR,
  type LaneCursor,
  type PairPlace,
  type Place,
  type PlaceRow,
  placeOf,
  sizeOf,
} from "./lane-cursor.ts";
import { type AddressPair, type DuePlace, type EndedLease, MessageLeases, pairName } from "./message-leases.ts";
import type { Statements } from "./statements.ts";
import { allRows } from "./wide-rows.ts";

/** The most due messages that a claim reads after the cursor, besides one per permit. */
const ROWS_PASSED_MAX = 64;
/** The most lanes with a cursor, and the most lanes with a walk. A lost cursor or walk costs a repeated scan. */
const LANES_MAX = 1_000;
/** The most pairs and lookups behind the cursor of a lane. With more, claims scan the lane again from its front. */
const PAIRS_MAX = 10_000;

const FIRST_TIMER: TimerPosition = [Number.MIN_SAFE_INTEGER, ""];

/** Holds the leases of messages, and a cursor for each lane. Commits change both only after COMMIT. */
export class MessageClaims {
  readonly #statements: Statements;
  /** The monotonic clock. */
  readonly #now: () => number;
  readonly #leases = new MessageLeases();
  readonly #cursors = new Map<string, LaneCursor>();
  /** The walks through the timers of lanes that are paused or have waiting pairs. Cursors do not serve these. */
  readonly #walks = new Map<string, ClaimWalk>();
  #rowsRead = 0;

  constructor(statements: Statements, now: () => number) {
    this.#statements = statements;
    this.#now = now;
  }

  /** Rows read so far. */
  get rowsRead(): number {
    return this.#rowsRead;
  }

  /** The pairs with a leased message in the lane. */
  leasedPairs(lane: string): { from: string; to: string }[] {
    this.#expire();
    return this.#leases.pairs(lane).map(([from, to]) => ({ from, to }));
  }

  /** Whether a message of the pair is leased in the lane. */
  isLeased(lane: string, pair: AddressPair): boolean {
    this.#expire();
    return this.#leases.isLeased(lane, pair);
  }

  /** Whether the cursor of some lane may have passed a message that becomes due at `dueAt`. */
  mayBePassed(dueAt: number): boolean {
    for (const cursor of this.#cursors.values()) if (dueAt <= cursor.dueAt) return true;
    return false;
  }

  /** Notes that a message became due at this place. */
  note(place: DuePlace): void {
    const cursor = this.#cursors.get(place.lane);
    if (cursor !== undefined && compare(place, cursor) <= 0) this.#look(cursor, place);
  }

  /** Notes that the send attempt of a message is on disk, with a lease there. */
  hold(id: string): void {
    this.#leases.hold(id);
  }

  /** Ends the lease of a message that a commit changed. `isSamePlace`: the commit did not set the due time. */
  end(id: string, isSamePlace = false): void {
    const ended = this.#leases.end(id);
    const cursor = ended === null ? undefined : this.#cursors.get(ended.lane);
    if (ended === null || cursor === undefined) return;
    // During a send attempt a message is not due.
    const mayBeDue = isSamePlace && !ended.isHeld;
    const behind = cursor.behind.get(pairName(ended.pair));
    if (behind !== undefined) this.#look(cursor, { ...behind, lane: ended.lane });
    if (mayBeDue) this.#look(cursor, ended);
  }

  /** Ends leases of messages that keep their due times. */
  release(tokens: readonly number[]): void {
    this.#putBack(this.#leases.release(tokens));
  }

  /** Drops every lease. */
  clear(): void {
    this.#leases.clear();
    this.rescan();
  }

  /** Scans every lane from its front again: messages may have become due anywhere. */
  rescan(): void {
    this.#cursors.clear();
    this.#walks.clear();
  }

  /**
   * Leases at most `permits` due messages of a lane whose pair has no leased message. The oldest come first; messages
   * of one pair come in the order of acceptance. Of a waiting pair, leases only the messages that it waits for, and
   * messages that are not `queued`. Leases a lookup even if its pair has a leased message. `more`: the lane may have
   * more due messages.
   */
  claim(
    lane: MessageLane,
    { now, leaseMs, waiting = [] }: Omit<MessageClaim, "lanes">,
  ): { rows: LeasedRow[]; more: boolean } {
    this.#expire();
    const endsAt = this.#now() + leaseMs;
    const add = (place: PairPlace) => this.#leases.add({ ...place, lane: lane.lane }, endsAt);
    const claim = collect(lane, now, waiting, add);
    try {
      const more = lane.paused === true ? this.#addTimers(claim, claim.runMax) : this.#addDue(claim, waiting);
      return { rows: inOrderOfAcceptance(claim.found).map((one) => this.#read(one)), more };
    } catch (error) {
      this.release(claim.found.map((one) => one.lease));
      throw error;
    }
  }

  #read({ id, lease }: { id: string; lease: number }): LeasedRow {
    const [values = []] = allRows(this.#statements.message(), [id]) as SqlValue[][];
    return { values, lease };
  }

  #expire(): void {
    this.#putBack(this.#leases.expire(this.#now()));
  }

  #putBack(ended: readonly EndedLease[]): void {
    for (const place of ended) {
      const cursor = this.#cursors.get(place.lane);
      if (cursor !== undefined) this.#look(cursor, place);
    }
  }

  /** Makes a claim read a lookup, or a pair by its index, at this place: the cursor may have passed a due message. */
  #look(cursor: LaneCursor, { lane, dueAt, id, pair, isLookup }: DuePlace): void {
    const place = { dueAt, id, pair, isLookup };
    if (isLookup) cursor.lookups.set(id, place);
    else {
      const name = pairName(pair);
      const known = cursor.free.get(name) ?? cursor.behind.get(name);
      const first = known !== undefined && compare(known, place) < 0 ? known : place;
      const isBusy = this.#leases.isBusy(lane, pair);
      (isBusy ? cursor.free : cursor.behind).delete(name);
      (isBusy ? cursor.behind : cursor.free).set(name, first);
    }
    if (sizeOf(cursor) > PAIRS_MAX) this.#cursors.delete(lane);
  }

  #cursor(lane: string, now: number): LaneCursor {
    const known = this.#cursors.get(lane);
    // A cursor after `now` has moved before the clock was set back: messages before the cursor may not be due yet.
    if (known !== undefined && known.dueAt <= now) return known;
    if (this.#cursors.size >= LANES_MAX) this.#cursors.clear();
    const cursor = cursorAtFront();
    this.#cursors.set(lane, cursor);
    return cursor;
  }

  #addDue(claim: Collecting, waiting: readonly WaitingPair[]): boolean {
    const { lane, now, waiting: names } = claim;
    const hasMoreAwaited = waiting.length > 0 && this.#addAwaited(claim, waiting);
    const cursor = this.#cursor(lane.lane, now);
    const pairs = [...cursor.free.values()].filter(({ pair }) => !names.has(pairName(pair)));
    const free = [...cursor.lookups.values(), ...pairs].sort(compare).reverse();
    const more = this.#scan(claim, cursor, free);
    this.#addFree(claim, cursor, free);
    return more || free.length > 0 || hasMoreAwaited || claim.hasMore;
  }

  /** Adds lookups, and at most one other message of each waiting pair. Returns whether there may be more. */
  #addAwaited(claim: Collecting, pairs: readonly WaitingPair[]): boolean {
    const { lane, now, waiting, found, lease } = claim;
    const awaited = pairs.flatMap(({ except }) =>
      except.flatMap((id) => this.#statements.dueMessage().all(id, lane.lane, now)),
    ) as unknown as PlaceRow[];
    this.#rowsRead += awaited.length;
    for (const place of awaited.map(placeOf)) {
      const isWaiting = waiting.has(pairName(place.pair));
      if (found.length < lane.permits && isWaiting && this.#isFree(lane.lane, place)) lease(place);
    }
    return this.#addTimers(claim, 1, (name) => waiting.has(name));
  }

  /** Whether a message may be leased: a lookup if it is not leased, any other message if its pair is not busy. */
  #isFree(lane: string, { id, pair, isLookup }: PairPlace): boolean {
    return isLookup ? !this.#leases.has(id) : !this.#leases.isBusy(lane, pair);
  }

  /** Adds lookups, and runs of free pairs, up to a place. `free` has the oldest last. */
  #addFree(claim: Collecting, cursor: LaneCursor, free: PairPlace[], until?: Place): void {
    const { lane, found } = claim;
    for (let next = free.at(-1); next !== undefined && found.length < lane.permits; next = free.at(-1)) {
      if (until !== undefined && compare(next, until) > 0) return;
      free.pop();
      if (next.isLookup) this.#addLookup(claim, cursor, next);
      else {
        cursor.free.delete(pairName(next.pair));
        this.#addRun(claim, cursor, next);
      }
    }
  }

  /** Adds a lookup that the cursor has passed, if it is still due. It may have become a message to send. */
  #addLookup(claim: Collecting, cursor: LaneCursor, { id }: Place): void {
    const {
      lane: { lane },
      now,
      waiting,
      lease,
    } = claim;
    cursor.lookups.delete(id);
    if (this.#leases.has(id)) return;
    this.#rowsRead += 1;
    const row = this.#statements.dueMessage().get(id, lane, now) as unknown as PlaceRow | undefined;
    if (row === undefined) return;
    const place = placeOf(row);
    if (place.isLookup) lease(place);
    else if (waiting.has(pairName(place.pair))) this.#look(cursor, { ...place, lane });
    else this.#addRun(claim, cursor, place);
  }

  /** Adds a run of a pair, and the lookups up to its end. */
  #addRun(claim: Collecting, cursor: LaneCursor, place: PairPlace): void {
    const {
      lane: { lane, permits },
      now,
      runMax,
      found,
      lease,
    } = claim;
    const { pair } = place;
    const name = pairName(pair);
    if (this.#leases.isBusy(lane, pair)) {
      cursor.behind.set(name, place);
      return;
    }
    const limit = this.#leases.lookups(lane, pair) + permits - found.length + 1;
    const rows = this.#dueOfPair(lane, pair, now, limit);
    this.#rowsRead += 1;
    let run = 0;
    for (const next of rows) {
      this.#rowsRead += 1;
      const one = placeOf(next);
      if (this.#leases.has(one.id)) continue;
      if (found.length >= permits || (run >= runMax && !one.isLookup)) {
        (run > 0 ? cursor.behind : cursor.free).set(name, { ...one, isLookup: false });
        claim.hasMore ||= run === 0;
        return;
      }
      lease(one);
      if (!one.isLookup) run += 1;
    }
  }

  /** Returns due messages of a pair, in order. If the phone has two forms, first reads the rows of both. */
  #dueOfPair(lane: string, [from, to]: AddressPair, now: number, limit: number): Iterable<PlaceRow> {
    const due = this.#statements.dueOfPair();
    const forms = subscriberForms(to);
    if (forms.length === 1) return due.iterate(lane, from, to, now, limit) as unknown as Iterable<PlaceRow>;
    const rows = forms.flatMap((form) => due.all(lane, from, form, now, limit)) as unknown as PlaceRow[];
    return rows.sort((a, b) => compare(placeOf(a), placeOf(b))).slice(0, limit);
  }

  /** Moves the cursor on: adds messages after it and of free pairs, oldest first. Returns whether there may be more. */
  #scan(claim: Collecting, cursor: LaneCursor, free: PairPlace[]): boolean {
    const { lane, now, found } = claim;
    let left = lane.permits + ROWS_PASSED_MAX;
    const rows = this.#statements.messagesDueAfter().iterate(lane.lane, cursor.dueAt, cursor.id, now, left);
    for (const row of rows as unknown as Iterable<PlaceRow>) {
      const place = placeOf(row);
      this.#addFree(claim, cursor, free, place);
      if (found.length >= lane.permits) return true;
      left -= 1;
      this.#rowsRead += 1;
      cursor.dueAt = place.dueAt;
      cursor.id = place.id;
      this.#pass(claim, cursor, place);
    }
    if (left > 0) return false;
    this.#addPairs(claim, cursor);
    return true;
  }

  /** Adds runs of pairs that are not busy, in turn, from where the last claim ended. */
  #addPairs(claim: Collecting, cursor: LaneCursor): void {
    const {
      lane: { lane, permits },
      now,
      waiting,
      found,
    } = claim;
    for (let read = 0; read < STEPS_MAX && found.length < permits; read += 1) {
      this.#rowsRead += 1;
      const next = this.#statements.nextPair().get(lane, ...cursor.pair) as unknown as
        | [string, string, number]
        | undefined;
      if (next === undefined) {
        cursor.pair = FIRST_PAIR;
        return;
      }
      const [from, to, dueAt] = next;
      const pair: AddressPair = [from, to];
      cursor.pair = pair;
      if (dueAt > now || waiting.has(pairName(pair)) || this.#leases.isBusy(lane, pair)) continue;
      cursor.free.delete(pairName(pair));
      this.#addRun(claim, cursor, { id: "", dueAt, pair, isLookup: false });
    }
  }

  /** Moves past a message: leases it, or notes its pair for later. */
  #pass({ lane: { lane }, waiting, runs, runMax, lease }: Collecting, cursor: LaneCursor, place: PairPlace): void {
    const { id, pair, isLookup } = place;
    const name = pairName(pair);
    if (isLookup) {
      if (!this.#leases.has(id)) lease(place);
      return;
    }
    // A noted pair has older messages, which are claimed first.
    if (this.#leases.has(id) || cursor.free.has(name) || cursor.behind.has(name)) return;
    if (waiting.has(name)) {
      cursor.free.set(name, place);
      return;
    }
    const run = runs.get(name) ?? (this.#leases.isBusy(lane, pair) ? runMax : 0);
    if (run < runMax) {
      lease(place);
      runs.set(name, run + 1);
    } else cursor.behind.set(name, place);
  }

  /** Adds due lookups, and runs of other due timers, from where the last claim ended. Returns whether more may be left. */
  #addTimers(claim: Collecting, runMax: number, isWanted: (name: string) => boolean = () => true): boolean {
    const {
      lane: { lane, permits },
      now,
      runs,
      found,
      lease,
    } = claim;
    const walk = this.#walks.get(lane) ?? WALK_BEGINS;
    const before = found.length;
    const passed = new Set(walk.passed);
    const read: Place[] = [];
    for (const row of this.#statements
      .dueTimers()
      .iterate(lane, ...(walk.timers.last ?? FIRST_TIMER), now, STEPS_MAX)) {
      if (found.length >= permits) break;
      const place = placeOf(row as unknown as PlaceRow);
      const { pair } = place;
      const name = pairName(pair);
      read.push(place);
      if (!isWanted(name)) continue;
      if (place.isLookup) {
        if (!this.#leases.has(place.id)) lease(place);
        continue;
      }
      const run = runs.get(name) ?? (this.#leases.isBusy(lane, pair) ? runMax : 0);
      if (run >= runMax || passed.has(name)) {
        passed.add(name);
        continue;
      }
      lease(place);
      runs.set(name, run + 1);
    }
    this.#rowsRead += read.length;
    const last = read[STEPS_MAX - 1];
    const part = {
      pair: null,
      timer: last === undefined ? null : ([last.dueAt, last.id] as const),
      passed: [...passed],
    };
    const after = walkOn(walk, part, { leased: found.length - before, permits: permits - before });
    if (this.#walks.size >= LANES_MAX && !this.#walks.has(lane)) this.#walks.clear();
    this.#walks.set(lane, after.walk);
    return after.more;
  }
}
