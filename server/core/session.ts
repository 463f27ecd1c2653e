/** Sessions of the console and the one-time links that begin one: their tokens, their lifetimes, and what proves that a request comes from the console. Pure. */

import { createHmac, hash, timingSafeEqual } from "node:crypto";
import type { SessionSummary, Session as WireSession } from "../../sdk/wire.ts";
import type { KeyId, Random, SessionId } from "./id.ts";
import { iso } from "./instant.ts";
import type { ApiKey } from "./key.ts";

export const SESSION_KINDS = ["link", "session"] as const;

/** A session, or a link that has not been used yet. All instants are real time: the sandbox's clock does not move them. */
export interface BrowserSession {
  id: SessionId;
  version: number;
  /** `link`: its token begins a session, once. `session`: its token is in the cookie of a browser. */
  kind: (typeof SESSION_KINDS)[number];
  /** SHA-256 of the token, lower-case hex. The token itself is never stored. */
  hash: string;
  /** The key that signed in: a session may do what the key may do, as long as the key is usable. */
  keyId: KeyId;
  createdAt: number;
  expiresAt: number;
  lastUsedAt: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A session ends this long after its sign-in, in milliseconds. */
export const SESSION_MS_MAX = 30 * DAY_MS;
/** A session that is not used for this long ends, in milliseconds, if others than this machine reach the service. */
export const SESSION_IDLE_MS = DAY_MS;
/** A link can be used for this long, in milliseconds. */
export const LINK_MS = 5 * MINUTE_MS;
/** The use of a session is stored at most this often, in milliseconds. */
const USE_EVERY_MS = 10 * MINUTE_MS;
/** Sessions of a key, and links of a key. A further one ends the oldest one. */
export const PER_KEY_MAX = 50;

const TOKEN_BYTES = 32;
const PREFIXES = { session: "tbs_", link: "tbl_" } as const;
const WELL_FORMED = /^tb[sl]_[A-Za-z0-9_-]{43}$/;

/** A new token: 256 random bits. */
export function newToken(kind: BrowserSession["kind"], random: Random): string {
  return PREFIXES[kind] + Buffer.from(random(TOKEN_BYTES)).toString("base64url");
}

/** Whether a text can be a token of this kind. */
export function isToken(kind: BrowserSession["kind"], text: string): boolean {
  return text.startsWith(PREFIXES[kind]) && WELL_FORMED.test(text);
}

/** The stored hash of a token. */
export function hashToken(token: string): string {
  return hash("sha256", token, "hex");
}

/** The CSRF token of the session with this token. It does not reveal the session's token. */
function csrfTokenOf(token: string): string {
  return createHmac("sha256", token).update("tightbeam csrf").digest("base64url");
}

/** Whether `given` is the CSRF token of the session with this token. Takes the same time for every wrong one. */
export function isCsrfTokenOf(token: string, given: string): boolean {
  const [wanted, found] = [Buffer.from(csrfTokenOf(token)), Buffer.from(given)];
  return found.length === wanted.length && timingSafeEqual(found, wanted);
}

/** When a session that is used at `now` ends. `idleMsMax`: how long it may be unused. */
export function sessionEnd(createdAt: number, now: number, idleMsMax: number): number {
  return Math.min(createdAt + SESSION_MS_MAX, now + idleMsMax);
}

/** Whether a session or link is valid at `now`. */
export function isLive({ expiresAt }: BrowserSession, now: number): boolean {
  return now < expiresAt;
}

/** The change of the stored session by a use at `now`; null if its last use was stored just before. */
export function useOf(session: BrowserSession, now: number, idleMsMax: number): Partial<BrowserSession> | null {
  if (now - session.lastUsedAt < USE_EVERY_MS) return null;
  return { lastUsedAt: now, expiresAt: sessionEnd(session.createdAt, now, idleMsMax) };
}

/** The session of a request, and the token in its cookie. */
export interface RequestSession {
  session: BrowserSession;
  token: string;
}

/** A session as operators see it. */
export function sessionSummary({ id, keyId, createdAt, lastUsedAt, expiresAt }: BrowserSession): SessionSummary {
  return { id, keyId, createdAt: iso(createdAt), lastUsedAt: iso(lastUsedAt), expiresAt: iso(expiresAt) };
}

/** The service as its console shows it. */
export type ConsoleState = Pick<WireSession, "isSandbox" | "isClockMoved" | "isInboxOn" | "version">;

/** A session as its own browser sees it. */
export function sessionRecord(session: BrowserSession, token: string, key: ApiKey, state: ConsoleState): WireSession {
  const { id, keyId, expiresAt } = session;
  return {
    id,
    keyId,
    keyName: key.name,
    scope: key.scope === "admin" ? "admin" : "customer",
    customerId: key.customerId,
    csrfToken: csrfTokenOf(token),
    ...state,
    expiresAt: iso(expiresAt),
  };
}
