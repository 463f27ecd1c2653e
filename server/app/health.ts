/** Reports the health of the database and the providers, and reads the gauges that are measured on a scrape. */

import type { Health } from "../../sdk/wire.ts";
import type { HealthOptions } from "../api/health.ts";
import type { EndpointId } from "../core/id.ts";
import type { Deps } from "../engine/deps.ts";
import type { With } from "../engine/engine-deps.ts";
import { hasWorker } from "../engine/members/membership.ts";
import { countHeld, HELD_COUNTED_MAX } from "../engine/messages/held.ts";
import type { Metrics } from "../metrics.ts";
import { countQuarantined, QUARANTINED_COUNTED_MAX } from "../store/quarantine.ts";
import { findSetting } from "../store/settings.ts";
import type { Queue } from "../store/store.ts";
import { findGoneEndpoints } from "../store/webhooks.ts";

/** The phase of the process. */
export type ServiceState = "starting" | "ready" | "closing";

/** Sources of the health report. */
interface HealthParts extends Pick<HealthOptions, "authenticate"> {
  deps: With<"backPressure" | "configCache" | "connections" | "membership">;
  metrics: Metrics;
  state: () => ServiceState;
  /** Whether a trusted proxy named no client of a sign-in within the last hour. By default there is no such proxy. */
  hasUnnamedClients?: () => boolean;
}

/**
 * The check that fails while `/readyz` refuses: the other parts may be healthy long before the service accepts
 * requests.
 */
const NOT_READY = { status: "degraded", message: "The service is starting or shutting down." } as const;

const UNREACHABLE = { status: "degraded", message: "the database cannot be reached: nothing is accepted" } as const;

/** Functions that the health routes call. */
export function createHealth({
  deps,
  metrics,
  authenticate,
  state,
  hasUnnamedClients = () => false,
}: HealthParts): HealthOptions {
  return {
    authenticate,
    clock: deps.clock,
    checks: async () => ({
      ...(state() === "ready" ? {} : { service: NOT_READY }),
      ...(hasUnnamedClients() ? { proxy: UNNAMED } : {}),
      ...(await check(deps)),
    }),
    notReady() {
      if (state() !== "ready") return NOT_READY.message;
      if (!deps.store.isAvailable) return "The database cannot be reached: nothing is accepted.";
      return deps.store.isFull ? "The disk is full: nothing new is accepted." : null;
    },
    metrics: {
      contentType: metrics.contentType,
      async render() {
        await readOldestDue(deps, metrics);
        await readQuarantined(deps, metrics);
        metrics.heldMessages.set(await countHeld(deps.store.db));
        readBackPressure(deps, metrics);
        return metrics.render();
      },
    },
  };
}

const UNNAMED = {
  status: "degraded",
  message:
    "a trusted proxy sends no X-Forwarded-For, so that all its clients share one limit of failed sign-ins: let it send the header",
} as const;

const HELD = "held after a restore, since they may have been sent: see tightbeam held";

/** Most endpoints that are gone that the report counts, and names. */
const [GONE_COUNTED_MAX, GONE_NAMED_MAX] = [1_000, 100];

/** Work that has waited for the service itself for this long makes it `degraded`, in milliseconds. */
const LAG_MS_MAX = 5_000;

const NO_WORKER = {
  status: "degraded",
  message: "no process sends, so messages and webhooks wait: start one with TB_ROLE worker or all",
} as const;

const UNOWNED = {
  status: "degraded",
  message:
    "no process posts the webhooks of some endpoints: a worker takes them over once the former owner's leases end",
} as const;

async function check(
  deps: With<"backPressure" | "configCache" | "connections" | "membership">,
): Promise<Health["checks"]> {
  const checks: Health["checks"] = { database: await checkDatabase(deps), rows: await checkRows(deps) };
  const held = await countHeld(deps.store.db).catch(() => 0);
  if (held > 0) checks.held = { status: "degraded", message: `${many(held, HELD_COUNTED_MAX)} messages are ${HELD}` };
  const gone = await findGoneEndpoints(deps.store.db, GONE_COUNTED_MAX).catch(() => []);
  if (gone.length > 0) checks.webhooks = { status: "ok", message: goneMessage(gone) };
  if (!hasWorker(deps.membership)) checks.workers = NO_WORKER;
  else if (deps.membership.unownedLanesMs() >= LAG_MS_MAX) checks.workers = UNOWNED;
  const lag = checkLag(deps);
  if (lag !== null) checks.lag = lag;
  const instances = await deps.configCache.instances().catch((error: unknown) => {
    if (deps.store.isAvailable) throw error;
    return [];
  });
  for (const instance of instances) {
    const { status, message } = await deps.connections.health(deps, instance.id);
    const isWell = status === "healthy";
    checks[instance.id] = { status: isWell ? "ok" : "degraded", ...(message === undefined ? {} : { message }) };
  }
  return checks;
}

async function checkDatabase(deps: Deps): Promise<Health["checks"][string]> {
  if (!deps.store.isAvailable) return UNREACHABLE;
  if (deps.store.isFull) return { status: "degraded", message: "the disk is full: nothing new is accepted" };
  try {
    await findSetting(deps.store.db, "first-customer");
    return { status: "ok" };
  } catch {
    return { status: "degraded", message: "the database cannot be read" };
  }
}

/** Null while no due work has waited for long. */
function checkLag({ backPressure }: With<"backPressure">): Health["checks"][string] | null {
  const lagMs = backPressure.lagMs();
  const late = QUEUES.filter(([, loop]) => lagMs[loop] >= LAG_MS_MAX);
  if (late.length === 0) return null;
  const waits = late.map(([queue, loop]) => `due ${queue} may have waited ${Math.round(lagMs[loop] / 1_000)} s`);
  return { status: "degraded", message: `${waits.join(", and ")} for this service: see tightbeam_lag_seconds` };
}

/** Counts the rows in quarantine by table. The report contains nothing of their content. */
async function checkRows({ store }: Deps): Promise<Health["checks"][string]> {
  const quarantined = await countQuarantined(store.db).catch(() => []);
  if (quarantined.length === 0) return { status: "ok" };
  const counts = quarantined
    .map(({ table, count }) => `${many(count, QUARANTINED_COUNTED_MAX)} in ${table}`)
    .join(", ");
  return {
    status: "degraded",
    message: `rows that cannot be read are in quarantine (${counts}): see tightbeam quarantine`,
  };
}

/** Names endpoints that are gone. That is for their customers to mend: the service itself is well. */
function goneMessage(gone: readonly EndpointId[]): string {
  const count = many(gone.length, GONE_COUNTED_MAX);
  const endpoints = gone.length === 1 ? "1 endpoint" : `${count} endpoints`;
  const more = gone.length > GONE_NAMED_MAX ? ", …" : "";
  return `${endpoints} answered ten webhooks in a row with 410: ${gone.slice(0, GONE_NAMED_MAX).join(", ")}${more}`;
}

/** A count that stops at `max`, in words. */
function many(count: number, max: number): string {
  return count < max ? String(count) : `${count} or more`;
}

function readBackPressure({ backPressure }: With<"backPressure">, metrics: Metrics): void {
  metrics.acceptsWaiting.set(backPressure.waiting);
  const lagMs = backPressure.lagMs();
  for (const [, loop] of QUEUES) metrics.lagSeconds.set({ loop }, lagMs[loop] / 1_000);
}

async function readQuarantined({ store }: Deps, { quarantinedRows }: Metrics): Promise<void> {
  quarantinedRows.reset();
  for (const { table, count } of await countQuarantined(store.db)) quarantinedRows.set({ table }, count);
}

const QUEUES: readonly [Queue, "dispatch" | "deliver"][] = [
  ["messages", "dispatch"],
  ["deliveries", "deliver"],
];

async function readOldestDue(deps: Deps, metrics: Metrics): Promise<void> {
  const now = deps.clock.now();
  for (const [queue, loop] of QUEUES) {
    const lanes = await deps.store.dueLanes(queue, now);
    const oldest = lanes.reduce((least, { dueAt }) => Math.min(least, dueAt), now);
    metrics.oldestDueSeconds.set({ queue: loop }, (now - oldest) / 1_000);
  }
}
