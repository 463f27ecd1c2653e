/** Operations on the service itself; beside `/v1` health, metrics, and the reference. */

import { Type } from "typebox";
import { type Operation, operation, type Section } from "../operation.ts";
import { record } from "../schema.ts";
import { Health, healthExample, ServiceDetails, serviceDetailsExample } from "../service.ts";

const Alive = record("Alive", "Response of `GET /healthz` and `GET /readyz`.", {
  status: Type.Literal("ok", { description: "Always `ok`." }),
});

function bare(declared: Pick<Operation, "id" | "summary" | "description" | "contents" | "errors">): Operation {
  return { ...declared, scope: "outside", response: Type.Null(), example: null, bare: true };
}

function text(example: string) {
  return { schema: Type.String(), example };
}

const alive = { "application/json": { schema: Alive, example: { status: "ok" } } };

export const settings: Section = {
  tag: "Settings",
  description: "The service as its operator sees it. Takes an admin key.",
  operations: {
    "GET /v1/admin/service": operation({
      id: "getService",
      summary: "Get the service's settings, health and size",
      description:
        "Tells each setting with its source, and of secrets only whether they are given. If several processes share the database, the settings are those of the process that responds.",
      response: ServiceDetails,
      example: serviceDetailsExample,
    }),
  },
};

export const service: Section = {
  tag: "Service",
  description: "Routes outside `/v1`: without a key, an envelope or a rate limit.",
  operations: {
    "GET /health": bare({
      id: "getHealth",
      summary: "Get the service's health",
      description:
        "The status is 200 even if something is `degraded`: read `status`. Without a key, `checks` has `database` and, for all instances together, `channels`. With an admin key, it has each instance by its id, and what is wrong.",
      contents: { "application/json": { schema: Health, example: healthExample } },
    }),
    "GET /healthz": bare({
      id: "getLiveness",
      summary: "Check that the process responds",
      description: "For a supervisor that restarts a process without a response.",
      contents: alive,
    }),
    "GET /readyz": bare({
      id: "getReadiness",
      summary: "Check that the service accepts requests",
      description: "503 while the service starts or shuts down.",
      contents: alive,
      errors: ["SERVICE_UNAVAILABLE"],
    }),
    "GET /metrics": bare({
      id: "getMetrics",
      summary: "Get the metrics",
      description:
        "The text format of Prometheus. Allowed from the same machine under one of its own names (`localhost`, a loopback address, the host of `TB_PUBLIC_URL`), or with an admin key.",
      contents: { "text/plain": text("tightbeam_messages_accepted_total 20\n") },
      errors: ["UNAUTHORIZED", "FORBIDDEN"],
    }),
    "GET /openapi.json": bare({
      id: "getOpenApi",
      summary: "Get this reference as OpenAPI 3.1",
      description: "Every event is under `webhooks`.",
      contents: {
        "application/json": {
          schema: Type.Object(
            { openapi: Type.String({ description: "Version of OpenAPI." }) },
            { additionalProperties: true },
          ),
          example: { openapi: "3.1.1" },
        },
      },
    }),
    "GET /sdk.tgz": bare({
      id: "getClient",
      summary: "Install the client of this version",
      description:
        "The npm package `@tightbeam/sdk` that belongs to this service: `npm install <address>/sdk.tgz` installs it in a project.",
      contents: {
        "application/gzip": {
          schema: Type.String({ format: "binary", description: "A tarball of npm." }),
          example: "",
        },
      },
      errors: ["SERVICE_UNAVAILABLE"],
    }),
    "GET /docs": bare({
      id: "getDocs",
      summary: "Read the documentation",
      description:
        "The first page of the guides, the documents and this reference. With `.md` at its end, the address of each page responds with Markdown. The pages load nothing from other hosts.",
      contents: { "text/html": text("<!doctype html>") },
    }),
    "GET /llms.txt": bare({
      id: "getLlmsTxt",
      summary: "Get a short guide for language models",
      description: "Explains keys, the most important requests, and how to verify webhooks.",
      contents: { "text/plain": text("# Tightbeam\n") },
    }),
    "GET /llms-full.txt": bare({
      id: "getLlmsFullTxt",
      summary: "Get the documentation in one text",
      description: "Every guide, every document and this reference, with the addresses of this service.",
      contents: { "text/plain": text("# Tightbeam: all documentation\n") },
    }),
  },
};
