/**
 * Finds the session of a request that has a cookie and no key (401). Refuses a request that another page may have sent, or a page
 * under a foreign name (403).
 */

import type { IncomingHttpHeaders } from "node:http";
import { KEY_PERMISSIONS } from "../../../sdk/wire.ts";
import { ApiError, invalidField } from "../../core/error.ts";
import type { CustomerId } from "../../core/id.ts";
import type { ApiKey } from "../../core/key.ts";
import { isCsrfTokenOf, isToken } from "../../core/session.ts";
import { cookieName, cookiesNamed, isOwnHost, isOwnOrigin, type OwnNames, PASSED_COOKIE } from "./browser.ts";
import type { SessionSource } from "./edge.ts";
import type { Exchange } from "./exchange.ts";
import { keyOf } from "./key.ts";

/** Header by which the session of an admin key names the customer for whom it acts. */
const CUSTOMER_HEADER = "tightbeam-customer";

/** The key of a request without `Authorization`: that of its session. Throws 401 without a cookie or a session. */
export function keyOfSession(exchange: Exchange, source: SessionSource): ApiKey | Promise<ApiKey> {
  const { edge, request, isPassedOn } = exchange;
  const { headers } = request;
  if (headers.cookie === undefined) return keyOf(undefined, edge);
  const values = cookiesNamed(isPassedOn ? PASSED_COOKIE : cookieName(headers, source.names()), headers);
  const [token] = values;
  if (token === undefined) return keyOf(undefined, edge);
  if (values.length > 1) throw severalCookies();
  if (!isPassedOn) checkSender(exchange, source.names(), token);
  return openSession(exchange, source, token);
}

/** Throws 403 unless `Host` is this service's own. */
export function checkHost(headers: IncomingHttpHeaders, names: OwnNames): void {
  if (isOwnHost(headers, names)) return;
  const message = `This service does not know the host ${JSON.stringify(headers.host ?? "")}. Open it by its IP address, or set TB_PUBLIC_URL to the address that you open.`;
  throw new ApiError("FORBIDDEN", message);
}

/** Throws 403 unless the browser says that a page of this service sent the request. */
function checkSender({ request, compiled }: Exchange, names: OwnNames, token: string): void {
  const { headers, method = "" } = request;
  checkHost(headers, names);
  const site = headers["sec-fetch-site"];
  const isSafe = method === "GET" || method === "HEAD";
  if (site !== undefined && site !== "same-origin") throw foreignPage();
  if (site === undefined && headers.origin !== undefined && !isOwnOrigin(headers, names)) throw foreignPage();
  // Browsers of plain http outside loopback send neither header with a GET. No other page can read the response of this route.
  const isUnmarked = site === undefined && headers.origin === undefined && compiled?.route.path !== "/session";
  if (isSafe && !isUnmarked) return;
  const given = headers["x-csrf-token"];
  if (typeof given !== "string" || !isCsrfTokenOf(token, given)) throw withoutCsrfToken();
}

async function openSession(exchange: Exchange, source: SessionSource, token: string): Promise<ApiKey> {
  const opened = isToken("session", token) ? await source.open(token) : null;
  if (opened === null)
    throw new ApiError("UNAUTHORIZED", "The session has ended, or its key was revoked. Sign in again.");
  const { session, key } = opened;
  exchange.session = { session, token };
  if (key.scope !== "admin" || exchange.compiled?.route.scope !== "messages") return key;
  return actFor(key, await customerOf(exchange, source));
}

/** The view of an admin key that acts for a customer: all that the customer's own key could do. */
function actFor(key: ApiKey, customerId: CustomerId): ApiKey {
  return { ...key, scope: "messages", customerId, permissions: [...KEY_PERMISSIONS] };
}

async function customerOf({ request }: Exchange, source: SessionSource): Promise<CustomerId> {
  const named = request.headers[CUSTOMER_HEADER];
  if (Array.isArray(named)) throw invalidField("Tightbeam-Customer", "must be given once");
  const customerId = await source.customer(named ?? null);
  if (customerId !== null) return customerId;
  throw invalidField("Tightbeam-Customer", `there is no customer ${JSON.stringify(named ?? "")}`);
}

function foreignPage(): ApiError {
  return new ApiError("FORBIDDEN", "Only pages of this service may send requests with its session.");
}

function withoutCsrfToken(): ApiError {
  const message = "The header X-CSRF-Token is missing or not that of this session: send csrfToken of GET /session.";
  return new ApiError("FORBIDDEN", message);
}

function severalCookies(): ApiError {
  const message =
    "The request has several cookies of the session: another server on this host has set one. Delete the cookies of this host, and sign in again.";
  return new ApiError("UNAUTHORIZED", message);
}
