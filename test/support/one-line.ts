/** Checks an error that a person reads on a terminal. */

import assert from "node:assert/strict";
import { ConfigError } from "../../server/config.ts";

/** The error is one line for people, and contains these parts. */
export function oneLine(...parts: string[]): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof ConfigError, String(error));
    assert.doesNotMatch(error.message, /\n/);
    for (const part of parts) assert.ok(error.message.includes(part), error.message);
    return true;
  };
}
