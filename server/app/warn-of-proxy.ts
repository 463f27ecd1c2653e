/** Warns of a proxy in front of a service that is configured for its own machine only. */

import type { IncomingMessage } from "node:http";
import type { FastifyInstance } from "fastify";
import { isForwarded } from "../api/pipeline/forwarded.ts";
import type { Log } from "../log.ts";

/** Logs the first request through a proxy to a service that is configured for its own machine only. */
export function warnOfProxy({ server }: FastifyInstance, log: Log): void {
  const look = (request: IncomingMessage) => {
    if (!isForwarded(request)) return;
    server.off("request", look);
    log.warn("forwarded request", {
      reason:
        "a proxy passes requests on, and TB_PUBLIC_URL does not say where others reach this service: links lead to this machine alone, and on a loopback HOST webhooks may reach whatever listens here; set TB_PUBLIC_URL",
    });
  };
  server.on("request", look);
}
