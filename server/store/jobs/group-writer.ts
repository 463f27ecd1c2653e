/** Collects the jobs of all ports to the writer, writes them in groups, and replies to each port once per group. */

import { GroupPace, type PaceTimer } from "./group-pace.ts";
import { hasWritten, isLoneJob, type Job, type JobResult, type PushedRow, type WrittenGroup } from "./jobs.ts";

/**
 * A message to a port about one group. A port without a job in the group gets one in two cases: the port is the holder
 * of deliveries and the group changed due deliveries, or the disk has become full or has room again.
 */
export interface GroupReply {
  /** The results of the port's oldest jobs without a result, in order. */
  results: JobResult[];
  /** The changes of due deliveries by the commits of all ports, in their order. Only the holder gets any. */
  pushed: PushedRow[];
  /** Whether the disk was full at the last write. */
  isFull: boolean;
  /** How many jobs of all ports were in the group, and how long the group took. Only one port gets this. */
  group: { jobs: number; durationMs: number } | null;
}

type Reply = (reply: GroupReply) => void;
type Write = (jobs: Job[]) => WrittenGroup | Promise<WrittenGroup>;

/** How groups begin. */
export interface GroupOptions {
  /** Adds the jobs that have arrived at the ports and were not added yet. */
  receive?: () => void;
  /**
   * Whether the database is a server. Then the server gets the next group before the callers of the last group get
   * their results, so that it never waits for the callers. If the database is in this thread, the callers get their
   * results first: the next group would block the thread.
   */
  isServer?: boolean;
}

interface WaitingJob {
  job: Job;
  reply: Reply;
}

export class GroupWriter {
  readonly #write: Write;
  readonly #receive: () => void;
  readonly #isServer: boolean;
  readonly #pace: GroupPace;
  readonly #ports: Reply[] = [];
  /** The port that gets the changes of due deliveries. */
  #holder: Reply | null = null;
  /** The port whose job was the last to begin a hold. That job may still wait. */
  #lastHeld: Reply | null = null;
  #waiting: WaitingJob[] = [];
  /** A group is being written, or the next one waits for its time. */
  #isBusy = false;
  #isFull = false;
  /** Sends the replies of the last group; null if they are sent. */
  #unsent: (() => void) | null = null;
  #idle: (() => void) | null = null;

  constructor(write: Write, timer: PaceTimer | null, { receive = () => {}, isServer = false }: GroupOptions = {}) {
    this.#write = write;
    this.#receive = receive;
    this.#isServer = isServer;
    this.#pace = new GroupPace(timer);
  }

  /**
   * Opens a port. Returns the function that adds jobs, which are written in the order of the calls. The first group
   * after a rest begins in the next turn of the event loop, so that it also takes jobs that other ports bring in this
   * turn.
   */
  open(reply: Reply): (jobs: readonly Job[]) => void {
    this.#ports.push(reply);
    return (jobs) => {
      for (const job of jobs) this.#waiting.push({ job: this.#withoutStaleEnd(job, reply), reply });
      if (this.#isBusy) return;
      this.#isBusy = true;
      setImmediate(() => this.#next());
    };
  }

  /** The job; if it ends a hold after another port has begun one, a job that changes nothing. */
  #withoutStaleEnd(job: Job, reply: Reply): Job {
    if (job[0] !== "hold") return job;
    if (job[1]) this.#lastHeld = reply;
    return job[1] || this.#lastHeld === reply ? job : ["credit", { arrived: 0, bytes: 0, behind: [] }];
  }

  /** Resolves when no job waits. */
  async idle(): Promise<void> {
    if (!this.#isBusy) return;
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
  }

  #next(): void {
    this.#receive();
    if (this.#waiting.length > 0) {
      this.#pace.await(this.#waiting, () => void this.#writeGroup());
      return;
    }
    this.#isBusy = false;
    this.#idle?.();
  }

  async #writeGroup(): Promise<void> {
    this.#receive();
    const group = this.#waiting.splice(0, this.#pace.take(this.#waiting));
    const startedAt = performance.now();
    this.#pace.began();
    const written = await this.#written(group.map(({ job }) => job));
    this.#pace.ended(group);
    const durationMs = performance.now() - startedAt;
    // Replies to the group before, if both groups ended in the same turn.
    this.#sendReply();
    this.#unsent = () => this.#replyTo(group, written, durationMs);
    if (this.#isServer && this.#waiting.length > 0) {
      setImmediate(() => this.#sendReply());
      this.#next();
      return;
    }
    this.#sendReply();
    setImmediate(() => this.#next());
  }

  #sendReply(): void {
    const reply = this.#unsent;
    this.#unsent = null;
    reply?.();
  }

  async #written(jobs: Job[]): Promise<WrittenGroup> {
    try {
      return await this.#write(jobs);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { results: jobs.map(() => ({ error: "failed", message })), pushed: [] };
    }
  }

  #replyTo(group: readonly WaitingJob[], { results, pushed }: WrittenGroup, durationMs: number): void {
    const wasFull = this.#isFull;
    this.#noteFull(group, results);
    const replies = new Map<Reply, GroupReply>();
    const replyFor = (port: Reply) => {
      const known = replies.get(port);
      if (known !== undefined) return known;
      const whole = replies.size === 0 ? { jobs: group.length, durationMs } : null;
      const reply: GroupReply = { results: [], pushed: [], isFull: this.#isFull, group: whole };
      replies.set(port, reply);
      return reply;
    };
    for (const [index, { reply }] of group.entries()) replyFor(reply).results.push(results[index] ?? NO_RESULT);
    if (pushed.length > 0 && this.#holder !== null) replyFor(this.#holder).pushed = pushed;
    if (wasFull !== this.#isFull) for (const port of this.#ports) replyFor(port);
    for (const [port, reply] of replies) port(reply);
    // The writer has made the new deliveries of this group before it ran these jobs.
    for (const { job, reply } of group) if (job[0] === "hold") this.#holder = job[1] ? reply : null;
  }

  #noteFull(group: readonly WaitingJob[], results: readonly JobResult[]): void {
    // A failed job of the request log does not show that the disk is full: other jobs may still have room.
    if (group.every(({ job }) => isLoneJob(job))) return;
    if (results.some((result) => "error" in result && result.error === "full")) this.#isFull = true;
    else if (this.#isFull && group.some(({ job }, index) => hasWritten(job, results[index]))) this.#isFull = false;
  }
}

const NO_RESULT: JobResult = { error: "failed", message: "the writer sent no result" };
