/** The embedded store: groups what arrives while the last commit runs, and hands it to the one writer. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { CustomerId, EndpointId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import type { UsageHour } from "../../core/usage.ts";
import { decodeEach, reportUnreadable } from "../quarantine.ts";
import { type Database, decodeRecord, type SqlValue, type UnreadableRow } from "../rows.ts";
import {
  type Claim,
  type ClaimedDelivery,
  type CommitObserver,
  type CommitResult,
  type Queue,
  type RecheckResult,
  type RowKey,
  type Store,
  StoreFull,
  type Transaction,
} from "../store.ts";
import { lockDirectory, openWriter, StoreUnusable } from "./connection.ts";
import { decodeClaim } from "./decode-claim.ts";
import { queryDatabase } from "./driver.ts";
import { SqliteEngine } from "./engine.ts";
import { type ClaimedRows, encodeRecord, encodeTransaction, type Job, type JobResult } from "./jobs.ts";
import { ListReaders, type ReaderPort } from "./list-readers.ts";
import { migrate } from "./migrate.ts";
import type { ReturnedDelivery } from "./quarantine.ts";
import { createReader, type ReadResult, readBatched, readSingly, type SqlQuery } from "./query.ts";
import { DatabaseThread } from "./thread.ts";

/** Written to find out whether there is room again: 64 KiB, more than most units. */
const PROBED = "0".repeat(65_536);

/** Jobs that commit together at the most (design: a larger group gains nothing and waits longer). */
const GROUP_MAX = 64;

/** Threads that read lists. Each customer has one at the most. */
const LIST_READERS = 2;

/** Where groups and queries go: threads in the service, the same process in a simulation. */
export interface Ports {
  write(jobs: Job[]): Promise<JobResult[]>;
  read(query: SqlQuery): Promise<unknown[]>;
  /** Readers for lists, each of one query at a time. */
  lists: readonly ReaderPort[];
  close(): Promise<void>;
}

interface PendingJob {
  job: Job;
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

/**
 * Opens the database in a data directory: takes the directory, migrates, starts the threads. Throws `StoreUnusable`
 * with one line when it cannot. `lost` is called when the database thread is gone: the process has to end.
 */
export async function openSqlite(
  dataDir: string,
  lost: (reason: string) => void,
  observe: CommitObserver = () => {},
): Promise<Store> {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StoreUnusable(`the data directory ${dataDir} cannot be made: ${(error as Error).message}`);
  }
  const lock = lockDirectory(join(dataDir, "lock.db"));
  const path = join(dataDir, "tightbeam.db");
  try {
    await prepare(path);
  } catch (error) {
    lock.close();
    throw error;
  }
  const writer = new DatabaseThread({ role: "writer", path }, lost);
  const reader = new DatabaseThread({ role: "reader", path }, lost);
  const listReaders = Array.from({ length: LIST_READERS }, () => new DatabaseThread({ role: "reader", path }, lost));
  return new SqliteStore(
    {
      write: (jobs) => writer.ask(jobs) as Promise<JobResult[]>,
      read: readBatched((queries) => reader.ask(queries) as Promise<ReadResult[]>),
      lists: listReaders.map((thread) => readSingly((queries) => thread.ask(queries) as Promise<ReadResult[]>)),
      async close() {
        await Promise.all([reader, writer, ...listReaders].map((thread) => thread.stop()));
        lock.close();
      },
    },
    observe,
  );
}

async function prepare(path: string): Promise<void> {
  const first = openWriter(path);
  try {
    await migrate(first);
  } finally {
    first.close();
  }
}

/**
 * The same store in this process, on a file or `:memory:`, for tests that own the time. `through` may put something
 * between the store and its database: delays, faults, a death.
 */
export async function openSqliteInProcess(
  path = ":memory:",
  observe: CommitObserver = () => {},
  through: (ports: Ports) => Ports = (ports) => ports,
): Promise<Store> {
  const engine = new SqliteEngine(path);
  await migrate(engine.database);
  const read = createReader(engine.database);
  const ports: Ports = {
    write: async (jobs) => engine.run(jobs),
    read: async (query) => read(query),
    lists: [async (query) => read(query)],
    close: async () => engine.close(),
  };
  return new SqliteStore(through(ports), observe);
}

/** Reads the lanes of `dueLanes` by a loose index scan: one step a lane, however many rows it has. */
export function dueLanesQuery(queue: Queue, now: number): RawBuilder<{ lane: string; due_at: number }> {
  const [table, lane] = queue === "messages" ? ["messages", "instance_id"] : ["deliveries", "lane"];
  const from = sql.raw(table);
  const column = sql.raw(lane);
  return sql`
    with recursive lanes (lane) as (
      select min(${column}) from ${from} where due_at is not null
      union all
      select (select min(${column}) from ${from} where ${column} > lanes.lane and due_at is not null)
      from lanes where lanes.lane is not null
    )
    select lane, due_at from (
      select lane, (select min(due_at) from ${from} where ${column} = lanes.lane and due_at is not null) as due_at
      from lanes where lane is not null
    ) where due_at <= ${now} and ${isClaimed(queue)}`;
}

/** Deliveries to an endpoint that cannot be decoded wait until it is mended. */
function isClaimed(queue: Queue): RawBuilder<boolean> {
  if (queue === "messages") return sql`true`;
  return sql`not exists (select 1 from quarantined where "table" = 'endpoints' and id = lane)`;
}

class SqliteStore implements Store {
  readonly db: Kysely<Database>;
  readonly #ports: Ports;
  readonly #observe: CommitObserver;
  readonly #lists: ListReaders;
  #pending: PendingJob[] = [];
  #isCommitting = false;
  #isFull = false;
  #idle: (() => void) | null = null;
  /** Rows that were set aside, and have not been mended since. */
  readonly #setAsideOnce = new Set<string>();

  constructor(ports: Ports, observe: CommitObserver) {
    this.#ports = ports;
    this.#observe = observe;
    this.db = queryDatabase((query) => ports.read(query));
    this.#lists = new ListReaders(ports.lists);
    reportUnreadable(this.db, (row) => this.quarantine(row));
  }

  lists(owner: string, gone?: AbortSignal): Kysely<Database> {
    const db = queryDatabase<Database>((query) => this.#lists.read(owner, query, gone));
    reportUnreadable(db, (row) => this.quarantine(row));
    return db;
  }

  get backlog(): number {
    return this.#pending.length;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  commit(unit: Transaction): Promise<CommitResult> {
    return this.#ask(["commit", encodeTransaction(unit)]);
  }

  async claimMessages(claim: Claim): Promise<Message[]> {
    const rows = await this.#ask<SqlValue[][]>(["claimMessages", claim]);
    const { records, unreadable } = decodeEach(rows, (values) => decodeRecord("messages", values));
    this.#setAside(unreadable, { isLeased: true });
    return records;
  }

  async claimDeliveries(claim: Claim): Promise<ClaimedDelivery[]> {
    const { claimed, unreadable, leased, givenBack } = decodeClaim(
      await this.#ask<ClaimedRows>(["claimDeliveries", claim]),
    );
    this.#setAside(leased, { isLeased: true, givenBack });
    this.#setAside(unreadable, { isLeased: false });
    return claimed;
  }

  quarantine(row: UnreadableRow): void {
    this.#setAside([row], { isLeased: false });
  }

  /** Behind whatever led to it. Those that claims met are set aside each time, the others once. */
  #setAside(
    rows: readonly UnreadableRow[],
    { isLeased, givenBack = [] }: { isLeased: boolean; givenBack?: ReturnedDelivery[] },
  ): void {
    const fresh = rows.filter((row) => isLeased || !this.#setAsideOnce.has(nameOf(row)));
    if (fresh.length + givenBack.length === 0) return;
    for (const row of fresh) this.#setAsideOnce.add(nameOf(row));
    const added = fresh.map((row) => ({ ...row, isLeased }));
    this.#ask(["setAside", added, givenBack]).catch(() => {
      // No room on the disk: the row is met again, at the latest when the lease of its claim has run out.
      for (const row of fresh) this.#setAsideOnce.delete(nameOf(row));
    });
  }

  async recheck(after: RowKey | null, limit: number, now: number): Promise<RecheckResult> {
    const rechecked = await this.#ask<RecheckResult>(["recheck", after, limit, now]);
    for (const place of rechecked.mended) this.#setAsideOnce.delete(nameOf(place));
    return rechecked;
  }

  async probe(): Promise<void> {
    await this.#ask(["probe", PROBED]);
  }

  async dueLanes(queue: Queue, now: number): Promise<{ lane: string; dueAt: number }[]> {
    const { rows } = await dueLanesQuery(queue, now).execute(this.db);
    return rows.map((row) => ({ lane: row.lane, dueAt: Number(row.due_at) }));
  }

  releaseLeases(until: number, now: number): Promise<number> {
    return this.#ask(["release", until, now]);
  }

  cancelDeliveries(endpointId: EndpointId, limit: number): Promise<number> {
    return this.#ask(["cancelDeliveries", endpointId, limit]);
  }

  prune(before: number, limit: number): Promise<number> {
    return this.#ask(["prune", before, limit]);
  }

  reset(customerId: CustomerId, limit: number): Promise<number> {
    return this.#ask(["reset", customerId, limit]);
  }

  async addUsage(hours: readonly UsageHour[]): Promise<void> {
    await this.#ask(["addUsage", hours.map((hour) => encodeRecord("usage", hour))]);
  }

  async close(): Promise<void> {
    if (this.#isCommitting || this.#pending.length > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
    await this.#ports.close();
  }

  #ask<Value>(job: Job): Promise<Value> {
    return new Promise<Value>((resolve, reject) => {
      this.#pending.push({ job, resolve: resolve as (value: unknown) => void, reject });
      // What else this turn of the event loop brings goes along.
      if (this.#pending.length === 1) setImmediate(() => this.#send());
    });
  }

  #send(): void {
    if (this.#pending.length === 0 || this.#isCommitting) return;
    const group = this.#pending.splice(0, GROUP_MAX);
    this.#isCommitting = true;
    void this.#commitGroup(group);
  }

  async #commitGroup(group: readonly PendingJob[]): Promise<void> {
    const startedAt = performance.now();
    try {
      const results = await this.#ports.write(group.map(({ job }) => job));
      this.#observe({ units: group.length, durationMs: performance.now() - startedAt });
      if (results.some((result) => "error" in result && result.error === "full")) this.#isFull = true;
      else if (group.some(({ job }, index) => hasWritten(job, results[index]))) this.#isFull = false;
      for (const [index, pending] of group.entries()) settle(pending, results[index]);
    } catch (error) {
      for (const { reject } of group) reject(error as Error);
    }
    this.#isCommitting = false;
    // What the answers lead to goes along with what has come meanwhile.
    if (this.#pending.length > 0) setImmediate(() => this.#send());
    else this.#idle?.();
  }
}

function nameOf({ table, id }: RowKey): string {
  return `${table} ${id}`;
}

/** Whether a job is known to have put something on disk: a claim that found nothing succeeds on a full one, too. */
function hasWritten(job: Job, result: JobResult | undefined): boolean {
  if (result === undefined || "error" in result) return false;
  if (job[0] === "probe") return true;
  return job[0] === "commit" && job[1].length > 0 && (result.value as CommitResult).result === "ok";
}

function settle(pending: PendingJob, result: JobResult | undefined): void {
  if (result === undefined) pending.reject(new Error("the writer gave no answer"));
  else if ("value" in result) pending.resolve(result.value);
  else if (result.error === "full") pending.reject(new StoreFull("the disk is full"));
  else pending.reject(new Error(result.message));
}
