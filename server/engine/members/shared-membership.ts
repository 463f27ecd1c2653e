/** The membership of a process that shares its database: beats, acquires leases, and gives up those whose home has moved. */

import type { Clock, ClockShift } from "../../clock.ts";
import { ClockOffset, type Moment } from "../../core/clock-offset.ts";
import type { InstanceId } from "../../core/id.ts";
import { homeAmong } from "../../core/rendezvous.ts";
import { SHARDS, shardOf } from "../../core/shard.ts";
import {
  type LeaseEpoch,
  type Member,
  type MemberLease,
  type MembersAfterBeat,
  type WantedLease,
  workersOf,
} from "../../store/members.ts";
import type { Store } from "../../store/store.ts";
import type { Observer } from "../observer.ts";
import type { InstanceReport, Membership } from "./membership.ts";

/** How often a member beats, in real milliseconds. */
const BEAT_EVERY_MS = 5_000;
/** The time to the next beat after a failed beat, or while a lease moves to its home, in real milliseconds. */
const RETRY_MS = 1_000;
/** The delay of a beat on request, so that several requests share one beat, in real milliseconds. */
const SOON_MS = 100;
/** A member is dead if it did not beat for so long, in real milliseconds; longer after an outage of the database (`#deadAfterMs`). */
export const DEAD_AFTER_MS = 20_000;
/** Length of a lease in real milliseconds. A lifelong one ends with its member: `DEAD_AFTER_MS` after the last beat. */
const LEASE_MS = 30_000;
/** A holder stops using a lease this long before the lease ends, in real milliseconds. */
const MARGIN_MS = 5_000;

/** The lease of the chores of the whole database. */
const LEADER = "leader";

const shardLease = (shard: number) => `shard ${shard}`;

/** The shard of each lease of a shard of deliveries. */
const SHARD_OF = new Map(Array.from({ length: SHARDS }, (_, shard) => [shardLease(shard), shard] as const));
/** They are lifelong, since renewing so many would write all day. */
const SHARD_LEASES = [...SHARD_OF.keys()].map((lease): WantedLease => ({ lease, state: null, isLifelong: true }));

/** The engine, as it uses the leases of its process. */
export interface LeaseUse {
  /** Reads the instances, and returns the leases of all of them with what their owner tells the others. */
  leases(): Promise<readonly WantedLease[]>;
  /** The lease of an instance; null if there is no such instance. */
  leaseOf(instanceId: InstanceId): string | null;
  /**
   * Connects and disconnects instances so that those which this process serves run, and no others. Before it returns, the loop of deliveries
   * has given up what it knew of lanes that are others now. Never throws.
   */
  follow(): Promise<void>;
  /** Whether an instance of the lease still runs, or work on it has not ended. */
  isUsed(lease: string): boolean;
  /** Shards with attempts in flight that a new owner should wait for. */
  shardsInUse(): ReadonlySet<number>;
}

export interface SharedMembershipOptions {
  member: Pick<Member, "id" | "role">;
  /** The address at which other members reach this process; null if nobody can. */
  url: () => string | null;
  store: Pick<Store, "beat" | "leave">;
  clock: Clock;
  /** How far the clock of the database is ahead of the machine's: added to `clock`, so that all members agree on the time. */
  skew: ClockShift;
  fault: Observer["fault"];
}

/** A lease of this process. */
interface HeldLease {
  epoch: number;
  /** Its use ends then by either clock, unless it is renewed: the monotonic one may stand still while the machine sleeps. */
  until: Moment;
  /** Monotonic time. */
  since: number;
  /** Its home has moved: the instances are being disconnected. */
  isGivenUp: boolean;
}

export class SharedMembership implements Membership {
  readonly member: Pick<Member, "id" | "role">;
  readonly isAlone = false;
  readonly #options: SharedMembershipOptions;
  readonly #offset = new ClockOffset();
  readonly #held = new Map<string, HeldLease>();
  #lanesEpoch = 0;
  /** Since when some shard has had no live owner (monotonic time); null if each has one. */
  #unownedSince: number | null = null;
  /** The leases of other members. */
  #others = new Map<string, MemberLease>();
  #members: readonly Member[] = [];
  #otherMembers: readonly Member[] = [];
  /** Ids of the live members that take leases. */
  #workers: readonly string[] = [];
  #use: LeaseUse | null = null;
  #beating: Promise<void> = Promise.resolve();
  /** The requested refresh whose beat has not begun; null if there is none. */
  #refreshed: Promise<void> | null = null;
  #isFailing = false;
  /** When the last answered beat was asked for (monotonic time). */
  #answeredAt: number | null = null;
  /** The last time in which this process could not beat, in milliseconds, and until when the others get as much more (monotonic time). */
  #outage = { ms: 0, until: Number.NEGATIVE_INFINITY };
  /** When the member that was quiet for the longest at the last beat is dead, in milliseconds after that beat. */
  #nextDeadMs = BEAT_EVERY_MS;
  /** Whether each lease was with its home at the last beat, so that nobody waits for one. */
  #isSettled = true;
  #isRetired = false;
  #isStopped = false;
  #cancelBeat: () => void = () => {};
  #cancelEnd: () => void = () => {};

  constructor(options: SharedMembershipOptions) {
    this.#options = options;
    this.member = options.member;
  }

  /** Where other members reach this process, as it tells them; null if nobody can. */
  get url(): string | null {
    return this.#options.url();
  }

  /** Sets the clock by that of the database, before the first record is made. */
  async join(): Promise<void> {
    const { store, url } = this.#options;
    const asked = this.#moment();
    // It is not ready to take anything over.
    const member: Member = { ...this.member, role: "api", url: url() };
    const after = await store.beat({ member, leases: [], leaseMs: LEASE_MS, deadAfterMs: DEAD_AFTER_MS });
    this.#take(after, this.#setClock(after.now, asked));
  }

  /** Joins the members. Resolves when the instances run whose leases were free and whose home is this process. */
  async start(use: LeaseUse): Promise<void> {
    this.#use = use;
    // The first beat shows who is there: only then the homes are known.
    await this.#beat();
    await this.#beat();
    // Connecting may take long, and the others wait for this process from now on.
    this.#later(true);
    await use.follow();
  }

  /** Begins to give up the leases of this process. Resolves when all unused leases are free. `stop` follows. */
  async retire(): Promise<void> {
    this.#isRetired = true;
    await this.#beat();
  }

  /** Leaves the members, which frees the leases at once. Call this when nothing uses the leases any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelBeat();
    this.#cancelEnd();
    await this.#beating;
    this.#held.clear();
    try {
      await this.#options.store.leave(this.member.id);
    } catch (error) {
      // The leases end by themselves.
      this.#options.fault("shared-membership", error);
    }
  }

  owns(instanceId: InstanceId): boolean {
    const lease = this.#use?.leaseOf(instanceId) ?? null;
    return lease !== null && this.#holds(lease) !== null;
  }

  servesSince(instanceId: InstanceId): number | null {
    const held = this.#holds(this.#use?.leaseOf(instanceId) ?? LEADER);
    return held === null || held.isGivenUp ? null : held.since;
  }

  epochOf(instanceId: InstanceId): LeaseEpoch | null {
    const lease = this.#use?.leaseOf(instanceId) ?? LEADER;
    // No lease has epoch 0: a transaction that requires it changes nothing.
    return { lease, epoch: this.#held.get(lease)?.epoch ?? 0 };
  }

  ownerOf(instanceId: InstanceId): Member | null {
    return this.#ownerOf(this.#use?.leaseOf(instanceId) ?? LEADER);
  }

  #ownerOf(lease: string): Member | null {
    const owner = this.#holds(lease) === null ? this.#others.get(lease)?.owner : this.member.id;
    return this.#members.find(({ id }) => id === owner) ?? null;
  }

  reportOf(instanceId: InstanceId): InstanceReport | null {
    const lease = this.#use?.leaseOf(instanceId) ?? null;
    const state = lease === null ? null : (this.#others.get(lease)?.state ?? null);
    if (state === null) return null;
    const reports = JSON.parse(state) as Record<InstanceId, InstanceReport>;
    return reports[instanceId] ?? null;
  }

  get isLeader(): boolean {
    return this.#holds(LEADER) !== null;
  }

  ownsLane(lane: string): boolean {
    return this.#holds(shardLease(shardOf(lane)))?.isGivenUp === false;
  }

  ownerOfLane(lane: string): Member | null {
    return this.#ownerOf(shardLease(shardOf(lane)));
  }

  unownedLanesMs(): number {
    this.#noteUnowned();
    return this.#unownedSince === null ? 0 : this.#options.clock.monotonic() - this.#unownedSince;
  }

  #noteUnowned(): void {
    const isUnowned = SHARD_LEASES.some(({ lease }) => this.#ownerOf(lease) === null);
    this.#unownedSince = isUnowned ? (this.#unownedSince ?? this.#options.clock.monotonic()) : null;
  }

  get lanesEpoch(): number {
    return this.#lanesEpoch;
  }

  others(): readonly Member[] {
    return this.#otherMembers;
  }

  async refresh(): Promise<void> {
    if (this.#use === null || this.#isStopped) return;
    this.#refreshed ??= this.#refresh();
    await this.#refreshed;
  }

  async #refresh(): Promise<void> {
    await new Promise<void>((resolve) => this.#options.clock.after(SOON_MS, resolve));
    // The beat may not see what is changed from now on: a caller who has changed it needs a further one.
    this.#refreshed = null;
    if (await this.#beat()) await this.#use?.follow();
  }

  #holds(lease: string): HeldLease | null {
    const held = this.#held.get(lease);
    const { clock } = this.#options;
    const isOver = held === undefined || held.until.monotonic <= clock.monotonic() || held.until.real <= clock.real();
    return isOver ? null : held;
  }

  /** Plans the next beat. `isDone`: whether the database answered the last beat. */
  #later(isDone: boolean): void {
    this.#cancelBeat();
    if (this.#isStopped) return;
    const pauseMs = isDone && this.#isSettled ? Math.min(BEAT_EVERY_MS, this.#nextDeadMs) : RETRY_MS;
    this.#cancelBeat = this.#options.clock.after(pauseMs, () => {
      void this.#beat().then((isAnswered) => this.#later(isAnswered));
    });
  }

  /** Beats after the beat before. Returns whether the database answered. */
  async #beat(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = this.#beating;
    this.#beating = promise;
    await before;
    try {
      await this.#beatOnce();
      this.#isFailing = false;
      return true;
    } catch (error) {
      if (!this.#isFailing) this.#options.fault("shared-membership", error);
      this.#isFailing = true;
      return false;
    } finally {
      resolve();
    }
  }

  async #beatOnce(): Promise<void> {
    const { store, url } = this.#options;
    const use = this.#use;
    if (use === null || this.#isStopped) return;
    const all = [...(await use.leases()), { lease: LEADER, state: null }, ...SHARD_LEASES];
    this.#giveUpMoved(all, use);
    const inUse = use.shardsInUse();
    const isUsed = (lease: string) => {
      const shard = SHARD_OF.get(lease);
      return shard === undefined ? use.isUsed(lease) : inUse.has(shard);
    };
    const leases = all.filter(({ lease }) => this.#isAt(lease) || (this.#held.has(lease) && isUsed(lease)));
    const asked = this.#moment();
    // No member should wait for a retiring process to take a lease.
    const member: Member = { ...this.member, ...(this.#isRetired ? { role: "api" } : {}), url: url() };
    const deadAfterMs = this.#deadAfterMs(asked.monotonic);
    const after = await store.beat({ member, leases, leaseMs: LEASE_MS, deadAfterMs });
    this.#answeredAt = asked.monotonic;
    const hasMore = this.#take(after, this.#setClock(after.now, asked));
    this.#isSettled = all.every(({ lease }) => this.#isAtHome(lease));
    // Disconnecting may take longer than a lease lasts: a beat does not wait for it. Another beat tells the others what runs by now.
    void use.follow().then(() => (hasMore ? this.#beat() : true));
  }

  /**
   * The longest time since the last beat of a live member. If this process could not beat for a while, the others probably could not either,
   * as when the database was away, and get as much time more. Otherwise the first beat after an outage would end the leases of live members.
   */
  #deadAfterMs(now: number): number {
    const gapMs = this.#answeredAt === null ? 0 : now - this.#answeredAt;
    if (gapMs > 2 * BEAT_EVERY_MS) this.#outage = { ms: gapMs, until: now + DEAD_AFTER_MS };
    return DEAD_AFTER_MS + (now < this.#outage.until ? this.#outage.ms : 0);
  }

  #moment(): Moment {
    const { clock } = this.#options;
    return { real: clock.real(), monotonic: clock.monotonic() };
  }

  /** Sets the clock by that of the database. Returns when the beat was asked for, by the clock as it is now. */
  #setClock(now: number | null, asked: Moment): Moment {
    if (now === null) return asked;
    const correctionMs = this.#offset.correction({ now, asked, answered: this.#moment() });
    this.#options.skew.ms += correctionMs;
    return { ...asked, real: asked.real + correctionMs };
  }

  /** Whether this process is the home of a lease. */
  #isAt(lease: string): boolean {
    return !this.#isRetired && homeAmong(lease, this.#workers) === this.member.id;
  }

  /** Whether the holder of a lease is its home; also if there is no home, since no member takes leases. */
  #isAtHome(lease: string): boolean {
    const holder = this.#held.has(lease) ? this.member.id : this.#others.get(lease)?.owner;
    const home = homeAmong(lease, this.#workers);
    return home === null || home === holder;
  }

  /** Gives up the leases whose home has moved: nothing new begins under them, and a later beat releases those that are not used any more. */
  #giveUpMoved(all: readonly WantedLease[], use: LeaseUse): void {
    const moved = all.flatMap(({ lease }) => {
      const held = this.#held.get(lease);
      return held === undefined || held.isGivenUp || this.#isAt(lease) ? [] : [{ lease, held }];
    });
    if (moved.length === 0) return;
    for (const { held } of moved) held.isGivenUp = true;
    if (moved.some(({ lease }) => SHARD_OF.has(lease))) this.#lanesEpoch += 1;
    void use.follow().then(() => this.refresh());
  }

  /** Takes over what a beat found. Returns whether this process has acquired leases. */
  #take({ members, leases, nextDeadMs }: MembersAfterBeat, asked: Moment): boolean {
    let hasAcquired = false;
    // The beat that is to find a member dead comes just after that.
    this.#nextDeadMs = nextDeadMs === null ? BEAT_EVERY_MS : Math.max(0, nextDeadMs) + SOON_MS;
    this.#members = members;
    this.#otherMembers = members.filter(({ id }) => id !== this.member.id);
    const workers = workersOf(members);
    // The leases of a worker that is gone may now have this process as their home.
    if (this.#workers.some((id) => !workers.includes(id))) void this.refresh();
    this.#workers = workers;
    const own = new Map(leases.filter(({ owner }) => owner === this.member.id).map((one) => [one.lease, one]));
    let haveLanesChanged = false;
    for (const lease of this.#held.keys()) {
      if (own.has(lease)) continue;
      haveLanesChanged ||= SHARD_OF.has(lease) && this.#held.get(lease)?.isGivenUp === false;
      this.#held.delete(lease);
    }
    for (const [lease, { epoch }] of own) {
      const last = this.#held.get(lease);
      const isNew = last?.epoch !== epoch;
      const since = isNew ? this.#options.clock.monotonic() : last.since;
      const isGivenUp = !isNew && last.isGivenUp && !this.#isAt(lease);
      const usedMs = (SHARD_OF.has(lease) ? DEAD_AFTER_MS : LEASE_MS) - MARGIN_MS;
      const until = { monotonic: asked.monotonic + usedMs, real: asked.real + usedMs };
      this.#held.set(lease, { epoch, until, since, isGivenUp });
      if (SHARD_OF.has(lease)) haveLanesChanged ||= isNew || last.isGivenUp !== isGivenUp;
      else hasAcquired ||= isNew;
    }
    if (haveLanesChanged) this.#lanesEpoch += 1;
    this.#others = new Map(leases.filter(({ lease }) => !own.has(lease)).map((one) => [one.lease, one]));
    this.#noteUnowned();
    this.#watchEnd();
    return hasAcquired;
  }

  /** Calls `follow` when the first lease ends, also if the database has answered no beat. */
  #watchEnd(): void {
    this.#cancelEnd();
    const { clock } = this.#options;
    const now = clock.monotonic();
    const ends = [...this.#held.values()].map(({ until }) => until.monotonic).filter((until) => until > now);
    if (this.#isStopped || ends.length === 0) return;
    this.#cancelEnd = clock.after(Math.ceil(Math.min(...ends) - now), () => {
      void this.#use?.follow();
      // A timer may come a little early.
      this.#watchEnd();
    });
  }
}
