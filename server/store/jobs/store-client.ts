/** A store over a port of its own to the writer: encodes the calls as jobs, and decodes the results. */

import type { Kysely, RawBuilder } from "kysely";
import type { CustomerId, EndpointId, InstanceId, ReplayId } from "../../core/id.ts";
import type { LoggedRequest } from "../../core/logged-request.ts";
import type { Message } from "../../core/message.ts";
import type { UsageBatch } from "../../core/usage.ts";
import type {
  DeliveryHolder,
  DeliveryOutcome,
  DueDeliveries,
  DueRead,
  FinishResult,
  HolderCredit,
} from "../due-deliveries.ts";
import type { Member, MemberBeat, MembersAfterBeat } from "../members.ts";
import { reportUnreadable } from "../quarantine.ts";
import { type Database, decodeEach, decodeRecord, type UnreadableRow } from "../rows.ts";
import type { SharedDatabase } from "../shared-database.ts";
import type {
  ClaimedMessages,
  CommitObserver,
  CommitResult,
  ErasedRequest,
  MessageClaim,
  Queue,
  ReceiverChange,
  RecheckResult,
  RequestRemoval,
  RowKey,
  Store,
  StoreCounts,
  StorePorts,
  Transaction,
} from "../store.ts";
import { StoreUnavailable } from "../store.ts";
import { rowOfBatch } from "../usage-batch.ts";
import { decodeDue, decodeMessageClaim, decodePush } from "./decode-claim.ts";
import {
  type ClaimedMessageRows,
  type DueRows,
  encodeOutcome,
  encodeRecord,
  encodeTransaction,
  type FinishedRow,
  type Job,
  type PushedRow,
} from "./jobs.ts";
import { ListReaders, type ReaderPort } from "./list-readers.ts";
import type { SqlQuery } from "./queries.ts";
import { receiverChanges } from "./receiver-changes.ts";
import { type OpenPort, WriterClient } from "./writer-client.ts";

/** Text that `probe` writes: 64 KiB, more than most transactions. */
const PROBE_TEXT = "0".repeat(65_536);

/** Reads of a store. */
export interface Reads {
  read(query: SqlQuery): Promise<unknown[]>;
  /** Reads of `Store.looks`; absent: as `read`. */
  look?(query: SqlQuery): Promise<unknown[]>;
  /** Readers of lists, each for one query at a time. */
  lists: readonly ReaderPort[];
  close(): Promise<void>;
}

/** The queries of a store that differ between databases. */
export interface StoreDialect {
  /** Kysely over a function that runs queries. */
  database(run: (query: SqlQuery) => Promise<unknown[]>): Kysely<Database>;
  /** The query for `dueLanes`. In a row without a lane, `due_at` is how long the server needed, in milliseconds. */
  dueLanes(queue: Queue, now: number): RawBuilder<{ lane: string | null; due_at: number }>;
}

/** Parts of a store. */
export interface StoreParts {
  openPort: OpenPort;
  reads: Reads;
  observe: CommitObserver;
  /** How the database spells queries. */
  dialect: StoreDialect;
  fork: () => Store;
  openPorts: () => StorePorts | null;
  /** Absent: no other process can use the database. */
  shared?: SharedDatabase;
  /** Absent: the database is part of this process. */
  isAvailable?: () => boolean;
}

export class StoreClient implements Store {
  readonly db: Kysely<Database>;
  readonly looks: Kysely<Database>;
  readonly #parts: StoreParts;
  readonly #lists: ListReaders;
  readonly #writer: WriterClient;
  #holder: DeliveryHolder | null = null;
  #applyChange: (changes: readonly ReceiverChange[]) => void | Promise<void> = () => {};
  #forget: () => void = () => {};
  /** Rows that this store has put into quarantine. */
  readonly #quarantined = new Set<string>();

  constructor(parts: StoreParts) {
    const { openPort, reads, observe } = parts;
    this.#parts = parts;
    this.#writer = new WriterClient(openPort, observe, (pushed) => this.#push(pushed));
    this.db = parts.dialect.database((query) => reads.read(query));
    this.looks = parts.dialect.database((query) => (reads.look === undefined ? reads.read(query) : reads.look(query)));
    this.#lists = new ListReaders(reads.lists);
    reportUnreadable(this.db, (row) => this.quarantine(row));
  }

  lists(owner: string, gone?: AbortSignal): Kysely<Database> {
    const db = this.#parts.dialect.database((query) => this.#lists.read(owner, query, gone));
    reportUnreadable(db, (row) => this.quarantine(row));
    return db;
  }

  get backlog(): number {
    return this.#writer.backlog;
  }

  get isFull(): boolean {
    return this.#writer.isFull;
  }

  get isAvailable(): boolean {
    return this.#parts.isAvailable?.() ?? true;
  }

  watchUncertain(forget: () => void): void {
    this.#forget = forget;
  }

  openPorts(): StorePorts | null {
    return this.#parts.openPorts();
  }

  fork(): Store {
    return this.#parts.fork();
  }

  commit(transaction: Transaction): Promise<CommitResult> {
    const job: Job = ["commit", encodeTransaction(transaction)];
    return this.#certain(this.#applied(transaction, (convert) => this.#writer.ask(job, convert)));
  }

  commitGathered(transaction: Transaction): Promise<CommitResult> {
    const gather: (convert: (result: CommitResult) => CommitResult) => Promise<CommitResult> = (convert) =>
      this.#writer.gather(encodeTransaction(transaction), convert);
    return this.#certain(this.#applied(transaction, gather));
  }

  /**
   * Passes on the result of a commit. If the result is unknown, drops the caches that the commit may have made stale.
   */
  #certain(committed: Promise<CommitResult>): Promise<CommitResult> {
    return committed.catch((error: unknown) => {
      if (error instanceof StoreUnavailable) this.#forget();
      throw error;
    });
  }

  /** Commits a transaction. Resolves when its changes of endpoints and customers are applied. */
  #applied(
    transaction: Transaction,
    commit: (convert: (result: CommitResult) => CommitResult) => Promise<CommitResult>,
  ): Promise<CommitResult> {
    const changes = receiverChanges(transaction);
    if (changes.length === 0) return commit((result) => result);
    let applied: void | Promise<void>;
    const committed = commit((result) => {
      if (result.result === "ok") applied = this.#applyChange(changes);
      return result;
    });
    return committed.then(async (result) => {
      await applied;
      return result;
    });
  }

  watchReceivers(apply: (changes: readonly ReceiverChange[]) => void | Promise<void>): void {
    this.#applyChange = apply;
  }

  hold(holder: DeliveryHolder): () => void {
    this.#holder = holder;
    void this.#writer.ask(["hold", true]).catch(() => {});
    return () => {
      if (this.#holder !== holder) return;
      this.#holder = null;
      void this.#writer.ask(["hold", false]).catch(() => {});
    };
  }

  #push(pushed: readonly PushedRow[]): void {
    const { records, unreadable } = decodePush(pushed);
    this.#addToQuarantine(unreadable, { isLeased: true });
    this.#holder?.(records);
  }

  credit(credit: HolderCredit): void {
    void this.#writer.ask(["credit", credit]).catch(() => {});
  }

  async arrived(): Promise<void> {
    await this.#writer.ask(["credit", { arrived: 0, bytes: 0, behind: [] }]);
  }

  async finishDeliveries(outcomes: readonly DeliveryOutcome[]): Promise<FinishResult[]> {
    const finished = await this.#writer.ask<FinishedRow[]>(["finishDeliveries", outcomes.map(encodeOutcome)]);
    return finished.map((row): FinishResult => {
      if (typeof row === "string") return { result: row };
      const { records, unreadable } = decodeEach([row], (values) => decodeRecord("deliveries", values));
      this.#addToQuarantine(unreadable, { isLeased: true });
      const [delivery] = records;
      return delivery === undefined ? { result: "gone" } : { result: "changed", delivery };
    });
  }

  async release(leases: readonly number[]): Promise<void> {
    if (leases.length > 0) await this.#writer.ask(["release", leases]);
  }

  async claimMessages(claim: MessageClaim): Promise<ClaimedMessages> {
    const { rows, more } = await this.#writer.ask<ClaimedMessageRows>(["claimMessages", claim]);
    const { records, unreadable } = decodeMessageClaim(rows);
    this.#addToQuarantine(unreadable, { isLeased: true });
    return { claimed: records, more };
  }

  async leasedPairs(lane: InstanceId): Promise<Pick<Message, "from" | "to">[]> {
    return await this.#writer.ask(["leasedPairs", lane]);
  }

  dueDeliveries(read: DueRead): Promise<DueDeliveries> {
    // The port handles answers in their order, so that no change after a read overtakes the answer of the read.
    return this.#writer.ask(["dueDeliveries", read], ({ rows, more }: DueRows) => {
      const { records, unreadable } = decodeDue(rows);
      this.#addToQuarantine(unreadable, { isLeased: true });
      // The holder learns no place of an unreadable row: a read of PostgreSQL may have gone back to that place.
      if (unreadable.length > 0) this.#holder?.([{ kind: "all" }]);
      return { found: records, more };
    });
  }

  quarantine(row: UnreadableRow): void {
    this.#addToQuarantine([row], { isLeased: false });
  }

  /** Quarantines rows in a later commit. Adds a row of a claim each time, and any other row once. */
  #addToQuarantine(rows: readonly UnreadableRow[], { isLeased }: { isLeased: boolean }): void {
    const fresh = rows.filter((row) => isLeased || !this.#quarantined.has(nameOf(row)));
    if (fresh.length === 0) return;
    for (const row of fresh) this.#quarantined.add(nameOf(row));
    const added = fresh.map((row) => ({ ...row, isLeased }));
    this.#writer.ask(["quarantine", added]).catch(() => {
      // The disk is full. A read of the lane from its front finds a delivery again, and a claim a message whose lease
      // expired.
      for (const row of fresh) this.#quarantined.delete(nameOf(row));
      if (fresh.some(({ table }) => table === "deliveries")) this.#holder?.([{ kind: "all" }]);
    });
  }

  async recheck(after: RowKey | null, limit: number, now: number): Promise<RecheckResult> {
    const rechecked = await this.#writer.ask<RecheckResult>(["recheck", after, limit, now]);
    for (const place of rechecked.mended) this.#quarantined.delete(nameOf(place));
    return rechecked;
  }

  rechecked(): void {
    this.#quarantined.clear();
  }

  beat(beat: MemberBeat): Promise<MembersAfterBeat> {
    return this.#writer.ask(["beat", beat]);
  }

  async leave(member: Member["id"]): Promise<void> {
    await this.#writer.ask(["leave", member]);
  }

  async endMember(member: Member["id"], now: number): Promise<void> {
    await this.#writer.ask(["endMember", member, now]);
  }

  async probe(): Promise<void> {
    await this.#writer.ask(["probe", PROBE_TEXT]);
  }

  async dueLanes(
    queue: Queue,
    now: number,
    took: (ms: number) => void = () => {},
  ): Promise<{ lane: string; dueAt: number }[]> {
    const { rows } = await this.#parts.dialect.dueLanes(queue, now).execute(this.looks);
    return rows.flatMap(({ lane, due_at: time }) => {
      if (lane !== null) return [{ lane, dueAt: Number(time) }];
      took(Number(time));
      return [];
    });
  }

  get shared(): SharedDatabase | null {
    return this.#parts.shared ?? null;
  }

  counts(): Promise<StoreCounts> {
    return this.#writer.ask(["counts"]);
  }

  releaseLeases(until: number, now: number): Promise<number> {
    return this.#writer.ask(["releaseLeases", until, now]);
  }

  cancelDeliveries(endpointId: EndpointId, limit: number, replayId: ReplayId | null = null): Promise<number> {
    return this.#writer.ask(["cancelDeliveries", endpointId, limit, replayId]);
  }

  prune(before: number, limit: number): Promise<number> {
    return this.#writer.ask(["prune", before, limit]);
  }

  reset(customerId: CustomerId, limit: number, begins = false): Promise<number> {
    return this.#writer.ask(["reset", customerId, limit, begins]);
  }

  async addUsage(batch: UsageBatch, now: number): Promise<void> {
    const hours = batch.hours.map((hour) => encodeRecord("usage", hour));
    await this.#writer.ask(["addUsage", encodeRecord("idempotency", rowOfBatch(batch, now)), hours]);
  }

  async logRequests(requests: readonly LoggedRequest[]): Promise<void> {
    await this.#writer.ask(["logRequests", requests.map((request) => encodeRecord("requests", request))]);
  }

  removeRequests(removal: RequestRemoval): Promise<number> {
    return this.#writer.ask(["removeRequests", removal]);
  }

  async eraseRequests(requests: readonly ErasedRequest[]): Promise<void> {
    if (requests.length > 0) await this.#writer.ask(["eraseRequests", requests]);
  }

  async close(): Promise<void> {
    await this.#writer.idle();
    await this.#parts.reads.close();
  }
}

function nameOf({ table, id }: RowKey): string {
  return `${table} ${id}`;
}
