/** `tightbeam held`: messages that a restore holds, and what a person decides about them. */

import type { HeldDecision } from "../sdk/wire.ts";
import type { Cli } from "./cli.ts";
import { type CommandRow, list } from "./command.ts";
import { Failure, UsageError } from "./failure.ts";

type Choice = "release" | "discard";

interface DecideOptions {
  all?: boolean;
  yes?: boolean;
}

const IDS = { "[id...]": "message ids (msg_…); or --all" };
/** The most ids that the service takes in one request. */
const IDS_MAX = 100;

const options = (effect: string) => ({
  "--all": effect,
  "-y, --yes": "with --all: do not ask first; required without a terminal",
});

/** Commands about held messages. */
export const held: CommandRow = {
  ...list({
    name: "held",
    help: "List messages that may have been sent since the backup that was restored; send them again, or end them. Needs the admin key.",
    examples: {
      "tightbeam held": "what is held, and why its outcome is unknown",
      "tightbeam held release <id>": "send it again, though it may have been sent",
      "tightbeam held discard --all": "end them all as failed: whoever sent them may retry them",
    },
    notes:
      "A restore holds what may have been sent since the backup. The service goes on asking Macs and Twilio: a message that they have leaves the list by itself, and so does one whose receipt comes. Everything else waits for you. “The provider has no such message” means that this account did not send it on this channel.",
    pages: (client) => client.admin.held,
    items: (page) => page.messages,
    columns: [
      { title: "ID", value: (message) => message.id },
      { title: "ACCEPTED", value: (message) => message.createdAt },
      { title: "FROM", value: (message) => message.from },
      { title: "TO", value: (message) => message.to },
      { title: "CHANNEL", value: (message) => message.channel },
      { title: "WHY", value: (message) => message.reason },
    ],
    empty: "Nothing is held.",
  }),
  key: "admin",
  commands: [
    {
      name: "release",
      arguments: IDS,
      options: options("send all held messages again"),
      help: "Send held messages again. A recipient may get a message twice.",
      examples: {
        "tightbeam held release <id>": "one message",
        "tightbeam held release --all --yes": "all of them, in the order of their acceptance",
      },
      run: (cli, ids: string[], given: DecideOptions) => decide(cli, "release", ids, given),
    },
    {
      name: "discard",
      arguments: IDS,
      options: options("end all held messages"),
      help: "End held messages as failed, with the code OUTCOME_UNKNOWN. Their customers can retry them.",
      examples: { "tightbeam held discard <id>": "its message.failed event says that it may have been sent" },
      run: (cli, ids: string[], given: DecideOptions) => decide(cli, "discard", ids, given),
    },
  ],
};

const QUESTIONS: Record<Choice, string> = {
  release: "Send all held messages again? Recipients may get some of them twice. [y/N] ",
  discard: "End all held messages as failed? [y/N] ",
};
const DONE: Record<Choice, string> = { release: "sent again", discard: "ended as failed" };

async function decide(cli: Cli, choice: Choice, ids: readonly string[], { all, yes }: DecideOptions): Promise<void> {
  if ((ids.length === 0) === (all !== true)) throw new UsageError("name messages by their ids, or all with --all.");
  if (all === true && yes !== true) await confirm(cli, QUESTIONS[choice]);
  const decided = all === true ? await decideAll(cli, choice) : await decideThese(cli, choice, ids);
  cli.output().show(decided, ({ count }) => `${count} ${count === 1 ? "message is" : "messages are"} ${DONE[choice]}.`);
  if (decided.notHeld.length > 0) throw new Failure(null, `Not held: ${decided.notHeld.join(", ")}`);
}

async function decideAll(cli: Cli, choice: Choice): Promise<HeldDecision> {
  for (let count = 0; ; ) {
    const decided = await cli.client().admin.held[choice]({ all: true });
    count += decided.count;
    if (!decided.hasMore || decided.count === 0) return { ...decided, count };
  }
}

async function decideThese(cli: Cli, choice: Choice, ids: readonly string[]): Promise<HeldDecision> {
  const all: HeldDecision = { count: 0, notHeld: [], hasMore: false };
  for (let start = 0; start < ids.length; start += IDS_MAX) {
    const decided = await cli.client().admin.held[choice]({ ids: ids.slice(start, start + IDS_MAX) });
    all.count += decided.count;
    all.notHeld.push(...decided.notHeld);
  }
  return all;
}

async function confirm({ terminal }: Cli, question: string): Promise<void> {
  if (terminal.ask === null) throw new UsageError("this is about all held messages: confirm it with --yes.");
  const answer = await terminal.ask(question);
  if (!/^y(es)?$/i.test(answer.trim())) throw new Failure(null, "Nothing was changed.");
}
