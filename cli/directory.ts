/** The user's directory: it holds the secret that `listen` signs with, and its sockets. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { UsageError } from "./failure.ts";

type Env = Record<string, string | undefined>;

/** `tightbeam` in XDG_CONFIG_HOME, else in ~/.config. It may not exist. */
export function ownDirectory(env: Env): string {
  return join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), ".config"), "tightbeam");
}

const SECRET_BYTES = 32;

/**
 * The secret that `listen` signs with: the same from run to run, created if there is none, in a file that only its user
 * can read. Throws `UsageError` if it can be neither read nor written.
 */
export function listenSecret(directory: string): string {
  try {
    return findSecret(directory);
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    throw new UsageError(`${directory} cannot be written (${error.code}): give a secret with --secret.`);
  }
}

function findSecret(directory: string): string {
  const path = join(directory, "listen-secret");
  const made = `whsec_${Buffer.from(crypto.getRandomValues(new Uint8Array(SECRET_BYTES))).toString("base64")}`;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  try {
    writeFileSync(path, `${made}\n`, { mode: 0o600, flag: "wx" });
    return made;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
  const kept = readFileSync(path, "utf8").trim();
  // Emptied by hand or by a full disk: an empty secret would sign nothing.
  if (kept !== "") return kept;
  writeFileSync(path, `${made}\n`, { mode: 0o600 });
  return made;
}
