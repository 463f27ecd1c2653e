/**
 * The queue of due messages, as one member claims from it. A claim leases at the front of a lane. If permits are left,
 * it leases behind the front, where each claim goes on at the place at which the one before ended (`claim-walk.ts`).
 */

import { phoneKey } from "../../core/phone-forms.ts";
import { type ClaimWalk, WALK_BEGINS, type WalkedPart, walkOn } from "../claim-walk.ts";
import type { ClaimedMessageRows, LeasedRow } from "../jobs/jobs.ts";
import { LAYOUT, type SqlValue } from "../rows.ts";
import type { MessageClaim, MessageLane } from "../store.ts";
import {
  CLAIM_ROW_START,
  type ClaimRowStart,
  type ClaimStatements,
  claimBehind,
  claimFront,
  type FrontRead,
  type LookedLane,
  type WalkedLane,
} from "./claim-messages.ts";
import type { ClaimTerms, LeasedMessages } from "./claim-terms.ts";
import { type LaneFloor, LaneFloors, OLDEST } from "./lane-floors.ts";
import { releaseMessages } from "./message-leases.ts";
import { OwnMessageLeases } from "./own-message-leases.ts";
import type { WriterConnections } from "./writer-connections.ts";

/** Lanes whose walks are kept. If a walk is lost, it begins again. */
const LANES_MAX = 1_000;

/** Messages that a statement leased in a lane, and how far it read there; null if it read nothing. */
interface LaneClaim<Read> {
  rows: LeasedRow[];
  read: Read | null;
}

const NOTHING = { rows: [], read: null };

/** The floor of a lane of messages. `leased`: the leased messages that the last claim from the start found; null if they were many. */
interface MessageFloor extends LaneFloor {
  leased: LeasedMessages | null;
}

type QueueConnections = Pick<WriterConnections, "run" | "alone">;

type Terms = Pick<ClaimTerms, "now" | "leaseMs" | "waiting" | "leased">;

/** Index of a message's property in the values of its row. */
const indexOf = (name: string) => LAYOUT.messages.findIndex(({ property }) => property === name);
const [ID, FROM, TO] = ["id", "from", "to"].map(indexOf) as [number, number, number];

export class MessageQueue {
  readonly #owner: string;
  readonly #leases: OwnMessageLeases;
  readonly #now: () => number;
  readonly #failed: (error: unknown) => void;
  readonly #floors = new LaneFloors<MessageFloor>();
  /** The walks of lanes. */
  readonly #walks = new Map<string, ClaimWalk>();

  /**
   * `owner` names the member in its leases. `now`: the monotonic clock.
   * `failed` is called if a part of a claim failed, and the claim goes on.
   */
  constructor(owner: string, now: () => number, failed: (error: unknown) => void = () => {}) {
    this.#owner = owner;
    this.#leases = new OwnMessageLeases(now);
    this.#now = now;
    this.#failed = failed;
  }

  /** The leases of this process. */
  known(): number[] {
    return this.#leases.known();
  }

  /** Ends leases, as `release` of a store promises. */
  async release(connections: QueueConnections, leases: readonly number[]): Promise<void> {
    const ids = this.#leases.remove(leases);
    await releaseMessages(connections, this.#owner, leases, ids);
  }

  /** Nobody uses these leases of this process any more. `known` does not return them, but the database may still have them. */
  remove(leases: readonly number[]): void {
    this.#leases.remove(leases);
  }

  /** The next claim of each lane looks from its start. */
  forgetFloors(): void {
    this.#floors.forget();
  }

  /** Leases due messages of lanes, as `claimMessages` of a store promises. */
  async claim(
    connections: QueueConnections,
    { lanes, now, leaseMs, waiting = [] }: MessageClaim,
  ): Promise<ClaimedMessageRows> {
    if (lanes.length === 0) return { rows: [], more: [] };
    // A claim from the start ends expired leases.
    if (this.#leases.takeExpired()) this.#floors.forget();
    const terms = { now, leaseMs, waiting, leased: leasedOf(lanes.map(({ lane }) => this.#floors.of(lane))) };
    const fronts = await this.#leaseFronts(connections, lanes, terms);
    const walked = lanes.flatMap((lane): WalkedLane[] => {
      const { rows, read } = fronts.get(lane.lane) ?? NOTHING;
      const permits = lane.permits - rows.length;
      if (read?.isCut !== true || permits <= 0) return [];
      const walk = this.#walks.get(lane.lane) ?? WALK_BEGINS;
      return [{ ...lane, permits, walk, floor: this.#floors.of(lane.lane) }];
    });
    const behind = await this.#leaseBehind(connections, walked, terms, fronts);
    const more = lanes.filter((lane) => {
      const walk = walked.find((one) => one.lane === lane.lane);
      if (walk !== undefined) return this.#goOn(walk, behind.get(lane.lane) ?? NOTHING);
      const { rows, read } = fronts.get(lane.lane) ?? NOTHING;
      return read !== null && rows.length >= lane.permits && (read.isCut || read.found > lane.permits);
    });
    const rows = lanes.flatMap(({ lane }) =>
      [fronts, behind].flatMap((claims) => inOrderOfAcceptance((claims.get(lane) ?? NOTHING).rows)),
    );
    this.#leases.add(
      rows.map(({ lease, values }) => ({ lease, id: String(values[ID]) })),
      leaseMs,
    );
    return { rows, more: more.map(({ lane }) => lane) };
  }

  /** Leases at the fronts of lanes, and keeps where the next claims begin. */
  async #leaseFronts(
    connections: QueueConnections,
    lanes: readonly MessageLane[],
    terms: Terms,
  ): Promise<Map<string, LaneClaim<FrontRead>>> {
    const startedAt = this.#now();
    const looked = lanes.map(
      (lane): LookedLane => ({
        ...lane,
        floor: this.#floors.isFullDue(lane.lane, startedAt) ? null : this.#floors.of(lane.lane),
      }),
    );
    const fronts = await this.#lease<LookedLane, FrontRead>(connections, looked, claimFront, terms);
    if (looked.some(({ floor }) => floor === null)) this.#floors.fullEnded(startedAt, this.#now());
    for (const { lane, paused, floor } of looked) {
      const { read } = fronts.get(lane) ?? NOTHING;
      if (read === null) continue;
      const { dueAt, since, leased } = read;
      const isFull = floor === null;
      const listed = isFull ? leased && { since, ids: leased } : (this.#floors.of(lane)?.leased ?? null);
      // A claim of a paused lane reads only its timers.
      const found = paused === true ? (floor ?? { dueAt: OLDEST, since }) : { dueAt: dueAt ?? terms.now, since };
      this.#floors.keep(lane, { ...found, leased: listed }, isFull ? startedAt : null);
    }
    return fronts;
  }

  /** Leases behind the fronts of lanes. Throws a failure only if nothing was leased at the fronts: those leases would be lost with it. */
  async #leaseBehind(
    connections: QueueConnections,
    lanes: readonly WalkedLane[],
    terms: Terms,
    fronts: ReadonlyMap<string, LaneClaim<FrontRead>>,
  ): Promise<Map<string, LaneClaim<WalkedPart>>> {
    if (lanes.length === 0) return new Map();
    try {
      return await this.#lease<WalkedLane, WalkedPart>(connections, lanes, claimBehind, terms);
    } catch (error) {
      if ([...fronts.values()].every(({ rows }) => rows.length === 0)) throw error;
      this.#failed(error);
      return new Map();
    }
  }

  async #lease<Lane extends LookedLane, Read>(
    connections: QueueConnections,
    lanes: readonly Lane[],
    statements: (lanes: readonly Lane[], terms: ClaimTerms) => ClaimStatements,
    terms: Terms,
  ): Promise<Map<string, LaneClaim<Read>>> {
    const permits = lanes.reduce((sum, lane) => sum + lane.permits, 0);
    const firstLease = await this.#leases.take(connections, permits);
    const { before, claim } = statements(lanes, { ...terms, owner: this.#owner, firstLease });
    const rows = await connections.alone(before, claim);
    const byLane = Map.groupBy(rows, ([lane]) => String(lane));
    return new Map([...byLane].map(([lane, each]) => [lane, laneClaimOf<Read>(each)]));
  }

  /** Keeps how far the walk of a lane has come. Returns whether the next claim may find more there. */
  #goOn({ lane, permits, walk: before }: WalkedLane, { rows, read }: LaneClaim<WalkedPart>): boolean {
    if (read === null) return false;
    const { walk, more } = walkOn(before, read, { leased: rows.length, permits });
    if (this.#walks.size >= LANES_MAX && !this.#walks.has(lane)) this.#walks.clear();
    this.#walks.set(lane, walk);
    return more;
  }
}

/** The leased messages of several lanes; null if those of a lane are not known. */
function leasedOf(floors: readonly (MessageFloor | null)[]): LeasedMessages | null {
  const known = floors.flatMap((floor) => (floor?.leased ? [floor.leased] : []));
  const [first, ...others] = known.map(({ since }) => BigInt(since));
  if (first === undefined || known.length < floors.length) return null;
  const since = others.reduce((least, one) => (one < least ? one : least), first);
  return { since: String(since), ids: known.flatMap(({ ids }) => ids) };
}

function laneClaimOf<Read>(rows: readonly SqlValue[][]): LaneClaim<Read> {
  const [, read] = (rows[0] ?? []) as unknown as ClaimRowStart<Read>;
  return {
    read,
    rows: rows.flatMap((row) => {
      const lease = row[CLAIM_ROW_START - 1];
      const values = row.slice(CLAIM_ROW_START);
      return typeof lease === "number" && values[ID] !== null ? [{ values, lease }] : [];
    }),
  };
}

/** Leased messages, in which those of each pair are in the order of acceptance, which is the order of ids. */
function inOrderOfAcceptance(rows: readonly LeasedRow[]): LeasedRow[] {
  const pairOf = ({ values }: LeasedRow) => `${values[FROM]} ${phoneKey(String(values[TO]))}`;
  const runs = Map.groupBy(
    rows.toSorted((a, b) => (String(a.values[ID]) < String(b.values[ID]) ? -1 : 1)),
    pairOf,
  );
  return rows.map((row) => runs.get(pairOf(row))?.shift() ?? row);
}
