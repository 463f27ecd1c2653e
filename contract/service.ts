/** Health of the service. */

import { type Static, Type } from "typebox";
import { at } from "./samples.ts";
import { at as instant, optional, record, string } from "./schema.ts";

const word = (description: string) => Type.Enum(["ok", "degraded"] as const, { description });

export const Health = record("Health", "Response of `GET /health`.", {
  status: word("Health of the service."),
  timestamp: instant("Time of the service."),
  checks: Type.Record(
    Type.String(),
    Type.Object({ status: word("Health of the part."), message: optional(string("What is wrong.")) }),
    { description: "Health of each part, by name." },
  ),
});

export const healthExample: Static<typeof Health> = {
  status: "ok",
  timestamp: at(0),
  checks: { database: { status: "ok" }, channels: { status: "ok" } },
};
