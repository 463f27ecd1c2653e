/** Files that a command is given: read whole, and never shown, since there may be a secret in them. */

import { readFileSync } from "node:fs";
import { UsageError } from "./failure.ts";

/** The JSON in a file, or in what is piped in for `-`. Throws `UsageError`, with nothing of what is in it. */
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

/** The JSON in a text that `what` names. Throws `UsageError`, with nothing of the text: JSON.parse would quote it. */
export function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(`${what} is not JSON.`);
  }
}
