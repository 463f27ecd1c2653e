/** The interface of a store: transactions, claims of due work, and reads. A commit returns only once it is on disk. */

import type { MessagePort } from "node:worker_threads";
import type { Kysely } from "kysely";
import type { Event } from "../core/event.ts";
import type { CustomerId, EndpointId, EventId, InstanceId, MessageId, ReplayId } from "../core/id.ts";
import type { LoggedRequest } from "../core/logged-request.ts";
import type { Message } from "../core/message.ts";
import type { SendAttempt } from "../core/send-attempt.ts";
import type { UsageBatch } from "../core/usage.ts";
import type {
  DeliveryHolder,
  DeliveryOutcome,
  DueDeliveries,
  DueRead,
  FinishResult,
  HolderCredit,
} from "./due-deliveries.ts";
import type { LeaseEpoch, Member, MemberBeat, MembersAfterBeat } from "./members.ts";
import type { Records, TableName } from "./records.ts";
import type { Database, UnreadableRow } from "./rows.ts";
import type { SharedDatabase } from "./shared-database.ts";

/** Tables whose records carry a `version`: an update names the version that its decision was based on. */
export type Versioned =
  | "customers"
  | "keys"
  | "messages"
  | "endpoints"
  | "deliveries"
  | "replays"
  | "instances"
  | "chats"
  | "contacts"
  | "payments"
  | "calls"
  | "sessions";

type InsertInto<Name extends TableName> = { op: "insert" | "insertUnique" | "put"; table: Name; record: Records[Name] };
type UpdateOf<Name extends Versioned> = {
  op: "update";
  table: Name;
  id: string;
  version: number;
  set: Partial<Records[Name]>;
};
type SetAttempts = {
  op: "set";
  table: "sendAttempts";
  where: Pick<SendAttempt, "instanceId" | "reference">;
  set: Partial<SendAttempt>;
};
type DeleteFrom<Name extends TableName> = { op: "delete"; table: Name; where: Partial<Records[Name]> };
type Require = "require" | "requireNone";
type RequireOf<Name extends TableName> = Omit<DeleteFrom<Name>, "op"> & { op: Require; scope: string };

/**
 * One operation of a transaction.
 * - `insert` adds a record.
 * - `insertUnique` adds a record whose key must be new. Otherwise the transaction is a `duplicate`.
 * - `put` adds a record, or replaces the record with the same key.
 * - `update` changes a record that still has `version`, and increments it. Otherwise the transaction is a `conflict`.
 * - `set` changes a send attempt, if it exists. `delete` removes every match.
 * - `event` adds an event and its deliveries.
 * - `rewrite` replaces the bytes of an event whose text is erased, and erases the responses of its receivers.
 * - `require` must match a record, and `requireNone` must match none. Otherwise the transaction is a `conflict`.
 *   Transactions that name one `scope` commit in turn. A customer's id is the scope of its events and resets.
 * - `requireUnleased` requires that no message of the pair is leased in the lane. Otherwise the transaction is `unmet`.
 * - `requireEpoch` requires that a member's lease has this epoch. Otherwise the transaction is `unmet`.
 */
export type Operation =
  | { [Name in TableName]: InsertInto<Name> }[TableName]
  | { [Name in Versioned]: UpdateOf<Name> }[Versioned]
  | SetAttempts
  | { [Name in TableName]: DeleteFrom<Name> | RequireOf<Name> }[TableName]
  | { op: "event"; event: Event; callbackUrl: string | null }
  | { op: "rewrite"; eventId: EventId; bytes: string }
  | { op: "requireUnleased"; lane: InstanceId; from: string; to: string }
  | ({ op: "requireEpoch" } & LeaseEpoch);

/** Operations that commit together or not at all. They are plain data: the store can send, repeat and compare them. */
export type Transaction = readonly Operation[];

/**
 * The result of a transaction, returned once it is on disk. `conflict`: a record had changed; decide again from fresh
 * records. `duplicate`: a record of an `insertUnique` existed already. `unmet`: a requirement does not hold. A refused
 * transaction changes nothing. `lanes`: lanes of the new deliveries, except those that went to the holder.
 */
export type CommitResult =
  | { result: "ok"; lanes: string[] }
  | { result: "conflict" }
  | { result: "duplicate" }
  | { result: "unmet" };

/** The queues that the loops of the engine drain. */
export type Queue = "messages" | "deliveries";

/**
 * A lane in a claim of messages. `runMax`: the most messages of one sender and recipient, 8 if absent. `required`: the
 * claim takes nothing unless the lease has this epoch.
 */
export interface MessageLane {
  lane: string;
  permits: number;
  paused?: boolean;
  runMax?: number;
  required?: LeaseEpoch;
}

/**
 * Claims at most `permits` messages of each lane, for `leaseMs` of real time. `now` is shifted time. The claim takes no
 * `queued` message of a paused lane. Of a waiting pair it takes no `queued` message other than those in `except`, so
 * that later messages stay behind them.
 */
export interface MessageClaim {
  lanes: readonly MessageLane[];
  now: number;
  leaseMs: number;
  waiting?: readonly WaitingPair[];
}

/** A leased message. `lease` identifies the lease and is never used twice. */
export interface ClaimedMessage {
  message: Message;
  lease: number;
}

/** Leased messages, and the lanes that may have more due ones. */
export interface ClaimedMessages {
  claimed: ClaimedMessage[];
  more: string[];
}

/**
 * A sender and recipient between whom a claim may take only some messages: at most one of `except`, whichever, and
 * messages that are not `queued`.
 */
export interface WaitingPair {
  from: string;
  to: string;
  except: readonly MessageId[];
}

/**
 * A change of an endpoint or customer; of any of them if `id` is null. `isMark`: only the mark that an endpoint is
 * gone.
 */
export interface ReceiverChange {
  table: "endpoints" | "customers";
  id: string | null;
  isMark?: true;
}

/** Ports to the threads of the database, to be transferred to the thread that uses them. */
export interface StorePorts {
  writer: MessagePort;
  reader: MessagePort;
}

/** Identifies a row: its table, and the values of its key as in `UnreadableRow`. */
export interface RowKey {
  table: TableName;
  id: string;
}

/** Rows that left the quarantine, and where the next recheck begins; null: at the first row. */
export interface RecheckResult {
  mended: RowKey[];
  next: RowKey | null;
}

/** The database cannot be used until the operator acts. The message says in one line what to do. */
export class StoreUnusable extends Error {}

/** The disk is full: the write failed and changed nothing. A later write may succeed. */
export class StoreFull extends Error {}

/**
 * The database could not be reached, or went away before it answered. So nobody knows whether the write happened. A
 * later write may succeed. A client repeats its request with the same idempotency key.
 */
export class StoreUnavailable extends Error {}

/**
 * Which requests to remove from the log, at most `limit` in all: requests logged before `before` (real time), and
 * `count` of the oldest requests of each customer in `oldest`. A null customer means admin keys.
 */
export interface RequestRemoval {
  before: number;
  oldest: readonly (readonly [customerId: CustomerId | null, count: number])[];
  limit: number;
}

/** The new texts of a logged request after an erasure. The bodies are not cut. */
export type ErasedRequest = { position: number } & Pick<LoggedRequest, "path" | "request" | "response">;

/** Called after each group commit. */
export type CommitObserver = (group: { transactions: number; durationMs: number }) => void;

/** Counters of the writer since the store was opened. For tests and the benchmark. */
export interface StoreCounts {
  /** Transactions, and other writing jobs. All gathered transactions of a group count as one. */
  transactions: number;
  /** SQL transactions, each of a group of transactions. */
  groups: number;
  /** Groups that wrote to the log, and so waited for an fsync. */
  commits: number;
  /** Executions of statements, without `begin` and `commit`. */
  statements: number;
  /** Pages written to the write-ahead log; on PostgreSQL by all who write to the server, since the first call. */
  walFrames: number;
}

export interface Store {
  /** Reads one or a few records. A read sees every earlier commit. Use `lists` to read lists. */
  readonly db: Kysely<Database>;
  /**
   * Reads by which a loop finds its due work. On PostgreSQL these reads have a connection of their own. The server ends
   * each read after 1 s, and a read without an answer fails after 2 s.
   */
  readonly looks: Kysely<Database>;
  /**
   * Reads of lists on behalf of `owner` (a customer id, or `admin`), by separate readers, so that `db` never waits for
   * them. Owners are served in turn, statement by statement, and no owner holds every reader. After `gone` is aborted
   * no further statement begins: reads reject with its reason.
   */
  lists(owner: string, gone?: AbortSignal): Kysely<Database>;
  /** Commits a transaction. Throws `StoreFull` if the disk is full. */
  commit(transaction: Transaction): Promise<CommitResult>;
  /**
   * Commits a transaction in one job with the other gathered transactions of this turn of the event loop. Each commits
   * or is refused by itself. A loop uses this for many records at a time.
   */
  commitGathered(transaction: Transaction): Promise<CommitResult>;
  /**
   * Leases due messages of the given lanes, in order of due time. Of one sender and recipient, a claim leases a run of
   * a few messages in order of acceptance, and none while another message of the pair is leased. The caller sends a run
   * in sequence. A claim leases lookups (`pending` messages) even if their pair has leased messages, and beside the
   * pair's run.
   *
   * A claim reads a bounded number of due messages, at least 64 more than its permits. In a longer lane a run may be
   * shorter than `runMax` although permits are left. Later claims then continue the run. While permits are left, each
   * pair that is free, does not wait and has a due `queued` message gets at least one message, if the lane has fewer
   * than 256 pairs. With more pairs, they get messages in turn. The same holds for free pairs with a due message that
   * is not `queued`, however many messages of other pairs are in front of it.
   *
   * A lease does not change its message, which stays due. The lease ends after its time, by `release`, when a commit
   * sets the message's status, due time or instance, with the message, or with the process. A commit that sets
   * `claimedUntil` records a send attempt: after it only a commit, `release` or `releaseLeases` ends the lease.
   *
   * Claims of one lane wait for each other. On PostgreSQL, a claim that waits for another process longer than a second
   * throws, and has leased nothing.
   */
  claimMessages(claim: MessageClaim): Promise<ClaimedMessages>;
  /** Senders and recipients of the leased messages of a lane. */
  leasedPairs(lane: InstanceId): Promise<Pick<Message, "from" | "to">[]>;
  /**
   * Reads due deliveries of the given lanes, which stay due. Results of reads, pushed changes and results of outcomes
   * arrive in the order in which the writer made them. On PostgreSQL a read also returns deliveries that other
   * processes have put before the place since the last read of the lane.
   */
  dueDeliveries(read: DueRead): Promise<DueDeliveries>;
  /**
   * Registers the one holder of deliveries, which gets the changes of due ones. Returns the function that ends the
   * hold.
   */
  hold(holder: DeliveryHolder): () => void;
  /** Tells the writer what the holder has received. */
  credit(credit: HolderCredit): void;
  /** Resolves once each delivery that the writer has read or pushed by now has arrived at its caller or the holder. */
  arrived(): Promise<void>;
  /**
   * Sets the one listener to changes of endpoints and customers by this store. A commit with such changes returns once
   * the listener has applied them.
   */
  watchReceivers(apply: (changes: readonly ReceiverChange[]) => void | Promise<void>): void;
  /** Writes the outcomes of delivery attempts. Throws `StoreFull` if the disk is full. */
  finishDeliveries(outcomes: readonly DeliveryOutcome[]): Promise<FinishResult[]>;
  /** Ends leases of messages that have not ended yet. The messages keep their due times. */
  release(leases: readonly number[]): Promise<void>;
  /**
   * Lanes of a queue with a record due at `now` (shifted time), and since when. PostgreSQL calls `took` with its
   * milliseconds.
   */
  dueLanes(queue: Queue, now: number, took?: (ms: number) => void): Promise<{ lane: string; dueAt: number }[]>;
  /**
   * Ends leases on disk that expired before `until` (real time of this host), except the leases of other live members.
   * Infinity, for the start of the only process, ends all leases. Messages become due at `now`. But a `queued` message
   * gets its scheduled time or its creation as due time, so that it keeps its place. A message with a recorded send
   * attempt stays `pending`: its outcome is unknown. Returns the number of messages.
   */
  releaseLeases(until: number, now: number): Promise<number>;
  /**
   * Cancels up to `limit` deliveries that wait, of a paused or deleted endpoint. With `replayId`, instead cancels
   * deliveries of this replay that were not tried since the replay, even if the endpoint is active. An attempt in
   * flight is still recorded. Returns how many it cancelled: 0 without `replayId` if the endpoint is active.
   */
  cancelDeliveries(endpointId: EndpointId, limit: number, replayId?: ReplayId): Promise<number>;
  /**
   * Removes up to `limit` events older than `before` (real time) with their deliveries. Also removes up to as many
   * idempotency keys, arrivals, files and notes about send attempts. Keeps an event with an open delivery. Keeps a file
   * while an event of its message exists or the message waits to be sent. Returns how many it removed, without
   * deliveries.
   */
  prune(before: number, limit: number): Promise<number>;
  /**
   * Removes up to `limit` records of each kind of a customer: messages with their files and provider references, chats,
   * contacts, opt-outs, payments, calls, events, deliveries, replays, idempotency keys, logged requests. Keeps API
   * keys, numbers, endpoints and usage. Returns 0 when nothing is left. `begins`: this is the first call of a reset,
   * and an earlier reset may have ended in the middle.
   */
  reset(customerId: CustomerId, limit: number, begins?: boolean): Promise<number>;
  /**
   * Adds the counters of a batch to their hours, once per batch. An owner sends one batch at a time. `now` is real
   * time.
   */
  addUsage(batch: UsageBatch, now: number): Promise<void>;
  /** Adds requests to the log, in a group commit of their own. */
  logRequests(requests: readonly LoggedRequest[]): Promise<void>;
  /** Removes requests from the log, in a group commit of its own. Returns how many it removed. */
  removeRequests(removal: RequestRemoval): Promise<number>;
  /**
   * Replaces texts of logged requests, in a group commit of its own. Skips requests that are gone. On SQLite this
   * overwrites the pages with the former texts, at the cost of a write for each. `vacuum.ts` names the copies that may
   * remain.
   */
  eraseRequests(requests: readonly ErasedRequest[]): Promise<void>;
  /**
   * Puts a row that cannot be decoded into quarantine, in a later commit. Claims and lists do so themselves. A caller
   * that catches the `RowUnreadable` of a single row calls this.
   */
  quarantine(row: UnreadableRow): void;
  /**
   * Rechecks up to `limit` rows in quarantine. Rows that can be decoded again, and rows that are gone, leave the
   * quarantine. A message or delivery that had left its queue is due again at `now` (shifted time) or, if `queued`, at
   * its old place. `after`: `next` of the last recheck.
   */
  recheck(after: RowKey | null, limit: number, now: number): Promise<RecheckResult>;
  /**
   * Notes that another store has rechecked rows. If this store finds such a row undecodable, it quarantines the row
   * again.
   */
  rechecked(): void;
  /** Reports that this process lives. Returns the members and leases after the beat. */
  beat(beat: MemberBeat): Promise<MembersAfterBeat>;
  /** Removes a member: its leases are free at once. */
  leave(member: Member["id"]): Promise<void>;
  /**
   * Ends the leases of a dead process: its leases as a member, and its leases of messages. The messages become due as
   * by `releaseLeases`. The caller must know that the process is dead.
   */
  endMember(member: Member["id"], now: number): Promise<void>;
  /** Writes a probe to find out whether the disk has room again. Throws `StoreFull` if not. */
  probe(): Promise<void>;
  /** Null if no other process can use the database. */
  readonly shared: SharedDatabase | null;
  /** Jobs waiting to be committed. */
  readonly backlog: number;
  /** The counters of the writer so far. */
  counts(): Promise<StoreCounts>;
  /** Whether the disk was full at the last write. */
  readonly isFull: boolean;
  /** Whether the database can be reached and takes writes, as far as this process knows. */
  readonly isAvailable: boolean;
  /**
   * Sets the one listener to commits that throw `StoreUnavailable`: a commit may have happened and made caches stale.
   */
  watchUncertain(forget: () => void): void;
  /**
   * Opens a further store on the same database, with a port of its own to the writer: neither store waits for the
   * other.
   */
  fork(): Store;
  /** Opens the ports of a further store in another thread (`connectStore`); null if the database has no threads. */
  openPorts(): StorePorts | null;
  /**
   * Finishes pending jobs and closes the database. On a further store, closes only its ports; close it before the
   * first.
   */
  close(): Promise<void>;
}
