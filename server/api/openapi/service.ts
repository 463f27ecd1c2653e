/** Reference of what lies beside `/v1`: health, metrics, and the reference itself. */

import { Type } from "typebox";
import type { Health as WireHealth } from "../../../sdk/wire.ts";
import { wire } from "../schemas/common.ts";
import { At, component, type Operation, type Section } from "./operation.ts";
import { at } from "./samples.ts";

const HealthWord = Type.Enum(["ok", "degraded"] as const);

const Health = wire<WireHealth>()(
  component("Health", {
    status: HealthWord,
    timestamp: At,
    checks: Type.Record(Type.String(), Type.Object({ status: HealthWord, message: Type.Optional(Type.String()) })),
  }),
);

const health: WireHealth = {
  status: "ok",
  timestamp: at(0),
  checks: { database: { status: "ok" }, channels: { status: "ok" } },
};

const Alive = Type.Object({ status: Type.Literal("ok") });

function bare(told: Pick<Operation, "id" | "summary" | "description" | "contents" | "errors">): Operation {
  return { ...told, answer: Type.Null(), example: null, bare: true };
}

function text(example: string) {
  return { schema: Type.String(), example };
}

export const service: Section = {
  tag: "Service",
  description: "Beside `/v1`: no key, no envelope, no rate limit.",
  operations: {
    "GET /health": bare({
      id: "getHealth",
      summary: "See how the service is",
      description:
        "200 also when something is `degraded`: read `status`. Without a key `checks` has `database` and, for all instances together, `channels`. With an admin key it has each instance by its id, with what is wrong.",
      contents: { "application/json": { schema: Health, example: health } },
    }),
    "GET /healthz": bare({
      id: "getLiveness",
      summary: "See whether the process answers",
      description: "For a supervisor that restarts what does not.",
      contents: { "application/json": { schema: Alive, example: { status: "ok" } } },
    }),
    "GET /readyz": bare({
      id: "getReadiness",
      summary: "See whether requests are taken",
      description: "503 while the service starts or shuts down.",
      contents: { "application/json": { schema: Alive, example: { status: "ok" } } },
      errors: ["SERVICE_UNAVAILABLE"],
    }),
    "GET /metrics": bare({
      id: "getMetrics",
      summary: "Read the metrics",
      description:
        "In the text form of Prometheus. From the same machine, by one of its own names (`localhost`, a loopback address, the host of `TB_PUBLIC_URL`), or with an admin key.",
      contents: { "text/plain": text("tightbeam_messages_accepted_total 20\n") },
      errors: ["UNAUTHORIZED", "FORBIDDEN"],
    }),
    "GET /openapi.json": bare({
      id: "getOpenApi",
      summary: "Get this reference as OpenAPI 3.1",
      description: "With every event under `webhooks`.",
      contents: {
        "application/json": {
          schema: Type.Object({ openapi: Type.String() }, { additionalProperties: true }),
          example: { openapi: "3.1.1" },
        },
      },
    }),
    "GET /docs": bare({
      id: "getDocs",
      summary: "Read this reference as a page",
      description: "Loads nothing from anywhere else.",
      contents: { "text/html": text("<!doctype html>") },
    }),
    "GET /llms.txt": bare({
      id: "getLlmsTxt",
      summary: "Read a short guide for language models",
      description: "What it is, how to sign in, the calls that matter, and how to verify webhooks.",
      contents: { "text/plain": text("# Tightbeam\n") },
    }),
  },
};
