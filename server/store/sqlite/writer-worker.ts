/** The code of the writer's thread: runs groups of jobs. */

import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { GroupWriter } from "./group-writer.ts";
import type { Job, JobResult } from "./jobs.ts";
import type { ThreadMessage, ThreadStart } from "./thread.ts";
import { DiskFailed, SqliteWriter } from "./writer.ts";

const { path } = workerData as ThreadStart;
if (parentPort === null) throw new Error("writer-worker.ts runs in a worker thread only");
hostWriter(parentPort, new SqliteWriter(path));

function post(port: MessagePort, message: ThreadMessage): void {
  port.postMessage(message);
}

function hostWriter(port: MessagePort, writer: SqliteWriter): void {
  let isLost = false;
  const write = (jobs: Job[]): JobResult[] | Promise<JobResult[]> => {
    try {
      return writer.run(jobs);
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      isLost = true;
      post(port, { fatal: error.message });
      // No later group is written.
      return new Promise(() => {});
    }
  };
  /** A thread that begins a group takes everything that was sent to it by then. */
  const receiveAll = () => {
    for (let sent = receiveMessageOnPort(port); sent !== undefined; sent = receiveMessageOnPort(port))
      receive(sent.message);
  };
  const timer = { now: () => performance.now(), after: (ms: number, action: () => void) => setTimeout(action, ms) };
  const groups = new GroupWriter(write, timer, receiveAll);
  const add = groups.open((reply) => post(port, { reply }));
  const close = async () => {
    if (!isLost) await groups.idle();
    writer.close();
    port.close();
  };
  const receive = (jobs: Job[] | null) => (jobs === null ? void close() : add(jobs));
  port.on("message", receive);
}
