/** The writer of a process on PostgreSQL. Runs a group of jobs: first the jobs that write, in SQL transactions, then the jobs on leases. */

import type pg from "pg";
import {
  countTransactions,
  isLeaseJob,
  type Job,
  type JobResult,
  type LeaseJob,
  type WritingJob,
  type WrittenGroup,
} from "../jobs/jobs.ts";
import type { CommitResult, RecheckResult, RowKey, StoreCounts } from "../store.ts";
import { isCommit, NO_RESULT, resultOf, transactionsOf } from "./commit-jobs.ts";
import { partsOf, partsOfMended, RESET_PARTS, raiseVersions } from "./config-versions.ts";
import { DeliveryQueue } from "./delivery-queue.ts";
import { changeRouting, customersOfEndpoints } from "./endpoint-cache.ts";
import { beat, endMember, leave } from "./member-leases.ts";
import { endMessageLeases, leasedPairs, releaseMessageLeases } from "./message-leases.ts";
import { MessageQueue } from "./message-queue.ts";
import { cancelDeliveries, finishDeliveries } from "./outcomes.ts";
import { endUnknownLeases } from "./own-leases.ts";
import type { Partitions } from "./partitions.ts";
import { addToQuarantine, recheck } from "./quarantine.ts";
import { CustomerReset, prune, removeRequests } from "./removal.ts";
import { eraseRequests, logRequests } from "./request-rows.ts";
import { bothEnded, failureOf, type Sql } from "./sql.ts";
import { commitInWaves, refusal } from "./transactions.ts";
import { addUsage } from "./usage-counters.ts";
import { lockOf, type SentWave, WaveRunner, type WaveStart } from "./wave-runner.ts";
import { changesDeliveries, type Wave } from "./waves.ts";
import { WriterConnections } from "./writer-connections.ts";

/** Frequent jobs, which ride in the SQL transaction of a wave. They lock rows after the wave, in an order that all processes share. */
const RIDING: ReadonlySet<WritingJob[0]> = new Set(["finishDeliveries", "addUsage", "probe"]);
/** How often an SQL transaction is repeated if others got in its way. */
const REPEATED_MAX = 5;
/** If a group has lasted this long and the server could not be reached, its other jobs are refused at once. In milliseconds. */
const LOST_MS_MAX = 1_000;
/** An SQL transaction without a wave takes no locks first. */
const NO_START: WaveStart = { locks: [], changed: [] };

/** Name of the setting that `probe` writes. */
const PROBE = "disk-probe";

export class PostgresWriter {
  /** Names this process in its leases of messages, and in the deliveries that it puts into the queue. */
  readonly #owner: string;
  readonly #partitions: Partitions;
  readonly #connections: WriterConnections;
  readonly #reset = new CustomerReset();
  readonly #messages: MessageQueue;
  readonly #waves: WaveRunner;
  readonly #counts: StoreCounts = { transactions: 0, groups: 0, commits: 0, statements: 0, walFrames: 0 };
  readonly #deliveries: DeliveryQueue;
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
    const now = () => performance.now();
    this.#messages = new MessageQueue(owner, now, (error) => {
      this.#noteLost(error);
      this.#mayHoldUnknown = true;
    });
    this.#deliveries = new DeliveryQueue(owner);
    this.#waves = new WaveRunner(this.#deliveries);
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
   * Commits transactions in waves. The other frequent jobs ride in the SQL transaction of the first wave that may have them; rare jobs have
   * one of their own. If a job fails, and neither the disk is full nor the connection lost, there is a bug: every job then runs by itself.
   */
  async #write(jobs: readonly WritingJob[]): Promise<JobResult[]> {
    const transactions = jobs.flatMap(transactionsOf);
    const others = jobs.filter((job) => !isCommit(job));
    let riding = others.filter(([kind]) => RIDING.has(kind));
    const results = new Map<WritingJob, JobResult>();
    const committed = await commitInWaves(transactions, async (wave) => {
      const mayRide = wave.stages === null && !changesDeliveries(wave);
      const joined = mayRide ? riding : [];
      if (mayRide) riding = [];
      return this.#commitWave(wave, joined, results);
    });
    const missing = others.filter((job) => !results.has(job));
    const together = missing.filter(([kind]) => RIDING.has(kind));
    if (together.length > 1) await this.#commitJobs(together, results);
    for (const job of missing) if (!results.has(job)) await this.#commitJobs([job], results);
    this.#counts.transactions += countTransactions(jobs);
    return jobs.map((job) => {
      if (isCommit(job)) return resultOf(job, committed.splice(0, transactionsOf(job).length));
      return results.get(job) ?? NO_RESULT;
    });
  }

  /**
   * Commits a wave with the jobs that ride in it. If that fails, a job may be to blame: the
   * wave is committed alone, and the jobs, which have no result yet, run by themselves later.
   */
  async #commitWave(
    wave: Wave,
    joined: readonly WritingJob[],
    results: Map<WritingJob, JobResult>,
  ): Promise<Map<number, CommitResult>> {
    try {
      return await this.#commitUnit(wave, joined, results);
    } catch (error) {
      if (joined.length === 0 || refusal(error).error !== "failed") throw error;
      return this.#commitUnit(wave, [], results);
    }
  }

  /** Runs jobs in one SQL transaction. If it fails and one of several jobs may be to blame, the jobs get no results. */
  async #commitJobs(jobs: readonly WritingJob[], results: Map<WritingJob, JobResult>): Promise<void> {
    try {
      await this.#commitUnit(null, jobs, results);
    } catch (error) {
      const refused = refusal(error);
      if (refused.error === "failed" && jobs.length > 1) return;
      for (const job of jobs) results.set(job, refused);
    }
  }

  /** Commits a wave and jobs in one SQL transaction. Repeats it if others got in its way. */
  async #commitUnit(
    wave: Wave | null,
    jobs: readonly WritingJob[],
    results: Map<WritingJob, JobResult>,
  ): Promise<Map<number, CommitResult>> {
    for (let repeated = 0; ; repeated += 1) {
      try {
        const { committed, lanes, values } = await this.#transaction(
          (sql, start) => this.#runUnit(sql, wave, jobs, start),
          wave,
        );
        for (const [index, kept] of lanes) {
          const result = committed.get(index);
          if (result?.result === "ok") result.lanes.push(...kept);
        }
        for (const [index, job] of jobs.entries()) results.set(job, { value: values[index] });
        if (jobs.length > 0 || [...committed.values()].some(({ result }) => result === "ok")) this.#counts.commits += 1;
        return committed;
      } catch (error) {
        this.#noteLost(error);
        if (failureOf(error) !== "interrupted" || repeated === REPEATED_MAX) throw error;
      }
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

  async #runUnit(sql: Sql, wave: Wave | null, jobs: readonly WritingJob[], start: WaveStart) {
    const { results, lanes } = wave === null ? NO_WAVE : await this.#waves.send(sql, wave, start);
    // The jobs do not wait for the reply to the wave.
    const [committed, values] = await bothEnded(results, this.#doAll(sql, jobs));
    const changed = wave?.transactions.filter(({ index }) => committed.get(index)?.result === "ok") ?? [];
    await raiseVersions(sql, partsOf(changed.map(({ operations }): WritingJob => ["commit", [...operations]])));
    return { committed, lanes, values };
  }

  /** Does jobs in their order, except that one statement writes all ends of attempts first. */
  async #doAll(sql: Sql, jobs: readonly WritingJob[]): Promise<unknown[]> {
    const outcomes = jobs.flatMap((job) => (job[0] === "finishDeliveries" ? job[1] : []));
    const finished = outcomes.length === 0 ? [] : await finishDeliveries(sql, this.#deliveries.putBy, outcomes);
    const values: unknown[] = [];
    for (const job of jobs)
      values.push(job[0] === "finishDeliveries" ? finished.splice(0, job[1].length) : await this.#do(sql, job));
    return values;
  }

  async #transaction<Outcome>(
    work: (sql: Sql, start: WaveStart) => Promise<Outcome>,
    wave: Wave | null,
  ): Promise<Outcome> {
    this.#requireServer();
    await this.#endUnknownLeases();
    try {
      const outcome = await this.#connections.transaction(async (sql, begin) => {
        const start = wave === null ? NO_START : await this.#waves.start(sql, wave);
        // The statements after `begin` do not wait for its reply. If `begin` fails, they fail too: the SQL transaction is aborted.
        const [, done] = await bothEnded(begin(start.locks), work(sql, start));
        return done;
      });
      this.#deliveries.apply();
      this.#counts.groups += 1;
      return outcome;
    } catch (error) {
      this.#deliveries.drop();
      this.#reset.forget();
      this.#waves.forget();
      throw error;
    }
  }

  async #do(sql: Sql, job: Exclude<WritingJob, ["finishDeliveries", ...unknown[]]>): Promise<unknown> {
    switch (job[0]) {
      case "commit":
      case "commitAll":
        throw new Error(`${job[0]} is run in waves`);
      case "probe":
        await sql.values(
          "insert into settings (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value",
          [PROBE, job[1]],
        );
        return null;
      case "releaseLeases":
        return releaseMessageLeases(sql, { until: job[1], now: job[2], member: this.#owner });
      case "endMember":
        await endMember(sql, job[1]);
        await endMessageLeases(sql, job[1], job[2]);
        return null;
      case "cancelDeliveries": {
        const { ids, count } = await cancelDeliveries(sql, job[1], job[2], job[3]);
        this.#deliveries.gone(ids);
        return count;
      }
      case "prune":
        return prune(sql, this.#partitions.held, job[1], job[2]);
      case "reset":
        return this.#resetCustomer(sql, job);
      case "addUsage":
        return addUsage(sql, job[1], job[2]);
      case "logRequests":
        return logRequests(sql, job[1]);
      case "removeRequests":
        return removeRequests(sql, job[1]);
      case "eraseRequests":
        await eraseRequests(sql, job[1]);
        return null;
      case "quarantine":
        await addToQuarantine(sql, job[1]);
        this.#deliveries.gone(job[1].flatMap(({ table, id }) => (table === "deliveries" ? [id] : [])));
        return null;
      case "recheck":
        return this.#recheck(sql, job[1], job[2], job[3]);
    }
  }

  /** Removes records of a customer. Other processes learn that opt-outs and threads may be among them. */
  async #resetCustomer(sql: Sql, [, customerId, limit, begins]: Extract<WritingJob, ["reset", ...unknown[]]>) {
    await sql.values(lockOf([customerId]));
    const removed = await this.#reset.reset(sql, customerId, limit, begins);
    if (removed > 0) await raiseVersions(sql, RESET_PARTS);
    return removed;
  }

  /** Rechecks the quarantine. Other processes learn that rows left it, and which parts of their configuration were read without those rows. */
  async #recheck(sql: Sql, after: RowKey | null, limit: number, now: number): Promise<RecheckResult> {
    const rechecked = await recheck(sql, after, limit, now);
    const endpoints = rechecked.mended.flatMap(({ table, id }) => (table === "endpoints" ? [id] : []));
    if (endpoints.length > 0) await changeRouting(sql, await customersOfEndpoints(sql, endpoints));
    await raiseVersions(sql, partsOfMended(rechecked.mended.map(({ table }) => table)));
    if (rechecked.mended.length > 0) this.#deliveries.rescan();
    return rechecked;
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

/** Stands for the wave in an SQL transaction that has only jobs. */
const NO_WAVE: SentWave = { results: Promise.resolve(new Map()), lanes: new Map() };

/** A page of the write-ahead log, in bytes. */
const PAGE_BYTES = 8_192;
