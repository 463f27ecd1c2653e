/** `tightbeam api`: any route of the API by hand, for what has no command of its own. */

import { Argument, type Command } from "commander";
import { type Cli, examples } from "./command.ts";
import type { KeyKind } from "./connection.ts";
import { UsageError } from "./failure.ts";
import { parseJson, readJson } from "./files.ts";
import { headers, pairs } from "./values.ts";

const METHODS = ["get", "post", "put", "patch", "delete"] as const;

interface ApiOptions {
  data?: string;
  query?: [string, string][];
  header?: Record<string, string>;
  admin?: boolean;
}

/** Adds `api`. */
export function addApi(program: Command, cli: Cli): void {
  program
    .command("api")
    .description("Call a route of the API, and print what it answers as JSON.")
    .addArgument(new Argument("<method>", "get, post, put, patch or delete").argParser(method))
    .argument("<path>", "a path such as /v1/messages; /v1/ may be left out")
    .option("-d, --data <json>", "the body: JSON, @file for a file, @- for standard input")
    .option("-q, --query <key=value>", "a query parameter; may be repeated", pairs)
    .option("-H, --header <name: value>", "a header, such as Idempotency-Key; may be repeated", headers)
    .option("--admin", "with the admin key, which paths under /v1/admin have without it")
    .addHelpText(
      "after",
      `${examples({
        "tightbeam api get /v1/messages -q status=failed -q limit=5": "a list, with a query",
        'tightbeam api post messages -d \'{"to":"+15005550100","content":{"text":"Hello"}}\'': "send a message",
        "tightbeam api post contacts/bulk -d @contacts.json": "the body from a file",
        "tightbeam api get admin/keys": "with the admin key",
      })}\n\nEvery route is at /docs of the service. A POST carries an Idempotency-Key of its own unless one is given.`,
    )
    .action((verb: string, path: string, options: ApiOptions) => call(cli, verb, path, options));
}

function method(text: string): string {
  const found = METHODS.find((each) => each === text.toLowerCase());
  if (found === undefined) throw new UsageError(`${text} is no method: it is one of ${METHODS.join(", ")}.`);
  return found.toUpperCase();
}

async function call(
  cli: Cli,
  verb: string,
  given: string,
  { data, query = [], header, admin }: ApiOptions,
): Promise<void> {
  const path = pathOf(given, query);
  const kind: KeyKind = admin || /^\/v1\/admin(\/|$)/.test(path) ? "admin" : "messages";
  const body = data === undefined ? undefined : bodyOf(data);
  const answer = await cli.client(kind).request<unknown>(verb, path, { body, headers: header });
  cli.output().show(answer, (shown) => JSON.stringify(shown, null, 2));
}

/** The path with its query. Parameters may be repeated, which a record of them could not say. */
function pathOf(given: string, query: readonly [string, string][]): string {
  if (/^[a-z]+:/i.test(given)) throw new UsageError(`${given} is no path: the server is named by --url.`);
  const path = given.startsWith("/") ? given : `/v1/${given}`;
  if (query.length === 0) return path;
  return `${path}${path.includes("?") ? "&" : "?"}${new URLSearchParams([...query])}`;
}

function bodyOf(data: string): unknown {
  return data.startsWith("@") ? readJson(data.slice(1)) : parseJson(data, "--data");
}
