/** Reports the health of the database and the providers, and reads the gauges that are measured on a scrape. */

import type { Health } from "../../sdk/wire.ts";
import type { HealthOptions } from "../api/health.ts";
import type { Deps } from "../engine/deps.ts";
import type { With } from "../engine/engine-deps.ts";
import type { Metrics } from "../metrics.ts";
import { countQuarantined, QUARANTINED_COUNTED_MAX } from "../store/quarantine.ts";
import { findSetting } from "../store/settings.ts";
import type { Queue } from "../store/store.ts";

/** The phase of the process. */
export type ServiceState = "starting" | "ready" | "closing";

/** Sources of the health report. */
interface HealthParts extends Pick<HealthOptions, "authenticate"> {
  deps: With<"backPressure" | "configCache" | "providers" | "publicUrl">;
  metrics: Metrics;
  state: () => ServiceState;
}

/**
 * The check that fails while `/readyz` refuses: the other parts may be healthy long before the service accepts
 * requests.
 */
const NOT_READY = { status: "degraded", message: "The service is starting or shutting down." } as const;

/** Functions that the health routes call. */
export function createHealth({ deps, metrics, authenticate, state }: HealthParts): HealthOptions {
  return {
    authenticate,
    clock: deps.clock,
    checks: async () => ({ ...(state() === "ready" ? {} : { service: NOT_READY }), ...(await check(deps)) }),
    publicUrl: () => deps.publicUrl(),
    notReady() {
      if (state() !== "ready") return NOT_READY.message;
      return deps.store.isFull ? "The disk is full: nothing new is accepted." : null;
    },
    metrics: {
      contentType: metrics.contentType,
      async render() {
        await readOldestDue(deps, metrics);
        await readQuarantined(deps, metrics);
        readBackPressure(deps, metrics);
        return metrics.render();
      },
    },
  };
}

async function check(deps: With<"configCache" | "providers">): Promise<Health["checks"]> {
  const checks: Health["checks"] = { database: await checkDatabase(deps), rows: await checkRows(deps) };
  for (const instance of await deps.configCache.instances()) {
    const health = await deps.providers.get(instance.id)?.health();
    const isWell = health?.status === "healthy";
    const message = health?.message ?? (isWell ? undefined : "not running");
    checks[instance.id] = { status: isWell ? "ok" : "degraded", ...(message === undefined ? {} : { message }) };
  }
  return checks;
}

async function checkDatabase(deps: Deps): Promise<Health["checks"][string]> {
  if (deps.store.isFull) return { status: "degraded", message: "the disk is full: nothing new is accepted" };
  try {
    await findSetting(deps.store.db, "first-customer");
    return { status: "ok" };
  } catch {
    return { status: "degraded", message: "the database cannot be read" };
  }
}

/** Counts the rows in quarantine by table. The report contains nothing of their content. */
async function checkRows({ store }: Deps): Promise<Health["checks"][string]> {
  const quarantined = await countQuarantined(store.db).catch(() => []);
  if (quarantined.length === 0) return { status: "ok" };
  const many = (count: number) => (count < QUARANTINED_COUNTED_MAX ? String(count) : `${count} or more`);
  const counts = quarantined.map(({ table, count }) => `${many(count)} in ${table}`).join(", ");
  return {
    status: "degraded",
    message: `rows that cannot be read are in quarantine (${counts}): see tightbeam quarantine`,
  };
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
