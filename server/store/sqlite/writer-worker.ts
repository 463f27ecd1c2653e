/** The code of the writer's thread: runs groups of jobs. */

import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { GroupWriter } from "../jobs/group-writer.ts";
import type { Job, WrittenGroup } from "../jobs/jobs.ts";
import type { PortRequest, ThreadMessage, ThreadStart } from "./thread.ts";
import { DiskFailed, SqliteWriter } from "./writer.ts";

const { path } = workerData as ThreadStart;
if (parentPort === null) throw new Error("writer-worker.ts runs in a worker thread only");
hostWriter(parentPort, new SqliteWriter(path));

function post(port: MessagePort, message: ThreadMessage): void {
  port.postMessage(message);
}

function hostWriter(first: MessagePort, writer: SqliteWriter): void {
  let isLost = false;
  const write = (jobs: Job[]): WrittenGroup | Promise<WrittenGroup> => {
    try {
      return writer.runGroup(jobs);
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      isLost = true;
      post(first, { fatal: error.message });
      // No later group is written.
      return new Promise(() => {});
    }
  };
  const ports = new Map<MessagePort, (message: Job[]) => void>();
  /** Takes everything that has been sent to this thread: the next group begins with it. */
  const receiveAll = () => {
    for (const [port, receive] of ports)
      for (let sent = receiveMessageOnPort(port); sent !== undefined; sent = receiveMessageOnPort(port))
        receive(sent.message);
  };
  const timer = { now: () => performance.now(), after: (ms: number, action: () => void) => setTimeout(action, ms) };
  const groups = new GroupWriter(write, timer, { receive: receiveAll });
  const open = (port: MessagePort, receive: (message: Job[]) => void) => {
    ports.set(port, receive);
    port.on("message", receive);
  };
  const close = async () => {
    if (!isLost) await groups.idle();
    writer.close();
    for (const port of ports.keys()) port.close();
  };
  const add = groups.open((reply) => post(first, { reply }));
  open(first, (message: Job[] | PortRequest | null) => {
    if (message === null) void close();
    else if ("open" in message)
      open(
        message.open,
        groups.open((reply) => message.open.postMessage(reply)),
      );
    else add(message);
  });
}
