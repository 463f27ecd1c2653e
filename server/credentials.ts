/** `credentials.json` in the data directory: the service's URL, and the keys that its first start generated. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "./config.ts";
import { withoutByteOrderMark } from "./core/byte-order-mark.ts";
import { replacePrivateFile } from "./private-file.ts";

const FILE = "credentials.json";

/** Content of the file. A key from a setting is absent. */
export interface Credentials {
  baseUrl: string;
  apiKey?: string;
  adminKey?: string;
}

/**
 * The credentials of a data directory; null without the file. Throws `ConfigError` if the file is invalid or
 * unreadable.
 */
export function readCredentials(dataDir: string): Credentials | null {
  const path = join(dataDir, FILE);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new ConfigError(`${path} cannot be read: ${(error as Error).message}.`);
  }
  const credentials = parseCredentials(text);
  if (credentials === null) throw new ConfigError(`${path} is not a credentials file: move it away and start again.`);
  return credentials;
}

/**
 * Replaces the credentials of a data directory atomically, with mode 0600. Throws `ConfigError` if the file cannot be
 * written.
 */
export function writeCredentials(dataDir: string, { baseUrl, apiKey, adminKey }: Credentials): void {
  const path = join(dataDir, FILE);
  try {
    replacePrivateFile(path, `${JSON.stringify({ baseUrl, apiKey, adminKey }, null, 2)}\n`);
  } catch (error) {
    throw new ConfigError(`${path} cannot be written: ${(error as Error).message}.`);
  }
}

/** Removes the keys from the file; returns whether it held any. Throws `ConfigError` if the file cannot be changed. */
export function removeKeys(dataDir: string, baseUrl: string): boolean {
  const kept = readCredentials(dataDir);
  if (kept !== null) writeCredentials(dataDir, { baseUrl });
  return kept?.apiKey !== undefined || kept?.adminKey !== undefined;
}

function parseCredentials(text: string): Credentials | null {
  const { baseUrl, apiKey, adminKey } = parseObject(text);
  if (typeof baseUrl !== "string") return null;
  if (apiKey !== undefined && typeof apiKey !== "string") return null;
  if (adminKey !== undefined && typeof adminKey !== "string") return null;
  return { baseUrl, ...(apiKey === undefined ? {} : { apiKey }), ...(adminKey === undefined ? {} : { adminKey }) };
}

function parseObject(text: string): Partial<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(withoutByteOrderMark(text));
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
