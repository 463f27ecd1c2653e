/** The members of a database and their leases, as a store keeps them. */

/** The role of a process: `api` answers requests, `worker` sends messages and webhooks, `all` does both. */
export type MemberRole = "all" | "api" | "worker";

/** A process on the database. */
export interface Member {
  /** New for each start. */
  id: string;
  role: MemberRole;
  /** The URL at which other members reach this member, without a slash at the end; null if they cannot. */
  url: string | null;
}

/** A lease with its epoch, which grows with each new owner. */
export interface LeaseEpoch {
  lease: string;
  epoch: number;
}

/** A lease that a member holds. `state`: a text by which the owner tells the other members something. */
export interface MemberLease extends LeaseEpoch {
  owner: Member["id"];
  state: string | null;
}

/**
 * A lease that a member wants. `isLifelong`: the lease lasts as long as the member, so that no beat has to renew it on
 * disk.
 */
export interface WantedLease extends Pick<MemberLease, "lease" | "state"> {
  isLifelong?: true;
}

/**
 * A member's report that it lives. `leases` names all leases that the member wants. The member gets those that are
 * free, keeps its own for `leaseMs` from now, and loses its other leases at once. The beat removes each member that did
 * not beat for `deadAfterMs`, and frees its lifelong leases at once. The clock of the database measures all times.
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
  /** Milliseconds until the first of the other members is dead, unless it beats; null: there is no other member. */
  nextDeadMs: number | null;
  members: Member[];
  leases: MemberLease[];
}

/** The members that may be the home of an instance or a lane. */
export function workersOf(members: readonly Member[]): Member["id"][] {
  return members.filter(({ role }) => role !== "api").map(({ id }) => id);
}
