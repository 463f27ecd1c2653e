/** Doc comments of the client, made from the OpenAPI document: each method says what its operation's summary and first sentence say. Run by itself, it writes them into `sdk/`. */

import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { Tightbeam } from "../../sdk/client.ts";
import type { OpenApiDocument, PublishedOperation } from "../../server/api/openapi/document.ts";
import { readDocument } from "./contract.ts";

const SDK = fileURLToPath(new URL("../../sdk/", import.meta.url));
const COLUMNS = 120;

/** A method of the client, the request that it makes, and the line of `sdk/` that makes it. */
interface Method {
  /** Such as `webhooks.deliveries.get`. */
  path: string;
  name: string;
  request: string;
  file: string;
  line: number;
}

/** Every method of the client that makes one request, found by calling it. */
export async function listMethods(): Promise<Method[]> {
  const methods: Method[] = [];
  let path: string[] = [];
  const client = new Tightbeam({
    apiKey: "tb_none",
    maxRetries: 0,
    fetch: async (url, init) => {
      const { pathname } = new URL(String(url));
      const [file, line] = callSite();
      methods.push({
        path: path.join("."),
        name: path.at(-1) ?? "",
        request: `${init?.method} ${pathname}`,
        file,
        line,
      });
      throw new Error("It is enough to have been called.");
    },
  });
  const visit = async (found: object, above: string[]): Promise<void> => {
    for (const name of namesOf(found)) {
      const member: unknown = Reflect.get(found, name);
      path = [...above, name];
      if (typeof member === "object" && member !== null) await visit(member, path);
      if (typeof member !== "function" || path.join() === "request") continue;
      const result: unknown = Reflect.apply(member, found, ["x", "x", "x"]);
      if (result instanceof Promise) await result.catch(() => {});
      else if (name === "phone") await visit(Object(result), [...above, name]);
    }
  };
  await visit(client, []);
  return methods;
}

function namesOf(found: object): string[] {
  const own = Object.getOwnPropertyNames(found);
  return found instanceof Tightbeam
    ? [...own, ...Object.getOwnPropertyNames(Tightbeam.prototype).filter((name) => name !== "constructor")]
    : own;
}

const MACHINERY = ["request.ts", "response.ts", "paging.ts"];

/** The file and line of `sdk/` that the present request comes from. */
function callSite(): [file: string, line: number] {
  Error.stackTraceLimit = 50;
  const frames = [...(new Error().stack ?? "").matchAll(/\/sdk\/([\w-]+\.ts):(\d+)/g)];
  const frame = frames.findLast(([, file = ""]) => !MACHINERY.includes(file));
  return [frame?.[1] ?? "", Number(frame?.[2])];
}

/** The operation of a request; among several, the one with the fewest parameters in its path. */
export function operationOf(document: OpenApiDocument, request: string): PublishedOperation | undefined {
  const [method = "", path = ""] = request.split(" ");
  const matching = Object.entries(document.paths)
    .filter(([template]) => new RegExp(`^${template.replace(/\{\w+\}/g, "[^/]+")}$`).test(path))
    .sort(([one], [other]) => one.split("{").length - other.split("{").length);
  for (const [, item] of matching) {
    const operation = Object.entries(item).find(([verb]) => verb === method.toLowerCase())?.[1];
    if (operation !== undefined) return operation;
  }
  return undefined;
}

/** Summary and first sentence of an operation. */
export function sentenceOf({ summary, description = "" }: PublishedOperation): string {
  const first = /^.*?\.(?=\s|$)/s.exec(description.trim())?.[0] ?? description.trim();
  return `${summary}. ${first}`.replace(/\s+/g, " ").trim();
}

/** The sources of the client with the comments that they ought to have, by file name. */
export async function documentedSources(document: OpenApiDocument): Promise<Map<string, string>> {
  const methods = await listMethods();
  const sources = new Map<string, string>();
  for (const file of new Set(methods.map((method) => method.file))) {
    const lines = readFileSync(`${SDK}${file}`, "utf8").split("\n");
    const places = methods
      .filter((method) => method.file === file)
      .map((method) => ({ ...method, at: memberAt(lines, method) }))
      .sort((one, other) => other.at - one.at);
    for (const { at, path, request } of places) {
      const operation = operationOf(document, request);
      if (operation === undefined) throw new Error(`${path} calls ${request}, which is no operation of the document.`);
      replaceComment(lines, at, sentenceOf(operation));
    }
    sources.set(file, lines.join("\n"));
  }
  return sources;
}

/** Index of the line where a method is declared: at or above its request, or below it for `list,`. */
function memberAt(lines: readonly string[], { name, path, line }: Method): number {
  const declares = new RegExp(`^ +${name}(: |\\()`);
  for (let at = line - 1; at > line - 12 && at >= 0; at--) if (declares.test(lines[at] ?? "")) return at;
  const below = lines.findIndex((text, at) => at >= line && text.trim() === `${name},`);
  if (below === -1) throw new Error(`${path}: its declaration was not found near line ${line}.`);
  return below;
}

/** Sets the comment above a line, replacing the present comment; its text after `@remarks` stays. */
function replaceComment(lines: string[], at: number, sentence: string): void {
  const indent = /^ */.exec(lines[at] ?? "")?.[0] ?? "";
  let start = at;
  if (lines[at - 1]?.trimEnd().endsWith("*/")) {
    start = at - 1;
    while (!lines[start]?.trimStart().startsWith("/**")) start -= 1;
  }
  const old = lines
    .slice(start, at)
    .join(" ")
    .replace(/^\s*\/\*\*|\*\/\s*$/g, "")
    .replace(/\s+\*(?=\s)/g, "")
    .replace(/\s+/g, " ");
  const [, remarks] = /@remarks (.*?)\s*$/.exec(old) ?? [];
  const single = `${indent}/** ${sentence} */`;
  const parts = remarks === undefined ? [sentence] : [sentence, `@remarks ${remarks}`];
  const comment =
    parts.length === 1 && single.length <= COLUMNS
      ? [single]
      : [
          `${indent}/**`,
          ...parts.flatMap((part) => wrap(part, COLUMNS - indent.length - 3)).map((text) => `${indent} * ${text}`),
          `${indent} */`,
        ];
  lines.splice(start, at - start, ...comment);
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

if (basename(process.argv[1] ?? "") === "client-docs.ts") {
  for (const [file, source] of await documentedSources(readDocument())) writeFileSync(`${SDK}${file}`, source);
}
