/** `tightbeam sandbox`: the clock, waiting for events, starting anew; and the phones of contacts. */

import { type Command, Option } from "commander";
import type { Tightbeam } from "../sdk/client.ts";
import { TightbeamError } from "../sdk/errors.ts";
import { EVENT_TYPES, type EventType, type SandboxClock } from "../sdk/wire.ts";
import { type Cli, examples } from "./command.ts";
import { eventLine } from "./events.ts";
import { Failure, UsageError } from "./failure.ts";
import { listing, type Paint } from "./output.ts";
import { addPhone } from "./phone.ts";
import { oneOf, seconds } from "./values.ts";

/** Adds `sandbox` and what is under it. */
export function addSandbox(program: Command, cli: Cli): void {
  const sandbox = program
    .command("sandbox")
    .description("Be the contact, move the clock, wait for events, start anew: for customers without a real channel.")
    .addHelpText(
      "after",
      examples({
        'tightbeam sandbox phone +15005550199 say "Hello"': "a contact writes to you",
        "tightbeam sandbox clock advance 2h": "what is due by then happens now",
        "tightbeam sandbox wait --type message.inbound": "until the next one, or the first there is",
        "tightbeam inbox": "the built-in receiver of webhooks",
      }),
    );
  addPhone(sandbox, cli);
  addClock(sandbox, cli);
  addWait(sandbox, cli);
  addReset(sandbox, cli);
}

function addClock(sandbox: Command, cli: Cli): void {
  const clock = sandbox
    .command("clock")
    .description("Show the sandbox's clock, which drives schedules, expiries and repeats; it only goes forward.")
    .addHelpText(
      "after",
      examples({
        "tightbeam sandbox clock": "what time it is there",
        "tightbeam sandbox clock advance 30d": "payment requests expire",
        "tightbeam sandbox clock reset": "back to the real time",
      }),
    )
    .action(async () => cli.output().show(await cli.client("messages").sandbox.clock.get(), clockDetail));
  clock
    .command("advance")
    .description("Move it on. It is the clock of everybody on this server.")
    .argument("<time>", "by how much, such as 30s, 5m, 2h or 1d")
    .addHelpText("after", examples({ "tightbeam sandbox clock advance 5m": "the second repeat of a webhook is due" }))
    .action(async (by: string) => cli.output().show(await move(cli, (clock) => clock.advance(by)), clockDetail));
  clock
    .command("reset")
    .description("Put it back to the real time.")
    .addHelpText("after", examples({ "tightbeam sandbox clock reset": "what happened stays" }))
    .action(async () => cli.output().show(await move(cli, (clock) => clock.reset()), clockDetail));
}

type Clock = Tightbeam["sandbox"]["clock"];

/** Moves the clock with the customer's key, and with the admin key where the server has several customers. */
async function move(cli: Cli, by: (clock: Clock) => Promise<SandboxClock>): Promise<SandboxClock> {
  try {
    return await by(cli.client("messages").sandbox.clock);
  } catch (error) {
    if (!(error instanceof TightbeamError) || error.code !== "FORBIDDEN") throw error;
    return await by(cli.client("admin").sandbox.clock);
  }
}

function clockDetail({ now, offsetMs }: SandboxClock, paint: Paint): string {
  return listing({ now, ahead: offsetMs === 0 ? "not at all" : `${offsetMs / 1000} s` }, paint);
}

interface WaitOptions {
  type?: EventType;
  message?: string;
  after?: string;
  timeout?: number;
}

function addWait(sandbox: Command, cli: Cli): void {
  sandbox
    .command("wait")
    .description("Wait for the first event that matches, past ones included, and print it.")
    .addOption(new Option("--type <type>", "only this type").choices(EVENT_TYPES).argParser(oneOf(EVENT_TYPES)))
    .option("--message <id>", "only about this message (msg_…)")
    .option("--after <id>", "only after this event (evt_…)")
    .option("--timeout <time>", "for how long, up to 30s (default: 30s)", seconds)
    .addHelpText(
      "after",
      examples({
        "tightbeam sandbox wait --message <id> --type message.delivered": "until one message is there",
        "tightbeam sandbox wait --type message.inbound --after <evt> | jq -r .data.text": "what somebody answers",
      }),
    )
    .action(async ({ type, message, after, timeout }: WaitOptions) => {
      const query = { type, messageId: message, after, timeoutSeconds: timeout };
      const event = await cli.client("messages").sandbox.wait(query);
      if (event === null) throw new Failure("NOT_YET", "No such event came in time.");
      cli.output().show(event, (told, paint) => eventLine(told, paint));
    });
}

function addReset(sandbox: Command, cli: Cli): void {
  sandbox
    .command("reset")
    .description("Delete this customer's messages, chats, contacts, payments, events and deliveries.")
    .option("-y, --yes", "do not ask first; has to be given where there is no terminal")
    .addHelpText("after", examples({ "tightbeam sandbox reset --yes": "keys, numbers and endpoints stay" }))
    .action(async ({ yes }: { yes?: boolean }) => {
      // Before it is asked: which customer it is depends on the key.
      const { baseUrl } = cli.connection("messages");
      if (!yes) await confirm(cli, `Delete everything of this customer at ${baseUrl}? [y/N] `);
      cli.output().show(await cli.client("messages").sandbox.reset(), () => "Everything is deleted.");
    });
}

async function confirm({ terminal }: Cli, question: string): Promise<void> {
  if (terminal.ask === null) throw new UsageError("this deletes everything of the customer: say so with --yes.");
  const answer = await terminal.ask(question);
  if (!/^y(es)?$/i.test(answer.trim())) throw new Failure(null, "Nothing was deleted.");
}
