/** Finds the key of a request, or refuses the request (401). */

import { ApiError } from "../../core/error.ts";
import { type ApiKey, isUsable, isWellFormedKey } from "../../core/key.ts";
import type { Edge } from "./edge.ts";

/** Where keys are looked up, and the clock by which they expire. */
export type KeySource = Pick<Edge, "authenticate" | "clock">;

/** The usable key in an `Authorization` header. Throws 401. Returns without a promise if it can. */
export function keyOf(authorization: string | undefined, source: KeySource): ApiKey | Promise<ApiKey> {
  const found = source.authenticate(bearerOf(authorization));
  const check = (key: ApiKey | null) => usable(key, source.clock.real());
  return found instanceof Promise ? found.then(check) : check(found);
}

const BASIC = /^basic( |$)/i;
const BEARER = /^bearer +([^ ]+) *$/i;

function bearerOf(authorization: string | undefined): string {
  if (authorization === undefined) throw unauthorized("The request has no key.");
  if (BASIC.test(authorization)) throw unauthorized("Basic authentication is not accepted.");
  const secret = BEARER.exec(authorization)?.[1];
  if (secret === undefined || !isWellFormedKey(secret)) throw unauthorized("The key is malformed.");
  return secret;
}

function usable(key: ApiKey | null, now: number): ApiKey {
  if (key === null || !isUsable(key, now)) throw unauthorized("The key is unknown, revoked or expired.");
  return key;
}

function unauthorized(problem: string): ApiError {
  return new ApiError("UNAUTHORIZED", `${problem} Send your key in the header Authorization: Bearer tb_…`);
}
