/** Whether the service is well: `/health`, `/healthz`, `/readyz`, and `/metrics` for those who may see them. */

import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Health } from "../../sdk/wire.ts";
import type { Clock } from "../clock.ts";
import { ApiError } from "../core/error.ts";
import { isForwarded } from "./forwarded.ts";
import { type Edge, keyOf } from "./pipeline/exchange.ts";

/** What the health routes ask. */
export interface HealthOptions extends Pick<Edge, "authenticate"> {
  clock: Clock;
  /** The parts of the service, by name. */
  checks(): Health["checks"] | Promise<Health["checks"]>;
  /** Where the service is reached: a name of this host, beside those of loopback, by which metrics may be asked for. */
  publicUrl(): string;
  /** Null when requests are taken: started, not shutting down, and with room to write. Else why they are not. */
  notReady(): string | null;
  /** All metrics in the text form of Prometheus, and its content type. */
  metrics: { contentType: string; render(): Promise<string> };
}

/** Adds the routes. For `extra` of `buildServer`. */
export function addHealthRoutes(app: FastifyInstance, options: HealthOptions): void {
  const checkAll = shared(async () => options.checks());
  app.get("/health", async (request): Promise<Health> => {
    const checks = await checkAll();
    const timestamp = new Date(options.clock.real()).toISOString();
    return {
      status: statusOf(Object.values(checks)),
      timestamp,
      checks: (await isAdmin(request, options)) ? checks : publicChecks(checks),
    };
  });

  // That it answers at all is the answer.
  app.get("/healthz", () => ({ status: "ok" }));

  app.get("/readyz", () => {
    const reason = options.notReady();
    if (reason === null) return { status: "ok" };
    throw new ApiError("SERVICE_UNAVAILABLE", `${reason} Try again in 1 s.`);
  });

  app.get("/metrics", async (request, reply) => {
    if (!isLocal(request, options.publicUrl())) await admitAdmin(request, options);
    reply.type(options.metrics.contentType);
    return options.metrics.render();
  });
}

/** One run at a time, shared by all who ask while it lasts: strangers may ask as often as they like. */
function shared<Value>(run: () => Promise<Value>): () => Promise<Value> {
  let running: Promise<Value> | null = null;
  return () => {
    running ??= run().finally(() => {
      running = null;
    });
    return running;
  };
}

type Check = Health["checks"][string];

function statusOf(checks: readonly Check[]): Health["status"] {
  return checks.some(({ status }) => status !== "ok") ? "degraded" : "ok";
}

/**
 * What a stranger may see: the database, all instances as one check, and of whatever else is checked the status alone.
 * Ids of instances and what their providers say are for administrators.
 */
function publicChecks({ database, ...checks }: Health["checks"]): Health["checks"] {
  const [channels, others] = [[] as Check[], [] as [string, Check][]];
  for (const [name, check] of Object.entries(checks)) {
    if (name.startsWith("inst_")) channels.push(check);
    else others.push([name, { status: check.status }]);
  }
  return {
    ...(database === undefined ? {} : { database }),
    channels: { status: statusOf(channels) },
    ...Object.fromEntries(others),
  };
}

/** Whether the request has an admin key. Any other key, also one that is not valid, is no reason to refuse it. */
async function isAdmin({ raw }: FastifyRequest, { authenticate, clock }: HealthOptions): Promise<boolean> {
  if (raw.headers.authorization === undefined) return false;
  try {
    return (await keyOf(raw, authenticate, clock.real())).scope === "admin";
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/;

/** Asked from this machine, by a name of this machine, and not by a proxy on it that asks for somebody else. */
function isLocal({ raw }: FastifyRequest, publicUrl: string): boolean {
  const { host } = raw.headers;
  if (isForwarded(raw) || !LOOPBACK.test(raw.socket.remoteAddress ?? "")) return false;
  return host === undefined || isOwnName(host, publicUrl);
}

/**
 * Whether `Host` names this machine. A page whose name was made to lead to 127.0.0.1 (DNS rebinding) asks by its own
 * name, and could else read what is for this machine only.
 */
function isOwnName(host: string, publicUrl: string): boolean {
  const name = nameOf(`http://${host}`);
  if (name === null) return false;
  return name === "localhost" || LOOPBACK.test(name.replace(/^\[|\]$/g, "")) || name === nameOf(publicUrl);
}

function nameOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).hostname : null;
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
