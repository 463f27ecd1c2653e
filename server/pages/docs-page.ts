/** Renders the OpenAPI document as one page of HTML that loads nothing else. Pure. */

import { errorSentences } from "../../contract/errors.ts";
import { ERROR_STATUS, type ErrorCode } from "../../sdk/wire.ts";
import type { OpenApiDocument, PublishedOperation } from "../api/openapi/document.ts";
import type { Notification } from "../api/openapi/notifications.ts";
import type { Parameter } from "../api/openapi/parameters.ts";
import type { PublishedResponse } from "../api/openapi/responses.ts";
import { type PublishedSchema, refTo } from "../api/openapi/schema.ts";
import { curlOf } from "./curl.ts";
import { fieldRow, fieldsTable, typeOf } from "./fields-table.ts";
import { html, json, Markup, prose } from "./markup.ts";
import { SCRIPT, STYLE } from "./style.ts";

/** The document, and the address of the service. */
interface Source {
  document: OpenApiDocument;
  baseUrl: string;
}

interface Listed {
  method: string;
  template: string;
  operation: PublishedOperation;
}

export function renderPage(document: OpenApiDocument, baseUrl: string): string {
  const source = { document, baseUrl };
  const { info, tags } = document;
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title} API reference</title>
<style>${new Markup(STYLE)}</style>
</head>
<body>
<div class="page">
${navigation(source)}
<main>
<h1>${info.title} API</h1>
<p>${info.summary}</p>
${info.description
  .split("\n\n")
  .slice(1)
  .map((paragraph) => html`<p>${prose(paragraph)}</p>`)}
<p>For programs: <a href="/openapi.json">openapi.json</a>. For language models: <a href="/llms.txt">llms.txt</a>.</p>
${tags.map((tag) => tagPart(source, tag))}
${eventsPart(source)}
${recordsPart(source)}
${errorsPart()}
</main>
</div>
<script>${new Markup(SCRIPT)}</script>
</body>
</html>
`;
  return page.text;
}

function operationsOf({ paths }: OpenApiDocument, tag: string): Listed[] {
  return Object.entries(paths).flatMap(([template, item]) =>
    Object.entries(item)
      .filter(([, operation]) => operation.tags.includes(tag))
      .map(([method, operation]) => ({ method: method.toUpperCase(), template, operation })),
  );
}

function navigation({ document }: Source): Markup {
  const groups = document.tags.map(({ name }) => {
    const links = operationsOf(document, name).map(
      ({ operation }) => html`<li><a href="#${operation.operationId}">${operation.summary}</a></li>`,
    );
    return html`<h2><a href="#tag-${name}">${name}</a></h2><ul>${links}</ul>`;
  });
  const more = [
    ["webhook-events", "Webhook events"],
    ["records", "Records"],
    ["errors", "Errors"],
  ].map(([anchor = "", title = ""]) => html`<h2><a href="#${anchor}">${title}</a></h2>`);
  return html`<nav aria-label="Operations"><details open><summary>Contents</summary>${groups}${more}</details></nav>`;
}

function tagPart(source: Source, { name, description }: { name: string; description: string }): Markup {
  const operations = operationsOf(source.document, name);
  return html`<h2 id="tag-${name}">${name}</h2><p>${prose(description)}</p>${operations.map((one) => operationPart(source, one))}`;
}

function operationPart(source: Source, listed: Listed): Markup {
  const { method, template, operation } = listed;
  const { operationId, summary, description } = operation;
  const path = template.replace(/\{(\w+)\}/g, ":$1");
  return html`<section class="one" id="${operationId}">
<div>
<h3><a href="#${operationId}">${summary}</a></h3>
<p class="address"><span class="verb ${method.toLowerCase()}">${method}</span>${path}</p>
<p>${prose(description)}</p>
<p><small>${keyOf(operation)}</small></p>
${parametersPart(operation)}
${bodyPart(source, operation)}
${refusalsPart(source, operation)}
</div>
<div>
<h4>Request</h4>
${commandPart(curlOf(source.baseUrl, method, template, operation))}
${responsesPart(source, operation)}
</div>
</section>`;
}

function keyOf(operation: PublishedOperation): string {
  switch (operation["x-scope"]) {
    case "messages":
      return "Requires a customer's key.";
    case "admin":
      return "Requires an admin key.";
    case "any":
      return "Requires a customer's key or an admin key.";
    default:
      return "Requires no key.";
  }
}

function commandPart(command: string): Markup {
  return html`<div class="code"><button type="button" hidden>Copy</button><pre><code>${command}</code></pre></div>`;
}

const PLACES = [
  ["path", "Path parameters"],
  ["query", "Query parameters"],
  ["header", "Headers"],
] as const;

function parametersPart({ parameters }: PublishedOperation): Markup {
  const own = parameters.filter((one): one is Parameter => "name" in one);
  return html`${PLACES.map(([place, title]) => {
    const rows = own.filter((one) => one.in === place);
    if (rows.length === 0) return null;
    return html`<h4>${title}</h4><dl class="fields">${rows.map(parameterRow)}</dl>`;
  })}`;
}

function parameterRow({ name, schema, description, required = false }: Parameter): Markup {
  return fieldRow({ name, schema: { ...schema, description }, isRequired: required }, true);
}

function resolve({ document }: Source, schema: PublishedSchema): PublishedSchema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : (document.components.schemas[name] ?? schema);
}

function bodyPart(source: Source, { requestBody }: PublishedOperation): Markup | null {
  const content = requestBody?.content["application/json"];
  if (content === undefined) return null;
  return html`<h4>Request body</h4>${fieldsTable(resolve(source, content.schema), true)}`;
}

function responsesPart(source: Source, { responses }: PublishedOperation): Markup {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith("2")) as [
    string,
    PublishedResponse,
  ][];
  // The response with an example first; the others are described in a sentence.
  const [first, ...others] = successes.sort(([, a], [, b]) => Number(hasExample(b)) - Number(hasExample(a)));
  if (first === undefined) return html``;
  const [status, { description, content = {} }] = first;
  return html`<h4>Response ${status}</h4><p>${prose(description)}</p>${Object.entries(content).map((one) => contentPart(source, one))}
${others.map(([other, answer]) => html`<h4>Response ${other}</h4><p>${prose(answer.description)}</p>`)}`;
}

function hasExample({ content = {} }: PublishedResponse): boolean {
  return Object.values(content).some(({ example }) => example !== undefined);
}

function contentPart(
  source: Source,
  [type, { schema, example }]: [string, { schema: PublishedSchema; example?: unknown }],
): Markup {
  const data = resolve(source, schema).properties?.data;
  const documented =
    data === undefined ? html`<p><small>${type}</small></p>` : html`<p><small>data: ${typeOf(data)}</small></p>`;
  if (example === undefined) return documented;
  return html`${documented}<pre><code>${typeof example === "string" ? example : json(example)}</code></pre>`;
}

/** The error codes of an operation beside those of every route, which are listed under Errors. */
const EVERYWHERE: ReadonlySet<string> = new Set<ErrorCode>([
  "VALIDATION_ERROR",
  "INVALID_JSON",
  "UNAUTHORIZED",
  "FORBIDDEN",
  "RATE_LIMITED",
  "INTERNAL_ERROR",
  "SERVICE_UNAVAILABLE",
]);

function refusalsPart(source: Source, { responses }: PublishedOperation): Markup | null {
  const codes = refusalCodes(source.document, responses).filter((code) => !EVERYWHERE.has(code));
  if (codes.length === 0) return null;
  return html`<h4>Errors of this operation</h4><dl class="fields">${codes.map(errorRow)}</dl>`;
}

/** The error codes of an operation by status, without those for bytes that are no request. */
export function refusalCodes({ components }: OpenApiDocument, responses: PublishedOperation["responses"]): ErrorCode[] {
  const refusals = Object.entries(responses).filter(([status]) => status !== "default" && status >= "400");
  return refusals.flatMap(([, answer]) => {
    const name = "$ref" in answer ? String(answer.$ref).split("/").at(-1) : undefined;
    const full = name === undefined ? (answer as PublishedResponse) : components.responses[name];
    return full?.["x-codes"] ?? [];
  });
}

function errorRow(code: ErrorCode): Markup {
  return html`<div><dt><code>${code}</code> <span class="type">${ERROR_STATUS[code]}</span></dt><dd>${prose(errorSentences[code])}</dd></div>`;
}

function eventsPart({ document }: Source): Markup {
  const { components, webhooks } = document;
  const first = Object.values(webhooks)[0]?.post;
  const headers = (first?.parameters ?? []).flatMap(({ $ref }) => {
    const parameter = components.parameters[$ref?.split("/").at(-1) ?? ""];
    return parameter === undefined ? [] : [parameterRow(parameter)];
  });
  return html`<h2 id="webhook-events">Webhook events</h2>
<p>Each event is sent as a POST to the endpoints that subscribe to it, and to the <code>callbackUrl</code> of its message. Verify the signature over the raw body, respond with a 2xx status within 30 seconds, and deduplicate by <code>id</code>. A delivery without a 2xx response is retried seven times over 58 hours.</p>
<h4>Headers of a delivery</h4><dl class="fields">${headers}</dl>
${Object.entries(webhooks).map(([type, { post }]) => eventPart(type, post, document))}`;
}

function eventPart(
  type: string,
  { operationId, summary, requestBody }: Notification,
  document: OpenApiDocument,
): Markup {
  const { schema, example } = requestBody.content["application/json"] ?? { schema: {}, example: null };
  const envelope = document.components.schemas[schema.$ref?.split("/").at(-1) ?? ""];
  const data = envelope?.properties?.data;
  return html`<section class="one" id="${operationId}">
<div><h3><a href="#${operationId}"><code>${type}</code></a></h3><p>${prose(summary)}</p>${data === undefined ? null : html`<p><small>data: ${typeOf(data)}</small></p>`}</div>
<div><pre><code>${json(example)}</code></pre></div>
</section>`;
}

/** Records of responses. Request bodies and event data are shown at their operations and events. */
function recordsPart({ document }: Source): Markup {
  const { paths, webhooks, components } = document;
  const bodies = Object.values(paths).flatMap((item) => Object.values(item).map(({ requestBody }) => requestBody));
  const posts = Object.values(webhooks).map(({ post }) => post.requestBody);
  const documented = new Set([...bodies, ...posts].map((body) => body?.content["application/json"]?.schema.$ref));
  // Envelopes are left out: each operation shows its data.
  const records = Object.entries(components.schemas).filter(
    ([name, { properties }]) => !documented.has(refTo(name).$ref) && properties?.success?.const !== true,
  );
  return html`<h2 id="records">Records</h2>${records.map(([name, schema]) => recordPart(name, schema))}`;
}

function recordPart(name: string, schema: PublishedSchema): Markup {
  const fields = fieldsTable(schema, false);
  const values = schema.oneOf === undefined ? html`<p>${typeOf(schema)}</p>` : null;
  const shown = fields === null ? values : html`<details><summary>Fields</summary>${fields}</details>`;
  const about = schema.description === undefined ? null : html`<p>${prose(schema.description)}</p>`;
  return html`<section id="record-${name}"><h3><a href="#record-${name}">${name}</a></h3>${about}${shown}</section>`;
}

function errorsPart(): Markup {
  const codes = Object.keys(ERROR_STATUS) as ErrorCode[];
  return html`<h2 id="errors">Errors</h2><p>Every error has one of these codes. Decide by the code: its meaning never changes.</p><dl class="fields">${codes.map(errorRow)}</dl>`;
}
