/** Finds the session of a token with its key, and keeps a session that is used from ending. */

import type { SessionId } from "../../core/id.ts";
import { type ApiKey, isUsable } from "../../core/key.ts";
import {
  type BrowserSession,
  hashToken,
  isLive,
  isToken,
  SESSION_IDLE_MS,
  SESSION_MS_MAX,
  useOf,
} from "../../core/session.ts";
import { findKey } from "../../store/keys.ts";
import { findSession, findSessionByHash } from "../../store/sessions.ts";
import { StoreFull } from "../../store/store.ts";
import type { Deps } from "../deps.ts";

/** A live session or link, and its usable key. */
export interface OpenedSession {
  session: BrowserSession;
  key: ApiKey;
}

/** How long a session may be unused: as long as it may be at all if only this machine reaches the service, else a day. */
export function idleMsMax({ settings }: Pick<Deps, "settings">): number {
  return settings.isLocalOnly ? SESSION_MS_MAX : SESSION_IDLE_MS;
}

/**
 * The live session or link of a token; null for an unknown or ended one, and for one whose key is revoked or expired. Reads the
 * database each time, so that a session that ended at one process has ended at all.
 */
export async function findOpened(
  deps: Deps,
  kind: BrowserSession["kind"],
  token: string,
): Promise<OpenedSession | null> {
  if (!isToken(kind, token)) return null;
  const session = await findSessionByHash(deps.store.db, hashToken(token));
  return session?.kind === kind ? withKey(deps, session) : null;
}

/** The live session of a token, as of this use of it. Null as by `findOpened`. */
export async function openSession(deps: Deps, token: string): Promise<OpenedSession | null> {
  const opened = await findOpened(deps, "session", token);
  if (opened !== null) noteUse(deps, opened.session);
  return opened;
}

/** Whether a session, which an open stream belongs to, still lives with its key. A stream counts as use. */
export async function isStillOpen(deps: Deps, id: SessionId): Promise<boolean> {
  const session = await findSession(deps.store.db, id);
  if (session === null || (await withKey(deps, session)) === null) return false;
  noteUse(deps, session);
  return true;
}

async function withKey({ store, clock }: Deps, session: BrowserSession): Promise<OpenedSession | null> {
  if (!isLive(session, clock.real())) return null;
  const key = await findKey(store.db, session.keyId);
  return key !== null && isUsable(key, clock.real()) ? { session, key } : null;
}

/** Stores the use of a session beside the request. Of uses at the same time one is stored; the others conflict. */
function noteUse(deps: Deps, session: BrowserSession): void {
  const set = useOf(session, deps.clock.real(), idleMsMax(deps));
  if (set === null) return;
  const { id, version } = session;
  deps.store.commit([{ op: "update", table: "sessions", id, version, set }]).catch((error: unknown) => {
    // The session goes on, and its next use is stored once the disk has room.
    if (!(error instanceof StoreFull)) deps.observer.fault("open-session", error);
  });
}
