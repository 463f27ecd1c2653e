/** `tightbeam sandbox`: the rows of its commands: the clock, waiting for events, the reset, and the phones of contacts. */

import type { Tightbeam } from "../sdk/client.ts";
import { TightbeamError } from "../sdk/errors.ts";
import { EVENT_TYPES, type EventType, type SandboxClock } from "../sdk/wire.ts";
import type { Cli } from "./cli.ts";
import { type CommandRow, request } from "./command.ts";
import { eventLine } from "./events.ts";
import { Failure, UsageError } from "./failure.ts";
import { listing, type Paint } from "./output.ts";
import { phone } from "./phone.ts";
import { oneOf, seconds } from "./values.ts";

interface WaitOptions {
  type?: EventType;
  message?: string;
  after?: string;
  timeout?: number;
}

const clock: CommandRow = {
  ...request({
    name: "clock",
    help: "Show the sandbox's clock, which drives schedules, expiries and retries. It only moves forward.",
    examples: {
      "tightbeam sandbox clock": "its time",
      "tightbeam sandbox clock advance 30d": "payment requests expire",
      "tightbeam sandbox clock reset": "back to the real time",
    },
    call: (client) => client.sandbox.clock.get(),
    show: clockDetail,
  }),
  commands: [
    {
      name: "advance",
      help: "Advance the clock. All customers of this server share it.",
      arguments: { "<time>": "by how much, such as 30s, 5m, 2h or 1d" },
      examples: { "tightbeam sandbox clock advance 5m": "the second retry of a webhook is due" },
      run: async (cli, by: string) => cli.output().show(await move(cli, (api) => api.advance(by)), clockDetail),
    },
    {
      name: "reset",
      help: "Set the clock back to the real time.",
      examples: { "tightbeam sandbox clock reset": "messages and events stay" },
      run: async (cli) => cli.output().show(await move(cli, (api) => api.reset()), clockDetail),
    },
  ],
};

/** Commands about the sandbox. */
export const sandbox: CommandRow = {
  name: "sandbox",
  help: "Act as a contact, move the clock, wait for events, reset: for customers whose numbers are all on the sandbox.",
  examples: {
    'tightbeam sandbox phone +15005550199 say "Hello"': "a contact writes to you",
    "tightbeam sandbox clock advance 2h": "what is due by then happens now",
    "tightbeam sandbox wait --type message.inbound": "wait for the first inbound message",
    "tightbeam inbox": "the sandbox's built-in webhook receiver",
  },
  commands: [
    phone,
    clock,
    {
      name: "wait",
      help: "Wait for the first event that matches, past events included, and print it.",
      options: {
        "--type <type>": { help: "only this type", choices: EVENT_TYPES, parse: oneOf(EVENT_TYPES) },
        "--message <id>": "only events about this message (msg_…)",
        "--after <id>": "only events after this one (evt_…)",
        "--timeout <time>": { help: "for how long, up to 30s (default: 30s)", parse: seconds },
      },
      examples: {
        "tightbeam sandbox wait --message <id> --type message.delivered": "until one message is delivered",
        "tightbeam sandbox wait --type message.inbound --after <evt> | jq -r .data.text": "the text of a reply",
      },
      run: async (cli, { type, message, after, timeout }: WaitOptions) => {
        const query = { type, messageId: message, after, timeoutSeconds: timeout };
        const event = await cli.client().sandbox.wait(query);
        if (event === null) throw new Failure("NOT_YET", "No such event came in time.");
        cli.output().show(event, (found, paint) => eventLine(found, paint));
      },
    },
    {
      name: "reset",
      help: "Delete this customer's messages, chats, contacts, payments, events and deliveries.",
      options: { "-y, --yes": "do not ask first; required without a terminal" },
      examples: { "tightbeam sandbox reset --yes": "keys, numbers and endpoints stay" },
      run: async (cli, { yes }: { yes?: boolean }) => {
        // Found before the question: the key decides which customer it is.
        const { baseUrl } = cli.connection("messages");
        if (!yes) await confirm(cli, `Delete everything of this customer at ${baseUrl}? [y/N] `);
        cli.output().show(await cli.client().sandbox.reset(), () => "Everything is deleted.");
      },
    },
  ],
};

type Clock = Tightbeam["sandbox"]["clock"];

/** Moves the clock with the customer's key, or with the admin key if the server has several customers. */
async function move(cli: Cli, by: (clock: Clock) => Promise<SandboxClock>): Promise<SandboxClock> {
  try {
    return await by(cli.client().sandbox.clock);
  } catch (error) {
    if (!(error instanceof TightbeamError) || error.code !== "FORBIDDEN") throw error;
    return await by(cli.client("admin").sandbox.clock);
  }
}

function clockDetail({ now, offsetMs }: SandboxClock, paint: Paint): string {
  return listing({ now, ahead: offsetMs === 0 ? "not at all" : `${offsetMs / 1000} s` }, paint);
}

async function confirm({ terminal }: Cli, question: string): Promise<void> {
  if (terminal.ask === null) throw new UsageError("this deletes everything of the customer: confirm it with --yes.");
  const answer = await terminal.ask(question);
  if (!/^y(es)?$/i.test(answer.trim())) throw new Failure(null, "Nothing was deleted.");
}
