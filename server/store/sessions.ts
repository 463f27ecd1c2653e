/** Reads of sessions and of links that begin one. */

import type { Kysely } from "kysely";
import type { SessionId } from "../core/id.ts";
import type { BrowserSession } from "../core/session.ts";
import { decodePage } from "./quarantine.ts";
import { type Database, decode } from "./rows.ts";

/** The session or link whose token has this SHA-256, whether or not it is still valid. */
export async function findSessionByHash(db: Kysely<Database>, hash: string): Promise<BrowserSession | null> {
  const row = await db.selectFrom("sessions").selectAll().where("hash", "=", hash).executeTakeFirst();
  return row === undefined ? null : decode("sessions", row);
}

export async function findSession(db: Kysely<Database>, id: SessionId): Promise<BrowserSession | null> {
  const row = await db.selectFrom("sessions").selectAll().where("id", "=", id).executeTakeFirst();
  return row === undefined ? null : decode("sessions", row);
}

/** Sessions that are valid at `now` and older than `before` (an id; all when null), newest first. */
export async function listSessions(
  db: Kysely<Database>,
  now: number,
  before: string | null,
  limit: number,
): Promise<BrowserSession[]> {
  return decodePage(db, "sessions", limit, (skip, count) => {
    const live = db.selectFrom("sessions").selectAll().where("kind", "=", "session").where("expires_at", ">", now);
    const query = live.orderBy("id", "desc").limit(count).offset(skip);
    return (before === null ? query : query.where("id", "<", before as SessionId)).execute();
  });
}

/** Ids of the sessions or links of a key, in no order: at most `limit`. */
export async function listSessionIdsOfKey(
  db: Kysely<Database>,
  { keyId, kind }: Pick<BrowserSession, "keyId" | "kind">,
  limit: number,
): Promise<SessionId[]> {
  const ofKey = db.selectFrom("sessions").select("id").where("key_id", "=", keyId).where("kind", "=", kind);
  return (await ofKey.limit(limit).execute()).map(({ id }) => id);
}

/** Ids of sessions and links that are over at `now`: at most `limit`. */
export async function listEndedSessions(db: Kysely<Database>, now: number, limit: number): Promise<SessionId[]> {
  const query = db
    .selectFrom("sessions")
    .select("id")
    .where("expires_at", "<=", now)
    .orderBy("expires_at")
    .limit(limit);
  return (await query.execute()).map(({ id }) => id);
}
