/** Keeps members and their leases in memory: one process owns the database, so they need not outlive the process. */

import type { LeaseEpoch, Member, MemberBeat, MemberLease, MembersAfterBeat } from "../members.ts";

interface LeaseInMemory extends MemberLease {
  /** Monotonic time. */
  until: number;
}

export class MemberLeases {
  readonly #now: () => number;
  readonly #members = new Map<Member["id"], { member: Member; beatAt: number }>();
  /** By name. Ended leases stay, so that their epochs are never used again. */
  readonly #leases = new Map<string, LeaseInMemory>();

  /** `now`: the monotonic clock, by which leases end. */
  constructor(now: () => number) {
    this.#now = now;
  }

  beat({ member, leases, leaseMs, deadAfterMs }: MemberBeat): MembersAfterBeat {
    const now = this.#now();
    this.#members.set(member.id, { member, beatAt: now });
    for (const [id, { beatAt }] of this.#members) if (beatAt < now - deadAfterMs) this.#members.delete(id);
    const wanted = new Set(leases.map(({ lease }) => lease));
    for (const held of this.#leases.values()) {
      const isReleased = held.owner === member.id && !wanted.has(held.lease);
      const isOfDead = held.until === Number.POSITIVE_INFINITY && !this.#members.has(held.owner);
      if (isReleased || isOfDead) held.until = Number.NEGATIVE_INFINITY;
    }
    for (const { lease, state, isLifelong } of leases) {
      const last = this.#leases.get(lease);
      const isHeld = last !== undefined && last.until > now;
      if (isHeld && last.owner !== member.id) continue;
      const epoch = (last?.epoch ?? 0) + (isHeld ? 0 : 1);
      const until = isLifelong === true ? Number.POSITIVE_INFINITY : now + leaseMs;
      this.#leases.set(lease, { lease, owner: member.id, epoch, state, until });
    }
    const held = [...this.#leases.values()].filter(({ until }) => until > now);
    const beats = [...this.#members].flatMap(([id, { beatAt }]) => (id === member.id ? [] : [beatAt]));
    return {
      now: null,
      nextDeadMs: beats.length === 0 ? null : Math.min(...beats) + deadAfterMs - now,
      members: [...this.#members.values()].map((one) => one.member),
      leases: held.map(({ lease, owner, epoch, state: its }) => ({ lease, owner, epoch, state: its })),
    };
  }

  leave(id: Member["id"]): void {
    this.#members.delete(id);
    for (const held of this.#leases.values()) if (held.owner === id) held.until = Number.NEGATIVE_INFINITY;
  }

  /** Whether the lease still has this epoch: nobody has acquired it since. */
  has({ lease, epoch }: LeaseEpoch): boolean {
    return this.#leases.get(lease)?.epoch === epoch;
  }
}
