/** The service itself: its health, its database and its settings. */

import { type Static, Type } from "typebox";
import { at } from "./samples.ts";
import { SandboxClock } from "./sandbox.ts";
import {
  choice,
  count,
  flag,
  at as instant,
  list,
  optional,
  orNull,
  record,
  says,
  string,
  stringOrNull,
} from "./schema.ts";

const SERVICE_STATUSES = ["ok", "degraded"] as const;
export const ServiceStatus = choice("ServiceStatus", SERVICE_STATUSES, "Health of the service or of a part.");

export const Health = record("Health", "Response of `GET /health`.", {
  status: says(ServiceStatus, "Health of the service."),
  timestamp: instant("Time of the service."),
  checks: Type.Record(
    Type.String(),
    Type.Object({ status: says(ServiceStatus, "Health of the part."), message: optional(string("The problem.")) }),
    { description: "Health of each part, by name." },
  ),
});

export const healthExample: Static<typeof Health> = {
  status: "ok",
  timestamp: at(0),
  checks: { database: { status: "ok" }, channels: { status: "ok" } },
};

const ENGINES = ["sqlite", "postgres"] as const;
export const DatabaseEngine = choice("DatabaseEngine", ENGINES, "Kind of a database: the embedded one, or PostgreSQL.");

export const DatabaseSize = record("DatabaseSize", "The database and its size on disk.", {
  engine: says(DatabaseEngine, "The embedded database, or PostgreSQL."),
  bytes: count("Bytes of the database.", { minimum: 0 }),
  walBytes: orNull(
    Type.Integer({ minimum: 0 }),
    "Bytes of the write-ahead log beside the embedded database; null for PostgreSQL.",
  ),
});

const SETTING_SOURCES = ["flag", "environment", "default"] as const;
export const SettingSource = choice("SettingSource", SETTING_SOURCES, "Where the value of a setting comes from.");

export const ServiceSetting = record("ServiceSetting", "A setting of a process of the service.", {
  name: string("Name of its environment variable."),
  value: stringOrNull(
    "The value as it was given, or the default that is in force; null if there is none, and for every secret.",
  ),
  source: says(SettingSource, "Where the value comes from; `default` if the setting was not given."),
  isSecret: flag("Whether the value is never told."),
});

export const ServiceDetails = record("ServiceDetails", "Response of `GET /v1/admin/service`.", {
  version: string("Version of the service."),
  health: says(Health, "Health of the service, with each instance by its id."),
  database: says(DatabaseSize, "The database."),
  clock: says(SandboxClock, "The clock."),
  settings: list(ServiceSetting, "Every setting of the process that responds."),
});

export const serviceDetailsExample: Static<typeof ServiceDetails> = {
  version: "0.1.0",
  health: healthExample,
  database: { engine: "sqlite", bytes: 1_048_576, walBytes: 32_768 },
  clock: { now: at(0), offsetMs: 0 },
  settings: [
    { name: "PORT", value: "8080", source: "default", isSecret: false },
    { name: "TB_ADMIN_KEY", value: null, source: "environment", isSecret: true },
  ],
};
