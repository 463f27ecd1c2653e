/** Health of the service. */

import { type Static, Type } from "typebox";
import { at } from "./samples.ts";
import { choice, at as instant, optional, record, says, string } from "./schema.ts";

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
