/** The embedded store: encodes what its callers ask for as jobs of the one writer, and decodes their results. */

import { channel } from "node:diagnostics_channel";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Kysely } from "kysely";
import type { CustomerId, EndpointId, InstanceId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import type { UsageHour } from "../../core/usage.ts";
import { reportUnreadable } from "../quarantine.ts";
import { type Database, decodeEach, decodeRecord, type UnreadableRow } from "../rows.ts";
import type {
  ClaimedDeliveries,
  ClaimedDelivery,
  ClaimedMessages,
  CommitObserver,
  CommitResult,
  DeliveryClaim,
  DeliveryHolder,
  DeliveryOutcome,
  FinishResult,
  MessageClaim,
  Operation,
  Queue,
  RecheckResult,
  RowKey,
  Store,
  StoreCounts,
  Transaction,
} from "../store.ts";
import { lockDirectory, openWriter, StoreUnusable } from "./connection.ts";
import { decodeBorn, decodeClaim, decodeMessageClaim } from "./decode-claim.ts";
import { queryDatabase } from "./driver.ts";
import { dueLanesQuery } from "./due-lanes.ts";
import type { PaceTimer } from "./group-pace.ts";
import { type GroupReply, GroupWriter } from "./group-writer.ts";
import {
  type ClaimedMessageRows,
  type ClaimedRows,
  type CommitReply,
  encodeOutcome,
  encodeRecord,
  encodeTransaction,
  type FinishedRow,
  type Job,
  type JobResult,
} from "./jobs.ts";
import { ListReaders, type ReaderPort } from "./list-readers.ts";
import { migrate } from "./migrate.ts";
import { createReader, readBatched, readSingly, type SqlQuery } from "./query.ts";
import { finishRestore } from "./restored-files.ts";
import { DatabaseThread, ReaderThread } from "./thread.ts";
import { SqliteWriter } from "./writer.ts";
import { type OpenPort, WriterClient } from "./writer-client.ts";

/** Text that `probe` writes: 64 KiB, more than most transactions. */
const PROBE_TEXT = "0".repeat(65_536);

/** Publishes each store that runs on threads, so that a benchmark inside the process can read its counts. */
const OPENED = channel("tightbeam:store");

/** Threads that read lists. A customer uses at most one of them at a time. */
const LIST_READERS = 2;

/** The database, as a store of one process without threads uses it. */
export interface Ports extends Reads {
  /** Writes a group of jobs. */
  write(jobs: Job[]): Promise<JobResult[]>;
  /** Paces groups of jobs; null: they never wait. */
  timer: PaceTimer | null;
}

interface Reads {
  read(query: SqlQuery): Promise<unknown[]>;
  /** Readers of lists, each for one query at a time. */
  lists: readonly ReaderPort[];
  close(): Promise<void>;
}

/**
 * Opens the database in a data directory: locks the directory, migrates, starts the threads. Throws `StoreUnusable` with a
 * one-line message if it cannot. `lost` is called if a database thread ends: the process has to end then. `report` gets the
 * progress of a long migration.
 */
export async function openSqlite(
  dataDir: string,
  lost: (reason: string) => void,
  observe: CommitObserver = () => {},
  report: (progress: string) => void = () => {},
): Promise<Store> {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StoreUnusable(`the data directory ${dataDir} cannot be made: ${(error as Error).message}`);
  }
  const lock = lockDirectory(join(dataDir, "lock.db"));
  const path = join(dataDir, "tightbeam.db");
  try {
    finishRestore(dataDir);
    await prepare(path, report);
  } catch (error) {
    lock.close();
    throw error;
  }
  const writers: DatabaseThread[] = [];
  const openPort: OpenPort = (reply, ended) => {
    const writer = new DatabaseThread(
      { role: "writer", path },
      { reply: (value) => reply(value as GroupReply), ended, lost },
    );
    writers.push(writer);
    return (jobs) => writer.post(jobs);
  };
  const reader = new ReaderThread(path, lost);
  const listReaders = Array.from({ length: LIST_READERS }, () => new ReaderThread(path, lost));
  const reads: Reads = {
    read: readBatched((queries) => reader.ask(queries)),
    lists: listReaders.map((thread) => readSingly((queries) => thread.ask(queries))),
    async close() {
      await Promise.all([reader, ...writers, ...listReaders].map((thread) => thread.stop()));
      lock.close();
    },
  };
  const store = new SqliteStore(openPort, reads, observe);
  OPENED.publish(store);
  return store;
}

async function prepare(path: string, report: (progress: string) => void): Promise<void> {
  const first = openWriter(path);
  try {
    await migrate(first, report);
  } finally {
    first.close();
  }
}

/**
 * Opens the same store without threads, on a file or `:memory:`, for tests with simulated time. `through` may insert delays
 * and faults between the store and its database; `now` is the monotonic clock, by which leases end.
 */
export async function openSqliteInProcess(
  path = ":memory:",
  observe: CommitObserver = () => {},
  through: (ports: Ports) => Ports = (ports) => ports,
  now?: () => number,
): Promise<Store> {
  const writer = new SqliteWriter(path, now);
  await (path === ":memory:" ? prepareInMemory(writer.database) : migrate(writer.database));
  const read = createReader(writer.database);
  const ports = through({
    write: async (jobs) => writer.run(jobs),
    read: async (query) => read(query),
    lists: [async (query) => read(query)],
    timer: null,
    close: async () => writer.close(),
  });
  const groups = new GroupWriter((jobs) => ports.write(jobs), ports.timer);
  return new SqliteStore((reply) => groups.open(reply), ports, observe);
}

/** A migrated database with no rows: tests open hundreds of databases in memory, and a migration is most of an opening. */
let empty: Uint8Array | undefined;

async function prepareInMemory(database: DatabaseSync): Promise<void> {
  if (empty !== undefined) return database.deserialize(empty);
  await migrate(database);
  empty = database.serialize();
}

class SqliteStore implements Store {
  readonly db: Kysely<Database>;
  readonly #reads: Reads;
  readonly #lists: ListReaders;
  readonly #writer: WriterClient;
  #holder: DeliveryHolder | null = null;
  /** New deliveries that the holder gets in this turn. */
  #born: ClaimedDelivery[] = [];
  /** Rows in quarantine. */
  readonly #quarantined = new Set<string>();

  constructor(openPort: OpenPort, reads: Reads, observe: CommitObserver) {
    this.#reads = reads;
    this.#writer = new WriterClient(openPort, observe, () => this.#push());
    this.db = queryDatabase((query) => reads.read(query));
    this.#lists = new ListReaders(reads.lists);
    reportUnreadable(this.db, (row) => this.quarantine(row));
  }

  lists(owner: string, gone?: AbortSignal): Kysely<Database> {
    const db = queryDatabase<Database>((query) => this.#lists.read(owner, query, gone));
    reportUnreadable(db, (row) => this.quarantine(row));
    return db;
  }

  get backlog(): number {
    return this.#writer.backlog;
  }

  get isFull(): boolean {
    return this.#writer.isFull;
  }

  commit(transaction: Transaction): Promise<CommitResult> {
    const job: Job = ["commit", encodeTransaction(transaction)];
    return this.#writer.ask(job, (reply: CommitReply) => this.#committed(transaction, reply));
  }

  commitGathered(transaction: Transaction): Promise<CommitResult> {
    return this.#writer.gather(encodeTransaction(transaction), (reply) => this.#committed(transaction, reply));
  }

  #committed(transaction: Transaction, reply: CommitReply): CommitResult {
    if (reply.result !== "ok") return reply;
    if (transaction.some(changesReceivers)) this.#holder?.changed(transaction);
    if (reply.born.length > 0) this.#collect(decodeBorn(transaction, reply.born));
    return { result: "ok", lanes: reply.lanes };
  }

  hold(holder: DeliveryHolder): () => void {
    this.#holder = holder;
    void this.#writer.ask(["hold", holder.leaseMs]).catch(() => {});
    return () => {
      if (this.#holder !== holder) return;
      this.#holder = null;
      void this.#writer.ask(["hold", null]).catch(() => {});
    };
  }

  /** The deliveries of a group of transactions go to the holder together, after the results of the transactions. */
  #collect(born: readonly ClaimedDelivery[]): void {
    if (this.#born.length === 0) setImmediate(() => this.#push());
    this.#born.push(...born);
  }

  #push(): void {
    if (this.#born.length === 0) return;
    const born = this.#born;
    this.#born = [];
    if (this.#holder !== null) this.#holder.push(born);
    else
      void this.release(
        "deliveries",
        born.map(({ lease }) => lease),
      ).catch(() => {});
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

  async release(queue: Queue, leases: readonly number[]): Promise<void> {
    if (leases.length > 0) await this.#writer.ask(["release", queue, leases]);
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

  async claimDeliveries(claim: DeliveryClaim): Promise<ClaimedDeliveries> {
    const { rows, more } = await this.#writer.ask<ClaimedRows>(["claimDeliveries", claim]);
    const { records, unreadable } = decodeClaim(rows);
    this.#addToQuarantine(unreadable, { isLeased: true });
    return { claimed: records, more };
  }

  quarantine(row: UnreadableRow): void {
    this.#addToQuarantine([row], { isLeased: false });
  }

  /** Quarantines rows in a later commit. Rows of claims are added each time, others once. */
  #addToQuarantine(rows: readonly UnreadableRow[], { isLeased }: { isLeased: boolean }): void {
    const fresh = rows.filter((row) => isLeased || !this.#quarantined.has(nameOf(row)));
    if (fresh.length === 0) return;
    for (const row of fresh) this.#quarantined.add(nameOf(row));
    const added = fresh.map((row) => ({ ...row, isLeased }));
    this.#writer.ask(["quarantine", added]).catch(() => {
      // The disk is full: the row is found again, at the latest when the lease of its claim expires.
      for (const row of fresh) this.#quarantined.delete(nameOf(row));
    });
  }

  async recheck(after: RowKey | null, limit: number, now: number): Promise<RecheckResult> {
    const rechecked = await this.#writer.ask<RecheckResult>(["recheck", after, limit, now]);
    for (const place of rechecked.mended) this.#quarantined.delete(nameOf(place));
    return rechecked;
  }

  async probe(): Promise<void> {
    await this.#writer.ask(["probe", PROBE_TEXT]);
  }

  async dueLanes(queue: Queue, now: number): Promise<{ lane: string; dueAt: number }[]> {
    const { rows } = await dueLanesQuery(queue, now).execute(this.db);
    return rows.map((row) => ({ lane: row.lane, dueAt: Number(row.due_at) }));
  }

  counts(): Promise<StoreCounts> {
    return this.#writer.ask(["counts"]);
  }

  releaseLeases(until: number, now: number): Promise<number> {
    return this.#writer.ask(["releaseLeases", until, now]);
  }

  cancelDeliveries(endpointId: EndpointId, limit: number): Promise<number> {
    return this.#writer.ask(["cancelDeliveries", endpointId, limit]);
  }

  prune(before: number, limit: number): Promise<number> {
    return this.#writer.ask(["prune", before, limit]);
  }

  reset(customerId: CustomerId, limit: number): Promise<number> {
    return this.#writer.ask(["reset", customerId, limit]);
  }

  async addUsage(hours: readonly UsageHour[]): Promise<void> {
    await this.#writer.ask(["addUsage", hours.map((hour) => encodeRecord("usage", hour))]);
  }

  async close(): Promise<void> {
    await this.#writer.idle();
    await this.#reads.close();
  }
}

function changesReceivers(operation: Operation): boolean {
  return "table" in operation && (operation.table === "endpoints" || operation.table === "customers");
}

function nameOf({ table, id }: RowKey): string {
  return `${table} ${id}`;
}
