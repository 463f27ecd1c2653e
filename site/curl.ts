/** Writes requests as curl commands for a shell. Pure. */

import type { PublishedOperation } from "../server/api/openapi/document.ts";
import type { Parameter } from "../server/api/openapi/parameters.ts";

/**
 * The curl command that calls an operation, with the examples of its parameters and its body. The address is always quoted:
 * `baseUrl` may stand for one that the service puts in later, and some shells read the brackets of an IPv6 address as a pattern.
 */
export function curlOf(baseUrl: string, method: string, template: string, operation: PublishedOperation): string {
  const parameters = operation.parameters.filter((one): one is Parameter => "name" in one);
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => segment(exampleOf(parameters, "path", name)));
  const query = parameters
    .filter((one) => one.in === "query" && one.example !== undefined)
    .map((one) => `${one.name}=${encodeURIComponent(String(one.example))}`);
  const url = `${baseUrl}${path}${query.length === 0 ? "" : `?${query.join("&")}`}`;
  const body = operation.requestBody?.content["application/json"]?.example;
  const verb = method === "GET" ? [] : method === "POST" && body !== undefined ? [] : [`-X ${method}`];
  const lines = [
    ["curl", ...verb, inQuotes(url)].join(" "),
    ...keyHeader(operation["x-scope"], method),
    ...(body === undefined ? [] : ['-H "Content-Type: application/json"', `-d ${quoted(bodyText(body))}`]),
  ];
  return lines.join(" \\\n  ");
}

function keyHeader(scope: PublishedOperation["x-scope"], method: string): string[] {
  if (scope === undefined) return [];
  if (scope === "session") return ["-b cookies.txt", ...(method === "GET" ? [] : ['-H "X-CSRF-Token: $CSRF_TOKEN"'])];
  return [`-H "Authorization: Bearer $${scope === "admin" ? "TIGHTBEAM_ADMIN_KEY" : "TIGHTBEAM_API_KEY"}"`];
}

function exampleOf(parameters: readonly Parameter[], place: Parameter["in"], name: string): string {
  return String(parameters.find((one) => one.in === place && one.name === name)?.example ?? "");
}

/** Longest body on one line, in characters. */
const LINE_LENGTH_MAX = 60;

/** A body in the fewest lines that a reader follows. */
export function bodyText(body: unknown): string {
  const line = JSON.stringify(body);
  return line.length > LINE_LENGTH_MAX ? JSON.stringify(body, null, 2) : line;
}

/** A value as a part of a path, where a plus needs no encoding. */
export function segment(text: string): string {
  return encodeURIComponent(text).replaceAll("%2B", "+").replaceAll("%40", "@");
}

/** A word of the shell; quoted only if it has to be. */
export function quoted(text: string): string {
  return /^[\w:/.+@-]+$/.test(text) ? text : inQuotes(text);
}

function inQuotes(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
