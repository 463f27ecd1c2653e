/** Holds messages after a restore, lists them, and sends or ends them when a person decides. */

import type { MessageId } from "../../core/id.ts";
import { jsonOf, numberOf, recordOf } from "../../core/loose-json.ts";
import type { Message } from "../../core/message.ts";
import { discard, hold, isHeld, type RestoredBackup, release } from "../../core/restored-message.ts";
import { findMessage } from "../../store/messages.ts";
import { listQuarantinedMessages } from "../../store/quarantine.ts";
import { listRestorable, listUnknown } from "../../store/restored.ts";
import { RowUnreadable } from "../../store/rows.ts";
import { findSetting } from "../../store/settings.ts";
import type { Operation, Store } from "../../store/store.ts";
import type { Deps } from "../deps.ts";
import { changeContext, type With } from "../engine-deps.ts";
import { endAllSessions } from "../sessions/end-sessions.ts";
import { changeMessage, type MessageDecision } from "./change-message.ts";
import { endAttempt } from "./end-attempt.ts";
import { MessageGone } from "./find.ts";

/** Name of the setting in which a restore says what it restored: `takenAt` in real epoch milliseconds, and `heldAt` later. */
export const RESTORED_BACKUP = "restored-backup";

/** Messages handled at once. */
const BATCH = 200;
/** The most messages that one request decides about if it names none. */
const DECIDED_AT_ONCE_MAX = 1_000;
/** Held messages are counted up to this number. */
export const HELD_COUNTED_MAX = 1_000;

/**
 * Holds what may have been sent since the backup that the database was restored from, and ends the sessions of the backup, of which
 * some may have been ended since. Called by a start, before anything is sent; after a crash the next start goes on. If several
 * processes start, the first that has held all notes that: what came since is nothing of the backup, and no other one holds it.
 */
export async function holdRestored(deps: With<"link" | "messageCache">): Promise<void> {
  const { stored, backup } = await readRestored(deps);
  if (backup === null || backup.isHeld) return;
  try {
    await holdAll(deps, backup, unheld(stored ?? ""));
  } catch (error) {
    if ((await readRestored(deps)).stored === stored) throw error;
  }
}

/** Requires that no process has held everything of the backup since the setting was read. */
function unheld(stored: string): Operation {
  return { op: "require", table: "settings", where: { name: RESTORED_BACKUP, value: stored }, scope: RESTORED_BACKUP };
}

async function holdAll(
  deps: With<"link" | "messageCache">,
  { record, ...backup }: RestoredSetting,
  isUnheld: Operation,
): Promise<void> {
  const { store, clock } = deps;
  for (let after: MessageId | null = null; ; ) {
    const { messages, last } = await listRestorable(store.db, after, BATCH);
    await Promise.all(messages.map((message) => holdOne(deps, message, backup, [isUnheld])));
    if (last === null) break;
    after = last;
  }
  await endAllSessions(deps, [isUnheld]);
  const value = JSON.stringify({ ...record, heldAt: clock.real() });
  await store.commit([isUnheld, { op: "put", table: "settings", record: { name: RESTORED_BACKUP, value } }]);
}

/**
 * Holds messages in quarantine that can be decoded again and are older than the restore of the database: `holdRestored` could not read
 * them. A backup has messages of after its time, which is that of its beginning. Called before they leave the quarantine and become due.
 */
export async function holdMended(deps: With<"link" | "messageCache">): Promise<void> {
  const { store } = deps;
  const { backup } = await readRestored(deps);
  if (backup === null) return;
  for (let after: MessageId | null = null; ; ) {
    const ids: MessageId[] = await listQuarantinedMessages(store.db, after, BATCH);
    for (const id of ids) {
      const message = await findMessage(store.db, id).catch(nullIfRowUnreadable);
      if (message !== null && message.createdAt <= backup.restoredAt) await holdOne(deps, message, backup);
    }
    if (ids.length < BATCH) return;
    after = ids.at(-1) ?? null;
  }
}

function nullIfRowUnreadable(error: unknown): null {
  if (error instanceof RowUnreadable) return null;
  throw error;
}

/** The backup that a restore named, with all that it noted. `isHeld`: a process has held what may have been sent since. */
interface RestoredSetting extends RestoredBackup {
  record: Readonly<Record<string, unknown>>;
  /** By the service's clock. */
  restoredAt: number;
  isHeld: boolean;
}

/** The setting that a restore wrote, as text too. The backup is null if the database was not restored. */
async function readRestored({
  store,
  clock,
}: Deps): Promise<{ stored: string | null; backup: RestoredSetting | null }> {
  const stored = await findSetting(store.db, RESTORED_BACKUP);
  const record = recordOf(jsonOf(stored ?? "null"));
  const takenAt = numberOf(record?.takenAt);
  if (record === null || takenAt === null) return { stored, backup: null };
  const isHeld = numberOf(record.heldAt) !== null;
  const shiftMs = clock.now() - clock.real();
  const restoredAt = (numberOf(record.restoredAt) ?? takenAt) + shiftMs;
  return { stored, backup: { record, isHeld, takenAt: takenAt + shiftMs, restoredAt } };
}

/** When the last restore of the database ended, in real time; minus infinity if it was not restored. */
export async function findRestoredAt(deps: Deps): Promise<number> {
  const { backup } = await readRestored(deps);
  if (backup === null) return Number.NEGATIVE_INFINITY;
  return backup.restoredAt - (deps.clock.now() - deps.clock.real());
}

async function holdOne(
  deps: With<"link" | "messageCache">,
  message: Message,
  backup: RestoredBackup,
  also: Operation[] = [],
): Promise<void> {
  const { settings } = deps;
  await changeMessage(deps, message, (fresh) => {
    const change = hold(fresh, backup, settings.messageTtlMs, changeContext(deps));
    return change === null ? null : { ...change, also };
  });
}

/** Held messages older than one, the newest first. */
export function listHeld(db: Store["db"], before: string | null, limit: number): Promise<Message[]> {
  return findHeld(db, "newest", before, limit);
}

/** Counts held messages, up to `HELD_COUNTED_MAX`; 0, without a look at them, if the database was not restored from a backup. */
export async function countHeld(db: Store["db"]): Promise<number> {
  if ((await findSetting(db, RESTORED_BACKUP)) === null) return 0;
  return (await findHeld(db, "newest", null, HELD_COUNTED_MAX)).length;
}

async function findHeld(
  db: Store["db"],
  order: "newest" | "oldest",
  after: string | null,
  limit: number,
): Promise<Message[]> {
  const held: Message[] = [];
  for (let from = after; held.length < limit; ) {
    const found = await listUnknown(db, order, from, limit);
    held.push(...found.filter(isHeld));
    if (found.length < limit) break;
    from = found.at(-1)?.id ?? null;
  }
  return held.slice(0, limit);
}

/** A person's decision about held messages. */
export type HeldChoice = "release" | "discard";

/** The messages of a decision: which it was made about, which are not held, and whether others are left. */
export interface DecidedMessages {
  decided: MessageId[];
  notHeld: string[];
  hasMore: boolean;
}

/**
 * Sends held messages again (`release`), or ends them (`discard`). `ids` null: all of them, the oldest first, up to a limit.
 * The person who decides takes the risk that a recipient gets a message twice, or not at all. Throws the reason of `gone`: the
 * decisions so far stay, and a repeat finds the others held.
 */
export async function decideHeld(
  deps: With<"link" | "messageCache">,
  choice: HeldChoice,
  ids: readonly string[] | null,
  gone: AbortSignal,
): Promise<DecidedMessages> {
  const now = deps.clock.now();
  const asked = ids === null ? await oldestHeld(deps, gone) : { messages: await findAll(deps, ids), hasMore: false };
  const decided: MessageId[] = [];
  for (let start = 0; start < asked.messages.length; start += BATCH) {
    gone.throwIfAborted();
    const batch = asked.messages.slice(start, start + BATCH);
    const done = await Promise.all(batch.map((message) => decideOne(deps, choice, message, now)));
    decided.push(...batch.filter((_, index) => done[index] === true).map(({ id }) => id));
  }
  const known = new Set<string>(decided);
  return { decided, notHeld: (ids ?? []).filter((id) => !known.has(id)), hasMore: asked.hasMore };
}

async function oldestHeld({ store }: Deps, gone: AbortSignal): Promise<{ messages: Message[]; hasMore: boolean }> {
  const found = await findHeld(store.lists("admin", gone), "oldest", null, DECIDED_AT_ONCE_MAX + 1);
  return { messages: found.slice(0, DECIDED_AT_ONCE_MAX), hasMore: found.length > DECIDED_AT_ONCE_MAX };
}

async function findAll({ store }: Deps, ids: readonly string[]): Promise<Message[]> {
  const found = await Promise.all([...new Set(ids)].map((id) => findMessage(store.db, id as MessageId)));
  return found.filter((message) => message !== null);
}

/** Resolves to whether the message was held, once the decision is on disk. */
async function decideOne(
  deps: With<"link" | "messageCache">,
  choice: HeldChoice,
  message: Message,
  now: number,
): Promise<boolean> {
  let isDecided = false;
  const decide = (fresh: Message): MessageDecision => {
    const decided = choice === "release" ? released(deps, fresh, now) : discard(fresh, changeContext(deps));
    isDecided = decided !== null;
    return decided;
  };
  try {
    await changeMessage(deps, message, decide);
    return isDecided;
  } catch (error) {
    if (error instanceof MessageGone) return false;
    throw error;
  }
}

function released(deps: Deps, message: Message, now: number): MessageDecision {
  const again = release(message, deps.settings.messageTtlMs, now);
  return again === null ? null : { message: again, events: [], also: endAttempt(message, "reject", {}, now) };
}
