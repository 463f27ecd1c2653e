/** Creates, revokes and rotates API keys. Only the response contains the key itself; the store has its hash. */

import {
  type CreateKey,
  type ErrorDetail,
  KEY_PERMISSIONS,
  type KeyPermission,
  type KeyScope,
  type RotateKey,
} from "../../../sdk/wire.ts";
import { ApiError, invalidField } from "../../core/error.ts";
import type { CustomerId, KeyId } from "../../core/id.ts";
import { type ApiKey, hashKey, isUsable, last4Of, newKey } from "../../core/key.ts";
import { findCustomer, findCustomersByEmail } from "../../store/customers.ts";
import { findKey } from "../../store/keys.ts";
import type { Transaction } from "../../store/store.ts";
import { change } from "../commit.ts";
import type { Deps } from "../deps.ts";
import type { With } from "../engine-deps.ts";
import { type IdempotentRequest, idempotent } from "../idempotency.ts";

/** Default time for which a rotated key still works: a day. */
const GRACE_SECONDS = 86_400;

/** A key's record and, only in the response that created it, the key itself. */
export interface IssuedKey {
  repeated: boolean;
  apiKey: ApiKey;
  key?: string;
}

/** The rights of a new key. */
export type KeyGrant = Pick<ApiKey, "name" | "customerId" | "scope" | "permissions" | "rateLimit" | "expiresAt">;

/** The record of a key with this grant, not stored yet. */
export function keyFor(deps: Deps, grant: KeyGrant, key: string): ApiKey {
  return {
    ...grant,
    id: deps.newId("key"),
    version: 1,
    hash: hashKey(key),
    last4: last4Of(key),
    createdAt: deps.clock.now(),
    lastUsedAt: null,
    revokedAt: null,
    replacedBy: null,
  };
}

/**
 * Creates a key. A `messages` key needs a customer, named by id or e-mail address; an `admin` key has no customer.
 * Throws a 400 that names the invalid fields. A repeat of an idempotency key returns the record without the key.
 */
export async function createKey(
  deps: With<"configCache">,
  request: { idempotencyKey: string | null; body: CreateKey },
): Promise<IssuedKey> {
  const body = { scope: "messages" as const, ...request.body };
  const idempotentRequest = { key: request.idempotencyKey, customerId: null, route: "POST /v1/admin/keys", body };
  return issueOnce(deps, idempotentRequest, async () => {
    refuse([...ownerProblems(body), ...permissionProblems(body), ...expiryProblems(deps, body.expiresAt)]);
    const { name, scope, rateLimit = null, expiresAt } = body;
    const customerId = scope === "admin" ? null : await findOwner(deps, body);
    const key = newKey(deps.random);
    const permissions = permissionsOf(scope, body.permissions);
    const grant = { name, scope, permissions, rateLimit, customerId, expiresAt: instantOrNull(expiresAt) };
    const apiKey = keyFor(deps, grant, key);
    return {
      transaction: [{ op: "insert", table: "keys", record: apiKey }],
      value: { apiKey, key },
      result: apiKey.id,
    };
  });
}

/**
 * Creates a key with the same rights as this key, which works until its grace period or its own expiry ends, whichever
 * is first. Throws 404 for an unknown key, and 400 `INVALID_STATUS` for a key that is already revoked, expired or
 * replaced.
 */
export async function rotateKey(
  deps: With<"configCache" | "keyChanged">,
  id: string,
  request: { idempotencyKey: string | null; body: RotateKey },
): Promise<IssuedKey> {
  const body = { gracePeriodSeconds: GRACE_SECONDS, ...request.body };
  const idempotentRequest = {
    key: request.idempotencyKey,
    customerId: null,
    route: `POST /v1/admin/keys/${id}/rotate`,
    body,
  };
  const issued = await issueOnce(deps, idempotentRequest, async () => {
    const former = await findExisting(deps, id);
    const now = deps.clock.real();
    refuseRotation(former, now);
    const key = newKey(deps.random);
    const { name, customerId, scope, permissions, rateLimit, expiresAt } = former;
    const apiKey = keyFor(deps, { name, customerId, scope, permissions, rateLimit, expiresAt }, key);
    const graceEndsAt = now + body.gracePeriodSeconds * 1_000;
    const set = { replacedBy: apiKey.id, expiresAt: Math.min(graceEndsAt, expiresAt ?? graceEndsAt) };
    return {
      transaction: [
        { op: "insert", table: "keys", record: apiKey },
        { op: "update", table: "keys", id: former.id, version: former.version, set },
      ],
      value: { apiKey, key },
      result: apiKey.id,
    };
  });
  if (issued.key !== undefined) deps.keyChanged((await findExisting(deps, id)).hash, issued.key);
  return issued;
}

/** Revokes a key at once and for good, and ends its sessions. Leaves a revoked key unchanged. Throws 404 for an unknown key. */
export async function revokeKey(deps: With<"configCache" | "keyChanged">, id: string): Promise<ApiKey> {
  const revoked = await change(deps, async () => {
    const apiKey = await findExisting(deps, id);
    if (apiKey.revokedAt !== null) return { transaction: null, value: apiKey };
    const set = { revokedAt: deps.clock.now() };
    const value: ApiKey = { ...apiKey, ...set, version: apiKey.version + 1 };
    const transaction: Transaction = [
      { op: "update", table: "keys", id: apiKey.id, version: apiKey.version, set },
      { op: "delete", table: "sessions", where: { keyId: apiKey.id } },
    ];
    return { transaction, value };
  });
  deps.configCache.clear();
  deps.keyChanged(revoked.hash, null);
  return revoked;
}

type KeyDecision = Parameters<typeof idempotent<{ apiKey: ApiKey; key: string }>>[2];

async function issueOnce(
  deps: With<"configCache">,
  idempotentRequest: IdempotentRequest,
  decision: KeyDecision,
): Promise<IssuedKey> {
  const result = await idempotent(deps, idempotentRequest, decision);
  if (result.repeated) return { repeated: true, apiKey: await findExisting(deps, result.firstResult) };
  deps.configCache.clear();
  return { repeated: false, ...result.value };
}

async function findExisting(deps: Deps, id: string): Promise<ApiKey> {
  const apiKey = await findKey(deps.store.db, id as KeyId);
  if (apiKey === null) throw new ApiError("NOT_FOUND", `There is no key ${id}.`);
  return apiKey;
}

function refuseRotation(apiKey: ApiKey, now: number): void {
  const refused = (why: string) => new ApiError("INVALID_STATUS", `Key ${apiKey.id} ${why}`);
  if (apiKey.replacedBy !== null) throw refused(`was replaced by ${apiKey.replacedBy}; rotate that one.`);
  if (!isUsable(apiKey, now)) throw refused("is revoked or expired; make a new one.");
}

function ownerProblems({ scope, customerId, customerEmail }: CreateKey): ErrorDetail[] {
  const named = Object.entries({ customerId, customerEmail }).filter(([, value]) => value !== undefined);
  if (scope === "admin") {
    return named.map(([path]) => ({ path, message: "must be left out: an admin key belongs to no customer" }));
  }
  if (named.length === 1) return [];
  const message = "give either customerId or customerEmail: a messages key belongs to one customer";
  return ["customerId", "customerEmail"].map((path) => ({ path, message }));
}

/**
 * Permissions of a new key of this scope: the permissions `asked` for, without duplicates and in a fixed order, else
 * all.
 */
export function permissionsOf(scope: KeyScope, asked?: readonly KeyPermission[]): KeyPermission[] {
  return scope === "admin" ? [] : KEY_PERMISSIONS.filter((one) => asked?.includes(one) ?? true);
}

function permissionProblems({ scope, permissions }: CreateKey): ErrorDetail[] {
  if (scope !== "admin" || permissions === undefined) return [];
  return [{ path: "permissions", message: "must be left out: an admin key opens everything under /v1/admin" }];
}

function expiryProblems(deps: Deps, expiresAt: string | undefined): ErrorDetail[] {
  const at = instantOrNull(expiresAt);
  const now = deps.clock.real();
  if (at === null || at > now) return [];
  return [{ path: "expiresAt", message: `must be in the future; it is ${new Date(now).toISOString()} now` }];
}

function instantOrNull(text: string | undefined): number | null {
  return text === undefined ? null : Date.parse(text);
}

function refuse(details: ErrorDetail[]): void {
  const [first] = details;
  if (first === undefined) return;
  throw new ApiError("VALIDATION_ERROR", `${first.path}: ${first.message}`, { details });
}

async function findOwner(deps: Deps, { customerId, customerEmail }: CreateKey): Promise<CustomerId> {
  const { db } = deps.store;
  if (customerId !== undefined) {
    const customer = await findCustomer(db, customerId as CustomerId);
    if (customer !== null) return customer.id;
    throw invalidField("customerId", `there is no customer ${customerId}`);
  }
  const [customer, another] = await findCustomersByEmail(db, customerEmail ?? "", 2);
  if (customer === undefined) {
    throw invalidField("customerEmail", `there is no customer with the address ${customerEmail}`);
  }
  if (another === undefined) return customer.id;
  throw invalidField("customerEmail", `several customers have the address ${customerEmail}; name one by customerId`);
}
