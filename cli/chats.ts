/** `tightbeam chats`: conversations, one-to-one and in groups. */

import { Argument, type Command } from "commander";
import type { Tightbeam } from "../sdk/client.ts";
import { type Chat, TYPING_STATUSES, type TypingStatus } from "../sdk/wire.ts";
import { addPaging, type Cli, examples, type Paging, showList } from "./command.ts";
import { MESSAGE_COLUMNS } from "./messages.ts";
import { listing, type Paint } from "./output.ts";
import type { Column } from "./table.ts";

const COLUMNS: readonly Column<Chat>[] = [
  { title: "ID", value: (chat) => chat.id },
  { title: "KIND", value: (chat) => (chat.isGroup ? "group" : "one-to-one") },
  { title: "CHANNEL", value: (chat) => chat.channel },
  { title: "FROM", value: (chat) => chat.from, optional: true },
  { title: "LAST MESSAGE", value: (chat) => chat.lastMessageAt },
  { title: "NAME", value: (chat) => chat.name },
  { title: "WITH", value: (chat) => chat.participants.join(", ") },
];

/** Adds `chats` and what is under it. */
export function addChats(program: Command, cli: Cli): void {
  const chats = program
    .command("chats")
    .description("List conversations, read them, and make and change groups.")
    .addHelpText(
      "after",
      examples({
        "tightbeam chats list": "the newest first",
        "tightbeam chats messages +15005550100": "what was written with one address",
        'tightbeam chats create-group +15005550100 +15005550101 --name "Lunch"': "a group",
        "tightbeam chats typing +15005550100": "show the three dots there",
      }),
    );
  addReads(chats, cli);
  addCreateGroup(chats, cli);
  addGroupCommands(chats, cli);
  addMarks(chats, cli);
}

const WHICH = "chat id (chat_…), or for a one-to-one thread the other address";

function addReads(chats: Command, cli: Cli): void {
  addPaging(chats.command("list").description("List conversations, the newest first."))
    .addHelpText("after", examples({ "tightbeam chats list | jq -r '.[].id'": "just the ids" }))
    .action((options: Paging) => {
      const { list, listAll } = cli.client("messages").chats;
      return showList(
        cli,
        { list, listAll, itemsOf: (page) => page.chats, columns: COLUMNS, empty: "No conversations." },
        options,
      );
    });
  chats
    .command("get")
    .description("Show one conversation.")
    .argument("<chat>", WHICH)
    .addHelpText("after", examples({ "tightbeam chats get +15005550100 | jq -r .id": "the id of a thread" }))
    .action(async (id: string) => cli.output().show(await cli.client("messages").chats.get(id), detail));
  addPaging(
    chats
      .command("messages")
      .description("List the messages of a conversation, the newest first.")
      .argument("<chat>", WHICH),
  )
    .addHelpText("after", examples({ "tightbeam chats messages +15005550100 --limit 5": "the last five" }))
    .action((id: string, options: Paging) => {
      const { messages, messagesAll } = cli.client("messages").chats;
      return showList(
        cli,
        {
          list: (query) => messages(id, query),
          listAll: (query) => messagesAll(id, query),
          itemsOf: (page) => page.messages,
          columns: MESSAGE_COLUMNS,
          empty: "No messages.",
        },
        options,
      );
    });
}

function addCreateGroup(chats: Command, cli: Cli): void {
  chats
    .command("create-group")
    .description("Make a group of two to thirty-two others (iMessage only).")
    .argument("<address...>", "who is in it, besides you")
    .option("--name <name>", "how it is called")
    .option("--from <address>", "one of your numbers; your default number when left out")
    .option("--idempotency-key <key>", "the same key again makes no second group")
    .addHelpText(
      "after",
      examples({
        'tightbeam chats create-group +15005550100 +15005550101 --name "Lunch"': "",
        "tightbeam chats create-group +15005550100 +15005550101 | jq -r .id": "just the id",
      }),
    )
    .action(async (participants: string[], given: { name?: string; from?: string; idempotencyKey?: string }) => {
      const { idempotencyKey, ...named } = given;
      const chat = await cli.client("messages").chats.createGroup({ participants, ...named }, { idempotencyKey });
      cli.output().show(chat, detail);
    });
}

type Routes = Tightbeam["chats"];

function addGroupCommands(chats: Command, cli: Cli): void {
  const change = (name: string, description: string, more: Argument[], example: [string, string]) => {
    const command = chats.command(name).description(description).argument("<chat>", "group's id (chat_…)");
    for (const argument of more) command.addArgument(argument);
    return command.addHelpText("after", examples({ [example[0]]: example[1] }));
  };
  const show = async (act: (routes: Routes) => Promise<Chat>) =>
    cli.output().show(await act(cli.client("messages").chats), detail);
  const address = new Argument("<address>", "phone number or iMessage e-mail address");
  change(
    "rename",
    "Name a group.",
    [new Argument("<name>", "how it is called from now on")],
    ['tightbeam chats rename <chat> "Lunch on Friday"', "everybody in it sees that"],
  ).action((id: string, name: string) => show((routes) => routes.rename(id, name)));
  change("add", "Add somebody to a group.", [address], ["tightbeam chats add <chat> +15005550199", ""]).action(
    (id: string, participant: string) => show((routes) => routes.addParticipant(id, participant)),
  );
  change(
    "remove",
    "Put somebody out of a group.",
    [address],
    ["tightbeam chats remove <chat> +15005550199", ""],
  ).action((id: string, participant: string) => show((routes) => routes.removeParticipant(id, participant)));
  change("leave", "Leave a group.", [], ["tightbeam chats leave <chat>", "nothing can be sent to it then"]).action(
    (id: string) => show((routes) => routes.leave(id)),
  );
}

function addMarks(chats: Command, cli: Cli): void {
  const mark = (
    name: string,
    description: string,
    example: string,
    act: (routes: Routes, id: string) => Promise<Chat>,
  ) =>
    chats
      .command(name)
      .description(description)
      .argument("<chat>", WHICH)
      .addHelpText("after", examples({ [`tightbeam chats ${name} +15005550100`]: example }))
      .action(async (id: string) => cli.output().show(await act(cli.client("messages").chats, id), detail));
  mark("read", "Mark a conversation as read.", "the other end sees that you did", (routes, id) => routes.markRead(id));
  mark("unread", "Mark a conversation as unread.", "on your own devices", (routes, id) => routes.markUnread(id));
  chats
    .command("typing")
    .description("Show the three dots on the other end's phone, or end them.")
    .argument("<chat>", WHICH)
    .addArgument(
      new Argument("[status]", "they end by themselves after a minute").choices(TYPING_STATUSES).default("start"),
    )
    .addHelpText(
      "after",
      examples({
        "tightbeam chats typing +15005550100": "show them",
        "tightbeam chats typing +15005550100 stop": "end them",
      }),
    )
    .action(async (id: string, status: TypingStatus) =>
      cli
        .output()
        .show(
          await cli.client("messages").chats.typing(id, status),
          (shown) => `typing ${shown.status} in ${shown.chatId}`,
        ),
    );
}

function detail(chat: Chat, paint: Paint): string {
  return listing(
    {
      id: chat.id,
      kind: chat.isGroup ? "group" : "one-to-one",
      name: chat.name,
      from: chat.from,
      with: chat.participants.join(", "),
      channel: chat.channel,
      lastMessageAt: chat.lastMessageAt,
      createdAt: chat.createdAt,
    },
    paint,
  );
}
