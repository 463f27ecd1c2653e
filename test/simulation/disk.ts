/** The disk: a real database file that outlives the processes, with delays, moments without room, and sudden death. */

import type { Clock } from "../../server/clock.ts";
import { isLeaseJob, type Job, type WrittenGroup } from "../../server/store/jobs/jobs.ts";
import { openSqliteInProcess, type Ports } from "../../server/store/sqlite/store.ts";
import type { Store } from "../../server/store/store.ts";
import type { Chance } from "./chance.ts";
import type { Life } from "./life.ts";
import type { QueueWatch } from "./queue-watch.ts";

/** Faults of the disk in one life. */
export interface DiskFaults {
  /** Operations before the life dies at the next one; counts down. Null if the disk does not end the life. */
  operationsLeft: number | null;
  /** Whether the operation at which the life dies takes effect. It gets no response either way. */
  doneBeforeDeath: boolean;
  /** Share of operations that take a while. */
  slowShare: number;
  /** Whether there is no room at this real time. */
  isFull(real: number): boolean;
  /** Changes jobs before they run, for tests of the oracle. */
  forge?: (jobs: Job[]) => Job[];
}

/** A store of one life on the file, and functions to release the file. */
export interface OpenDisk {
  store: Store;
  /** Closes the file. The life must have ended or stopped. */
  release(): Promise<void>;
  /** The first value of a query, without faults. Used only to find the end of a run. */
  peek(sql: string): Promise<number | null>;
}

/** Longest delay before and after an operation, in milliseconds. */
const DELAY_MS_MAX = 40;
/** Longest delay of a message between threads, in milliseconds. */
const LATE_MS_MAX = 20;

/** A full disk refuses all jobs but those that write nothing. */
async function leaseOnly(ports: Ports, jobs: readonly Job[]): Promise<WrittenGroup> {
  const { results, pushed } = await ports.write(jobs.filter(isLeaseJob));
  return { results: jobs.map((job) => (isLeaseJob(job) && results.shift()) || { error: "full" }), pushed };
}

/** Opens the file for a life. Writes run in sequence, as by one writer; so do reads. */
export async function openDisk(
  path: string,
  life: Life,
  world: { clock: Clock; chance: Chance; queue: QueueWatch },
  faults: DiskFaults,
): Promise<OpenDisk> {
  let file: Ports | null = null;
  const queues = { read: Promise.resolve(), write: Promise.resolve() };

  const delay = async () => {
    if (!world.chance.flip(faults.slowShare)) return;
    const ms = world.chance.between(1, DELAY_MS_MAX);
    await new Promise<void>((resolve) => world.clock.after(ms, resolve));
  };

  const operate = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    await delay();
    await life.lives();
    const dies = faults.operationsLeft === 0;
    if (faults.operationsLeft !== null) faults.operationsLeft -= 1;
    if (dies && !faults.doneBeforeDeath) life.die();
    await life.lives();
    const value = await work();
    if (dies) life.die();
    await delay();
    return await life.whileAlive(Promise.resolve(value));
  };

  const queued = <Value>(queue: keyof typeof queues, work: () => Promise<Value>): Promise<Value> => {
    const turn = queues[queue].then(() => operate(work));
    queues[queue] = turn.then(
      () => {},
      () => {},
    );
    return turn;
  };

  /** Passes messages on in order, some of them late: the port of another thread. */
  const late = <Message>(pass: (message: Message) => void): ((message: Message) => void) => {
    let last = Promise.resolve();
    return (message) => {
      const isLate = world.chance.flip(faults.slowShare);
      last = last.then(async () => {
        if (isLate)
          await new Promise<void>((resolve) => world.clock.after(world.chance.between(1, LATE_MS_MAX), resolve));
        await life.lives();
        pass(message);
      });
    };
  };

  const through = (ports: Ports): Ports => {
    file = ports;
    return {
      read: (query) => queued("read", () => ports.read(query)),
      lists: ports.lists.map((read) => (query) => queued("read", () => read(query))),
      write: (jobs) =>
        queued("write", async () => {
          if (faults.isFull(world.clock.real())) return await leaseOnly(ports, jobs);
          const written = await ports.write(faults.forge?.(jobs) ?? jobs);
          world.queue.note(jobs, written);
          return written;
        }),
      timer: { now: () => world.clock.real(), after: (ms, action) => world.clock.after(ms, action) },
      forked: (open) => (reply, ended) => late(open(late(reply), ended)),
      close: async () => {},
    };
  };
  const store = await openSqliteInProcess(
    path,
    () => {},
    through,
    () => world.clock.monotonic(),
  );
  return {
    store,
    release: async () => await file?.close(),
    peek: async (sql) => Object.values((await file?.read({ sql, parameters: [] }))?.[0] ?? {})[0] ?? null,
  };
}
