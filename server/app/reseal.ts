/** Changes the secret key: opens all secrets with the old key and seals them with the new one, in one transaction. */

import { randomBytes } from "node:crypto";
import { type Config, ConfigError } from "../config.ts";
import type { CustomerId, EndpointId, InstanceId } from "../core/id.ts";
import {
  customerSecretPlace,
  endpointSecretPlace,
  instanceSecretPlace,
  settingSecretPlace,
} from "../engine/secret-places.ts";
import { activateNextKey, createSealer, fingerprint, loadSecretKey, saveNextKey } from "../secrets.ts";
import { parseSecretKey } from "../setting-values.ts";
import { findSetting } from "../store/settings.ts";
import type { Operation, Store, Transaction } from "../store/store.ts";
import { openStoreAlone } from "./open-store.ts";
import { SEALED_SETTINGS, SECRET_KEY } from "./stored-settings.ts";

/** Result of `changeSecretKey`. */
export interface ResealResult {
  secrets: number;
  /** Whether the data directory holds the new key; if not, the operator has to start the service with it. */
  keptInFile: boolean;
}

/** Gets how many records of how many are sealed again. It may throw to stop before anything is changed. */
type SealProgress = (done: number, total: number) => void;

/**
 * Seals every secret of the data directory with another key, while no service runs on it. If `newKey` is null, a key is
 * generated and stored in the directory before anything is sealed with it. After a crash either the old or the new key
 * is valid. Throws `ConfigError` if the present key is wrong or a service runs.
 */
export async function changeSecretKey(
  config: Config,
  newKey: string | null,
  progress: SealProgress = () => {},
): Promise<ResealResult> {
  const store = await openStoreAlone(config);
  try {
    const present = await presentKey(store, config);
    const next = newKey === null ? randomBytes(32) : parseSecretKey(newKey);
    if (next === undefined)
      throw new ConfigError("The new key is not 32 bytes, as 64 hexadecimal digits or as base64.");
    if (next.equals(present)) throw new ConfigError("The new key is the present one; nothing was changed.");
    if (newKey === null) saveNextKey(config.dataDir, next);
    const { transaction, secrets } = await reseal(store, present, next, progress);
    const { result } = await store.commit(transaction);
    if (result !== "ok") throw new ConfigError("The database was changed meanwhile; try again.");
    if (newKey === null) activateNextKey(config.dataDir);
    return { secrets, keptInFile: newKey === null };
  } finally {
    await store.close();
  }
}

async function presentKey(store: Store, config: Config): Promise<Buffer> {
  const sealedWith = await findSetting(store.db, SECRET_KEY);
  if (sealedWith === null)
    throw new ConfigError("There are no secrets here yet: nothing has been started with this data.");
  const key = loadSecretKey(config.dataDir, config.secretKey, randomBytes, sealedWith);
  if (fingerprint(key) === sealedWith) return key;
  throw new ConfigError(
    "The present secret key does not fit the database: set TB_SECRET_KEY to the one it was made with.",
  );
}

/** The transaction that seals every secret again, and the number of secrets. */
async function reseal(
  { db }: Store,
  present: Buffer,
  next: Buffer,
  progress: SealProgress,
): Promise<{ transaction: Transaction; secrets: number }> {
  const from = createSealer(present, randomBytes);
  const to = createSealer(next, randomBytes);
  let secrets = 0;
  const again = (sealed: string | null, place: string): string | null => {
    if (sealed === null) return null;
    secrets += 1;
    return to.seal(from.open(sealed, place), place);
  };
  const customers = await db.selectFrom("customers").selectAll().execute();
  const endpoints = await db.selectFrom("endpoints").selectAll().execute();
  const instances = await db.selectFrom("instances").selectAll().execute();
  const total = customers.length + endpoints.length + instances.length;
  const transaction: Operation[] = [];
  const add = (operation: Operation) => progress(transaction.push(operation), total);
  progress(0, total);
  for (const row of customers) {
    const place = customerSecretPlace(row.id as CustomerId);
    const set = { secret: again(row.secret, place) ?? "", previousSecret: again(row.previous_secret, place) };
    add({ op: "update", table: "customers", id: row.id, version: row.version, set });
  }
  for (const row of endpoints) {
    const place = endpointSecretPlace(row.id as EndpointId);
    const set = { secret: again(row.secret, place), previousSecret: again(row.previous_secret, place) };
    add({ op: "update", table: "endpoints", id: row.id, version: row.version, set });
  }
  for (const row of instances) {
    const set = { config: again(row.config, instanceSecretPlace(row.id as InstanceId)) };
    add({ op: "update", table: "instances", id: row.id, version: row.version, set });
  }
  for (const row of await db.selectFrom("settings").selectAll().where("name", "in", SEALED_SETTINGS).execute()) {
    const value = again(row.value, settingSecretPlace(row.name)) ?? "";
    transaction.push({ op: "put", table: "settings", record: { name: row.name, value } });
  }
  transaction.push({ op: "put", table: "settings", record: { name: SECRET_KEY, value: fingerprint(next) } });
  return { transaction, secrets };
}
