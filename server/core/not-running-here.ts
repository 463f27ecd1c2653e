/** The refusal of work on an instance that this process does not run. */

import { ApiError } from "./error.ts";
import type { InstanceId } from "./id.ts";

const RETRY_AFTER_SECONDS = 10;

/**
 * Nothing was done, since the instance does not run in this process. The pipeline passes the request on to the process that runs
 * the instance; if there is none, the caller gets this 503.
 */
export class NotRunningHere extends ApiError {
  readonly instanceId: InstanceId;

  constructor(instanceId: InstanceId, what: string) {
    super("SERVICE_UNAVAILABLE", `${what} is not running; try again later.`, {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
    this.instanceId = instanceId;
  }
}

/** The connection to the process that runs the instance ended before its response began: the process may have done what was asked. */
export class PassedReplyLost extends Error {}
