/** Collects the jobs of all ports to the writer, has them written in groups, and replies to each port once a group. */

import { GroupPace, type PaceTimer } from "./group-pace.ts";
import type { Job, JobResult } from "./jobs.ts";

/** The results of one group for one port: those of its oldest jobs without a result, in order. */
export interface GroupReply {
  results: JobResult[];
  /** How long the group took, in milliseconds. */
  durationMs: number;
}

type Reply = (reply: GroupReply) => void;

interface WaitingJob {
  job: Job;
  reply: Reply;
}

export class GroupWriter {
  readonly #write: (jobs: Job[]) => JobResult[] | Promise<JobResult[]>;
  readonly #receive: () => void;
  readonly #pace: GroupPace;
  #waiting: WaitingJob[] = [];
  /** A group is being written, or the next one waits for its time. */
  #isBusy = false;
  #idle: (() => void) | null = null;

  /** `receive` adds what has arrived at the ports and was not added yet. */
  constructor(
    write: (jobs: Job[]) => JobResult[] | Promise<JobResult[]>,
    timer: PaceTimer | null,
    receive: () => void = () => {},
  ) {
    this.#write = write;
    this.#receive = receive;
    this.#pace = new GroupPace(timer);
  }

  /** Opens a port. Returns the function that adds jobs: they are written in order. */
  open(reply: Reply): (jobs: readonly Job[]) => void {
    return (jobs) => {
      for (const job of jobs) this.#waiting.push({ job, reply });
      if (this.#isBusy) return;
      this.#isBusy = true;
      this.#next();
    };
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
    const results = await this.#results(group.map(({ job }) => job));
    this.#pace.ended(group);
    const durationMs = performance.now() - startedAt;
    const replies = new Map<Reply, JobResult[]>();
    for (const [index, { reply }] of group.entries()) {
      const own = replies.get(reply) ?? [];
      own.push(results[index] ?? NO_RESULT);
      replies.set(reply, own);
    }
    for (const [reply, own] of replies) reply({ results: own, durationMs });
    setImmediate(() => this.#next());
  }

  async #results(jobs: Job[]): Promise<JobResult[]> {
    try {
      return await this.#write(jobs);
    } catch (error) {
      return jobs.map(() => ({ error: "failed", message: error instanceof Error ? error.message : String(error) }));
    }
  }
}

const NO_RESULT: JobResult = { error: "failed", message: "the writer sent no result" };
