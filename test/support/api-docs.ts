/** `docs/api.md`, made from the OpenAPI document: every route, event and record in tables. Run by itself, it writes the file. */

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { OpenApiDocument, PublishedOperation } from "../../server/api/openapi/document.ts";
import type { Parameter } from "../../server/api/openapi/parameters.ts";
import type { PublishedSchema } from "../../server/api/openapi/schema.ts";
import { refusalCodes } from "../../site/operations.ts";
import { readDocument } from "./contract.ts";

export const API_DOCS = fileURLToPath(new URL("../../docs/api.md", import.meta.url));

/** Codes that are documented once for all routes. */
const COMMON = [
  "VALIDATION_ERROR",
  "INVALID_JSON",
  "UNAUTHORIZED",
  "FORBIDDEN",
  "RATE_LIMITED",
  "INTERNAL_ERROR",
  "SERVICE_UNAVAILABLE",
  "IDEMPOTENCY_KEY_REUSED",
];

/** The text of the file. */
export function renderApiDocs(document: OpenApiDocument): string {
  const { tags, webhooks, components } = document;
  const parts = [
    "# The API at a glance",
    "Made from the service's own OpenAPI document by `npm run docs`, and compared with it by a test: what stands here is what is served. A running service has the same with every field, an example and a command to paste at `/docs`, and for programs at `/openapi.json`.",
    "A `?` behind a name marks what may be left out; names such as `?limit=` are of the query, and may be left out too. Every POST under `/v1` also takes `Idempotency-Key`. Every route under `/v1` that takes a key can return " +
      `${COMMON.slice(0, -1).map(code).join(", ")}, and a POST with ${code("IDEMPOTENCY_KEY_REUSED")}; [errors](errors.md) says when.`,
    ...tags.flatMap(({ name, description }) => [`## ${name}`, description, operationsTable(document, name)]),
    "## Webhook events",
    "[Events](events.md) explains each type, and how to verify and order webhooks.",
    table(
      ["Type", "When", "`data`"],
      Object.entries(webhooks).map(([type, { post }]) => {
        const envelope = components.schemas[refName(post.requestBody.content["application/json"]?.schema)];
        return [code(type), post.summary, code(refName(envelope?.properties?.data))];
      }),
    ),
    "## Records",
    "Responses have every field, null without a value, except those with a `?`. The data of events omits fields that do not apply.",
    table(["Record", "Fields"], recordRows(document)),
  ];
  return `${parts.join("\n\n")}\n`;
}

function operationsTable(document: OpenApiDocument, tag: string): string {
  const rows = Object.entries(document.paths).flatMap(([template, item]) =>
    Object.entries(item)
      .filter(([, operation]) => operation.tags.includes(tag))
      .map(([method, operation]) => [
        code(`${method.toUpperCase()} ${template.replace(/\{(\w+)\}/g, ":$1")}`),
        keyOf(operation),
        `${operation.summary}.`,
        sent(document, operation),
        responses(document, operation),
        refusalCodes(document, operation.responses)
          .filter((one) => !COMMON.includes(one))
          .map(code)
          .join(", "),
      ]),
  );
  return table(["Route", "Key", "What it does", "Request", "Response", "Error codes of its own"], rows);
}

function keyOf({ "x-scope": scope }: PublishedOperation): string {
  return scope === undefined ? "none" : scope === "messages" ? "customer" : scope === "any" ? "either" : scope;
}

function sent({ components }: OpenApiDocument, { parameters, requestBody }: PublishedOperation): string {
  const query = parameters.filter((one): one is Parameter => "in" in one && one.in === "query");
  const body = resolve(components, requestBody?.content["application/json"]?.schema);
  const item = resolve(components, body?.items) ?? body;
  const fields = Object.entries(item?.properties ?? {}).filter(
    ([name, field]) => field.deprecated !== true && name !== "idempotencyKey",
  );
  const of = body?.items === undefined ? "" : "[].";
  return [
    ...query.map(({ name }) => code(`?${name}=`)),
    ...fields.map(([name]) => code(`${of}${optional(item, name)}`)),
  ].join(", ");
}

function responses({ components }: OpenApiDocument, { responses }: PublishedOperation): string {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith("2"));
  const contents = successes.map(([status, answer]) => {
    const documented = Object.entries((answer.content ?? {}) as Record<string, { schema: PublishedSchema }>);
    return {
      status,
      documented: documented.map(
        ([type, { schema }]) => typeName(components.schemas[refName(schema)]?.properties?.data) ?? type,
      ),
    };
  });
  const [first] = contents;
  const statuses = contents.map(({ status }) => status).sort((a, b) => Number(b) - Number(a));
  return `${statuses.join(", ")} ${(first?.documented ?? []).map(code).join(", ")}`;
}

function typeName(schema: PublishedSchema | undefined): string | null {
  if (schema === undefined) return null;
  const choices = schema.anyOf?.map((one) => (one.$ref === undefined ? "null" : refName(one)));
  if (choices !== undefined) return choices.join(" or ");
  return schema.items === undefined ? refName(schema) : `${refName(schema.items)}[]`;
}

function recordRows(document: OpenApiDocument): string[][] {
  const { paths, webhooks, components } = document;
  const bodies = Object.values(paths).flatMap((item) => Object.values(item).map(({ requestBody }) => requestBody));
  const posts = Object.values(webhooks).map(({ post }) => post.requestBody);
  const documented = new Set([...bodies, ...posts].map((body) => refName(body?.content["application/json"]?.schema)));
  return Object.entries(components.schemas)
    .filter(([name, { properties }]) => !documented.has(name) && properties !== undefined && !("success" in properties))
    .map(([name, schema]) => {
      const fields = Object.keys(schema.properties ?? {}).map((field) => code(optional(schema, field)));
      return [code(name), fields.join(", ")];
    });
}

function optional(schema: PublishedSchema | undefined, field: string): string {
  return schema?.required?.includes(field) === true ? field : `${field}?`;
}

function refName(schema: PublishedSchema | undefined): string {
  return schema?.$ref?.split("/").at(-1) ?? "";
}

function resolve(
  { schemas }: OpenApiDocument["components"],
  schema: PublishedSchema | undefined,
): PublishedSchema | undefined {
  return schemas[refName(schema)] ?? schema;
}

function code(text: string): string {
  return `\`${text}\``;
}

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

if (import.meta.main) writeFileSync(API_DOCS, renderApiDocs(readDocument()));
