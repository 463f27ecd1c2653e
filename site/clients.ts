/** Writes requests for the clients beside curl: the TypeScript client and the command line. Pure. */

import type { PublishedOperation } from "../server/api/openapi/document.ts";
import type { Parameter } from "../server/api/openapi/parameters.ts";
import { CLIENT_METHODS } from "./client-methods.ts";
import { bodyText, quoted, segment } from "./curl.ts";

/** The examples that a command sends. */
interface Examples {
  path: string[];
  query: [name: string, value: unknown][];
  body: unknown;
}

function examplesOf({ parameters, requestBody }: PublishedOperation): Examples {
  const named = parameters.filter((one): one is Parameter => "name" in one);
  return {
    path: named.filter((one) => one.in === "path").map(({ example }) => String(example ?? "")),
    query: named
      .filter((one) => one.in === "query" && one.example !== undefined)
      .map(({ name, example }) => [name, example]),
    body: requestBody?.content["application/json"]?.example,
  };
}

/** The program that calls an operation with the TypeScript client; null if no method of the client does. */
export function typescriptOf(operation: PublishedOperation): string | null {
  const method = CLIENT_METHODS[operation.operationId];
  if (method === undefined) return null;
  const { path, query, body } = examplesOf(operation);
  const isAdmin = operation["x-scope"] === "admin";
  const key = isAdmin ? "{ apiKey: env.TIGHTBEAM_ADMIN_KEY }" : "";
  const ids = path.map((example) => JSON.stringify(example));
  // The phones of the sandbox are objects of their own.
  const target = method.startsWith(PHONE) ? `${PHONE}(${ids.shift()})${method.slice(PHONE.length)}` : method;
  const argument = BY_ITSELF.has(operation.operationId) ? Object.values(Object(body))[0] : body;
  const sent = argument !== undefined ? [argument] : query.length > 0 ? [Object.fromEntries(query)] : [];
  return `${isAdmin ? 'import { env } from "node:process";\n' : ""}import { Tightbeam } from "@tightbeam/sdk";

const tightbeam = new Tightbeam(${key});
const result = await tightbeam.${target}(${[...ids, ...sent.map((value) => literal(value, ""))].join(", ")});`;
}

const PHONE = "sandbox.phone";

/** Operations whose method takes the one field of the body by itself. */
const BY_ITSELF: ReadonlySet<string> = new Set([
  ...["reactToMessage", "addParticipant", "renameChat", "setTyping"],
  ...["createContacts", "deleteContacts", "moveClock"],
]);

/** A value as TypeScript. */
function literal(value: unknown, indent: string): string {
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    const items = value.map((item) => literal(item, inner));
    const line = `[${items.join(", ")}]`;
    return line.length <= LINE_LENGTH_MAX ? line : `[\n${items.map((item) => `${inner}${item},\n`).join("")}${indent}]`;
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).map(
    ([name, field]) => `${/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)}: ${literal(field, inner)}`,
  );
  if (fields.length === 0) return "{}";
  const line = `{ ${fields.join(", ")} }`;
  if (line.length <= LINE_LENGTH_MAX && !line.includes("\n")) return line;
  return `{\n${fields.map((field) => `${inner}${field},\n`).join("")}${indent}}`;
}

const LINE_LENGTH_MAX = 72;

/** The command that calls an operation; null if its response is no JSON, or no key opens it. */
export function commandOf(method: string, template: string, operation: PublishedOperation): string | null {
  const [success] = Object.entries(operation.responses).filter(([status]) => status.startsWith("2"));
  const isJson = success !== undefined && JSON.stringify(success[1]).includes('"application/json"');
  if (operation["x-scope"] === undefined || !isJson || !template.startsWith("/v1/")) return null;
  const { path, query, body } = examplesOf(operation);
  const ids = [...path];
  const target = template.replace(/\{\w+\}/g, () => segment(ids.shift() ?? ""));
  const words = ["npx tightbeam api", method.toLowerCase(), quoted(target)];
  const options = [
    ...query.map(([name, value]) => `-q ${quoted(`${name}=${value}`)}`),
    ...(body === undefined ? [] : [`-d ${quoted(bodyText(body))}`]),
  ];
  return [words.join(" "), ...options].join(" \\\n  ");
}
