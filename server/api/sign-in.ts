/** `POST /session`: a browser signs in with a key or a one-time link, and gets the cookie of a session. */

import type { IncomingHttpHeaders } from "node:http";
import { SignIn } from "../../contract/sessions.ts";
import type { SignIn as WireSignIn } from "../../sdk/wire.ts";
import type { ClientAddress } from "../core/client-address.ts";
import { ApiError, invalidField, invalidFields } from "../core/error.ts";
import { type ApiKey, hashKey, isUsable, isWellFormedKey } from "../core/key.ts";
import { type RateLimitState, take, waitSeconds } from "../core/rate-limit.ts";
import { type ConsoleState, isToken, SESSION_MS_MAX, sessionRecord } from "../core/session.ts";
import type { With } from "../engine/engine-deps.ts";
import { type BegunSession, beginSession, redeemLink } from "../engine/sessions/sign-in.ts";
import { admitJson } from "./pipeline/body.ts";
import { cookieName, cookiesNamed, isOwnOrigin, type OwnNames, setCookie } from "./pipeline/browser.ts";
import { parseJson } from "./pipeline/json.ts";
import { checkHost } from "./pipeline/session.ts";
import { compileCheck } from "./pipeline/validate.ts";
import { type ApiResponse, type PublicRequest, publicRoute, type Route, type StrangersBody } from "./route.ts";

/** Attempts that fail, of one address in a minute. */
const FAILURES_MAX = 20;
/** The clients of a proxy that names none of them share this many times the attempts of one address. */
const SHARED_TIMES = 10;
/** Sign-ins with one key in a minute: each writes to the database. */
const SIGN_INS_MAX = 100;

/** The body is short, and has to arrive at once: a stranger may send it slowly. */
const BODY: StrangersBody = { owner: "sign-in", kind: "signIn", bytesMax: 4_096, withinMs: 1_000 };

/** The service as the routes of sessions see it. */
export interface SessionOptions {
  names(): OwnNames;
  state(): ConsoleState;
}

/** The key or the link of a sign-in: exactly one of them. */
interface SignInProof {
  key: string | undefined;
  link: string | undefined;
}

/** Counts attempts of addresses or keys in minutes. */
interface AttemptCounts {
  attemptsMax: number;
  windows: RateLimitState<string>;
}

interface SignInLimits {
  failures: AttemptCounts;
  signIns: AttemptCounts;
}

/** The route that signs in. */
export function signInRoute(deps: With<"configCache">, options: SessionOptions): Route {
  const limits: SignInLimits = {
    failures: { attemptsMax: FAILURES_MAX, windows: new Map() },
    signIns: { attemptsMax: SIGN_INS_MAX, windows: new Map() },
  };
  return publicRoute({
    method: "POST",
    path: "/session",
    body: SignIn,
    async handle(request) {
      const names = options.names();
      checkHost(request.headers, names);
      requireOwnPage(request.headers, names);
      const client = request.client();
      refuseIfLimited(deps, limits.failures, client.address, client.isShared);
      admitJson(request);
      const proof = await request.withBody(BODY, proofOf);
      refuseIfLimited(deps, limits.failures, client.address, client.isShared);
      return signedIn(await signIn(deps, limits, request, proof, client, names), request.headers, options);
    },
  });
}

const checkProof = compileCheck("body", SignIn);

function proofOf(bytes: Buffer): SignInProof {
  const given = bytes.length === 0 ? {} : parseJson(bytes);
  const bad = checkProof(given);
  if (bad.length > 0) throw invalidFields(bad);
  const { key, link } = given as WireSignIn;
  if ((key === undefined) === (link === undefined)) throw invalidField("key", "give either key or link");
  return { key, link };
}

/** Refuses pages of others, which could sign a browser in to an account of theirs. Browsers send `Origin` with every POST. */
function requireOwnPage(headers: IncomingHttpHeaders, names: OwnNames): void {
  const site = headers["sec-fetch-site"];
  if (isOwnOrigin(headers, names) && (site === undefined || site === "same-origin")) return;
  throw new ApiError("FORBIDDEN", "Only pages of this service may sign in here.");
}

async function signIn(
  deps: With<"configCache">,
  limits: SignInLimits,
  request: PublicRequest,
  { key: secret, link }: SignInProof,
  { address, isShared }: ClientAddress,
  names: OwnNames,
): Promise<BegunSession> {
  const former = cookiesNamed(cookieName(request.headers, names), request.headers).find((one) =>
    isToken("session", one),
  );
  const begun =
    link === undefined
      ? await signInWithKey(deps, limits, secret ?? "", former ?? null)
      : await redeemLink(deps, link, former ?? null);
  if (begun !== null) return begun;
  countAttempt(deps, limits.failures, address, isShared);
  throw new ApiError(
    "UNAUTHORIZED",
    link === undefined
      ? "The key is unknown, revoked or expired."
      : "The link was used already, or is over: it lasts five minutes. Get another one with tightbeam open.",
  );
}

async function signInWithKey(
  deps: With<"configCache">,
  limits: SignInLimits,
  secret: string,
  former: string | null,
): Promise<BegunSession | null> {
  const key = await usableKey(deps, secret);
  if (key === null) return null;
  refuseIfLimited(deps, limits.signIns, key.id);
  countAttempt(deps, limits.signIns, key.id);
  return beginSession(deps, key, former);
}

async function usableKey({ clock, configCache }: With<"configCache">, secret: string): Promise<ApiKey | null> {
  if (!isWellFormedKey(secret)) return null;
  const key = await configCache.findKey(hashKey(secret));
  return key !== null && isUsable(key, clock.real()) ? key : null;
}

function refuseIfLimited(deps: With<"configCache">, counts: AttemptCounts, subject: string, isShared = false): void {
  const now = deps.clock.real();
  const retryAfterSeconds = waitSeconds(counts.windows, subject, attemptsOf(counts, isShared), now);
  if (retryAfterSeconds === null) return;
  const message = `Too many attempts to sign in. Try again in ${retryAfterSeconds} s.`;
  throw new ApiError("RATE_LIMITED", message, { retryAfterSeconds });
}

function countAttempt(deps: With<"configCache">, counts: AttemptCounts, subject: string, isShared = false): void {
  const limit = { limit: attemptsOf(counts, isShared), windowSeconds: 60 };
  take(counts.windows, subject, limit, deps.clock.real());
}

function attemptsOf({ attemptsMax }: AttemptCounts, isShared: boolean): number {
  return isShared ? attemptsMax * SHARED_TIMES : attemptsMax;
}

function signedIn(
  { session, key, token }: BegunSession,
  headers: IncomingHttpHeaders,
  { names, state }: SessionOptions,
): ApiResponse {
  // The service ends a session that is not used before: the cookie stays as long as a session can be.
  const cookie = setCookie(cookieName(headers, names()), token, SESSION_MS_MAX / 1_000);
  return {
    status: 201,
    data: sessionRecord(session, token, key, state()),
    headers: { "Set-Cookie": cookie, "Cache-Control": "no-store" },
  };
}
