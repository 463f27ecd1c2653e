/** `tightbeam requests`: the log of requests that the service answered, the errors in it, and the requests as they come. */

import type { Tightbeam } from "../sdk/client.ts";
import { TightbeamError } from "../sdk/errors.ts";
import type { RequestQuery } from "../sdk/requests.ts";
import { type LoggedExchange, type LoggedRequest, REQUEST_METHODS } from "../sdk/wire.ts";
import { printableLine } from "../server/core/printable.ts";
import type { Cli } from "./cli.ts";
import { type CommandRow, list, request, type Value } from "./command.ts";
import { listing, type Paint, type Style } from "./output.ts";
import { cut, table } from "./table.ts";
import { oneOf } from "./values.ts";

const method = (text: string) => oneOf(REQUEST_METHODS)(text.toUpperCase());

const FILTERS: Readonly<Record<string, Value>> = {
  "--status <status>": "only this status or class: 404, 4xx",
  "--method <method>": { help: "only this method", choices: REQUEST_METHODS, parse: method },
  "--path <path>": "only paths that begin with this",
  "--code <code>": "only this error code, such as RATE_LIMITED",
  "--correlation <id>": { help: "only requests with this correlation id", as: "correlationId" },
  "--message <id>": { help: "only requests that made this message or are about it (msg_…)", as: "messageId" },
  "--since <time>": "only since then: a date or an instant",
  "--until <time>": "only until then: a date, inclusive, or an instant",
};

const logList = list({
  name: "list",
  help: "List requests, the newest first; with --after, the oldest first.",
  options: {
    ...FILTERS,
    "--after <id>": "only requests after this one (req_…), the oldest first",
    "-f, --follow": "show them as they come, until Ctrl-C",
  },
  examples: {
    "tightbeam requests list --status 4xx": "what was refused",
    "tightbeam requests list --message <id>": "the request that made a message, and those about it",
    "tightbeam requests list --follow": "as they come",
  },
  pages: (client) => client.requests,
  items: (page) => page.requests,
  columns: [
    { title: "AT", value: ({ createdAt }) => createdAt },
    { title: "STATUS", value: ({ status }) => status, style: ({ status }) => styleOf(status) },
    { title: "METHOD", value: ({ method }) => method },
    { title: "MS", value: ({ durationMs }) => durationMs, optional: true },
    { title: "ERROR", value: ({ errorCode }) => errorCode, optional: true },
    { title: "ID", value: ({ id }) => id },
    { title: "PATH", value: ({ path }) => path },
  ],
  empty: "No requests. Outside of a sandbox, TB_REQUEST_LOG turns the log on.",
});

/** Commands about the request log. */
export const requests: CommandRow = {
  name: "requests",
  help: "List the requests that the service answered, look at one, or count the errors.",
  examples: {
    "tightbeam requests --follow": "as they come",
    "tightbeam requests errors": "what goes wrong most often",
    "tightbeam requests get <id>": "one request with its bodies",
  },
  ...(logList.options === undefined ? {} : { options: logList.options }),
  run: listOrFollow,
  commands: [
    { ...logList, run: listOrFollow },
    request({
      name: "get",
      help: "Show one request with its bodies, secrets masked.",
      arguments: { "<id>": "request id (req_…): the requestId of every response" },
      examples: { "tightbeam requests get <id> | jq -r .request.text": "the body that was sent" },
      call: (client, id: string) => client.requests.get(id),
      show: detail,
    }),
    request({
      name: "errors",
      help: "Count the refused requests by error code and route, the most frequent first.",
      options: { "--since <time>": "only since then: a date or an instant", "--until <time>": "only until then" },
      examples: { "tightbeam requests errors --since 2031-05-01": "since that day" },
      call: (client, { since, until }: { since?: string; until?: string }) =>
        client.requests.errors({ since, until }).then(({ errors }) => errors),
      show: (errors, paint, width) =>
        table(
          errors,
          [
            { title: "COUNT", value: ({ count }) => count },
            { title: "STATUS", value: ({ status }) => status, style: ({ status }) => styleOf(status) },
            { title: "CODE", value: ({ code }) => code },
            { title: "LAST", value: ({ lastAt }) => lastAt },
            { title: "LAST ID", value: ({ lastId }) => lastId },
            { title: "ROUTE", value: ({ method, route }) => `${method} ${route ?? "(none)"}` },
          ],
          paint,
          width,
          "No errors.",
        ),
    }),
  ],
};

interface ListOptions extends Omit<RequestQuery, "correlationId" | "messageId"> {
  correlation?: string;
  message?: string;
  follow?: boolean;
  all?: boolean;
}

async function listOrFollow(cli: Cli, options: ListOptions): Promise<void> {
  const { follow: isFollowed, ...rest } = options;
  if (!isFollowed) return await logList.run?.(cli, rest as never);
  const { correlation, message, all: _, cursor: __, limit = SHOWN_FIRST, ...filters } = rest;
  await follow(cli, { ...filters, correlationId: correlation, messageId: message }, limit);
}

/** Requests from before that `--follow` shows first. */
const SHOWN_FIRST = 10;
const POLL_MS = 1_000;
const PAGE_MAX = 100;

/** Prints one line for each request, JSON without a terminal, until Ctrl-C. Waits for a server that restarts. */
async function follow(cli: Cli, query: RequestQuery, first: number): Promise<void> {
  const client = cli.client();
  const output = cli.output();
  const stop = new AbortController();
  const release = cli.terminal.onInterrupt(() => stop.abort());
  const print = (found: readonly LoggedRequest[]) => {
    for (const each of found)
      output.line((paint, width) => (output.json ? JSON.stringify(each) : requestLine(each, paint, width)));
  };
  try {
    // The newest request of all is where the log goes on, whether it matches or not.
    let last = query.after ?? (await client.requests.list({ limit: 1 })).requests[0]?.id;
    if (query.after === undefined && last !== undefined)
      print((await client.requests.list({ ...query, limit: first })).requests.filter(upTo(last)).toReversed());
    output.note(`Following the requests of ${cli.server().baseUrl}. Ctrl-C ends it.`);
    while (!stop.signal.aborted) {
      const found = await next(client, query, last, stop.signal);
      print(found);
      last = found.at(-1)?.id ?? last;
      if (found.length < PAGE_MAX) await cli.terminal.sleep(POLL_MS, stop.signal);
    }
  } finally {
    release();
  }
}

/** The requests after one, the oldest first; none while the service is down. */
async function next(client: Tightbeam, query: RequestQuery, after: string | undefined, signal: AbortSignal) {
  const page = { ...query, after, limit: PAGE_MAX };
  const found = await client.requests.list(page, { signal }).catch((error: unknown) => {
    if (signal.aborted || (error instanceof TightbeamError && error.status === 0)) return null;
    throw error;
  });
  const all = found?.requests ?? [];
  return after === undefined ? all.toReversed() : all;
}

function upTo(last: string): (request: LoggedRequest) => boolean {
  return ({ id }) => id <= last;
}

function requestLine(request: LoggedRequest, paint: Paint, width: number): string {
  const { id, createdAt, status, method, path, durationMs, errorCode } = request;
  const time = createdAt.slice(11, 24);
  const more = [`${durationMs} ms`, ...(errorCode === null ? [] : [errorCode]), id].join("  ");
  const lead = `${time}  ${status}  ${method.padEnd(6)}  `.length;
  const shown = cut(printableLine(path), Math.max(PATH_WIDTH_MIN, width - lead - more.length - 2));
  return `${paint("dim", time)}  ${paint(styleOf(status), String(status))}  ${method.padEnd(6)}  ${shown}  ${paint("dim", more)}`;
}

/** Characters of a path that are shown on the narrowest terminal. */
const PATH_WIDTH_MIN = 20;

function styleOf(status: number): Style {
  return status >= 500 ? "red" : status >= 400 ? "yellow" : "green";
}

function detail({ request: asked, response: answer, ...facts }: LoggedExchange, paint: Paint): string {
  const { id, method, path, status, durationMs, keyId, customerId, correlationId, errorCode, createdAt } = facts;
  const shown = { id, request: `${method} ${path}`, status, errorCode, durationMs, createdAt };
  const bodies = [
    ["Request", asked],
    ["Response", answer],
  ] as const;
  return [
    listing({ ...shown, keyId, customerId, correlationId }, paint),
    ...bodies.flatMap(([title, body]) =>
      body === null
        ? []
        : [`${paint("dim", body.truncated ? `${title}, its beginning` : title)}\n${printableLine(body.text)}`],
    ),
  ].join("\n\n");
}
