/** Describes the service to its operator: version, health, size of the database, clock and settings. */

import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { DatabaseSize, ServiceDetails } from "../../sdk/wire.ts";
import { type HealthOptions, readHealth } from "../api/health.ts";
import type { Config } from "../config.ts";
import type { With } from "../engine/engine-deps.ts";
import { clockRecord } from "../engine/sandbox/clock.ts";
import { readDatabaseBytes } from "../store/settings.ts";
import type { Store } from "../store/store.ts";
import { settingsInForce } from "./settings-in-force.ts";

interface DescribedParts {
  version: string;
  config: Config;
  /** Whether every instance is a sandbox. */
  isSandbox: boolean;
  deps: With<"shift">;
  health: Pick<HealthOptions, "checks" | "clock">;
}

/** Reads everything that `GET /v1/admin/service` tells. */
export async function describeService({
  version,
  config,
  isSandbox,
  deps,
  health,
}: DescribedParts): Promise<ServiceDetails> {
  return {
    version,
    health: await readHealth(health),
    database: await measureDatabase(config, deps),
    clock: clockRecord(deps),
    settings: settingsInForce(config, isSandbox),
  };
}

async function measureDatabase(
  { databaseUrl, dataDir }: Pick<Config, "databaseUrl" | "dataDir">,
  { store }: { store: Pick<Store, "db"> },
): Promise<DatabaseSize> {
  const bytes = await readDatabaseBytes(store.db);
  if (databaseUrl !== null) return { engine: "postgres", bytes, walBytes: null };
  const log = await stat(join(dataDir, "tightbeam.db-wal")).catch(() => null);
  return { engine: "sqlite", bytes, walBytes: log?.size ?? 0 };
}
