/** The writer of a process on PostgreSQL. Runs a group of jobs: first the jobs that write, in SQL transactions, then the jobs on leases. */

import type pg from "pg";
import {
  countTransactions,
  type EncodedOutcome,
  isLeaseJob,
  type Job,
  type JobResult,
  type LeaseJob,
  type WritingJob,
  type WrittenGroup,
} from "../jobs/jobs.ts";
import type { CommitResult, StoreCounts } from "../store.ts";
import {
  changesDeliveries,
  isCommit,
  isRiding,
  NO_RESULT,
  outcomesOf,
  resultOf,
  ridingOf,
  transactionsOf,
} from "./commit-jobs.ts";
import { partsOf, raiseVersions } from "./config-versions.ts";
import type { PendingTransaction } from "./decisions.ts";
import { DeliveryQueue } from "./delivery-queue.ts";
import { beat, leave } from "./member-leases.ts";
import { leasedPairs } from "./message-leases.ts";
import { MessageQueue } from "./message-queue.ts";
import { endsOf, standingOf } from "./outcomes.ts";
import { endUnknownLeases } from "./own-leases.ts";
import type { Partitions } from "./partitions.ts";
import { RareJobs } from "./rare-jobs.ts";
import { allEnded, failureOf, isTaken, type Sql, sendAll } from "./sql.ts";
import { NO_TRANSACTIONS, TransactionRunner } from "./transaction-runner.ts";
import { commitInOrder, refusal } from "./transactions.ts";
import { type TransactionControl, WriterConnections } from "./writer-connections.ts";

/** How often an SQL transaction is repeated if others got in its way, or took a key since it was checked. */
const REPEATED_MAX = 5;
/** If a group has lasted this long and the server could not be reached, its other jobs are refused at once. In milliseconds. */
const LOST_MS_MAX = 1_000;

export class PostgresWriter {
  /** Names this process in its leases of messages, and in the deliveries that it puts into the queue. */
  readonly #owner: string;
  readonly #partitions: Partitions;
  readonly #connections: WriterConnections;
  readonly #messages: MessageQueue;
  readonly #transactions: TransactionRunner;
  readonly #counts: StoreCounts = { transactions: 0, groups: 0, commits: 0, statements: 0, walFrames: 0 };
  readonly #deliveries: DeliveryQueue;
  readonly #rare: RareJobs;
  /** Bytes of the server's write-ahead log when `counts` was first asked for. */
  #logBytes: number | null = null;
  /** Whether the database may have leases that this process does not know: a connection was lost, or a claim or a release failed. */
  #mayHoldUnknown = false;
  /** The group in progress: when it began, and the error of the first job that could not reach the server. */
  #group: { beganAt: number; lost: unknown } = { beganAt: 0, lost: null };

  /** `owner` names the process in its leases and in rows of the queues; no other process has the same name. */
  constructor(pool: pg.Pool, owner: string, partitions: Partitions) {
    this.#owner = owner;
    this.#partitions = partitions;
    this.#connections = new WriterConnections(pool, () => {
      this.#counts.statements += 1;
    });
    const noteFailure = (error: unknown) => {
      this.#noteLost(error);
      this.#mayHoldUnknown = true;
    };
    this.#messages = new MessageQueue(owner, () => performance.now(), noteFailure);
    this.#deliveries = new DeliveryQueue(owner);
    this.#transactions = new TransactionRunner(this.#deliveries);
    this.#rare = new RareJobs(owner, this.#deliveries, () => partitions.held);
  }

  /** The name of this process in its leases. */
  get owner(): string {
    return this.#owner;
  }

  /** Runs jobs, first those that write. If the disk is full or the connection is lost, all jobs that write are refused. */
  async runGroup(jobs: readonly Job[]): Promise<WrittenGroup> {
    this.#group = { beganAt: performance.now(), lost: null };
    const writing = jobs.filter((job): job is WritingJob => !isLeaseJob(job));
    const written = writing.length === 0 ? [] : await this.#write(writing);
    for (const job of writing) if (job[0] === "prune") this.#partitions.beginDrop(job[1]);
    const results: JobResult[] = [];
    for (const job of jobs) results.push(isLeaseJob(job) ? await this.#lease(job) : (written.shift() ?? NO_RESULT));
    return { results, pushed: this.#deliveries.takePushed() };
  }

  /**
   * Commits transactions. The other frequent jobs ride in the first SQL transaction that may have them; rare jobs have
   * one of their own. If a job fails, and neither the disk is full nor the connection lost, there is a bug: every job then runs by itself.
   */
  async #write(jobs: readonly WritingJob[]): Promise<JobResult[]> {
    const transactions = jobs.flatMap(transactionsOf);
    const others = jobs.filter((job) => !isCommit(job));
    let riding = others.filter(isRiding);
    const results = new Map<WritingJob, JobResult>();
    const committed = await commitInOrder(transactions, async (pending) => {
      const mayRide = !pending.some(({ operations }) => operations.some(changesDeliveries));
      const joined = mayRide ? riding : [];
      if (mayRide) riding = [];
      return this.#commitWith(pending, joined, results);
    });
    const missing = others.filter((job) => !results.has(job));
    const together = missing.filter(isRiding);
    if (together.length > 1) await this.#commitJobs(together, results);
    for (const job of missing) if (!results.has(job)) await this.#commitJobs([job], results);
    this.#counts.transactions += countTransactions(jobs);
    return jobs.map((job) => {
      if (isCommit(job)) return resultOf(job, committed.splice(0, transactionsOf(job).length));
      return results.get(job) ?? NO_RESULT;
    });
  }

  /**
   * Commits transactions with the jobs that ride along. If that fails, a job may be to blame: the
   * transactions are committed without the jobs, which have no result yet and run by themselves later.
   */
  async #commitWith(
    pending: readonly PendingTransaction[],
    joined: readonly WritingJob[],
    results: Map<WritingJob, JobResult>,
  ): Promise<Map<number, CommitResult>> {
    try {
      return await this.#commitOne(pending, joined, results);
    } catch (error) {
      if (joined.length === 0 || refusal(error).error !== "failed") throw error;
      return this.#commitOne(pending, [], results);
    }
  }

  /** Runs jobs in one SQL transaction. If it fails and one of several jobs may be to blame, the jobs get no results. */
  async #commitJobs(jobs: readonly WritingJob[], results: Map<WritingJob, JobResult>): Promise<void> {
    try {
      await this.#commitOne([], jobs, results);
    } catch (error) {
      const refused = refusal(error);
      if (refused.error === "failed" && jobs.length > 1) return;
      for (const job of jobs) results.set(job, refused);
    }
  }

  /** Commits transactions and jobs in one SQL transaction. Repeats it if others got in its way. */
  async #commitOne(
    pending: readonly PendingTransaction[],
    jobs: readonly WritingJob[],
    results: Map<WritingJob, JobResult>,
  ): Promise<Map<number, CommitResult>> {
    for (let repeated = 0; ; repeated += 1) {
      try {
        const { committed, lanes, value, written } = await this.#transaction(pending, jobs);
        for (const [index, kept] of lanes) {
          const result = committed.get(index);
          if (result?.result === "ok") result.lanes.push(...kept);
        }
        for (const job of jobs) results.set(job, { value });
        await this.#noteFinished(jobs, written, results);
        if (jobs.length > 0 || [...committed.values()].some(({ result }) => result === "ok")) this.#counts.commits += 1;
        return committed;
      } catch (error) {
        this.#noteLost(error);
        if (!(failureOf(error) === "interrupted" || isTaken(error)) || repeated === REPEATED_MAX) throw error;
      }
    }
  }

  /** Sets the results of ended attempts. Refused ones are read after the commit: they are decided again by what is there now. */
  async #noteFinished(
    jobs: readonly WritingJob[],
    written: ReadonlySet<number>,
    results: Map<WritingJob, JobResult>,
  ): Promise<void> {
    let n = 0;
    for (const job of jobs) {
      if (job[0] !== "finishDeliveries") continue;
      const areWritten = job[1].map(() => written.has(n++));
      results.set(job, await this.#finished(job[1], areWritten));
    }
  }

  async #finished(outcomes: readonly EncodedOutcome[], areWritten: readonly boolean[]): Promise<JobResult> {
    const refused = outcomes.filter((_, index) => areWritten[index] !== true);
    try {
      const standing = refused.length === 0 ? [] : await this.#connections.run((sql) => standingOf(sql, refused));
      return { value: areWritten.map((isWritten) => (isWritten ? "ok" : standing.shift())) };
    } catch (error) {
      this.#noteLost(error);
      return refusal(error);
    }
  }

  #noteLost(error: unknown): void {
    if (failureOf(error) !== "unavailable") return;
    this.#group.lost ??= error;
    this.noteRestart();
  }

  /**
   * Forgets what a restart of the server makes uncertain. The server may have leases that this process
   * does not know, such as one whose release was not on disk, and commits that this process does not
   * know. A server that took the place of another may count its SQL transactions from an earlier one.
   */
  noteRestart(): void {
    this.#mayHoldUnknown = true;
    this.#messages.forgetFloors();
    this.#deliveries.forget();
  }

  /** Ends leases that this process does not know, after a lost connection or a failed claim or release. Runs before anything else leases. */
  async #endUnknownLeases(): Promise<void> {
    if (!this.#mayHoldUnknown) return;
    const known = this.#messages.known();
    // A connection may be lost meanwhile.
    this.#mayHoldUnknown = false;
    try {
      await this.#connections.run((sql) => endUnknownLeases(sql, this.#owner, known));
    } catch (error) {
      this.#mayHoldUnknown = true;
      throw error;
    }
  }

  /**
   * Throws if the group has waited for a server that does not answer. If
   * each job of the group waited, the jobs behind it would wait for minutes.
   */
  #requireServer(): void {
    const { beganAt, lost } = this.#group;
    if (lost !== null && performance.now() - beganAt > LOST_MS_MAX) throw lost;
  }

  /**
   * Checks transactions, and then sends all changes at once, with the commit behind them. All statements are written before
   * the first is sent: an error of this process leaves nothing to commit, and after one of the server the commit rolls back.
   */
  async #sendAll(
    sql: Sql,
    { begin, commit }: TransactionControl,
    pending: readonly PendingTransaction[],
    jobs: readonly WritingJob[],
  ) {
    const began = pending.length === 0 ? begin([]) : Promise.resolve();
    const checked = pending.length === 0 ? NO_TRANSACTIONS : await this.#transactions.check(sql, begin, pending);
    const [ends, others, parts] = [
      endsOf(outcomesOf(jobs), this.#deliveries.putBy),
      ridingOf(jobs),
      partsOf(checked.accepted),
    ];
    const [, lanes, ended] = await allEnded([
      began,
      this.#transactions.change(sql, checked),
      sendAll(sql, ends),
      sendAll(sql, others),
      raiseVersions(sql, parts),
      commit(),
    ]);
    const written = new Set(ended.flat().map(([n]) => Number(n)));
    return { committed: checked.results, lanes, written, value: null };
  }

  /** Runs a rare job, which waits for replies between its statements, and then commits. */
  async #runRare(sql: Sql, { begin, commit }: TransactionControl, job: WritingJob) {
    const [, value] = await allEnded([begin([]), this.#rare.do(sql, job)]);
    await commit();
    return {
      committed: new Map<number, CommitResult>(),
      lanes: new Map<number, Set<string>>(),
      written: new Set<number>(),
      value,
    };
  }

  async #transaction(pending: readonly PendingTransaction[], jobs: readonly WritingJob[]) {
    this.#requireServer();
    await this.#endUnknownLeases();
    try {
      const rare = jobs.find((job) => !isRiding(job));
      const outcome = await this.#connections.transaction((sql, control) =>
        rare === undefined ? this.#sendAll(sql, control, pending, jobs) : this.#runRare(sql, control, rare),
      );
      this.#deliveries.apply();
      this.#counts.groups += 1;
      return outcome;
    } catch (error) {
      this.#deliveries.drop();
      this.#rare.forget();
      this.#transactions.forget();
      throw error;
    }
  }

  async #lease(job: LeaseJob): Promise<JobResult> {
    for (let repeated = 0; ; repeated += 1) {
      try {
        if (job[0] !== "hold" && job[0] !== "credit") this.#requireServer();
        if (job[0] === "claimMessages") await this.#endUnknownLeases();
        return { value: await this.#doLease(job) };
      } catch (error) {
        this.#noteLost(error);
        if (job[0] === "release") this.#messages.remove(job[1]);
        // Nobody uses these leases any more. They end before this process leases again, since it does not know them.
        this.#mayHoldUnknown ||= job[0] === "release" || job[0] === "claimMessages";
        if (failureOf(error) !== "interrupted" || repeated === REPEATED_MAX) return refusal(error);
      }
    }
  }

  async #doLease(job: LeaseJob): Promise<unknown> {
    switch (job[0]) {
      case "hold":
        this.#deliveries.hold(job[1]);
        return null;
      case "credit":
        this.#deliveries.credit(job[1]);
        return null;
      // The following jobs run their own SQL transactions.
      case "claimMessages":
        return this.#messages.claim(this.#connections, job[1]);
      case "release":
        if (job[1].length > 0) await this.#messages.release(this.#connections, job[1]);
        return null;
      case "beat":
        return beat(this.#connections, job[1]);
      case "leave":
        return leave(this.#connections, job[1]);
      default:
        return this.#connections.run((sql) => this.#doLeaseOn(sql, job));
    }
  }

  async #doLeaseOn(
    sql: Sql,
    job: Exclude<LeaseJob, ["beat" | "claimMessages" | "credit" | "hold" | "leave" | "release", ...unknown[]]>,
  ): Promise<unknown> {
    switch (job[0]) {
      case "dueDeliveries":
        return this.#deliveries.read(sql, job[1]);
      case "leasedPairs":
        return leasedPairs(sql, job[1]);
      case "counts":
        return { ...this.#counts, walFrames: await this.#logPages(sql) };
    }
  }

  /** Pages that the server's write-ahead log has grown by since the first call. */
  async #logPages(sql: Sql): Promise<number> {
    const [[bytes] = []] = await sql.values("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint");
    this.#logBytes ??= Number(bytes);
    return Math.round((Number(bytes) - this.#logBytes) / PAGE_BYTES);
  }
}

/** A page of the write-ahead log, in bytes. */
const PAGE_BYTES = 8_192;
