/** Holds messages after a restore, lists them, and sends or ends them when a person decides. */

import type { MessageId } from "../../core/id.ts";
import { jsonOf, numberOf, recordOf } from "../../core/loose-json.ts";
import type { Message } from "../../core/message.ts";
import { discard, hold, isHeld, type RestoredBackup, release } from "../../core/restored-message.ts";
import { findMessage } from "../../store/messages.ts";
import { listRestorable, listUnknown } from "../../store/restored.ts";
import { findSetting } from "../../store/settings.ts";
import type { Store } from "../../store/store.ts";
import type { Deps } from "../deps.ts";
import { changeContext, type With } from "../engine-deps.ts";
import { changeMessage, type MessageDecision } from "./change-message.ts";
import { endAttempt } from "./end-attempt.ts";
import { MessageGone } from "./find.ts";

/** Name of the setting in which a restore says what it restored: `takenAt` in real epoch milliseconds, and `heldAt` later. */
export const RESTORED_BACKUP = "restored-backup";

/** Messages handled at once. */
const BATCH = 200;
/** The most messages that one request decides about if it names none. */
const DECIDED_AT_ONCE_MAX = 1_000;

/**
 * Holds what may have been sent since the backup that the database was restored from. Called by a start, before anything is
 * sent; after a crash the next start goes on.
 */
export async function holdRestored(deps: With<"link" | "messageCache">): Promise<void> {
  const { store, clock, settings } = deps;
  const record = recordOf(jsonOf((await findSetting(store.db, RESTORED_BACKUP)) ?? "null"));
  const takenAt = numberOf(record?.takenAt);
  if (takenAt === null || numberOf(record?.heldAt) !== null) return;
  const backup: RestoredBackup = { takenAt: takenAt + clock.now() - clock.real() };
  const decideAll = (message: Message) =>
    changeMessage(deps, message, (fresh) => hold(fresh, backup, settings.messageTtlMs, changeContext(deps)));
  for (let after: MessageId | null = null; ; ) {
    const { messages, last } = await listRestorable(store.db, after, BATCH);
    await Promise.all(messages.map(decideAll));
    if (last === null) break;
    after = last;
  }
  const value = JSON.stringify({ ...record, heldAt: clock.real() });
  await store.commit([{ op: "put", table: "settings", record: { name: RESTORED_BACKUP, value } }]);
}

/** Held messages older than one, the newest first. */
export async function listHeld(db: Store["db"], before: string | null, limit: number): Promise<Message[]> {
  const held: Message[] = [];
  for (let from = before; held.length < limit; ) {
    const found = await listUnknown(db, "newest", from, limit);
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
 * The person who decides takes the risk that a recipient gets a message twice, or not at all.
 */
export async function decideHeld(
  deps: With<"link" | "messageCache">,
  choice: HeldChoice,
  ids: readonly string[] | null,
): Promise<DecidedMessages> {
  const now = deps.clock.now();
  const asked = ids === null ? await oldestHeld(deps) : { messages: await findAll(deps, ids), hasMore: false };
  const decided: MessageId[] = [];
  for (let start = 0; start < asked.messages.length; start += BATCH) {
    const batch = asked.messages.slice(start, start + BATCH);
    const done = await Promise.all(batch.map((message) => decideOne(deps, choice, message, now)));
    decided.push(...batch.filter((_, index) => done[index] === true).map(({ id }) => id));
  }
  const known = new Set<string>(decided);
  return { decided, notHeld: (ids ?? []).filter((id) => !known.has(id)), hasMore: asked.hasMore };
}

async function oldestHeld({ store }: Deps): Promise<{ messages: Message[]; hasMore: boolean }> {
  const found = await listUnknown(store.db, "oldest", null, DECIDED_AT_ONCE_MAX);
  return { messages: found.filter(isHeld), hasMore: found.length === DECIDED_AT_ONCE_MAX };
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
