/** Begins sessions: with a key, or with a one-time link that somebody with the key made. Each sign-in makes a new token. */

import type { ApiKey } from "../../core/key.ts";
import { type BrowserSession, hashToken, LINK_MS, newToken, PER_KEY_MAX, sessionEnd } from "../../core/session.ts";
import { findSessionByHash, listSessionIdsOfKey } from "../../store/sessions.ts";
import type { Operation } from "../../store/store.ts";
import type { Deps } from "../deps.ts";
import { findOpened, idleMsMax } from "./open-session.ts";

/** Ended at once beyond `PER_KEY_MAX`. */
const SURPLUS_MAX = 100;

/** A new session or link, and the only copy of its token. */
export interface BegunSession {
  session: BrowserSession;
  key: ApiKey;
  token: string;
}

/** Begins a session with a usable key. `former`: the token of the session that the browser had, which ends. */
export async function beginSession(deps: Deps, key: ApiKey, former: string | null): Promise<BegunSession> {
  const now = deps.clock.real();
  const begun = make(deps, "session", key, { now, expiresAt: sessionEnd(now, now, idleMsMax(deps)) });
  await insert(deps, begun, await endOfFormer(deps, former));
  return begun;
}

/** Makes a link that begins a session with the key, once. */
export async function createLink(deps: Deps, key: ApiKey): Promise<BegunSession> {
  const now = deps.clock.real();
  const begun = make(deps, "link", key, { now, expiresAt: now + LINK_MS });
  await insert(deps, begun, []);
  return begun;
}

/**
 * Turns the link of a token into a session. Null for a link that is unknown, used or over, and for one whose key is revoked or
 * expired. Of several requests with one link, at whichever process, one gets the session.
 */
export async function redeemLink(deps: Deps, link: string, former: string | null): Promise<BegunSession | null> {
  const opened = await findOpened(deps, "link", link);
  if (opened === null) return null;
  const { session, key } = opened;
  const now = deps.clock.real();
  const token = newToken("session", deps.random);
  const set = {
    kind: "session",
    hash: hashToken(token),
    createdAt: now,
    lastUsedAt: now,
    expiresAt: sessionEnd(now, now, idleMsMax(deps)),
  } as const;
  const { id, version } = session;
  const { result } = await deps.store.commit([
    { op: "update", table: "sessions", id, version, set },
    ...(await surplus(deps, { ...session, ...set })),
    ...(await endOfFormer(deps, former)),
  ]);
  return result === "ok" ? { session: { ...session, ...set, version: version + 1 }, key, token } : null;
}

function make(
  deps: Pick<Deps, "random" | "newId">,
  kind: BrowserSession["kind"],
  key: ApiKey,
  { now, expiresAt }: { now: number; expiresAt: number },
): BegunSession {
  const token = newToken(kind, deps.random);
  const session: BrowserSession = {
    id: deps.newId("ses"),
    version: 1,
    kind,
    hash: hashToken(token),
    keyId: key.id,
    createdAt: now,
    expiresAt,
    lastUsedAt: now,
  };
  return { session, key, token };
}

async function insert(deps: Deps, { session }: BegunSession, more: readonly Operation[]): Promise<void> {
  const transaction: Operation[] = [{ op: "insert", table: "sessions", record: session }];
  transaction.push(...(await surplus(deps, session)), ...more);
  await deps.store.commit(transaction);
}

/** Ends the oldest sessions or links of a key that would have too many with this one. */
async function surplus(deps: Deps, session: BrowserSession): Promise<Operation[]> {
  const ids = await listSessionIdsOfKey(deps.store.db, session, PER_KEY_MAX + SURPLUS_MAX);
  const oldest = ids
    .filter((id) => id !== session.id)
    .sort()
    .slice(0, Math.max(0, ids.length - PER_KEY_MAX + 1));
  return oldest.map((id) => ({ op: "delete", table: "sessions", where: { id } }));
}

async function endOfFormer(deps: Deps, former: string | null): Promise<Operation[]> {
  const session = former === null ? null : await findSessionByHash(deps.store.db, hashToken(former));
  return session === null ? [] : [{ op: "delete", table: "sessions", where: { id: session.id } }];
}
