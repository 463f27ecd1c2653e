/** Bodies of the request log. Pure. */

import type { LoggedBody } from "../../sdk/wire.ts";

/** The JSON of a body; undefined if there is none, or only its beginning. */
export function parseBody(body: LoggedBody | null): unknown {
  if (body === null || body.truncated) return undefined;
  try {
    return JSON.parse(body.text);
  } catch {
    return undefined;
  }
}
