/** Keeps the keys that a start generates in the credentials file, which the command line reads. */

import { randomBytes } from "node:crypto";
import type { Config } from "../config.ts";
import { isWellFormedKey, newKey } from "../core/key.ts";
import { readCredentials, writeCredentials } from "../credentials.ts";
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
