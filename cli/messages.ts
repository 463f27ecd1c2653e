/** `tightbeam messages`: what was sent and received, and what can still be done about it. */

import { type Command, Option } from "commander";
import type { MessageQuery } from "../sdk/messages.ts";
import { CHANNELS, DIRECTIONS, MESSAGE_STATUSES, type Message } from "../sdk/wire.ts";
import { addPaging, type Cli, examples, type Paging, showList } from "./command.ts";
import { listing, type Paint, statusStyle } from "./output.ts";
import { type Column, table } from "./table.ts";

interface ListOptions extends Paging {
  status?: NonNullable<MessageQuery["status"]>;
  to?: string;
  from?: string;
  direction?: NonNullable<MessageQuery["direction"]>;
  externalId?: string;
  after?: string;
  before?: string;
  channel?: NonNullable<MessageQuery["channel"]>;
  chat?: string;
  search?: string;
}

/** The columns of every list of messages. */
export const MESSAGE_COLUMNS: readonly Column<Message>[] = [
  { title: "ID", value: (message) => message.id },
  { title: "STATUS", value: (message) => message.status, style: (message) => statusStyle(message.status) },
  { title: "CHANNEL", value: (message) => message.channel },
  { title: "FROM", value: (message) => message.from, optional: true },
  { title: "TO", value: (message) => message.to },
  { title: "CREATED", value: (message) => message.createdAt },
  { title: "TEXT", value: (message) => message.content.text },
];

/** Adds `messages` and what is under it, and answers it. */
export function addMessages(program: Command, cli: Cli): Command {
  const messages = program
    .command("messages")
    .description("List messages, look at one, cancel, retry, edit, unsend or delete it.")
    .addHelpText(
      "after",
      examples({
        "tightbeam messages list --status failed": "what went wrong",
        "tightbeam messages get <id>": "one message with its timeline",
        "tightbeam messages cancel <id>": "stop one that is scheduled",
        "tightbeam messages retry <id>": "send a failed one again",
      }),
    );
  addList(messages, cli);
  messages
    .command("get")
    .description("Show one message with its timeline.")
    .argument("<id>", "message id (msg_…)")
    .addHelpText("after", examples({ "tightbeam messages get <id> | jq -r .status": "one field of it" }))
    .action(async (id: string) => cli.output().show(await cli.client("messages").messages.get(id), messageDetail));
  messages
    .command("cancel")
    .description("Cancel a scheduled message; once it is being sent, that is refused.")
    .argument("<id>", "message id (msg_…)")
    .addHelpText("after", examples({ "tightbeam messages list --status scheduled": "what can be cancelled" }))
    .action(async (id: string) => cli.output().show(await cli.client("messages").messages.cancel(id), messageDetail));
  addUpdate(messages, cli);
  addRetry(messages, cli);
  messages
    .command("delete")
    .description("Delete a message: it leaves the lists, and its text is erased. A scheduled one is cancelled first.")
    .argument("<id>", "message id (msg_…)")
    .addHelpText("after", examples({ "tightbeam messages delete <id>": "there is no way back" }))
    .action(async (id: string) =>
      cli.output().show(await cli.client("messages").messages.delete(id), (deleted) => `${deleted.id} deleted`),
    );
  return messages;
}

function addList(messages: Command, cli: Cli): void {
  addPaging(
    messages
      .command("list")
      .description("List messages, the newest first.")
      .addOption(new Option("--status <status>", "only those in this status").choices(MESSAGE_STATUSES))
      .addOption(new Option("--direction <direction>", "only those sent, or received").choices(DIRECTIONS))
      .option("--to <address>", "only those to this address")
      .option("--from <address>", "only those from this address")
      .option("--external-id <id>", "only those with your own identifier")
      .option("--after <time>", "only those created after this time (ISO 8601)")
      .option("--before <time>", "only those created before this time (ISO 8601)")
      .addOption(new Option("--channel <channel>", "only those by this channel").choices(CHANNELS))
      .option("--chat <id>", "only those of this conversation: its id, or an address")
      .option("--search <words>", "only those with all of these words in their text"),
  )
    .addHelpText(
      "after",
      examples({
        "tightbeam messages list --status failed": "what went wrong",
        "tightbeam messages list --to +15005550100 --limit 5": "the last five to one recipient",
        'tightbeam messages list --search "table ready"': "by words of the text",
        "tightbeam messages list --all | jq length": "how many there are",
      }),
    )
    .action((options: ListOptions) => list(cli, options));
}

async function list(cli: Cli, options: ListOptions): Promise<void> {
  const { list, listAll } = cli.client("messages").messages;
  const { externalId, after, before, chat, search, ...rest } = options;
  const times = { createdAfter: after, createdBefore: before };
  const query = { ...rest, ...times, externalMessageId: externalId, chatId: chat, q: search };
  await showList(
    cli,
    { list, listAll, itemsOf: (page) => page.messages, columns: MESSAGE_COLUMNS, empty: "No messages." },
    query,
  );
}

function addUpdate(messages: Command, cli: Cli): void {
  messages
    .command("update")
    .description("Change a scheduled message; once it is being sent, that is refused.")
    .argument("<id>", "message id (msg_…)")
    .option("--text <text>", "what to say instead")
    .option("--at <time>", "when to send it instead: ISO 8601 with Z or an offset")
    .addHelpText("after", examples({ "tightbeam messages update <id> --at 2031-05-01T09:00:00Z": "later, as it is" }))
    .action(async (id: string, { text, at }: { text?: string; at?: string }) => {
      const update = {
        ...(text === undefined ? {} : { content: { text } }),
        ...(at === undefined ? {} : { scheduledAt: at }),
      };
      cli.output().show(await cli.client("messages").messages.update(id, update), messageDetail);
    });
}

function addRetry(messages: Command, cli: Cli): void {
  messages
    .command("retry")
    .description("Send a failed message again.")
    .argument("<id>", "message id (msg_…)")
    .option("--may-duplicate", "also when it is not known whether it was sent: the recipient may get it twice")
    .addHelpText("after", examples({ "tightbeam messages list --status failed": "what can be sent again" }))
    .action(async (id: string, options: { mayDuplicate?: boolean }) => {
      const body = options.mayDuplicate ? { mayDuplicate: true } : undefined;
      cli.output().show(await cli.client("messages").messages.retry(id, body), messageDetail);
    });
}

/** One message with its timeline. */
export function messageDetail(message: Message, paint: Paint, width: number): string {
  const { timeline, content, metadata, errorCode, errorMessage } = message;
  const facts = listing(
    {
      id: message.id,
      status: message.status,
      direction: message.direction,
      from: message.from,
      to: message.to,
      channel: message.channel,
      segments: message.segments,
      encoding: message.encoding,
      text: content.text,
      externalMessageId: message.externalMessageId,
      metadata: metadata === null ? null : JSON.stringify(metadata),
      scheduledAt: message.scheduledAt,
      fallbackTriggered: message.fallbackTriggered || null,
      error: errorCode === null ? null : `${errorCode} ${errorMessage ?? ""}`,
      providerErrorCode: message.providerErrorCode,
      retryCount: message.retryCount || null,
    },
    paint,
  );
  const steps = table(
    timeline,
    [
      { title: "AT", value: (entry) => entry.at },
      { title: "STATUS", value: (entry) => entry.status, style: (entry) => statusStyle(entry.status) },
      { title: "CHANNEL", value: (entry) => entry.channel },
      { title: "REASON", value: (entry) => entry.reason ?? "", wraps: true },
    ],
    paint,
    width,
    "",
  );
  return steps === "" ? facts : `${facts}\n\n${steps}`;
}
