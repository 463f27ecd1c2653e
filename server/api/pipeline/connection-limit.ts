/** How many connections may be open at once, and which of them are closed when there are too many. */

import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import type { Socket } from "node:net";

/** Files that are kept free for the rest of the process: 2,048 webhooks at once, and 256 for the store, providers and files. */
const RESERVED_FILES = 2_304;

/** Open files where the system does not say: what most systems allow a process at least. */
const UNKNOWN_FILES_MAX = 1_024;

/** More connections than this are of no use to one process: each costs some 10 KiB of memory even when it is idle. */
const CONNECTIONS_MAX = 16_384;

/**
 * Most connections for a process that may have so many files open; null where that is not known. Where the reserve would
 * take more than half of them, connections get half.
 */
export function connectionsMaxOf(openFilesMax: number | null): number {
  const files = openFilesMax ?? UNKNOWN_FILES_MAX;
  return Math.min(CONNECTIONS_MAX, Math.max(files - RESERVED_FILES, Math.floor(files / 2)));
}

/** How many files this process may have open; null where the system does not say, infinite where there is no limit. */
export function readOpenFilesMax(): number | null {
  try {
    const limit = /^Max open files +(\d+|unlimited)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    if (limit !== undefined) return limit === "unlimited" ? Number.POSITIVE_INFINITY : Number(limit);
  } catch {
    // Not a Linux: the report below knows.
  }
  return reportedOpenFilesMax();
}

interface Report {
  userLimits?: { open_files?: { soft?: number | "unlimited" } };
}

function reportedOpenFilesMax(): number | null {
  // Names of network peers would have to be looked up for it.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as Report;
  const soft = userLimits?.open_files?.soft ?? null;
  return soft === "unlimited" ? Number.POSITIVE_INFINITY : soft;
}

/** One in so many connections is kept free by closing idle ones, so that a new one is accepted while they close. */
const SPARE_PART = 32;

/**
 * Keeps a server within `max` connections: when it is nearly full the oldest idle ones are closed, and only when none
 * is idle, new ones are refused. `refused` is told of each that is.
 */
export function limitConnections(server: Server, max: number, refused: () => void): void {
  server.maxConnections = max;
  const wanted = max - Math.ceil(max / SPARE_PART);
  /** The oldest first. */
  const open = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    if (open.size > wanted) closeIdle(open, open.size - wanted);
  });
  server.on("drop", refused);
}

function closeIdle(open: ReadonlySet<Socket>, count: number): void {
  let left = count;
  for (const socket of open) {
    if (left <= 0) return;
    if (!isIdle(socket)) continue;
    left -= 1;
    socket.destroy();
  }
}

/** Whether a connection has had an answer and waits for none: a new one, whose request is on its way, is not idle. */
function isIdle(socket: Socket & { _httpMessage?: unknown }): boolean {
  return !socket.destroyed && (socket._httpMessage ?? null) === null && socket.bytesWritten > 0;
}
