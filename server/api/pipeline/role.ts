/** Refuses, at a process that only works, what no other process has passed on (404). */

import { ApiError } from "../../core/error.ts";
import type { Exchange } from "./exchange.ts";

/** Throws 404 for a route of the API or a hook at a worker, unless another process of the database passed the request on. */
export function checkRole({ edge, compiled, isPassedOn }: Exchange): void {
  if (edge.isWorker !== true || isPassedOn || compiled === null) return;
  if (compiled.isUnderV1 || compiled.route.path.startsWith("/hooks/"))
    throw new ApiError("NOT_FOUND", "This process is a worker: send requests to a process with TB_ROLE api or all.");
}
