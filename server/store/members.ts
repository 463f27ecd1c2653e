/** The processes on one database and their leases, as a store keeps them. */

/** The role of a process: `api` answers requests, `worker` sends messages and webhooks, `all` does both. */
export type MemberRole = "all" | "api" | "worker";

/** A process on the database. */
export interface Member {
  /** New for each start. */
  id: string;
  role: MemberRole;
  /** Where other members reach it, without a slash at the end; null if nobody can. */
  url: string | null;
}

/** A lease with its epoch, which grows with each new owner. */
export interface LeaseEpoch {
  lease: string;
  epoch: number;
}

/** A lease that a member holds. `state`: text of its owner for the others. */
export interface MemberLease extends LeaseEpoch {
  owner: Member["id"];
  state: string | null;
}

/** A lease that a member wants. `isLifelong`: it lasts as long as the member, so that no beat has to write that it goes on. */
export interface WantedLease extends Pick<MemberLease, "lease" | "state"> {
  isLifelong?: true;
}

/**
 * A sign of life of a member. `leases` are all that it wants to hold: a free one becomes its own, its own are renewed for `leaseMs`
 * from now, and its own that are not named are free at once. A member that did not beat for `deadAfterMs` is removed, and its lifelong
 * leases are free at once. All times are by the clock of the database.
 */
export interface MemberBeat {
  member: Member;
  leases: readonly WantedLease[];
  leaseMs: number;
  deadAfterMs: number;
}

/** All live members and all leases that are held, after a beat. */
export interface MembersAfterBeat {
  /** The time of the database, in epoch milliseconds; null if its clock is that of the machine. */
  now: number | null;
  /** How long the member that was quiet for the longest may stay so until it is dead, in milliseconds; null: there is no other. */
  nextDeadMs: number | null;
  members: Member[];
  leases: MemberLease[];
}

/** The members that may be the home of an instance or a lane. */
export function workersOf(members: readonly Member[]): Member["id"][] {
  return members.filter(({ role }) => role !== "api").map(({ id }) => id);
}
