/** `tightbeam messages edit`, `unsend` and `react`: what can be done about a message that is on the recipient's phone. */

import { Argument, type Command } from "commander";
import { REACTION_COMMANDS, type ReactionCommand } from "../sdk/wire.ts";
import { type Cli, examples } from "./command.ts";
import { messageDetail } from "./messages.ts";

/** Adds the three under `messages`. */
export function addRevisions(messages: Command, cli: Cli): void {
  messages
    .command("edit")
    .description("Change the text of a sent message, on the recipient's phone too (iMessage).")
    .argument("<id>", "message id (msg_…)")
    .argument("<text>", "what it is to say; a text that starts with - goes after --")
    .option("--for-old-phones <text>", "what a phone shows that knows no edits")
    .addHelpText("after", examples({ 'tightbeam messages edit <id> "See you at 9"': "" }))
    .action(async (id: string, text: string, { forOldPhones }: { forOldPhones?: string }) => {
      const fallback = forOldPhones === undefined ? {} : { backwardsCompatibilityMessage: forOldPhones };
      cli.output().show(await cli.client("messages").messages.edit(id, { text, ...fallback }), messageDetail);
    });
  messages
    .command("unsend")
    .description("Take a sent message back, from the recipient's phone too (iMessage).")
    .argument("<id>", "message id (msg_…)")
    .addHelpText("after", examples({ "tightbeam messages unsend <id>": "its record stays" }))
    .action(async (id: string) => cli.output().show(await cli.client("messages").messages.unsend(id), messageDetail));
  messages
    .command("react")
    .description("React to a message, or take that back with a minus (iMessage).")
    .argument("<id>", "message id (msg_…)")
    .addArgument(reactionArgument())
    .addHelpText(
      "after",
      examples({
        "tightbeam messages react <id> love": "",
        "tightbeam messages react <id> 🎉": "any emoji, where the channel can send it",
        "tightbeam messages react <id> -- -love": "take it back",
      }),
    )
    .action(async (id: string, reaction: ReactionCommand) =>
      cli
        .output()
        .show(
          await cli.client("messages").messages.react(id, reaction),
          (done) => `${done.reaction} on ${done.messageId}`,
        ),
    );
}

/** The six are offered by completion and help; whether anything else is an emoji is for the service to say. */
function reactionArgument(): Argument {
  const named = new Argument("<reaction>", "or one emoji; a minus goes after --").choices(REACTION_COMMANDS);
  return named.argParser((word) => word);
}
