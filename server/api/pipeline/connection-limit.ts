/** Limits the connections that are open at once: closes idle ones first, then refuses new ones. */

import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import type { Socket } from "node:net";

/** Open files reserved for the rest of the process: 2,048 for webhooks, and 256 for store, providers and files. */
const RESERVED_FILES = 2_304;

/** Assumed limit of open files if the system reports none: most systems allow a process at least as many. */
const UNKNOWN_FILES_MAX = 1_024;

/** Most connections of one process: each costs some 10 KiB of memory even when it is idle. */
const CONNECTIONS_MAX = 16_384;

/**
 * Most connections of a process with this limit of open files (null: unknown). Connections get at least half of the files.
 */
export function connectionsMaxOf(openFilesMax: number | null): number {
  const files = openFilesMax ?? UNKNOWN_FILES_MAX;
  return Math.min(CONNECTIONS_MAX, Math.max(files - RESERVED_FILES, Math.floor(files / 2)));
}

/** The limit of open files of this process: null if the system reports none, infinite if there is no limit. */
export function readOpenFilesMax(): number | null {
  try {
    const limit = /^Max open files +(\d+|unlimited)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    if (limit !== undefined) return limit === "unlimited" ? Number.POSITIVE_INFINITY : Number(limit);
  } catch {
    // Not Linux: the report below has the limit.
  }
  return reportedOpenFilesMax();
}

interface ProcessReport {
  userLimits?: { open_files?: { soft?: number | "unlimited" } };
}

function reportedOpenFilesMax(): number | null {
  // Without this, the report resolves the names of all network peers.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as ProcessReport;
  const soft = userLimits?.open_files?.soft ?? null;
  return soft === "unlimited" ? Number.POSITIVE_INFINITY : soft;
}

/** One in so many connections is kept free by closing idle ones, so that new connections find room. */
const SPARE_PART = 32;

/**
 * Keeps a server within `max` connections. When it is nearly full, it closes the oldest idle connections. It refuses new
 * ones only if none is idle, and calls `refused` for each.
 */
export function limitConnections(server: Server, max: number, refused: () => void): void {
  server.maxConnections = max;
  const target = max - Math.ceil(max / SPARE_PART);
  /** Oldest first. */
  const open = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    if (open.size > target) closeIdle(open, open.size - target);
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

/** Whether a connection has had a response and waits for none. A new connection is not idle: its request is on its way. */
function isIdle(socket: Socket & { _httpMessage?: unknown }): boolean {
  return !socket.destroyed && (socket._httpMessage ?? null) === null && socket.bytesWritten > 0;
}
