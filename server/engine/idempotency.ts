/** Idempotent requests: the first use of a key does the work, every repeat gets the first result, and waits for it if need be. */

import { createHash } from "node:crypto";
import { ApiError } from "../core/error.ts";
import type { CustomerId } from "../core/id.ts";
import { findIdempotency } from "../store/idempotency.ts";
import type { Operation } from "../store/store.ts";
import { type Decision, decide } from "./commit.ts";
import type { Deps } from "./deps.ts";

/** A request with its idempotency key. Without a key (null) every request does the work. */
export interface IdempotentRequest {
  key: string | null;
  /** Null for an admin key: all of them share one scope. */
  customerId: CustomerId | null;
  /** Method and path with its parameters: the same key on another route is another request. */
  route: string;
  /** The body with its defaults. */
  body: unknown;
}

/** The value of the first use of a key; for a repeat, the result that the first use stored. */
export type IdempotentResult<Value> = { repeated: false; value: Value } | { repeated: true; firstResult: string };

/**
 * Runs `decision` once for a key. Its `result` (mostly an id) is committed with the work, so that a repeat gets the
 * record's current state. A refusal does not use the key up. Throws 409 `IDEMPOTENCY_KEY_REUSED` if the key came with
 * another request, and the error of `taken` if a unique record of the decision already exists.
 */
export async function idempotent<Value>(
  deps: Deps,
  request: IdempotentRequest,
  decision: () => Promise<Decision<Value> & { result: string }>,
  taken: () => Error = () => new Error("a transaction without a unique record was a duplicate"),
): Promise<IdempotentResult<Value>> {
  const { key } = request;
  if (key === null) {
    const decided = await decide(deps, decision);
    if (decided.taken) throw taken();
    return { repeated: false, value: decided.value };
  }
  const scope = request.customerId ?? "admin";
  const fingerprint = fingerprintOf(request);
  // A repeat during its first request waits for the result, so that it is not refused for what has changed since.
  return await deps.serial.run(`idempotency ${scope} ${request.route} ${key}`, async () => {
    const before = await repeated(deps, scope, key, fingerprint);
    if (before !== null) return before;
    const decided = await decide(deps, async () => {
      const made = await decision();
      const record = { scope, key, fingerprint, result: made.result, createdAt: deps.clock.real() };
      const operation: Operation = { op: "insertUnique", table: "idempotency", record };
      return { ...made, transaction: [operation, ...(made.transaction ?? [])] };
    });
    if (!decided.taken) return { repeated: false, value: decided.value };
    const winner = await repeated(deps, scope, key, fingerprint);
    if (winner === null) throw taken();
    return winner;
  });
}

async function repeated(deps: Deps, scope: string, key: string, fingerprint: string) {
  const first = await findIdempotency(deps.store.db, scope, key);
  if (first === null) return null;
  if (first.fingerprint === fingerprint) return { repeated: true as const, firstResult: first.result };
  throw new ApiError(
    "IDEMPOTENCY_KEY_REUSED",
    `The idempotency key ${key} was used with another request; use a new key for a new request.`,
  );
}

/** SHA-256 of the route and the body with sorted keys. */
function fingerprintOf(request: IdempotentRequest): string {
  const { route, body } = request;
  return createHash("sha256")
    .update(`${route}\n${canonicalJson(body)}`)
    .digest("hex");
}

function canonicalJson(value: unknown): string {
  return (
    JSON.stringify(value, (_, part: unknown) => {
      if (part === null || typeof part !== "object" || Array.isArray(part)) return part;
      return Object.fromEntries(Object.entries(part).sort(([left], [right]) => (left < right ? -1 : 1)));
    }) ?? ""
  );
}
