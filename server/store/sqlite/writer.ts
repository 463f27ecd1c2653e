/**
 * The one writer of a database. Runs a group of jobs in one SQL transaction, and returns when it is on disk.
 * Synchronous.
 */

import type { DatabaseSync } from "node:sqlite";
import { deliveriesOf } from "../../core/delivery.ts";
import type { Endpoint } from "../../core/webhook.ts";
import {
  type ClaimedMessageRows,
  countTransactions,
  type EncodedOperation,
  isLeaseJob,
  type Job,
  type JobResult,
  type LeaseJob,
  type WritingJob,
  type WrittenGroup,
} from "../jobs/jobs.ts";
import type { TableName } from "../records.ts";
import { decodeEach, decodeRecord, LAYOUT, type SqlValue } from "../rows.ts";
import type { CommitResult, MessageClaim, RecheckResult, RowKey } from "../store.ts";
import { TABLES } from "../tables.ts";
import { errorCode, isLost, openWriter, SQLITE_FULL, SQLITE_IOERR } from "./connection.ts";
import { DeliveryWriter } from "./delivery-writer.ts";
import { EventPositions } from "./event-positions.ts";
import { LeaseEffects } from "./lease-effects.ts";
import { MemberLeases } from "./member-leases.ts";
import { MessageClaims } from "./message-claims.ts";
import { QuarantineTable } from "./quarantine.ts";
import { RecordRemoval } from "./record-removal.ts";
import { RequiredRecords } from "./required-records.ts";
import { Statements } from "./statements.ts";
import { allRows } from "./wide-rows.ts";
import { WriteCounts } from "./write-counts.ts";

/** The most customers whose endpoints are cached. */
const CUSTOMERS_CACHED_MAX = 1_000;

/** Name of the setting that `probe` writes. */
const PROBE = "disk-probe";

/** The state of the disk is unknown after this error: the process has to end and recover at its next start. */
export class DiskFailed extends Error {}

export class SqliteWriter {
  readonly #database: DatabaseSync;
  readonly #counts: WriteCounts;
  readonly #statements: Statements;
  readonly #messages: MessageClaims;
  readonly #leaseEffects: LeaseEffects;
  readonly #deliveries: DeliveryWriter;
  /** Endpoints by customer. Cleared when any endpoint changes, and after a rollback. */
  readonly #endpoints = new Map<string, Endpoint[]>();
  readonly #removal: RecordRemoval;
  readonly #quarantine: QuarantineTable;
  readonly #events: EventPositions;
  readonly #members: MemberLeases;
  readonly #required: RequiredRecords;

  /** `now`: the monotonic clock, by which leases end. */
  constructor(path: string, now: () => number = () => performance.now()) {
    this.#database = openWriter(path);
    this.#counts = new WriteCounts(this.#database);
    this.#statements = new Statements(this.#database, () => this.#counts.addStatement());
    this.#events = new EventPositions(this.#statements);
    this.#members = new MemberLeases(now);
    this.#required = new RequiredRecords(this.#statements);
    this.#messages = new MessageClaims(this.#statements, now);
    this.#leaseEffects = new LeaseEffects(this.#messages, this.#statements);
    this.#quarantine = new QuarantineTable(this.#database);
    this.#deliveries = new DeliveryWriter(this.#statements, this.#quarantine);
    this.#removal = new RecordRemoval(this.#statements, this.#deliveries, this.#leaseEffects);
  }

  /** The connection, for the in-process store, which reads on it too. */
  get database(): DatabaseSync {
    return this.#database;
  }

  /** Rows that claims and reads of due deliveries have read so far. Tests bound this number. */
  get rowsRead(): number {
    return this.#messages.rowsRead + this.#deliveries.rowsRead;
  }

  /**
   * Runs the writing jobs in one SQL transaction, then the lease jobs. On a full disk, every writing job is refused and
   * nothing changes. Throws `DiskFailed` if an fsync fails or the file is damaged.
   */
  run(jobs: readonly Job[]): JobResult[] {
    const writing = jobs.filter((job): job is WritingJob => !isLeaseJob(job));
    const written = writing.length === 0 ? [] : this.#write(writing);
    return jobs.map((job) => (isLeaseJob(job) ? this.#lease(job) : (written.shift() ?? NO_RESULT)));
  }

  /** Runs jobs like `run`, and also returns their changes of due deliveries. */
  runGroup(jobs: readonly Job[]): WrittenGroup {
    return { results: this.run(jobs), pushed: this.#deliveries.takePushed() };
  }

  /** Any failure of a job other than a full disk is a bug: then every job runs in a SQL transaction of its own. */
  #write(jobs: readonly WritingJob[]): JobResult[] {
    let results: { value: unknown }[];
    try {
      results = this.#transaction(() => jobs.map((job) => ({ value: this.#do(job) })), countTransactions(jobs));
    } catch (error) {
      const refused = refusal(error);
      const [job] = jobs;
      if (refused.error !== "full" && jobs.length === 1 && job?.[0] === "commitAll")
        return [{ value: job[1].flatMap((operations) => this.#write([["commit", operations]])) }];
      if (refused.error === "full" || jobs.length === 1) return jobs.map(() => refused);
      return jobs.flatMap((each) => this.#write([each]));
    }
    this.#deliveries.apply();
    this.#leaseEffects.apply();
    return results.map(({ value }) => ({ value: value instanceof CommittedAll ? value.results() : replyOf(value) }));
  }

  #lease(job: LeaseJob): JobResult {
    try {
      return { value: this.#doLease(job) };
    } catch (error) {
      return refusal(error);
    }
  }

  #doLease(job: LeaseJob): unknown {
    switch (job[0]) {
      case "dueDeliveries":
        return this.#deliveries.read(job[1]);
      case "release":
        this.#messages.release(job[1]);
        return null;
      case "claimMessages":
        return this.#claimMessages(job[1]);
      case "leasedPairs":
        return this.#messages.leasedPairs(job[1]);
      case "hold":
        this.#deliveries.hold(job[1]);
        return null;
      case "credit":
        this.#deliveries.credit(job[1]);
        return null;
      case "beat":
        return this.#members.beat(job[1]);
      case "leave":
        this.#members.leave(job[1]);
        return null;
      case "counts":
        return this.#counts.counts;
    }
  }

  close(): void {
    this.#database.close();
  }

  #transaction<Outcome>(work: () => Outcome, transactions: number): Outcome {
    this.#database.exec("begin immediate");
    try {
      const outcome = work();
      this.#database.exec("commit");
      this.#counts.addGroup(transactions);
      return outcome;
    } catch (error) {
      this.#deliveries.drop();
      this.#leaseEffects.drop();
      this.#endpoints.clear();
      this.#quarantine.forget();
      this.#removal.forget();
      this.#required.forgetAll();
      if (this.#database.isTransaction) this.#database.exec("rollback");
      throw error;
    }
  }

  #do(job: WritingJob): unknown {
    switch (job[0]) {
      case "commit":
        return this.#commit(job[1]);
      case "commitAll":
        return new CommittedAll(job[1].map((operations) => this.#commit(operations)));
      case "finishDeliveries":
        return this.#deliveries.finish(job[1]);
      case "releaseLeases":
        return this.#releaseLeases(job[1], job[2]);
      case "endMember":
        // Nothing else to do: the leases of the member's records ended with its process.
        this.#members.leave(job[1]);
        return null;
      case "cancelDeliveries":
        return this.#deliveries.cancel(job[1], job[2], job[3]);
      case "prune":
        return this.#removal.prune(job[1], job[2]);
      case "reset":
        this.#required.forgetAll();
        return this.#removal.reset(job[1], job[2], job[3]);
      case "addUsage":
        if (Number(this.#statements.addUsage("batch").run(...job[1]).changes) === 0) return null;
        for (const values of job[2]) this.#statements.addUsage("hour").run(...values);
        return null;
      case "logRequests":
        for (const values of job[1]) this.#statements.insert("requests").run(...values);
        return null;
      case "removeRequests":
        return this.#removal.removeRequests(job[1]);
      case "eraseRequests":
        this.#removal.eraseRequests(job[1]);
        return null;
      case "quarantine":
        this.#quarantine.add(job[1]);
        this.#required.forgetAll();
        for (const { table, id, isLeased } of job[1]) {
          if (table === "deliveries") this.#deliveries.removed(id);
          if (table === "messages" && isLeased) this.#leaseEffects.removed(id);
        }
        return null;
      case "recheck":
        return this.#recheck(job[1], job[2], job[3]);
      case "probe":
        this.#statements.put("settings").run(PROBE, job[1]);
        return null;
    }
  }

  #commit(operations: readonly EncodedOperation[]): CommitResult | Committed {
    for (const operation of operations) {
      if (operation[0] === "insertUnique" && this.#isDuplicate(operation[1], operation[2]))
        return { result: "duplicate" };
      if (operation[0] === "update" && this.#isConflict(operation[1], operation[4], operation[5]))
        return { result: "conflict" };
      if (operation[0] === "require" && !this.#required.isFound(operation[1], operation[2], operation[3]))
        return { result: "conflict" };
      if (operation[0] === "requireNone" && this.#required.isFound(operation[1], operation[2], operation[3]))
        return { result: "conflict" };
      if (operation[0] === "requireUnleased" && this.#messages.isLeased(operation[1], [operation[2], operation[3]]))
        return { result: "unmet" };
      if (operation[0] === "requireEpoch" && !this.#members.has({ lease: operation[1], epoch: operation[2] }))
        return { result: "unmet" };
    }
    const committed = new Committed();
    for (const operation of operations) this.#apply(operation, committed);
    return committed;
  }

  #isDuplicate(table: TableName, values: readonly SqlValue[]): boolean {
    const unique: readonly string[] = TABLES[table].unique;
    const key = LAYOUT[table].flatMap(({ property }, index) =>
      unique.includes(property) ? [values[index] ?? null] : [],
    );
    return this.#statements.exists(table).get(...key) !== undefined;
  }

  #isConflict(table: TableName, id: string, version: number): boolean {
    const row = this.#statements.version(table).get(id) as unknown as SqlValue[] | undefined;
    return row?.[0] !== version;
  }

  #apply(operation: EncodedOperation, committed: Committed): void {
    switch (operation[0]) {
      case "insert":
      case "insertUnique": {
        if (operation[1] === "events") {
          this.#events.insert(operation[2]);
          break;
        }
        const { lastInsertRowid } = this.#statements.insert(operation[1]).run(...operation[2]);
        if (operation[1] === "deliveries") this.#deliveries.inserted(operation[2], Number(lastInsertRowid));
        if (operation[1] === "messages") this.#leaseEffects.inserted(operation[2]);
        break;
      }
      case "put":
        this.#statements.put(operation[1]).run(...operation[2]);
        break;
      case "update":
        this.#statements.update(operation[1], operation[2]).run(...operation[3], operation[4]);
        if (operation[1] === "deliveries" && /\bdueAt\b/.test(operation[2])) this.#deliveries.updated(operation[4]);
        if (operation[1] === "messages") this.#leaseEffects.updated(operation[2], operation[3], operation[4]);
        break;
      case "set":
        this.#statements.set(operation[1], operation[2], operation[3]).run(...operation[4]);
        break;
      case "delete":
        this.#statements.delete(operation[1], operation[2]).run(...operation[3]);
        this.#required.forget(operation[1]);
        if (operation[1] === "messages") this.#leaseEffects.removed(String(operation[3][0]));
        break;
      case "event":
        this.#addEvent(operation[1], operation[2], committed);
        return;
      case "rewrite":
        this.#statements.rewriteEvent().run(operation[2], operation[1]);
        this.#statements.eraseResponses().run(operation[1]);
        return;
      case "require":
      case "requireNone":
      case "requireUnleased":
      case "requireEpoch":
        return;
    }
    if (operation[1] === "endpoints") this.#endpoints.clear();
  }

  /** Adds an event and its deliveries, in the transaction of the change that it reports. */
  #addEvent(values: SqlValue[], callbackUrl: string | null, committed: Committed): void {
    this.#events.insert(values);
    const event = decodeRecord("events", values);
    const endpoints = this.#endpointsOf(event.customerId);
    for (const delivery of deliveriesOf(event, endpoints, callbackUrl)) {
      this.#deliveries.add(delivery, event, committed.lanes);
    }
  }

  #endpointsOf(customerId: string): Endpoint[] {
    const cached = this.#endpoints.get(customerId);
    if (cached !== undefined) return cached;
    if (this.#endpoints.size >= CUSTOMERS_CACHED_MAX) this.#endpoints.clear();
    const rows = allRows(this.#statements.endpointsOf(), [customerId]) as SqlValue[][];
    const { records, unreadable } = decodeEach(rows, (values) => decodeRecord("endpoints", values));
    this.#quarantine.add(unreadable.map((one) => ({ ...one, isLeased: false })));
    this.#endpoints.set(customerId, records);
    return records;
  }

  #recheck(after: RowKey | null, limit: number, now: number): RecheckResult {
    const rechecked = this.#quarantine.recheck(after, limit, now);
    if (rechecked.mended.length > 0) {
      this.#endpoints.clear();
      this.#deliveries.rescan();
      this.#leaseEffects.rescan();
    }
    return rechecked;
  }

  #claimMessages({ lanes, ...claim }: MessageClaim): ClaimedMessageRows {
    const mine = lanes.filter(({ required }) => required === undefined || this.#members.has(required));
    const claimed = mine.map((lane) => ({ lane: lane.lane, ...this.#messages.claim(lane, claim) }));
    return {
      rows: claimed.flatMap(({ rows }) => rows),
      more: claimed.flatMap(({ lane, more }) => (more ? [lane] : [])),
    };
  }

  #releaseLeases(until: number, now: number): number {
    const end = Math.min(until, Number.MAX_SAFE_INTEGER);
    const messages = this.#statements.releaseLeases().all(now, end) as unknown as string[][];
    for (const [id = ""] of messages) this.#leaseEffects.removed(id);
    if (messages.length > 0) this.#leaseEffects.rescan();
    if (until === Number.POSITIVE_INFINITY) this.#leaseEffects.cleared();
    return messages.length;
  }
}

/**
 * A transaction of a group. `lanes` is complete only after COMMIT: it has the lanes of new deliveries that were not
 * pushed.
 */
class Committed {
  readonly lanes = new Set<string>();

  reply(): CommitResult {
    return { result: "ok", lanes: [...this.lanes] };
  }
}

/** The committed transactions of one job. */
class CommittedAll {
  readonly #each: readonly (CommitResult | Committed)[];

  constructor(each: readonly (CommitResult | Committed)[]) {
    this.#each = each;
  }

  results(): JobResult[] {
    return this.#each.map((one) => ({ value: replyOf(one) }));
  }
}

function replyOf(value: unknown): unknown {
  return value instanceof Committed ? value.reply() : value;
}

const NO_RESULT: JobResult = { error: "failed", message: "the writer has no result" };

/** Returns the refusal of a job after an error. Throws `DiskFailed` if the writer must not go on. */
function refusal(error: unknown): { error: "full" } | { error: "failed"; message: string } {
  const code = errorCode(error);
  const message = error instanceof Error ? error.message : String(error);
  if (isLost(error)) throw new DiskFailed(message);
  if (code === SQLITE_FULL || code === SQLITE_IOERR) return { error: "full" };
  return { error: "failed", message };
}
