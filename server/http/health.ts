/** Whether the service is well: `/health`, `/healthz`, `/readyz`, and `/metrics` for those who may see them. */

import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Health } from "../../sdk/wire.ts";
import type { Clock } from "../clock.ts";
import { ApiError } from "../core/error.ts";
import { type Edge, keyOf } from "./exchange.ts";
import { isForwarded } from "./forwarded.ts";

/** What the health routes ask. */
export interface HealthOptions extends Pick<Edge, "authenticate"> {
  clock: Clock;
  /** The parts of the service, by name. */
  checks(): Health["checks"] | Promise<Health["checks"]>;
  /** Whether requests are taken: started, and not shutting down. */
  isReady(): boolean;
  /** All metrics in the text form of Prometheus, and its content type. */
  metrics: { contentType: string; render(): Promise<string> };
}

/** Adds the routes. For `extra` of `buildServer`. */
export function addHealthRoutes(app: FastifyInstance, options: HealthOptions): void {
  app.get("/health", async (): Promise<Health> => {
    const checks = await options.checks();
    const isDegraded = Object.values(checks).some(({ status }) => status !== "ok");
    const timestamp = new Date(options.clock.real()).toISOString();
    return { status: isDegraded ? "degraded" : "ok", timestamp, checks };
  });

  // That it answers at all is the answer.
  app.get("/healthz", () => ({ status: "ok" }));

  app.get("/readyz", () => {
    if (options.isReady()) return { status: "ok" };
    throw new ApiError("SERVICE_UNAVAILABLE", "The service is starting or shutting down. Try again in 1 s.");
  });

  app.get("/metrics", async (request, reply) => {
    if (!isLocal(request)) await admitAdmin(request, options);
    reply.type(options.metrics.contentType);
    return options.metrics.render();
  });
}

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/;

/** Asked from this machine, and not by a proxy on it that asks for somebody else. */
function isLocal({ raw }: FastifyRequest): boolean {
  return !isForwarded(raw) && LOOPBACK.test(raw.socket.remoteAddress ?? "");
}

async function admitAdmin(request: FastifyRequest, { authenticate, clock }: HealthOptions): Promise<void> {
  const key = await keyOf(request.raw, authenticate, clock.real());
  if (key.scope !== "admin") {
    throw new ApiError(
      "FORBIDDEN",
      `This key has the scope ${key.scope}; metrics are for admin keys, or for this machine.`,
    );
  }
}
