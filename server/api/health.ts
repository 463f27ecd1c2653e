/** Health for machines: `/health`, `/healthz` and `/readyz` for everybody, `/metrics` for this machine and admin keys. */

import type { IncomingHttpHeaders } from "node:http";
import type { Health } from "../../sdk/wire.ts";
import { ApiError } from "../core/error.ts";
import { StoreUnavailable } from "../store/store.ts";
import { isForwarded } from "./pipeline/forwarded.ts";
import { type KeySource, keyOf } from "./pipeline/key.ts";
import { type ApiResponse, type PublicRequest, publicRoute, type Route } from "./route.ts";

/** The service as the health routes see it. */
export interface HealthOptions extends KeySource {
  /** The parts of the service, by name. */
  checks(): Health["checks"] | Promise<Health["checks"]>;
  /** Null if the service takes requests: started, not stopping, and able to write. Else the reason why not. */
  notReady(): string | null;
  /** All metrics in the text form of Prometheus, and its content type. */
  metrics: { contentType: string; render(): Promise<string> };
}

/** The routes of health and metrics. They are served while the service starts and stops, too. */
export function healthRoutes(options: HealthOptions): Route[] {
  const readAll = shared(() => readHealth(options));
  return [
    publicRoute({
      method: "GET",
      path: "/health",
      async handle({ headers }) {
        const health = await readAll();
        if (await isAdmin(headers, options)) return json(health);
        return json({ ...health, checks: publicChecks(health.checks) } satisfies Health);
      },
    }),
    publicRoute({ method: "GET", path: "/healthz", handle: () => json({ status: "ok" }) }),
    publicRoute({
      method: "GET",
      path: "/readyz",
      handle() {
        const reason = options.notReady();
        if (reason === null) return json({ status: "ok" });
        throw new ApiError("SERVICE_UNAVAILABLE", `${reason} Try again in 1 s.`);
      },
    }),
    publicRoute({
      method: "GET",
      path: "/metrics",
      async handle(request) {
        if (!isLocal(request)) await requireAdmin(request.headers, options);
        return { contentType: options.metrics.contentType, body: await options.metrics.render() };
      },
    }),
  ];
}

/** The health with every check, as an administrator sees it. */
export async function readHealth({ checks, clock }: Pick<HealthOptions, "checks" | "clock">): Promise<Health> {
  const found = await checks();
  const timestamp = new Date(clock.real()).toISOString();
  return { status: statusOf(Object.values(found)), timestamp, checks: found };
}

function json(record: object): ApiResponse {
  return { contentType: "application/json; charset=utf-8", body: JSON.stringify(record) };
}

/** Runs at most once at a time; callers during a run share its result. Anybody may ask, as often as they like. */
function shared<Value>(run: () => Promise<Value>): () => Promise<Value> {
  let running: Promise<Value> | null = null;
  return () => {
    running ??= run().finally(() => {
      running = null;
    });
    return running;
  };
}

type HealthCheck = Health["checks"][string];

function statusOf(checks: readonly HealthCheck[]): Health["status"] {
  return checks.some(({ status }) => status !== "ok") ? "degraded" : "ok";
}

/**
 * The checks as a caller without an admin key sees them: the database in full, all instances as one check, and the mere
 * status of every other check. Only administrators see ids of instances and messages of providers.
 */
function publicChecks({ database, ...checks }: Health["checks"]): Health["checks"] {
  const [channels, others] = [[] as HealthCheck[], [] as [string, HealthCheck][]];
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

/** Whether the request has an admin key. Without one that is valid, or that can be looked up now, it is served like one without a key. */
async function isAdmin({ authorization }: IncomingHttpHeaders, source: KeySource): Promise<boolean> {
  if (authorization === undefined) return false;
  try {
    return (await keyOf(authorization, source)).scope === "admin";
  } catch (error) {
    if (error instanceof ApiError || error instanceof StoreUnavailable) return false;
    throw error;
  }
}

async function requireAdmin({ authorization }: IncomingHttpHeaders, source: KeySource): Promise<void> {
  const { scope } = await keyOf(authorization, source);
  if (scope === "admin") return;
  throw new ApiError("FORBIDDEN", `This key has the scope ${scope}; metrics are for admin keys, or for this machine.`);
}

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/;

/**
 * Whether the request comes from this machine, by a name of loopback. A proxy on this machine that adds no header still passes on the name
 * that its client used.
 */
function isLocal({ headers, remoteAddress }: PublicRequest): boolean {
  if (isForwarded({ headers }) || !LOOPBACK.test(remoteAddress)) return false;
  return headers.host !== undefined && isOwnName(headers.host);
}

/**
 * Whether `Host` names this machine. In DNS rebinding, a web page makes its own name resolve to 127.0.0.1 and could read
 * what only this machine may read; its requests still carry the page's name.
 */
function isOwnName(host: string): boolean {
  const name = hostnameOf(`http://${host}`);
  if (name === null) return false;
  return name === "localhost" || LOOPBACK.test(name.replace(/^\[|\]$/g, ""));
}

function hostnameOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).hostname : null;
}
