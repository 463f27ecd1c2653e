/** The queue of due messages as one member claims from it. */

import type { ClaimedMessageRows, LeasedRow } from "../jobs/jobs.ts";
import { LAYOUT, type SqlValue } from "../rows.ts";
import type { MessageClaim, MessageLane } from "../store.ts";
import {
  CLAIM_ROW_START,
  type ClaimRowStart,
  type ClaimTerms,
  claimFront,
  claimPairs,
  FIRST_PAIR,
  frontMax,
  PAIRS_READ_MAX,
  type WalkedLane,
} from "./claim-messages.ts";
import { releaseMessages } from "./message-leases.ts";
import { OwnMessageLeases } from "./own-message-leases.ts";
import type { Sql } from "./sql.ts";

/** Lanes whose walks are kept. A lost walk begins again. */
const LANES_MAX = 1_000;
/** Claims one after the other that walk through pairs and find nothing to lease. */
const IDLE_WALKS_MAX = 40;

/** The walk through the pairs of a lane, which goes on with each claim that needs it. */
interface PairWalk {
  after: typeof FIRST_PAIR;
  /** Claims since one leased a message. */
  idle: number;
}

/** The result of a claim in a lane. */
interface LaneClaim {
  /** Messages that it could lease, those beyond the permits included. */
  found: number;
  rowsRead: number;
  pairsRead: number;
  last: typeof FIRST_PAIR;
  rows: LeasedRow[];
}

const NOTHING: LaneClaim = { found: 0, rowsRead: 0, pairsRead: 0, last: FIRST_PAIR, rows: [] };

/** Index of a message's property in the values of its row. */
const indexOf = (name: string) => LAYOUT.messages.findIndex(({ property }) => property === name);
const [ID, FROM, TO] = ["id", "from", "to"].map(indexOf) as [number, number, number];

/** The queue as one member uses it. */
export class MessageQueue {
  readonly #owner: string;
  readonly #leases: OwnMessageLeases;
  readonly #walks = new Map<string, PairWalk>();
  readonly #failed: (error: unknown) => void;

  /** `owner` names the member in its leases. `now`: the monotonic clock. `failed` is called if a part of a claim failed that goes on. */
  constructor(owner: string, now: () => number, failed: (error: unknown) => void = () => {}) {
    this.#owner = owner;
    this.#leases = new OwnMessageLeases(now);
    this.#failed = failed;
  }

  /** The leases of this process. */
  known(): number[] {
    return this.#leases.known();
  }

  /** Ends leases, as `release` of a store promises. */
  async release(sql: Sql, leases: readonly number[]): Promise<void> {
    this.#leases.remove(leases);
    await releaseMessages(sql, this.#owner, leases);
  }

  /** Leases due messages of lanes, as `claimMessages` of a store promises. */
  async claim(sql: Sql, { lanes, now, leaseMs, waiting = [] }: MessageClaim): Promise<ClaimedMessageRows> {
    if (lanes.length === 0) return { rows: [], more: [] };
    const terms = { now, leaseMs, waiting };
    const fronts = await this.#run(sql, terms, lanes, claimFront);
    const full = lanes.flatMap((lane): WalkedLane[] => {
      const { rows, rowsRead } = fronts.get(lane.lane) ?? NOTHING;
      if (lane.paused === true || rowsRead < frontMax(lanes) || rows.length >= lane.permits) return [];
      return [{ ...lane, permits: lane.permits - rows.length, after: this.#walk(lane.lane).after }];
    });
    const walked = await this.#walkPairs(sql, terms, full, fronts);
    const more = lanes.filter((lane) => {
      const walk = full.find((one) => one.lane === lane.lane);
      if (walk !== undefined) return this.#endWalk(walk, walked.get(lane.lane) ?? NOTHING);
      const { found, rows, rowsRead } = fronts.get(lane.lane) ?? NOTHING;
      return rows.length >= lane.permits && (found > lane.permits || rowsRead === frontMax(lanes));
    });
    const rowsOf = ({ lane }: MessageLane) =>
      [fronts, walked].flatMap((claimed) => inOrderOfAcceptance((claimed.get(lane) ?? NOTHING).rows));
    const rows = lanes.flatMap(rowsOf);
    this.#leases.add(
      rows.map(({ lease }) => lease),
      leaseMs,
    );
    return { rows, more: more.map(({ lane }) => lane) };
  }

  /** Walks through the pairs of lanes. A failure is thrown only if no message was claimed before: those would stay leased. */
  async #walkPairs(
    sql: Sql,
    terms: Pick<ClaimTerms, "now" | "leaseMs" | "waiting">,
    lanes: readonly WalkedLane[],
    fronts: ReadonlyMap<string, LaneClaim>,
  ): Promise<Map<string, LaneClaim>> {
    try {
      return lanes.length === 0 ? new Map() : await this.#run(sql, terms, lanes, claimPairs);
    } catch (error) {
      if (![...fronts.values()].some(({ rows }) => rows.length > 0)) throw error;
      this.#failed(error);
      return new Map();
    }
  }

  async #run<Lane extends MessageLane>(
    sql: Sql,
    terms: Pick<ClaimTerms, "now" | "leaseMs" | "waiting">,
    lanes: readonly Lane[],
    statements: (lanes: readonly Lane[], terms: ClaimTerms) => string[],
  ): Promise<Map<string, LaneClaim>> {
    const permits = lanes.reduce((sum, lane) => sum + lane.permits, 0);
    const firstLease = await this.#leases.take(sql, permits);
    const rows = await sql.script(statements(lanes, { ...terms, owner: this.#owner, firstLease }));
    return new Map([...Map.groupBy(rows, ([lane]) => String(lane))].map(([lane, each]) => [lane, laneClaimOf(each)]));
  }

  #walk(lane: string): PairWalk {
    const known = this.#walks.get(lane);
    if (known !== undefined) return known;
    if (this.#walks.size >= LANES_MAX) this.#walks.clear();
    const walk = { after: FIRST_PAIR, idle: 0 };
    this.#walks.set(lane, walk);
    return walk;
  }

  /** Keeps how far a walk has come. Returns whether the next claim may find more in the lane. */
  #endWalk({ lane, permits, after }: WalkedLane, { rows, pairsRead, last }: LaneClaim): boolean {
    const isOver = pairsRead < PAIRS_READ_MAX;
    const idle = rows.length > 0 ? 0 : this.#walk(lane).idle + 1;
    const mayGoOn = rows.length >= permits || (idle < IDLE_WALKS_MAX && (!isOver || after !== FIRST_PAIR));
    this.#walks.set(lane, { after: isOver ? FIRST_PAIR : last, idle: mayGoOn ? idle : 0 });
    return mayGoOn;
  }
}

function laneClaimOf(rows: readonly SqlValue[][]): LaneClaim {
  const [, found, rowsRead, pairsRead, lastFrom, lastTo] = (rows[0] ?? []) as unknown as ClaimRowStart;
  return {
    found,
    rowsRead,
    pairsRead,
    last: [lastFrom, lastTo],
    rows: rows.flatMap((row) => {
      const lease = row[CLAIM_ROW_START - 1];
      const values = row.slice(CLAIM_ROW_START);
      return typeof lease === "number" && values[ID] !== null ? [{ values, lease }] : [];
    }),
  };
}

/** Leased messages with those of each pair in the order of acceptance, which is the order of ids. */
function inOrderOfAcceptance(rows: readonly LeasedRow[]): LeasedRow[] {
  const pairOf = ({ values }: LeasedRow) => `${values[FROM]} ${values[TO]}`;
  const runs = Map.groupBy(
    rows.toSorted((a, b) => (String(a.values[ID]) < String(b.values[ID]) ? -1 : 1)),
    pairOf,
  );
  return rows.map((row) => runs.get(pairOf(row))?.shift() ?? row);
}
