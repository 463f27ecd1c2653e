/** The terms of a claim of messages as SQL: which rows of the queue it may lease. */

import { phoneKey } from "../../core/phone-forms.ts";
import type { WaitingPair } from "../store.ts";
import type { StatementParameters } from "./sql.ts";

/** The leased messages that a claim found in lanes. Messages that were leased since then have a later `changed_in`. */
export interface LeasedMessages {
  since: string;
  ids: readonly string[];
}

/** The terms of a claim of messages. */
export interface ClaimTerms {
  now: number;
  leaseMs: number;
  waiting: readonly WaitingPair[];
  /** The member that gets the leases. */
  owner: string;
  /** The token of the first lease; the other leases get the tokens that follow. */
  firstLease: number;
  /** The messages that may still be leased in the lanes, except those leased later; null: not known. */
  leased: LeasedMessages | null;
}

/** The terms of a claim as SQL. */
export interface BoundTerms {
  now: string;
  leaseMs: string;
  owner: string;
  firstLease: string;
  /** The waiting pairs; null if no pair waits. */
  waiting: { from: string; to: string } | null;
  /** Ids of the messages that may still be leased, except those leased since. */
  held: string;
  since: string | null;
}

/** Binds the terms of a claim as parameters of its statement. */
export function bind(
  given: StatementParameters,
  { now, leaseMs, owner, firstLease, waiting, leased }: ClaimTerms,
): BoundTerms {
  const texts = (values: readonly string[]) => `${given.add([...values])}::text[]`;
  return {
    now: `${given.add(now)}::bigint`,
    leaseMs: `${given.add(leaseMs)}::bigint`,
    owner: `${given.add(owner)}::text`,
    firstLease: `${given.add(firstLease)}::bigint`,
    waiting:
      waiting.length === 0
        ? null
        : { from: texts(waiting.map(({ from }) => from)), to: texts(waiting.map(({ to }) => phoneKey(to))) },
    held: texts(leased?.ids ?? []),
    since: leased === null ? null : `${given.add(leased.since)}::xid8`,
  };
}

/** SQL for whether a message is due and not leased, for a query that finds messages by the order of a lane or a pair. */
export const isDueAt = (now: string) => `lease is null and due_at <= ${now}`;

/**
 * SQL for whether a message is due and not leased, for a query that finds messages by id. It asks for the
 * owner, which only leased rows have, so that the planner reads no index of the rows that are not leased.
 */
export const isDueById = (now: string) => `owner is null and due_at <= ${now}`;

/**
 * SQL for whether a row of the queue is a lookup: its outcome is unknown, and no send attempt of it is on disk. Lookups
 * neither wait for the order of their pair nor hold it up. The SQL reads the message only if the row is not `queued`.
 */
export function isLookup(row: string): string {
  return `(${row}.is_queued = 0 and ${row}.is_held = 0
    and coalesce((select true from messages m where m.id = ${row}.id and m.is_unknown = 1 limit 1), false))`;
}

/** The CTEs `waiting`, the waiting pairs, and `held`, the pairs of leased messages that other messages wait for. */
export function given({ waiting, held }: BoundTerms): string {
  const pairs = `held as materialized (select lane, "from", "to" from due_messages d
    where id = any(${held}) and owner is not null and not ${isLookup("d")}),`;
  return waiting === null
    ? pairs
    : `waiting as materialized (select * from unnest(${waiting.from}, ${waiting.to}) waiting ("from", "to")), ${pairs}`;
}

/** SQL for whether no message that holds up the pair of a row is leased: none of `held`, and none that was leased since. */
export function isFree({ since }: BoundTerms, row: string): string {
  const later = since === null ? "" : `and b.changed_in >= ${since}`;
  return `((select true from due_messages b where b.lane = ${row}.lane and b."from" = ${row}."from"
    and b."to" = ${row}."to" and b.lease is not null ${later} and not ${isLookup("b")} limit 1) is null
    and (${row}.lane, ${row}."from", ${row}."to") not in (select lane, "from", "to" from held))`;
}

/** SQL for whether the pair of a row is no waiting pair. */
export function isNotWaiting(waiting: BoundTerms["waiting"], row: string): string {
  return waiting === null ? "true" : `(${row}."from", ${row}."to") not in (select "from", "to" from waiting)`;
}
