/** Makes this process a member of its database, if several processes may use it. */

import { randomBytes } from "node:crypto";
import type { Clock, ClockShift } from "../clock.ts";
import type { Config } from "../config.ts";
import type { InstanceId, Random } from "../core/id.ts";
import { hasWorker, type Membership } from "../engine/members/membership.ts";
import { SharedMembership } from "../engine/members/shared-membership.ts";
import type { Observer } from "../engine/observer.ts";
import { HopClient } from "../outgoing/hop.ts";
import type { Store } from "../store/store.ts";

/** A name for this start of the process; no other process ever has it. */
export function newMemberId(): string {
  return `member_${randomBytes(8).toString("hex")}`;
}

interface MemberParts {
  config: Config;
  /** The name by which the store leases messages and deliveries. */
  memberId: string;
  store: Store;
  clock: Clock;
  skew: ClockShift;
  fault: Observer["fault"];
  /** The address that this process listens on. */
  ownUrl: () => string;
}

/** The membership of this process on PostgreSQL; null with the embedded database, which only one process can open. */
export function joinMembers({ config, memberId: id, ownUrl, ...parts }: MemberParts): SharedMembership | null {
  if (config.databaseUrl === null) return null;
  const { role, memberUrl } = config;
  return new SharedMembership({ ...parts, member: { id, role }, url: () => memberUrl ?? ownUrl() });
}

/** Finds what other processes and readers of events lack in the settings of this one: a line each. `ownUrl`: where it listens. */
export function findGaps(config: Config, membership: Membership, ownUrl: string): string[] {
  if (membership.isAlone) return [];
  const gaps = hasWorker(membership) ? [] : [NO_WORKER];
  if (config.memberUrl === null && ALL_ADDRESSES.has(config.host))
    gaps.push(
      `TB_MEMBER_URL is not set: other processes are told to reach this one at ${ownUrl}, which works on this machine only`,
    );
  if (config.role === "worker" && config.publicUrl === null)
    gaps.push("TB_PUBLIC_URL is not set: links in events lead to this worker, which does not answer them");
  return gaps;
}

const NO_WORKER = "no process sends yet, so messages and webhooks wait: start one with TB_ROLE worker or all";
const ALL_ADDRESSES: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/** Passes requests on to the members that run their instances; null if there are no others. */
export function createHop(
  secretKey: Uint8Array,
  { clock, random }: { clock: Clock; random: Random },
  membership: Membership,
  shared: SharedMembership | null,
): HopClient | null {
  if (shared === null) return null;
  const urlOf = (instanceId: InstanceId) => {
    const owner = membership.ownerOf(instanceId);
    return owner === null || owner.id === membership.member.id ? null : owner.url;
  };
  return new HopClient({ secretKey, urlOf, ownUrl: () => shared.url, now: () => clock.real(), random });
}
