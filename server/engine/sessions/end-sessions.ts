/** Ends sessions, and removes those that are over. */

import { ApiError } from "../../core/error.ts";
import type { SessionId } from "../../core/id.ts";
import { findSession, listEndedSessions } from "../../store/sessions.ts";
import type { Operation } from "../../store/store.ts";
import type { Deps } from "../deps.ts";

/** Removed in one transaction. */
const REMOVED_AT_ONCE = 200;

/** Ends a session at once, at every process. Throws 404 for an unknown one. */
export async function endSession(deps: Deps, id: string): Promise<void> {
  const session = await findSession(deps.store.db, id as SessionId);
  if (session === null) throw new ApiError("NOT_FOUND", `There is no session ${id}.`);
  await deps.store.commit([{ op: "delete", table: "sessions", where: { id: session.id } }]);
}

/** Removes sessions and links that are over. Returns whether there may be more. */
export function removeEndedSessions(deps: Deps): Promise<boolean> {
  return removeSessions(deps, deps.clock.real());
}

/** Ends all sessions and links, as long as `required` holds. */
export async function endAllSessions(deps: Deps, required: readonly Operation[]): Promise<void> {
  while (await removeSessions(deps, Number.MAX_SAFE_INTEGER, required));
}

/** Removes sessions and links that are over at `at`, if `required` holds. Returns whether there may be more. */
async function removeSessions({ store }: Deps, at: number, required: readonly Operation[] = []): Promise<boolean> {
  const ids = await listEndedSessions(store.db, at, REMOVED_AT_ONCE);
  if (ids.length === 0) return false;
  const deletes = ids.map((id): Operation => ({ op: "delete", table: "sessions", where: { id } }));
  const { result } = await store.commit([...required, ...deletes]);
  return result === "ok" && ids.length === REMOVED_AT_ONCE;
}
