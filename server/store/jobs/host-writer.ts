/** Runs a writer in a thread: takes the jobs of all ports, and replies to them. */

import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import type { PortRequest, ThreadMessage } from "./database-thread.ts";
import { REAL_TIMER } from "./group-pace.ts";
import { GroupWriter } from "./group-writer.ts";
import type { Job, WrittenGroup } from "./jobs.ts";

/** A writer in a thread. */
export interface HostedWriter {
  /** Writes a group of jobs. The promise never resolves if the thread is lost. */
  write(jobs: Job[]): WrittenGroup | Promise<WrittenGroup>;
  /** See `GroupOptions.isServer`. */
  isServer: boolean;
  /** Whether the thread is lost: a group will never end. */
  isLost(): boolean;
  /** Ends the connections to the database. */
  close(): void | Promise<void>;
}

/** Hosts a writer behind `first`, the port to the thread that started this one, until that thread sends null. */
export function hostWriter(first: MessagePort, writer: HostedWriter): void {
  const ports = new Map<MessagePort, (message: Job[]) => void>();
  /** Takes everything that has been sent to this thread: the next group begins with it. */
  const receive = () => {
    for (const [port, take] of ports)
      for (let sent = receiveMessageOnPort(port); sent !== undefined; sent = receiveMessageOnPort(port))
        take(sent.message);
  };
  const { isServer } = writer;
  const groups = new GroupWriter((jobs) => writer.write(jobs), REAL_TIMER, { receive, isServer });
  const open = (port: MessagePort, take: (message: Job[]) => void) => {
    ports.set(port, take);
    port.on("message", take);
  };
  const close = async () => {
    if (!writer.isLost()) await groups.idle();
    await writer.close();
    for (const port of ports.keys()) port.close();
  };
  const add = groups.open((reply) => first.postMessage({ reply } satisfies ThreadMessage));
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
