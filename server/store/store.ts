/** The contract of a store: units of work in, answers after they are on disk; claims of due work; reads beside them. */

import type { Kysely } from "kysely";
import type { Customer } from "../core/customer.ts";
import type { Delivery } from "../core/delivery.ts";
import type { Event } from "../core/event.ts";
import type { CustomerId, EndpointId, EventId, MessageId } from "../core/id.ts";
import type { Message } from "../core/message.ts";
import type { UsageHour } from "../core/usage.ts";
import type { Endpoint } from "../core/webhook.ts";
import type { Database, UnreadableRow } from "./rows.ts";
import type { Records, TableName } from "./schema.ts";

/** Tables whose records carry a `version`, and change only from the version that was decided on. */
export type Versioned =
  | "customers"
  | "keys"
  | "messages"
  | "endpoints"
  | "deliveries"
  | "instances"
  | "chats"
  | "contacts"
  | "payments"
  | "calls";

type InsertInto<Name extends TableName> = { op: "insert" | "insertUnique" | "put"; table: Name; record: Records[Name] };
type UpdateOf<Name extends Versioned> = {
  op: "update";
  table: Name;
  id: string;
  version: number;
  set: Partial<Records[Name]>;
};
type DeleteFrom<Name extends TableName> = { op: "delete"; table: Name; where: Partial<Records[Name]> };

/**
 * One step of a unit. `insert`: a new record. `once`: a new record that must be the first with its key, else the
 * unit is `taken`. `put`: a record, in place of the one with its key. `update`: only from `version`, which grows by
 * one, else the unit is `stale`. `delete`: whatever matches. `event`: an event and, made in the commit, its deliveries. `rewrite`: an event whose text had to be erased, and with it what receivers answered to it.
 */
export type Operation =
  | { [Name in TableName]: InsertInto<Name> }[TableName]
  | { [Name in Versioned]: UpdateOf<Name> }[Versioned]
  | { [Name in TableName]: DeleteFrom<Name> }[TableName]
  | { op: "event"; event: Event; callbackUrl: string | null }
  | { op: "rewrite"; eventId: EventId; bytes: string };

/** What changes together or not at all. It is data, so it can be sent to a thread, repeated, and compared. */
export type Transaction = readonly Operation[];

/**
 * Answered only once the unit is on disk. `stale`: a record had changed, decide again from fresh ones. `taken`: a
 * `once` record was there already. Nothing of a refused unit is kept. `lanes`: where deliveries became due.
 */
export type CommitResult = { result: "ok"; lanes: string[] } | { result: "conflict" } | { result: "duplicate" };

/** The queues that loops drain. */
export type Queue = "messages" | "deliveries";

/**
 * At most `permits` records of each lane; of one that is held (messages only) nothing that waits in `queued`. `now` is
 * shifted time, `until` the end of the lease in real time. Of a pair that waits (messages only) nothing is taken that is
 * `queued`, except the messages named: what follows them keeps its place behind them.
 */
export interface Claim {
  lanes: readonly { lane: string; permits: number; paused?: boolean }[];
  now: number;
  until: number;
  waiting?: readonly WaitingPair[];
}

/** A sender and recipient of which only some messages may be claimed. */
export interface WaitingPair {
  from: string;
  to: string;
  except: readonly MessageId[];
}

/** A delivery with all that one attempt of it needs, read in the claim. */
export interface ClaimedDelivery {
  delivery: Delivery;
  /** When it became due: `delivery.dueAt` is null now. */
  dueAt: number;
  /** The event's envelope, and its correlation id. */
  bytes: string;
  correlationId: string;
  /** Null for a `callbackUrl`, and for an endpoint that is gone. */
  endpoint: Endpoint | null;
  /** The secrets of its customer; null where they cannot be decoded, or the customer is gone. */
  customer: Signer | null;
}

/** What of a customer signs. */
export type Signer = Pick<Customer, "id" | "secret" | "previousSecret" | "previousSecretUntil">;

/** Names a row: its table, and the values of its key (`UnreadableRow`). */
export interface RowKey {
  table: TableName;
  id: string;
}

/** What a look at rows in quarantine came to: those that left it, and where the next look begins; null: at the first. */
export interface RecheckResult {
  mended: RowKey[];
  next: RowKey | null;
}

/** The write could not be made and changed nothing: no room on the disk. It may work later. */
export class StoreFull extends Error {}

/** What an engine counts of one group commit. */
export type CommitObserver = (group: { units: number; durationMs: number }) => void;

export interface Store {
  /** Reads of one record or a few, beside the writer: they see what was committed when they began. Lists are read by `lists`. */
  readonly db: Kysely<Database>;
  /**
   * Reads for lists in the name of `owner` (a customer id, or `admin`), by readers that `db` never waits behind. Owners
   * have turns, statement by statement, and one alone never holds every reader. When `gone` is aborted, no further
   * statement begins: reads reject with its reason.
   */
  lists(owner: string, gone?: AbortSignal): Kysely<Database>;
  /** Commits a unit. Throws `StoreFull` when there is no room. */
  commit(unit: Transaction): Promise<CommitResult>;
  /**
   * Leases due messages of the lanes named, oldest due first. Of one sender and recipient it takes a run of a few in
   * order of acceptance, and none while one of them is leased: whoever has the run sends it one after the other.
   */
  claimMessages(claim: Claim): Promise<Message[]>;
  /**
   * Leases due deliveries of the lanes named, in order of due time and then of insertion. One waits while an earlier event
   * of its message, inserted before it, has not ended its first attempt there.
   */
  claimDeliveries(claim: Claim): Promise<ClaimedDelivery[]>;
  /** Lanes of a queue with something due at `now` (shifted time), and since when. */
  dueLanes(queue: Queue, now: number): Promise<{ lane: string; dueAt: number }[]>;
  /**
   * Ends leases that ran out before `until` (real time; Infinity: all, at start): their records are due at `now`, a
   * `queued` message since its last change and a delivery without an attempt since it was made, so that they keep their
   * place. A message whose hand-over was recorded stays `pending`: its outcome is unknown.
   */
  releaseLeases(until: number, now: number): Promise<number>;
  /**
   * Cancels up to `limit` pending deliveries, not in flight, of an endpoint that is paused or gone. Answers how many:
   * none when it is active.
   */
  cancelDeliveries(endpointId: EndpointId, limit: number): Promise<number>;
  /**
   * Removes up to `limit` events older than `before` (real time) with their deliveries and attempts, and as many
   * idempotency keys, arrivals and files. An event with an open delivery stays, and a file as long as an event of its
   * message does, or the message waits to be sent. Answers how many went.
   */
  prune(before: number, limit: number): Promise<number>;
  /**
   * Removes up to `limit` records of each kind of what a customer sent, heard and knows: messages with their files and
   * hand-overs, chats, contacts, opt-outs, payments, calls, events, deliveries, attempts, idempotency keys. Keys, numbers,
   * endpoints and usage stay. Answers how many went: none when nothing is left.
   */
  reset(customerId: CustomerId, limit: number): Promise<number>;
  /** Adds counters to the hours they name. */
  addUsage(hours: readonly UsageHour[]): Promise<void>;
  /**
   * Puts a row that cannot be decoded into quarantine, in a commit of its own, behind the answer. Claims and lists do so
   * themselves; this is for whoever met the `RowUnreadable` of a single row.
   */
  quarantine(row: UnreadableRow): void;
  /**
   * Looks at up to `limit` rows in quarantine again. Those that can be decoded by now, and those that are gone, leave it;
   * a message or delivery that a claim had met is due again at `now` (shifted time). `after`: `next` of the look before.
   */
  recheck(after: RowKey | null, limit: number, now: number): Promise<RecheckResult>;
  /** Writes something, to find out whether there is room again. Throws `StoreFull` when there is none. */
  probe(): Promise<void>;
  /** Units waiting to be committed. */
  readonly backlog: number;
  /** Whether a write was refused for want of room, and none has succeeded since. */
  readonly isFull: boolean;
  /** Finishes what was handed in, and gives the database back. */
  close(): Promise<void>;
}
