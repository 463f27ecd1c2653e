/** Writes the pages of the reference as Markdown, for language models and for readers of plain text. Pure. */

import { errorSentences } from "../contract/errors.ts";
import { ERROR_STATUS, type ErrorCode } from "../sdk/wire.ts";
import type { Parameter } from "../server/api/openapi/parameters.ts";
import type { PublishedSchema } from "../server/api/openapi/schema.ts";
import { curlOf } from "./curl.ts";
import { bounds, type FieldRow, rowsOf, typeOf } from "./fields-table.ts";
import { textOf } from "./markup.ts";
import {
  ABOUT_ERRORS,
  ABOUT_EVENTS,
  ABOUT_RECORDS,
  keyOf,
  type ListedOperation,
  operationsOf,
  ownRefusals,
  PLACES,
  type ReferenceSource,
  recordsOf,
  resolveSchema,
  successesOf,
} from "./operations.ts";

/** The operations of a group. */
export function groupMarkdown(source: ReferenceSource, tag: string): string {
  const description = source.document.tags.find(({ name }) => name === tag)?.description ?? "";
  const operations = operationsOf(source.document, tag).map((one) => operationMarkdown(source, one));
  return joined([`# ${tag}`, description, ...operations]);
}

function operationMarkdown({ document, baseUrl }: ReferenceSource, listed: ListedOperation): string {
  const { method, template, path, operation } = listed;
  const body = operation.requestBody?.content["application/json"];
  const own = operation.parameters.filter((one): one is Parameter => "name" in one);
  const refusals = ownRefusals(document, operation.responses);
  return joined([
    `## ${operation.summary}`,
    `\`${method} ${path}\``,
    operation.description,
    keyOf(operation),
    ...PLACES.map(([place, title]) => listOf(title, own.filter((one) => one.in === place).map(parameterLine))),
    body === undefined ? "" : listOf("Request body", requestLines(resolveSchema(document, body.schema))),
    fence("sh", curlOf(baseUrl, method, template, operation)),
    ...successesOf(operation).map(([status, { description, content = {} }]) =>
      joined([
        `Response ${status}: ${description}`,
        ...Object.values(content).map(({ schema, example }) => {
          const data = resolveSchema(document, schema).properties?.data;
          return joined([data === undefined ? "" : `\`data\`: ${textOf(typeOf(data))}.`, exampleFence(example)]);
        }),
      ]),
    ),
    listOf("Errors of this operation", refusals.map(errorLine)),
  ]);
}

/** The webhook events. */
export function eventsMarkdown({ document }: ReferenceSource): string {
  const events = Object.entries(document.webhooks).map(([type, { post }]) => {
    const { schema, example } = post.requestBody.content["application/json"] ?? { schema: {}, example: undefined };
    const data = resolveSchema(document, schema).properties?.data;
    const about = data === undefined ? "" : `\`data\`: ${textOf(typeOf(data))}.`;
    return joined([`## \`${type}\``, post.summary, about, exampleFence(example)]);
  });
  return joined(["# Webhook events", ABOUT_EVENTS, ...events]);
}

/** The records. */
export function recordsMarkdown({ document }: ReferenceSource): string {
  const records = recordsOf(document).map(([name, schema]) => {
    const rows = rowsOf(schema).map((row) => fieldLine(row, row.isRequired ? "" : "may be absent"));
    const fields = rows.length === 0 && schema.oneOf === undefined ? textOf(typeOf(schema)) : rows.join("\n");
    return joined([`## ${name}`, schema.description ?? "", fields]);
  });
  return joined(["# Records", ABOUT_RECORDS, ...records]);
}

/** The error codes. */
export function errorsMarkdown(): string {
  const codes = (Object.keys(ERROR_STATUS) as ErrorCode[]).map(errorLine).join("\n");
  return joined(["# Error codes", ABOUT_ERRORS, codes]);
}

function errorLine(code: ErrorCode): string {
  return `- \`${code}\` (${ERROR_STATUS[code]}): ${errorSentences[code]}`;
}

function parameterLine({ name, schema, description, required = false }: Parameter): string {
  return fieldLine({ name, schema: { ...schema, description }, isRequired: required }, required ? "required" : "");
}

function requestLines(schema: PublishedSchema): string[] {
  return rowsOf(schema).map((row) => fieldLine(row, row.isRequired ? "required" : ""));
}

function fieldLine({ name, schema }: FieldRow, mark: string): string {
  const limits = bounds(schema);
  const notes = [textOf(typeOf(schema)), mark, limits === null ? "" : textOf(limits).trim()];
  return `- \`${name}\` (${notes.filter((note) => note !== "").join(", ")}): ${schema.description ?? ""}`;
}

function listOf(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : `${title}:\n\n${lines.join("\n")}`;
}

function exampleFence(example: unknown): string {
  if (example === undefined) return "";
  return typeof example === "string" ? fence("", example) : fence("json", JSON.stringify(example, null, 2));
}

function fence(language: string, code: string): string {
  return `\`\`\`${language}\n${code.trimEnd()}\n\`\`\``;
}

function joined(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("\n\n");
}
