/** Reads files that a command is given. Never quotes them: they may hold a secret. */

import { readFileSync } from "node:fs";
import { UsageError } from "./failure.ts";

/** The JSON in a file, with or without a byte order mark, or for `-` in standard input. Throws `UsageError` that quotes nothing of it. */
export function readJson(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path === "-" ? 0 : path, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : "unknown";
    throw new UsageError(`${path} cannot be read (${code}).`);
  }
  return parseJson(text, path);
}

/** The JSON in a text that `what` names. Throws `UsageError` that quotes nothing of the text, unlike JSON.parse. */
export function parseJson(text: string, what: string): unknown {
  try {
    return parseMarked(text);
  } catch {
    throw new UsageError(`${what} is not JSON.`);
  }
}

/** The JSON in a text that may begin with the byte order mark of an editor or a shell of Windows. Throws as JSON.parse does. */
export function parseMarked(text: string): unknown {
  return JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
}
