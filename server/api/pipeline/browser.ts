/**
 * Reads where a request of a browser comes from: `Host`, `Origin` and `Sec-Fetch-Site`, which no page can set, and the cookie
 * of the session. Pure.
 */

import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { isForwarded } from "./forwarded.ts";

/** Addresses of the service: the public one, and the name that it listens on. */
export interface OwnNames {
  /** Without a slash at the end. */
  publicUrl: string;
  bindHost: string;
}

/** The cookie on https: browsers take it only from https, without a domain, so no neighbour under the same domain can set it. */
const SECURE_COOKIE = "__Host-tightbeam";
/** The cookie between processes of the service. */
export const PASSED_COOKIE = "tightbeam_passed";

const HOST = /^[A-Za-z0-9.:[\]_-]{1,260}$/;

/** The address that `Host` names, with this protocol; null if it names none. */
function addressOf(host: string | undefined, protocol = "http:"): URL | null {
  if (host === undefined || !HOST.test(host)) return null;
  const text = `${protocol}//${host}`;
  return URL.canParse(text) ? new URL(text) : null;
}

function urlOrNull(text: string | undefined): URL | null {
  return text !== undefined && URL.canParse(text) ? new URL(text) : null;
}

/**
 * Whether `Host` is an address or a name of this service. In DNS rebinding a page makes its own name resolve to this service, and
 * its requests still carry that name. An IP address is no name: only its owner can serve a page from it.
 */
export function isOwnHost({ host }: IncomingHttpHeaders, { publicUrl, bindHost }: OwnNames): boolean {
  const name = addressOf(host)?.hostname;
  if (name === undefined) return false;
  if (isIP(name.replace(/^\[|\]$/g, "")) !== 0) return true;
  if (name === "localhost" || name.endsWith(".localhost")) return true;
  return name === urlOrNull(publicUrl)?.hostname || name === bindHost.toLowerCase();
}

/**
 * Whether `Origin` is that of this service's own pages: the public address, or the `Host` of the request. Pages of a service whose
 * public address is https come from there alone, not from http under the same name.
 */
export function isOwnOrigin({ host, origin }: IncomingHttpHeaders, { publicUrl }: OwnNames): boolean {
  const [from, own] = [urlOrNull(origin), urlOrNull(publicUrl)];
  if (from === null || (from.protocol !== "http:" && from.protocol !== "https:")) return false;
  if (from.origin === own?.origin) return true;
  const at = addressOf(host, from.protocol);
  if (own?.protocol === "https:" && own.hostname === at?.hostname) return false;
  return from.host === at?.host;
}

/** Name of the session's cookie in requests to this host. Cookies know no ports, so on http the name has the port. */
export function cookieName(headers: IncomingHttpHeaders, { publicUrl }: OwnNames): string {
  const [at, own] = [addressOf(headers.host), urlOrNull(publicUrl)];
  // A proxy may have put its own name for this service into `Host`.
  if (own?.protocol === "https:" && (own.hostname === at?.hostname || isForwarded({ headers }))) return SECURE_COOKIE;
  return `tightbeam_${at?.port || "80"}`;
}

/** Values of a cookie: several if another server has set one of this name, too. */
export function cookiesNamed(name: string, { cookie = "" }: IncomingHttpHeaders): string[] {
  const found: string[] = [];
  for (const part of cookie.split(";")) {
    const equals = part.indexOf("=");
    if (equals > 0 && part.slice(0, equals).trim() === name) found.push(part.slice(equals + 1).trim());
  }
  return found;
}

/** `Set-Cookie` of a session that ends in `seconds`; without a token, the end of the cookie. */
export function setCookie(name: string, token: string | null, seconds: number): string {
  const secure = name === SECURE_COOKIE ? "; Secure" : "";
  return `${name}=${token ?? ""}; Path=/; Max-Age=${token === null ? 0 : seconds}; HttpOnly; SameSite=Strict${secure}`;
}
