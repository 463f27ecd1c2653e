/** Creates the first customer with its number and keys, and applies keys from settings. */

import type { Config } from "../config.ts";
import { ConfigError } from "../config.ts";
import type { CustomerId, KeyId } from "../core/id.ts";
import { type ApiKey, hashKey, newKey } from "../core/key.ts";
import { newCustomer } from "../engine/customers/create-customer.ts";
import { keyFor, permissionsOf } from "../engine/customers/keys.ts";
import type { Deps } from "../engine/deps.ts";
import type { With } from "../engine/engine-deps.ts";
import { nullIfUnreadable } from "../engine/unreadable.ts";
import { listInboxes } from "../store/inboxes.ts";
import { findKey, findKeyByHash } from "../store/keys.ts";
import { findSetting } from "../store/settings.ts";
import type { Operation, Store } from "../store/store.ts";
import { checkSettings, FIRST_CUSTOMER, READY_ADMIN_KEY, READY_KEY, SECRET_KEY } from "./stored-settings.ts";

/** The first customer's number: in the block reserved for fiction, and no recipient of the sandbox's table. */
const FIRST_NUMBER = "+15005550001";

/** Keys that this start generated. A key that existed already or came from a setting is absent. */
export interface GeneratedKeys {
  apiKey?: string;
  adminKey?: string;
}

/** Result of `bootstrap`. */
export interface StartReport {
  isFirst: boolean;
  generated: GeneratedKeys;
  fromSettings: { apiKey: boolean; adminKey: boolean };
}

/**
 * Checks that the secret key (by its fingerprint) opens the stored secrets, and creates the first customer if there is
 * none. `generate` creates a key and writes it to the credentials file before the key is stored, so that a crash in
 * between leaves no unknown key. Throws `ConfigError` if another key sealed the secrets, or if a stored setting is
 * invalid.
 */
export async function bootstrap(
  deps: With<"configCache" | "sealer">,
  config: Config,
  keyFingerprint: string,
  generate: (name: keyof GeneratedKeys) => string = () => newKey(deps.random),
): Promise<StartReport> {
  const { store } = deps;
  await requireFittingKey(store, keyFingerprint);
  await checkSettings(deps);
  const known = await findSetting(store.db, FIRST_CUSTOMER);
  const made = known === null ? await makeFirst(deps, keyFingerprint) : null;
  const isFirst = made !== null;
  // Another process may have made the first customer meanwhile, with its own secret key.
  if (known === null && !isFirst) await requireFittingKey(store, keyFingerprint);
  const first = made ?? ((known ?? (await findSetting(store.db, FIRST_CUSTOMER))) as CustomerId);
  const ensure: typeof ensureKey = (...given) => nullIfUnreadable(deps, "bootstrap", () => ensureKey(...given));
  const apiKey = await ensure(deps, READY_KEY, config.apiKey, {
    name: "First key",
    customerId: first,
    generate: () => generate("apiKey"),
  });
  const adminKey = await ensure(deps, READY_ADMIN_KEY, config.adminKey, {
    name: "Admin key",
    customerId: null,
    generate: () => generate("adminKey"),
  });
  await switchInboxes(deps);
  deps.configCache.clear();
  return {
    isFirst,
    generated: { ...(apiKey === null ? {} : { apiKey }), ...(adminKey === null ? {} : { adminKey }) },
    fromSettings: { apiKey: config.apiKey !== null, adminKey: config.adminKey !== null },
  };
}

async function requireFittingKey({ db }: Pick<Store, "db">, keyFingerprint: string): Promise<void> {
  const sealedWith = await findSetting(db, SECRET_KEY);
  if (sealedWith === null || sealedWith === keyFingerprint) return;
  throw new ConfigError(
    "The secret key does not fit the database: set TB_SECRET_KEY to the key that the database was made with, or restore that secret.key.",
  );
}

/** Makes the first customer. Returns null if another process has made it meanwhile. */
async function makeFirst(deps: With<"sealer">, keyFingerprint: string): Promise<CustomerId | null> {
  const { newId, clock, store } = deps;
  const { customer, transaction } = newCustomer(deps, { name: "First customer" });
  const createdAt = clock.now();
  const instance = {
    id: newId("inst"),
    name: "Sandbox",
    provider: "sandbox",
    version: 1,
    config: null,
    createdAt,
    updatedAt: createdAt,
  } as const;
  const number = {
    id: newId("num"),
    customerId: customer.id,
    address: FIRST_NUMBER,
    provider: "sandbox",
    instanceId: instance.id,
    isDefault: true,
    createdAt,
  } as const;
  const { result } = await store.commit([
    { op: "insertUnique", table: "settings", record: { name: FIRST_CUSTOMER, value: customer.id } },
    ...transaction,
    { op: "insert", table: "instances", record: instance },
    { op: "insert", table: "numbers", record: number },
    { op: "insert", table: "settings", record: { name: SECRET_KEY, value: keyFingerprint } },
  ]);
  return result === "duplicate" ? null : customer.id;
}

/**
 * Ensures the key whose id the stored `setting` holds. A key from the configuration replaces and revokes that key;
 * without one a key is generated if there is none. Returns the key if it was generated here.
 */
async function ensureKey(
  deps: Deps,
  setting: string,
  wanted: string | null,
  { generate, ...owner }: { name: string; customerId: CustomerId | null; generate: () => string },
): Promise<string | null> {
  const { db } = deps.store;
  const id = await findSetting(db, setting);
  const present = id === null ? null : await findKey(db, id as KeyId);
  if (present !== null && (wanted === null || isAlready(present, wanted))) return null;
  const key = wanted ?? generate();
  const scope = owner.customerId === null ? "admin" : "messages";
  const transaction: Operation[] = [];
  const known = await findKeyByHash(db, hashKey(key));
  if (known !== null && (known.scope !== scope || known.customerId !== owner.customerId)) {
    throw new ConfigError(
      `${scope === "admin" ? "TB_ADMIN_KEY" : "TB_API_KEY"} is the value of another key of this database: choose a new one`,
    );
  }
  const record =
    known ??
    keyFor(deps, { ...owner, scope, permissions: permissionsOf(scope), rateLimit: null, expiresAt: null }, key);
  if (known === null) transaction.push({ op: "insertUnique", table: "keys", record });
  else transaction.push(updateKey(known, { revokedAt: null, expiresAt: null, replacedBy: null }));
  if (present !== null && present.id !== record.id)
    transaction.push(updateKey(present, { revokedAt: deps.clock.now(), replacedBy: record.id }));
  transaction.push({ op: "put", table: "settings", record: { name: setting, value: record.id } });
  const { result } = await deps.store.commit(transaction);
  // Another process that starts with the same settings has made or replaced the key meanwhile.
  if (result !== "ok") return ensureKey(deps, setting, wanted, { generate, ...owner });
  return wanted === null ? key : null;
}

function isAlready(key: ApiKey, wanted: string): boolean {
  return key.hash === hashKey(wanted) && key.revokedAt === null && key.expiresAt === null;
}

function updateKey(key: ApiKey, set: Partial<ApiKey>): Operation {
  return { op: "update", table: "keys", id: key.id, version: key.version, set };
}

/** Activates or deactivates all inboxes as `TB_SANDBOX_INBOX` says. */
async function switchInboxes(deps: Deps): Promise<void> {
  const active = deps.settings.sandboxInbox;
  for (const { id, version } of await listInboxes(deps.store.db, !active)) {
    await deps.store.commit([{ op: "update", table: "endpoints", id, version, set: { active } }]);
  }
}
