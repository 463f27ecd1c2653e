/** `tightbeam inbox`: the webhooks that the sandbox's inbox received. */

import type { Tightbeam } from "../sdk/client.ts";
import { TightbeamError } from "../sdk/errors.ts";
import type { Inbox, InboxRequest } from "../sdk/wire.ts";
import { printableLine } from "../server/core/printable.ts";
import type { Cli } from "./cli.ts";
import { type CommandRow, request } from "./command.ts";
import { type Paint, statusStyle } from "./output.ts";
import { type Column, cut, shortId, table } from "./table.ts";

const COLUMNS: readonly Column<InboxRequest>[] = [
  { title: "RECEIVED", value: (request) => request.receivedAt },
  { title: "SIGNED", value: (request) => (request.verified ? "yes" : "no"), style: signedStyle },
  { title: "RESPONSE", value: (request) => request.status, style: (request) => statusStyle(String(request.status)) },
  { title: "EVENT", value: (request) => eventOf(request).type },
  { title: "STATUS", value: (request) => eventOf(request).status },
  { title: "ABOUT", value: (request) => eventOf(request).about },
];

/** Shows and clears the sandbox's inbox. */
export const inbox: CommandRow = {
  name: "inbox",
  help: "Show the webhooks that the sandbox's inbox received, newest first.",
  options: {
    "--bodies": "with the body of each, byte for byte",
    "-f, --follow": "show them as they arrive, the oldest first, until Ctrl-C",
  },
  examples: {
    "tightbeam inbox": "what arrived, and whether its signature was valid",
    "tightbeam inbox --follow": "in another terminal: watch them arrive",
    "tightbeam inbox | jq -r '.requests[0].body' | jq .": "the last event",
    "tightbeam inbox clear": "start with an empty inbox",
  },
  run: async (cli, { bodies = false, follow: isFollowed }: { bodies?: boolean; follow?: boolean }) => {
    const client = cli.client();
    if (isFollowed) return await follow(cli, client, bodies);
    const found = await client.sandbox.inbox.get();
    cli.output().show(found, (shown, paint, width) => detail(shown, bodies, paint, width));
  },
  commands: [
    request({
      name: "clear",
      help: "Delete all received webhooks.",
      examples: { "tightbeam inbox clear": "the address stays the same" },
      call: (client) => client.sandbox.inbox.clear(),
      show: () => "The inbox is empty.",
    }),
  ],
};

/** Time between two polls: 30 a minute, of the 100 requests that a key has by default. */
const POLL_MS = 2_000;

/** Prints one line for each request that arrives, JSON without a terminal, until Ctrl-C. Waits for a server that restarts. */
async function follow(cli: Cli, client: Tightbeam, bodies: boolean): Promise<void> {
  const output = cli.output();
  const stop = new AbortController();
  const release = cli.terminal.onInterrupt(() => stop.abort());
  let seen = (await client.sandbox.inbox.get()).requests;
  output.note(`Watching the inbox of ${cli.server().baseUrl}. Ctrl-C ends it.`);
  try {
    while (!stop.signal.aborted) {
      await cli.terminal.sleep(POLL_MS, stop.signal);
      const found = await client.sandbox.inbox.get({ signal: stop.signal }).catch((error: unknown) => {
        if (stop.signal.aborted || (error instanceof TightbeamError && error.status === 0)) return null;
        throw error;
      });
      if (found === null) continue;
      for (const request of newOf(found.requests, seen).toReversed()) {
        output.line((paint, width) =>
          output.json ? JSON.stringify(request) : requestLine(request, bodies, paint, width),
        );
      }
      seen = found.requests;
    }
  } finally {
    release();
  }
}

/** The requests newer than the newest seen; all if that one is gone, because the inbox was cleared or overflowed. */
function newOf(requests: readonly InboxRequest[], seen: readonly InboxRequest[]): readonly InboxRequest[] {
  const newest = seen[0] === undefined ? null : identityOf(seen[0]);
  const at = requests.findIndex((request) => identityOf(request) === newest);
  return at === -1 ? requests : requests.slice(0, at);
}

/** Stays the same when the text of the event is erased. */
function identityOf(request: InboxRequest): string {
  return JSON.stringify({ ...request, body: text(field(parse(request.body), "id")) ?? request.body });
}

function requestLine(request: InboxRequest, bodies: boolean, paint: Paint, width: number): string {
  const { type, status, about } = eventOf(request);
  const signed = request.verified ? "signed" : "NOT signed";
  const time = request.receivedAt.slice(11, 24);
  const lead = `${time}  ${request.status}  ${signed}  `.length;
  const what = (id: string | null) =>
    printableLine([type ?? "no event", status, id].filter((part) => part !== null).join("  "));
  const whole = what(about);
  const shown = lead + whole.length <= width ? whole : cut(what(shortId(about ?? "")), Math.max(20, width - lead));
  const answer = paint(statusStyle(String(request.status)), String(request.status));
  const line = `${paint("dim", time)}  ${answer}  ${paint(signedStyle(request), signed)}  ${shown}`;
  return bodies ? `${line}\n${printableLine(request.body)}` : line;
}

function signedStyle(request: InboxRequest): "green" | "red" {
  return request.verified ? "green" : "red";
}

/** Fields of the event in the body. The body may be no event, since anybody may post to the inbox. */
function eventOf(request: InboxRequest): { type: string | null; status: string | null; about: string | null } {
  const event = parse(request.body);
  const data = field(event, "data");
  return {
    type: text(field(event, "type")),
    status: text(field(data, "status")),
    about: text(field(data, "messageId")) ?? text(field(event, "id")),
  };
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function detail(inbox: Inbox, bodies: boolean, paint: Paint, width: number): string {
  const columns = bodies ? [...COLUMNS, { title: "BODY", value: (request: InboxRequest) => request.body }] : COLUMNS;
  const rows = table(inbox.requests, columns, paint, bodies ? Number.POSITIVE_INFINITY : width, "Nothing arrived yet.");
  return `${paint("dim", `The sandbox's own receiver of webhooks, at ${inbox.url}:`)}\n\n${rows}`;
}
