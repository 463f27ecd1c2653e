/** `tightbeam api`: calls any route of the API, for routes without a command. */

import type { Cli } from "./cli.ts";
import type { CommandRow } from "./command.ts";
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

/** Calls any route. */
export const api: CommandRow = {
  name: "api",
  help: "Call a route of the API, and print its response as JSON.",
  arguments: {
    "<method>": { help: "get, post, put, patch or delete", parse: method },
    "<path>": "a path such as /v1/messages; /v1/ may be left out",
  },
  options: {
    "-d, --data <json>": "the body: JSON, @file for a file, @- for standard input",
    "-q, --query <key=value>": { help: "a query parameter; may be repeated", parse: pairs },
    "-H, --header <name: value>": { help: "a header, such as Idempotency-Key; may be repeated", parse: headers },
    "--admin": "with the admin key; paths under /v1/admin use it anyway",
  },
  examples: {
    "tightbeam api get /v1/messages -q status=failed -q limit=5": "a list, with a query",
    'tightbeam api post messages -d \'{"to":"+15005550100","content":{"text":"Hello"}}\'': "send a message",
    "tightbeam api post contacts/bulk -d @contacts.json": "the body from a file",
    "tightbeam api get admin/keys": "with the admin key",
  },
  notes: "The service lists every route at /docs. A POST carries its own Idempotency-Key unless one is given.",
  run: call,
};

function method(text: string): string {
  const found = METHODS.find((each) => each === text.toLowerCase());
  if (found === undefined) throw new UsageError(`${text} is no method: give one of ${METHODS.join(", ")}.`);
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
  const response = await cli.client(kind).request<unknown>(verb, path, { body, headers: header });
  cli.output().show(response, (shown) => JSON.stringify(shown, null, 2));
}

/** The path with its query, in which a parameter may be repeated. */
function pathOf(given: string, query: readonly [string, string][]): string {
  if (/^[a-z]+:/i.test(given)) throw new UsageError(`${given} is no path: name the server with --url.`);
  const path = given.startsWith("/") ? given : `/v1/${given}`;
  if (query.length === 0) return path;
  return `${path}${path.includes("?") ? "&" : "?"}${new URLSearchParams([...query])}`;
}

function bodyOf(data: string): unknown {
  return data.startsWith("@") ? readJson(data.slice(1)) : parseJson(data, "--data");
}
