/** Renders the OpenAPI document as articles: a page for each group of operations, the webhook events, the records and the errors. Pure. */

import { errorSentences } from "../contract/errors.ts";
import { ERROR_STATUS, type ErrorCode } from "../sdk/wire.ts";
import type { OpenApiDocument, PublishedOperation } from "../server/api/openapi/document.ts";
import type { Notification } from "../server/api/openapi/notifications.ts";
import type { Parameter } from "../server/api/openapi/parameters.ts";
import type { PublishedResponse } from "../server/api/openapi/responses.ts";
import { type PublishedSchema, refTo } from "../server/api/openapi/schema.ts";
import { commandOf, typescriptOf } from "./clients.ts";
import { curlOf } from "./curl.ts";
import { fieldRow, fieldsTable, typeOf } from "./fields-table.ts";
import type { DocsSection } from "./markdown.ts";
import { html, json, type Markup, prose } from "./markup.ts";
import { codeTabs, snippetFigure } from "./snippets.ts";
import { tryForm } from "./try-form.ts";

/** The document, and the address of the service. */
export interface ReferenceSource {
  document: OpenApiDocument;
  baseUrl: string;
}

/** An operation with its address. */
export interface ListedOperation {
  method: string;
  template: string;
  /** The path as readers write it: `/v1/messages/:id`. */
  path: string;
  operation: PublishedOperation;
}

/** The operations of a group, in the order of the document. */
export function operationsOf({ paths }: OpenApiDocument, tag: string): ListedOperation[] {
  return Object.entries(paths).flatMap(([template, item]) =>
    Object.entries(item)
      .filter(([, operation]) => operation.tags.includes(tag))
      .map(([method, operation]) => ({
        method: method.toUpperCase(),
        template,
        path: template.replace(/\{(\w+)\}/g, ":$1"),
        operation,
      })),
  );
}

/** The page of a group. */
export function groupArticle(source: ReferenceSource, tag: string): Markup {
  const description = source.document.tags.find(({ name }) => name === tag)?.description ?? "";
  const operations = operationsOf(source.document, tag);
  return html`<h1>${tag}</h1><p class="lead">${prose(description)}</p>${operations.map((one) => operationPart(source, one))}`;
}

/** The operations of a group as the search knows them. */
export function groupSections(document: OpenApiDocument, tag: string): DocsSection[] {
  return operationsOf(document, tag).map(({ method, path, operation }) => {
    const { operationId, summary, description, parameters, requestBody } = operation;
    const body = resolveSchema(document, requestBody?.content["application/json"]?.schema ?? {});
    const names = [
      ...parameters.flatMap((one) => ("name" in one ? [(one as Parameter).name] : [])),
      ...Object.keys(body.properties ?? {}),
    ];
    const text = `${method} ${path}\n${description}\n${names.join(" ")} ${operationId}`;
    return { heading: summary, anchor: operationId, depth: 2, text };
  });
}

function operationPart(source: ReferenceSource, listed: ListedOperation): Markup {
  const { method, path, operation } = listed;
  const { operationId, summary, description } = operation;
  return html`<section class="operation" id="${operationId}">
<div>
<h2><a href="#${operationId}">${summary}</a></h2>
<p class="address"><span class="verb ${method.toLowerCase()}">${method}</span> ${path}</p>
<p>${prose(description)}</p>
<p><small>${keyOf(operation)}</small></p>
${parametersPart(operation)}
${bodyPart(source, operation)}
${refusalsPart(source, operation)}
</div>
<div>
<h3>Request</h3>
${requestPart(source, listed)}
${tryForm(listed)}
${responsesPart(source, operation)}
</div>
</section>`;
}

/** The request for each client that can send it. */
function requestPart({ baseUrl }: ReferenceSource, { method, template, operation }: ListedOperation): Markup {
  const curl = { label: "curl", language: "sh", code: curlOf(baseUrl, method, template, operation) };
  const others = [
    { label: "TypeScript", language: "ts", code: typescriptOf(operation) },
    { label: "CLI", language: "sh", code: commandOf(method, template, operation) },
  ].flatMap(({ code, ...client }) => (code === null ? [] : [{ ...client, code }]));
  return others.length === 0 ? snippetFigure({ ...curl, label: "" }) : codeTabs([curl, ...others]);
}

/** The key that an operation requires, in a sentence. */
export function keyOf(operation: PublishedOperation): string {
  switch (operation["x-scope"]) {
    case "messages":
      return "Requires a customer's key.";
    case "admin":
      return "Requires an admin key.";
    case "any":
      return "Requires a customer's key or an admin key.";
    case "session":
      return "Requires the session of a browser.";
    default:
      return "Requires no key.";
  }
}

/** The places of parameters, and their titles. */
export const PLACES = [
  ["path", "Path parameters"],
  ["query", "Query parameters"],
  ["header", "Headers"],
] as const;

function parametersPart({ parameters }: PublishedOperation): Markup {
  const own = parameters.filter((one): one is Parameter => "name" in one);
  return html`${PLACES.map(([place, title]) => {
    const rows = own.filter((one) => one.in === place);
    if (rows.length === 0) return null;
    return html`<h3>${title}</h3><dl class="fields">${rows.map(parameterRow)}</dl>`;
  })}`;
}

function parameterRow({ name, schema, description, required = false }: Parameter): Markup {
  return fieldRow({ name, schema: { ...schema, description }, isRequired: required }, true);
}

/** A schema, or the one that it refers to. */
export function resolveSchema({ components }: OpenApiDocument, schema: PublishedSchema): PublishedSchema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : (components.schemas[name] ?? schema);
}

function bodyPart({ document }: ReferenceSource, { requestBody }: PublishedOperation): Markup | null {
  const content = requestBody?.content["application/json"];
  if (content === undefined) return null;
  return html`<h3>Request body</h3>${fieldsTable(resolveSchema(document, content.schema), true)}`;
}

/** The successes of an operation: the one with an example first, the others in their order. */
export function successesOf({ responses }: PublishedOperation): [status: string, PublishedResponse][] {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith("2")) as [
    string,
    PublishedResponse,
  ][];
  return successes.sort(([, a], [, b]) => Number(hasExample(b)) - Number(hasExample(a)));
}

function responsesPart(source: ReferenceSource, operation: PublishedOperation): Markup {
  const [first, ...others] = successesOf(operation);
  if (first === undefined) return html``;
  const [status, { description, content = {} }] = first;
  return html`<h3>Response ${status}</h3><p>${prose(description)}</p>${Object.entries(content).map((one) => contentPart(source, one))}
${others.map(([other, answer]) => html`<h3>Response ${other}</h3><p>${prose(answer.description)}</p>`)}`;
}

function hasExample({ content = {} }: PublishedResponse): boolean {
  return Object.values(content).some(({ example }) => example !== undefined);
}

function contentPart(
  { document }: ReferenceSource,
  [type, { schema, example }]: [string, { schema: PublishedSchema; example?: unknown }],
): Markup {
  const data = resolveSchema(document, schema).properties?.data;
  const documented =
    data === undefined ? html`<p><small>${type}</small></p>` : html`<p><small>data: ${typeOf(data)}</small></p>`;
  if (example === undefined) return documented;
  const isText = typeof example === "string";
  const code = isText ? example : json(example);
  return html`${documented}${snippetFigure({ label: "", language: isText ? "" : "json", code })}`;
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

function refusalsPart({ document }: ReferenceSource, { responses }: PublishedOperation): Markup | null {
  const codes = ownRefusals(document, responses);
  if (codes.length === 0) return null;
  return html`<h3>Errors of this operation</h3><dl class="fields">${codes.map(errorRow)}</dl>`;
}

/** The error codes of an operation beside those of every route. */
export function ownRefusals(document: OpenApiDocument, responses: PublishedOperation["responses"]): ErrorCode[] {
  return refusalCodes(document, responses).filter((code) => !EVERYWHERE.has(code));
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

/** How webhook events arrive. */
export const ABOUT_EVENTS =
  "Each event is sent as a POST to the endpoints that subscribe to it, and to the `callbackUrl` of its message. Verify the signature over the raw body, respond with a 2xx status within 30 seconds, and deduplicate by `id`. A delivery without a 2xx response is retried seven times over 58 hours.";

/** The page of the webhook events. */
export function eventsArticle({ document }: ReferenceSource): Markup {
  const { webhooks } = document;
  const first = Object.values(webhooks)[0]?.post;
  const headers = (first?.parameters ?? []).map(parameterRow);
  return html`<h1>Webhook events</h1>
<p class="lead">${prose(ABOUT_EVENTS)} <a href="/docs/events">Events</a> explains each type, the order and the signature.</p>
<h2 id="headers">Headers of a delivery</h2><dl class="fields">${headers}</dl>
${Object.entries(webhooks).map(([type, { post }]) => eventPart(type, post, document))}`;
}

function eventPart(
  type: string,
  { operationId, summary, requestBody }: Notification,
  document: OpenApiDocument,
): Markup {
  const { schema, example } = requestBody.content["application/json"] ?? { schema: {}, example: null };
  const data = resolveSchema(document, schema).properties?.data;
  return html`<section class="operation" id="${operationId}">
<div><h2><a href="#${operationId}"><code>${type}</code></a></h2><p>${prose(summary)}</p>${data === undefined ? null : html`<p><small>data: ${typeOf(data)}</small></p>`}</div>
<div>${snippetFigure({ label: "", language: "json", code: json(example) })}</div>
</section>`;
}

/** Records of responses and of events. Request bodies are shown at their operations, and envelopes by their data. */
export function recordsOf({ paths, webhooks, components }: OpenApiDocument): [name: string, PublishedSchema][] {
  const bodies = Object.values(paths).flatMap((item) => Object.values(item).map(({ requestBody }) => requestBody));
  const posts = Object.values(webhooks).map(({ post }) => post.requestBody);
  const documented = new Set([...bodies, ...posts].map((body) => body?.content["application/json"]?.schema.$ref));
  return Object.entries(components.schemas).filter(
    ([name, { properties }]) => !documented.has(refTo(name).$ref) && properties?.success?.const !== true,
  );
}

/** How records are written. */
export const ABOUT_RECORDS =
  "Responses have every field of their record, null without a value. The data of events omits fields that do not apply.";

/** The page of the records. */
export function recordsArticle({ document }: ReferenceSource): Markup {
  const records = recordsOf(document).map(([name, schema]) => recordPart(name, schema));
  return html`<h1>Records</h1><p class="lead">${ABOUT_RECORDS}</p>${records}`;
}

function recordPart(name: string, schema: PublishedSchema): Markup {
  const fields = fieldsTable(schema, false);
  const values = schema.oneOf === undefined ? html`<p>${typeOf(schema)}</p>` : null;
  const about = schema.description === undefined ? null : html`<p>${prose(schema.description)}</p>`;
  return html`<section class="record" id="record-${name}"><h2><a href="#record-${name}">${name}</a></h2>${about}${fields ?? values}</section>`;
}

/** How errors are read. */
export const ABOUT_ERRORS = "Every error has one of these codes. Decide by the code: its meaning never changes.";

/** The page of the error codes. */
export function errorsArticle(): Markup {
  const codes = Object.keys(ERROR_STATUS) as ErrorCode[];
  return html`<h1>Error codes</h1><p class="lead">${ABOUT_ERRORS} <a href="/docs/errors">Errors</a> says what to do about each.</p><dl class="fields">${codes.map(
    (code) => errorRow(code),
  )}</dl>`;
}
