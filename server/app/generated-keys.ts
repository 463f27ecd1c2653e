/** Keeps the keys that a start generates in the credentials file, which the command line reads. */

import { randomBytes } from "node:crypto";
import type { Config } from "../config.ts";
import { hashKey, isWellFormedKey, newKey } from "../core/key.ts";
import { readCredentials, removeKeys, writeCredentials } from "../credentials.ts";
import type { Log } from "../log.ts";
import type { GeneratedKeys, StartReport } from "./bootstrap.ts";

/**
 * Generates a key and writes it to the credentials file before it is stored, so that a crash in between loses no key.
 */
export function generateKey(dataDir: string, url: string, name: keyof GeneratedKeys): string {
  const kept = readCredentials(dataDir);
  const left = kept?.[name];
  const key = left !== undefined && isWellFormedKey(left) ? left : newKey(randomBytes);
  writeCredentials(dataDir, { ...kept, baseUrl: url, [name]: key });
  return key;
}

/** Writes the generated keys, and only those, to the file that the command line reads. */
export function keepCredentials(config: Config, url: string, { generated, fromSettings }: StartReport): void {
  const kept = readCredentials(config.dataDir);
  const apiKey = fromSettings.apiKey ? undefined : (generated.apiKey ?? kept?.apiKey);
  const adminKey = fromSettings.adminKey ? undefined : (generated.adminKey ?? kept?.adminKey);
  writeCredentials(config.dataDir, {
    baseUrl: url,
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(adminKey === undefined ? {} : { adminKey }),
  });
}

/**
 * Replaces a key in the credentials file after its rotation, or removes it after its revocation (`key` is null). The key is found by its
 * hash; a key that the file does not hold changes nothing. If the file cannot be written, the change of the key stands, and the log says so.
 */
export function followKey(dataDir: string, log: Log, formerHash: string, key: string | null): void {
  try {
    const kept = readCredentials(dataDir);
    if (kept === null) return;
    for (const name of ["apiKey", "adminKey"] as const) {
      const former = kept[name];
      if (former === undefined || hashKey(former) !== formerHash) continue;
      const { [name]: _, ...others } = kept;
      writeCredentials(dataDir, key === null ? others : { ...others, [name]: key });
      log.info(`credentials.json ${key === null ? "holds a revoked key no more" : "holds the new key"}: ${name}`);
    }
  } catch (error) {
    log.warn("credentials", { reason: (error as Error).message });
  }
}

/** Removes the keys from the credentials file, as the service leaves the sandbox. */
export function forgetKeys(dataDir: string, url: string, log: Log): void {
  if (removeKeys(dataDir, url)) log.info("left the sandbox: credentials.json holds no keys any more");
}
