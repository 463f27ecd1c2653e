/** `tightbeam inbox`: the webhooks that the sandbox's built-in receiver got. */

import type { Command } from "commander";
import type { Inbox, InboxRequest } from "../sdk/wire.ts";
import { type Cli, examples } from "./command.ts";
import { type Column, type Paint, statusStyle, table } from "./output.ts";

const COLUMNS: readonly Column<InboxRequest>[] = [
  { title: "RECEIVED", value: (request) => request.receivedAt },
  { title: "SIGNED", value: (request) => (request.verified ? "yes" : "no"), style: signedStyle },
  { title: "ANSWER", value: (request) => request.status, style: (request) => statusStyle(String(request.status)) },
  { title: "EVENT", value: (request) => eventOf(request).type },
  { title: "STATUS", value: (request) => eventOf(request).status },
  { title: "ABOUT", value: (request) => eventOf(request).about },
];

/** Adds `inbox` and `inbox clear`. */
export function addInbox(program: Command, cli: Cli): void {
  const inbox = program
    .command("inbox")
    .description("Show the webhooks that the sandbox's built-in receiver got, the newest first.")
    .option("--bodies", "with the body of each, byte for byte")
    .addHelpText(
      "after",
      examples({
        "tightbeam inbox": "what arrived, and whether it was signed rightly",
        "tightbeam inbox | jq -r '.requests[0].body' | jq .": "the last event",
        "tightbeam inbox clear": "start afresh",
      }),
    )
    .action(async ({ bodies }: { bodies?: boolean }) =>
      cli
        .output()
        .show(await cli.client("messages").sandbox.inbox.get(), (found, paint, width) =>
          detail(found, bodies === true, paint, width),
        ),
    );
  inbox
    .command("clear")
    .description("Forget what arrived.")
    .addHelpText("after", examples({ "tightbeam inbox clear": "the address stays the same" }))
    .action(async () =>
      cli.output().show(await cli.client("messages").sandbox.inbox.clear(), () => "The inbox is empty."),
    );
}

function signedStyle(request: InboxRequest): "green" | "red" {
  return request.verified ? "green" : "red";
}

/** What a row says of the event in the body: anybody may post to the inbox, so it may be no event at all. */
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
  const rows = table(inbox.requests, columns, paint, bodies ? Number.MAX_SAFE_INTEGER : width, "Nothing arrived yet.");
  return `${paint("dim", inbox.url)}\n\n${rows}`;
}
