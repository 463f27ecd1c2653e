/** Refuses a request that claims to be passed on by another process, and is not (403). */

import { ApiError } from "../../core/error.ts";
import type { Exchange } from "./exchange.ts";

/**
 * Throws 403 `FORBIDDEN` and logs a warning if the request has a signature of another process that does not count. Such a request may be one
 * that a process has passed on, repeated by somebody who saw it: as an ordinary request it would be carried out again.
 */
export function checkHopClaim({ hopRefusal, requestId, state }: Exchange): void {
  if (hopRefusal === null) return;
  state.warnOfHop({ requestId, reason: hopRefusal });
  const message = `The header tightbeam-passed-on is not accepted: ${hopRefusal}. Leave it out: only processes of this service send it.`;
  throw new ApiError("FORBIDDEN", message);
}
