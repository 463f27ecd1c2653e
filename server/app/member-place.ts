/** Keeps the name of a process on PostgreSQL in its locked data directory, so that its next start may end what it held. Reads, writes and locks files. */

import { accessSync, constants, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Config, ConfigError } from "../config.ts";
import { replacePrivateFile } from "../private-file.ts";
import { lockDirectory } from "../store/sqlite/connection.ts";
import { type Store, StoreUnusable } from "../store/store.ts";

const LOCK_FILE = "lock.db";
const MEMBER_FILE = "member.json";
/** A new value for each start of the machine, which its containers share (Linux). */
const BOOT_ID = "/proc/sys/kernel/random/boot_id";

/** The name of a process, and where it held the lock. */
interface KeptMember {
  id: string;
  place: string;
}

/** The data directory of a member. */
export interface MemberPlace {
  /** Ends what the process before held, if it is known to be dead. Call before this one takes any lease. */
  endFormer(store: Pick<Store, "endMember">, now: number): Promise<void>;
  /** Unlocks the directory. The process must hold no lease any more. */
  close(): void;
}

/**
 * Locks the data directory for the process. The kernel releases the lock when the process ends, so whoever has it knows that the one
 * before is dead. That holds on the same machine since its start, and for the same file: a copied directory, and a disk that came
 * from another machine, prove nothing. Throws `ConfigError` with one line if a process has the lock, also if it is suspended. Null
 * with the embedded database, which locks the directory itself, and if the directory is read-only.
 */
export function openMemberPlace({ databaseUrl, dataDir }: Config, id: string): MemberPlace | null {
  if (databaseUrl === null || !isWritable(dataDir)) return null;
  const lock = lockOf(dataDir);
  const path = join(dataDir, MEMBER_FILE);
  return {
    async endFormer(store, now) {
      const place = placeOf(join(dataDir, LOCK_FILE));
      if (place === null) return;
      const former = readMember(path);
      if (former?.place === place) await store.endMember(former.id, now);
      const kept: KeptMember = { id, place };
      replacePrivateFile(path, `${JSON.stringify(kept)}\n`);
    },
    close: () => lock.close(),
  };
}

function lockOf(dataDir: string) {
  try {
    return lockDirectory(join(dataDir, LOCK_FILE));
  } catch (error) {
    throw error instanceof StoreUnusable ? new ConfigError(error.message) : error;
  }
}

function isWritable(dataDir: string): boolean {
  try {
    accessSync(dataDir, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Identifies the file of the lock and the start of the machine; null if the system does not tell. */
function placeOf(lockPath: string): string | null {
  try {
    const { dev, ino } = statSync(lockPath);
    return `${readFileSync(BOOT_ID, "utf8").trim()} ${dev} ${ino}`;
  } catch {
    return null;
  }
}

/** The process before; null if there was none, or if its file cannot be read. */
function readMember(path: string): KeptMember | null {
  try {
    const { id, place } = JSON.parse(readFileSync(path, "utf8")) as Partial<KeptMember>;
    return typeof id === "string" && typeof place === "string" ? { id, place } : null;
  } catch {
    return null;
  }
}
