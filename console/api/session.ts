/** Signs in and out: the only routes of the console that are not the API's. */

import { TightbeamError } from "../../sdk/errors.ts";
import type { Session } from "../../sdk/wire.ts";
import { keepsPreferences, readPreference, writePreference } from "../parts/kept.ts";

interface Refusal {
  error?: { code?: string; message?: string };
  requestId?: string;
}

async function callSession<Data>(method: string, init: RequestInit = {}): Promise<Data> {
  const response = await fetch("/session", { ...init, method, credentials: "same-origin", redirect: "manual" });
  const body = (await response.json().catch(() => ({}))) as { data?: Data } & Refusal;
  if (response.ok && body.data !== undefined) return body.data;
  const message = body.error?.message ?? `The service answered ${response.status}.`;
  throw new TightbeamError(body.error?.code ?? "UNEXPECTED_RESPONSE", message, {
    status: response.status,
    requestId: body.requestId ?? null,
  });
}

/** The note that this browser signed in and not out. No script can see the cookie of a session. */
const SIGNED_IN = "signed-in";

/**
 * The session of this browser; null if it has none. Throws if the service cannot be reached. Asks for nothing if this browser did not
 * sign in: the browser would show the 401 as an error of the page.
 */
export async function readSession(): Promise<Session | null> {
  if (keepsPreferences() && readPreference(SIGNED_IN) !== "yes") return null;
  try {
    return await callSession<Session>("GET");
  } catch (error) {
    if (!(error instanceof TightbeamError) || error.status !== 401) throw error;
    writePreference(SIGNED_IN, "no");
    return null;
  }
}

/** Signs in by a key or by the token of a one-time link. Throws `TightbeamError` if the service refuses it. */
export async function signIn(credential: { key: string } | { link: string }): Promise<Session> {
  const headers = { "Content-Type": "application/json" };
  const session = await callSession<Session>("POST", { headers, body: JSON.stringify(credential) });
  writePreference(SIGNED_IN, "yes");
  return session;
}

/** Ends the session in this browser and in the service. Throws if the service did not end it. */
export async function signOut(session: Session): Promise<void> {
  const headers = { "X-CSRF-Token": session.csrfToken };
  const response = await fetch("/session", { method: "DELETE", credentials: "same-origin", headers });
  if (!response.ok && response.status !== 401) throw new Error(`The service answered ${response.status}.`);
  writePreference(SIGNED_IN, "no");
}

/** Tells the other tabs that the cookie, which they share, is of another session now, and receives it from them. */
export interface SessionTabs {
  announce(): void;
  close(): void;
}

/** Listens to the other tabs. */
export function joinSessionTabs(onChange: () => void): SessionTabs {
  const channel = new BroadcastChannel("tightbeam-session");
  channel.onmessage = onChange;
  return { announce: () => channel.postMessage(null), close: () => channel.close() };
}

/** Resolves once the page is shown: a browser may render a page that somebody is likely to open, and then drop it. */
export async function untilShown(): Promise<void> {
  if (!("prerendering" in document) || document.prerendering !== true) return;
  await new Promise((resolve) => document.addEventListener("prerenderingchange", resolve, { once: true }));
}

/** Beginning of the fragment of a one-time link. */
export const LINK_HASH = "#link=";

/** The token of a one-time link, taken out of the address bar so that it is in no history; null without one. */
export function takeLinkToken(): string | null {
  const token = location.hash.startsWith(LINK_HASH) ? location.hash.slice(LINK_HASH.length) : "";
  if (token === "") return null;
  history.replaceState(null, "", location.pathname + location.search);
  return token;
}
