/** The place of this process among the members of its database: which instances, lanes of deliveries and chores are its own. */

import type { InstanceId } from "../../core/id.ts";
import type { LeaseEpoch, Member } from "../../store/members.ts";

/** A report of the owner of an instance to the other members. */
export interface InstanceReport {
  isUp: boolean;
  /** When the peer last sent an event, in epoch milliseconds; null if there was none yet. */
  lastEventAt: number | null;
}

/**
 * The membership of this process. All answers are synchronous, and about leases by the monotonic clock of this
 * process: a lease that could not be renewed has ended here before another member can acquire it.
 */
export interface Membership {
  readonly member: Pick<Member, "id" | "role">;
  /** Whether this process is the only one that can use the database. */
  readonly isAlone: boolean;
  /** Whether this process is the owner of the instance: it may write to the instance's peer. */
  owns(instanceId: InstanceId): boolean;
  /**
   * The monotonic time since when this process is to connect the instance and to work on its lane; null if it is not. It stays the
   * owner for a while after it has begun to give the instance up. The leader works on the lanes of instances that are gone.
   */
  servesSince(instanceId: InstanceId): number | null;
  /** The lease of the instance that this process owns, to be required of a transaction; null if nobody else could own it. */
  epochOf(instanceId: InstanceId): LeaseEpoch | null;
  /** The live member that owns the instance; null if none does. */
  ownerOf(instanceId: InstanceId): Member | null;
  /** The report of another owner of the instance; null if there is none. */
  reportOf(instanceId: InstanceId): InstanceReport | null;
  /** Whether this process is the leader, which runs the chores of the whole database. */
  readonly isLeader: boolean;
  /** Whether this process may begin attempts of a lane of deliveries: it is the owner of the lane, and does not give it up. */
  ownsLane(lane: string): boolean;
  /** The live member that owns the lane; null if none does. */
  ownerOfLane(lane: string): Member | null;
  /** For how long some lanes have had no live owner, in milliseconds; 0 if each has one. */
  unownedLanesMs(): number;
  /**
   * Grows whenever this process acquires lanes, gives lanes up, or finds that it has lost lanes. Its knowledge of the
   * deliveries of these lanes is then out of date.
   */
  readonly lanesEpoch: number;
  /** The other live members, as of the last beat. */
  others(): readonly Member[];
  /**
   * Applies a change of instances. Resolves when the instances that this process is to serve run, as far as their
   * leases are free. Never throws.
   */
  refresh(): Promise<void>;
}

/** Whether any live process of the database sends messages and webhooks. */
export function hasWorker(membership: Pick<Membership, "member" | "others">): boolean {
  return membership.member.role !== "api" || membership.others().some(({ role }) => role !== "api");
}

const ALONE: Member = { id: "member_alone", role: "all", url: null };

/** The membership of a process that owns its database: it owns every lease, and writes nothing for it. */
export function soleMember(): Membership {
  return {
    member: ALONE,
    isAlone: true,
    owns: () => true,
    servesSince: () => Number.NEGATIVE_INFINITY,
    epochOf: () => null,
    ownerOf: () => ALONE,
    reportOf: () => null,
    isLeader: true,
    ownsLane: () => true,
    ownerOfLane: () => ALONE,
    unownedLanesMs: () => 0,
    lanesEpoch: 0,
    others: () => [],
    refresh: async () => {},
  };
}
