/** The interface of a store: transactions, claims of due work, and reads. A result is returned only once it is on disk. */

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
 * One operation of a transaction. `insert` adds a record. `insertUnique` adds a record whose key must be new; otherwise the
 * transaction is a `duplicate`. `put` adds a record or replaces the one with its key. `update` changes a record that still
 * has `version`, and increments the version; otherwise the transaction is a `conflict`. `set` changes a send
 * attempt, if it is there. `delete` removes every match. `event` adds an event and its deliveries. `rewrite` replaces the bytes of an event whose text is erased, and erases the responses
 * of its receivers. The transaction is a `conflict` too unless each `require` matches a record, and each `requireNone` none:
 * those of one `scope` commit one after the other, and a customer's id is that of its events and resets. `requireUnleased` requires that
 * no message of the pair is leased in the lane, and `requireEpoch` that a lease of a member has this epoch; else the transaction is `unmet`.
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

/** Operations that are committed together or not at all. As plain data they can be sent to a thread, repeated and compared. */
export type Transaction = readonly Operation[];

/**
 * The result of a transaction, returned once it is on disk. `conflict`: a record had changed; decide again from fresh records.
 * `duplicate`: a record of an `insertUnique` existed already. `unmet`: a requirement does not hold. A refused transaction
 * changes nothing. `lanes`: lanes of the new deliveries, except those that went to the holder.
 */
export type CommitResult =
  | { result: "ok"; lanes: string[] }
  | { result: "conflict" }
  | { result: "duplicate" }
  | { result: "unmet" };

/** The queues that the loops of the engine drain. */
export type Queue = "messages" | "deliveries";

/**
 * A lane in a claim of messages. `runMax`: the most messages of one sender and recipient, 8 if absent. `required`: nothing is claimed
 * unless the lease has the epoch.
 */
export interface MessageLane {
  lane: string;
  permits: number;
  paused?: boolean;
  runMax?: number;
  required?: LeaseEpoch;
}

/**
 * Claims at most `permits` messages of each lane, for `leaseMs` of real time. From a paused lane it claims no `queued` message.
 * `now` is shifted time. From a waiting pair it claims no `queued` message except those named, so that later messages keep their
 * place behind them.
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

/** A sender and recipient between whom only some messages may be claimed: `except`, of which a claim takes one at most, whichever, and those that are not `queued`. */
export interface WaitingPair {
  from: string;
  to: string;
  except: readonly MessageId[];
}

/** A change of an endpoint or customer; of any of them if `id` is null. `isMark`: only the mark that an endpoint is gone. */
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
 * The database could not be reached, or went away before it answered: whether the write happened is not known. A later write may
 * succeed. The caller of a request with an idempotency key repeats it.
 */
export class StoreUnavailable extends Error {}

/**
 * Requests of the log to remove, at most `limit` in all: those that were logged before `before` (real time), and the oldest ones
 * of customers; null: of admin keys.
 */
export interface RequestRemoval {
  before: number;
  oldest: readonly (readonly [customerId: CustomerId | null, count: number])[];
  limit: number;
}

/** The texts that stay of a request of the log. The bodies are whole. */
export type ErasedRequest = { position: number } & Pick<LoggedRequest, "path" | "request" | "response">;

/** Called after each group commit. */
export type CommitObserver = (group: { transactions: number; durationMs: number }) => void;

/** Counters of the writer since the store was opened. For tests and the benchmark. */
export interface StoreCounts {
  /** Everything that callers asked the writer to write. What was gathered counts once a group. */
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
  /** Reads of one or a few records. A read sees every earlier commit. Lists are read by `lists`. */
  readonly db: Kysely<Database>;
  /**
   * Reads by which a loop finds its due work. On PostgreSQL they have a connection of their own, the server ends each after 1 s, and one
   * without an answer fails after 2 s.
   */
  readonly looks: Kysely<Database>;
  /**
   * Reads of lists on behalf of `owner` (a customer id, or `admin`), by separate readers, so that `db` never waits for them.
   * Owners are served in turn, statement by statement, and no owner holds every reader. After `gone` is aborted no further
   * statement begins: reads reject with its reason.
   */
  lists(owner: string, gone?: AbortSignal): Kysely<Database>;
  /** Commits a transaction. Throws `StoreFull` if the disk is full. */
  commit(transaction: Transaction): Promise<CommitResult>;
  /**
   * Commits a transaction in one job with others of its kind and turn. Each is committed or refused by itself.
   * For what a loop does with many records at a time.
   */
  commitGathered(transaction: Transaction): Promise<CommitResult>;
  /**
   * Leases due messages of the given lanes, in order of due time. Of one sender and recipient it leases a run of a few in
   * order of acceptance, and none while another message of the pair is leased. The caller sends a run in sequence. Lookups, which are
   * `pending`, are leased whatever else of their pair is leased, and take no place in its run.
   *
   * A claim reads a bounded number of due messages, at least 64 more than its permits. In a longer lane a run may be shorter than
   * `runMax` although permits are left, and the claims after the run go on with it. But as long as permits are left, each pair
   * that is free, does not wait and has a due `queued` message gets a message of its own, if the lane has fewer than 256 pairs; with
   * more, the pairs get theirs in turn. So do free pairs with a due message that is not `queued`, however many messages of other pairs
   * are in front of it.
   *
   * A lease changes nothing of the message, which stays due. It ends after its time, by `release`, when a commit
   * sets the message's status, due time or instance, with the message, or with the process. A commit that sets `claimedUntil`
   * records a send attempt: then only such a commit, `release` or `releaseLeases` ends the lease.
   *
   * Claims of one lane wait for each other. On PostgreSQL a claim that waits for another process longer than a second throws, and
   * has leased nothing.
   */
  claimMessages(claim: MessageClaim): Promise<ClaimedMessages>;
  /** Senders and recipients of the leased messages of a lane. */
  leasedPairs(lane: InstanceId): Promise<Pick<Message, "from" | "to">[]>;
  /**
   * Reads due deliveries of the given lanes, which stay due. What is read, pushed and ended comes back in the order in which the writer did
   * it. On PostgreSQL a read goes back to what other processes have put before the place since the last read of the lane.
   */
  dueDeliveries(read: DueRead): Promise<DueDeliveries>;
  /** Registers the one holder of deliveries, which is told what commits do to due ones. Returns the function that ends it. */
  hold(holder: DeliveryHolder): () => void;
  /** The holder's word to the writer. */
  credit(credit: HolderCredit): void;
  /** Resolves once every delivery that the writer has read or pushed by now has arrived at its caller or holder. */
  arrived(): Promise<void>;
  /**
   * Sets the one listener to changes of endpoints and customers by this store. A commit that makes any returns once the listener
   * has applied them.
   */
  watchReceivers(apply: (changes: readonly ReceiverChange[]) => void | Promise<void>): void;
  /** Writes the ends of attempts. Throws `StoreFull` if the disk is full. */
  finishDeliveries(outcomes: readonly DeliveryOutcome[]): Promise<FinishResult[]>;
  /** Ends leases of messages, except those that have ended already. The messages are due as before. */
  release(leases: readonly number[]): Promise<void>;
  /** Lanes of a queue with a record due at `now` (shifted time), and since when. A server tells `took` the milliseconds that it needed. */
  dueLanes(queue: Queue, now: number, took?: (ms: number) => void): Promise<{ lane: string; dueAt: number }[]>;
  /**
   * Ends leases on disk that expired before `until` (real time of this host), except those of other members that live; with Infinity,
   * for the start of the only process, all leases. Messages become due at `now`; a `queued` message becomes due at its
   * creation, so that it keeps its place. A message with a recorded send attempt stays `pending`: its outcome is unknown. Returns the
   * number of messages.
   */
  releaseLeases(until: number, now: number): Promise<number>;
  /**
   * Cancels up to `limit` pending deliveries of a paused or deleted endpoint; with `replayId` those of this replay of the endpoint, paused or
   * not, that were not tried since. An attempt in flight is recorded all the same. Returns how many; 0 without `replayId` if the endpoint is active.
   */
  cancelDeliveries(endpointId: EndpointId, limit: number, replayId?: ReplayId): Promise<number>;
  /**
   * Removes up to `limit` events older than `before` (real time) with their deliveries, and as many
   * idempotency keys, arrivals and files. An event with an open delivery is kept, and a file while an event of its message is
   * kept or the message waits to be sent. Returns how many were removed.
   */
  prune(before: number, limit: number): Promise<number>;
  /**
   * Removes up to `limit` records of each kind of a customer: messages with their files and provider references, chats,
   * contacts, opt-outs, payments, calls, events, deliveries, idempotency keys. Keys, numbers, endpoints and usage are
   * kept. Returns how many were removed; 0 when nothing is left. `begins` says that this is the first call of a reset: an earlier
   * one may have ended in the middle.
   */
  reset(customerId: CustomerId, limit: number, begins?: boolean): Promise<number>;
  /** Adds counters to the hours they name, once a batch. An owner has one batch on its way. `now` is real time. */
  addUsage(batch: UsageBatch, now: number): Promise<void>;
  /** Adds requests to the log, in a group commit of their own. */
  logRequests(requests: readonly LoggedRequest[]): Promise<void>;
  /** Removes requests from the log, in a group commit of its own. Returns how many. */
  removeRequests(removal: RequestRemoval): Promise<number>;
  /**
   * Replaces texts of requests of the log, in a group commit of its own; a request that is gone stays so. The former texts are then not
   * in the database file of SQLite, except as `vacuum.ts` says, which costs a write of each page.
   */
  eraseRequests(requests: readonly ErasedRequest[]): Promise<void>;
  /**
   * Puts a row that cannot be decoded into quarantine, in a later commit of its own. Claims and lists do so themselves; a
   * caller that catches the `RowUnreadable` of a single row calls this.
   */
  quarantine(row: UnreadableRow): void;
  /**
   * Rechecks up to `limit` rows in quarantine. Rows that can be decoded again, and rows that are gone, leave it; a message or
   * delivery that a claim had found becomes due at `now` (shifted time). `after`: `next` of the recheck before.
   */
  recheck(after: RowKey | null, limit: number, now: number): Promise<RecheckResult>;
  /** Another store has rechecked rows: those that this one finds undecodable again go to quarantine again. */
  rechecked(): void;
  /** A sign of life of this process. Returns the members and leases after it. */
  beat(beat: MemberBeat): Promise<MembersAfterBeat>;
  /** Removes a member: its leases are free at once. */
  leave(member: Member["id"]): Promise<void>;
  /**
   * Ends what a dead process held: its leases as a member, and all its leases of messages and deliveries. Its messages become due as
   * by `releaseLeases`. The caller knows that the process is dead.
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
  /** Sets the one listener to commits that throw `StoreUnavailable`: they may have happened, so its caches may be out of date. */
  watchUncertain(forget: () => void): void;
  /** A further store on the same database, with a port of its own to the writer: neither waits for the other. */
  fork(): Store;
  /** Opens the ports of a further store in another thread (`connectStore`); null if the database has no threads. */
  openPorts(): StorePorts | null;
  /** Finishes pending jobs and closes the database, or the ports of a further store, which is closed before the first one. */
  close(): Promise<void>;
}
