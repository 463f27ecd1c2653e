/** The checks of the service's health: their titles, and what mends each. Pure. */

import type { Instance, Session } from "../../../sdk/wire.ts";

/** A command of the operator, or a page of the console. */
type Cure = { command: string } | { path: string; verb: string };

interface Check {
  title: string;
  command?: string;
}

const DOCTOR = "npx tightbeam doctor";

/** The checks of `GET /health`, by name. */
const CHECKS: Record<string, Check> = {
  service: { title: "Service" },
  database: { title: "Database" },
  channels: { title: "Channels" },
  rows: { title: "Stored rows", command: "npx tightbeam quarantine" },
  webhooks: { title: "Webhooks" },
  held: { title: "Held messages", command: "npx tightbeam held" },
  workers: { title: "Processes that send", command: "TB_ROLE=worker npx tightbeam serve" },
};

/** The title of a check; that of an instance is the instance's name, if it is among `instances`. */
export function titleOfCheck(name: string, instances: readonly Pick<Instance, "id" | "name">[]): string {
  return CHECKS[name]?.title ?? instances.find(({ id }) => id === name)?.name ?? name;
}

/** The cure of a check that is not well. */
export function findCure(name: string, scope: Session["scope"]): Cure {
  if (name !== "channels" && !name.startsWith("inst_")) return { command: CHECKS[name]?.command ?? DOCTOR };
  return scope === "admin"
    ? { path: "/settings/instances", verb: "Open the instances" }
    : { path: "/settings/numbers", verb: "Open the numbers" };
}
