/** `tightbeam sandbox phone`: what a contact does with a phone of the sandbox. */

import { Argument, type Command, Option } from "commander";
import type { Tightbeam } from "../sdk/client.ts";
import {
  CALL_ACTIONS,
  type CallAction,
  CHANNELS,
  type Channel,
  type PhoneSettings,
  REACTION_COMMANDS,
} from "../sdk/wire.ts";
import { type Cli, examples } from "./command.ts";
import { UsageError } from "./failure.ts";
import { messageDetail } from "./messages.ts";
import { listing, type Paint, statusStyle } from "./output.ts";
import { onOrOff, seconds, wholeNumber } from "./values.ts";

const ACTIONS = ["say", "type", "react", "keep", "photo", "pay", ...CALL_ACTIONS, "settings"] as const;
type Action = (typeof ACTIONS)[number];

interface PhoneOptions {
  to?: string;
  channel?: Channel;
  replyTo?: string;
  request?: string;
  video?: boolean;
  online?: boolean;
  imessage?: boolean;
  readReceipts?: boolean;
  edits?: boolean;
  latency?: number;
  loss?: number;
}

/** Adds `phone` under `sandbox`. */
export function addPhone(sandbox: Command, cli: Cli): void {
  sandbox
    .command("phone")
    .description("Do what a contact would with its phone: write, type, react, keep, pay, call, or set it.")
    .argument("<number>", "whose phone, such as +15005550199")
    .addArgument(new Argument("<action>", "what to do").choices(ACTIONS))
    .argument("[words...]", "what to say, react to or pay: see the examples")
    .option("--to <address>", "which of your numbers; your default number when left out")
    .addOption(new Option("--channel <channel>", "say: by which channel").choices(CHANNELS))
    .option("--reply-to <id>", "say: which message it answers (msg_…)")
    .option("--request <id>", "pay: this payment request (pay_…), with its amount unless another is given")
    .option("--video", "ring: a video call")
    .option("--online <on|off>", "settings: whether messages reach it; what waits comes when it is on again", onOrOff)
    .option("--imessage <on|off>", "settings: whether it has iMessage", onOrOff)
    .option("--read-receipts <on|off>", "settings: whether it tells what was read", onOrOff)
    .option("--edits <on|off>", "settings: whether messages on it can be edited", onOrOff)
    .option("--latency <time>", "settings: time before each receipt, up to 10m", seconds)
    .option("--loss <percent>", "settings: how many of a hundred messages it loses", wholeNumber(0))
    .addHelpText(
      "after",
      examples({
        'tightbeam sandbox phone +15005550199 say "Hello"': "",
        "tightbeam sandbox phone +15005550199 type": "shows that somebody writes; type stop ends it",
        "tightbeam sandbox phone +15005550199 react <msg> love": "or one emoji; with a minus after --: takes it back",
        "tightbeam sandbox phone +15005550199 keep <msg>": "an audio message of yours",
        "tightbeam sandbox phone +15005550199 photo <chat>": "gives a group another photo",
        "tightbeam sandbox phone +15005550199 pay 25.00": "or: pay --request <pay>",
        "tightbeam sandbox phone +15005550199 ring --video": "then: answer, hangup or miss",
        "tightbeam sandbox phone +15005550199 settings": "how it is set",
        "tightbeam sandbox phone +15005550199 settings --online off": "switch it off",
      }),
    )
    .action(async (number: string, action: Action, words: string[], options: PhoneOptions) => {
      const phone = cli.client("messages").sandbox.phone(number);
      if (action === "settings") return await showSettings(cli, phone, words, options);
      await DEEDS[action](cli, phone, words, options);
    });
}

type Phone = ReturnType<Tightbeam["sandbox"]["phone"]>;
type Deed = (cli: Cli, phone: Phone, words: string[], options: PhoneOptions) => Promise<void>;

const DEEDS: Readonly<Record<Exclude<Action, "settings">, Deed>> = {
  async say(cli, phone, words, { to, channel, replyTo }) {
    const text = words.join(" ");
    if (text === "") throw new UsageError('say what? Such as: say "Hello"');
    const message = await phone.write({
      text,
      ...(to === undefined ? {} : { to }),
      ...(channel === undefined ? {} : { channel }),
      ...(replyTo === undefined ? {} : { replyTo }),
    });
    cli.output().show(message, messageDetail);
  },
  async type(cli, phone, [status = "start", ...more], { to }) {
    if (more.length > 0 || !["start", "stop"].includes(status)) throw new UsageError("type, or type stop.");
    const typing = await phone.type({ typing: status === "start", ...(to === undefined ? {} : { to }) });
    cli.output().show(typing, ({ chatId }) => `typing ${typing.status} in ${chatId}`);
  },
  async react(cli, phone, [messageId, type, ...more]) {
    if (messageId === undefined || type === undefined || more.length > 0) {
      throw new UsageError(`react <msg> <reaction>: one of ${REACTION_COMMANDS.join(", ")}, or one emoji.`);
    }
    cli.output().show(await phone.react({ messageId, type }), (done) => `${done.reaction} on ${done.messageId}`);
  },
  async keep(cli, phone, [messageId, ...more]) {
    if (messageId === undefined || more.length > 0) throw new UsageError("keep <msg>, an audio message of yours.");
    cli.output().show(await phone.keepAudio({ messageId }), messageDetail);
  },
  async photo(cli, phone, [chatId, ...more]) {
    if (chatId === undefined || more.length > 0) throw new UsageError("photo <chat>, a group that the contact is in.");
    cli.output().show(await phone.changePhoto({ chatId }), ({ id }) => `another photo in ${id}`);
  },
  async pay(cli, phone, [amount, ...more], { to, request }) {
    if (more.length > 0 || (amount === undefined && request === undefined)) {
      throw new UsageError("pay <amount>, such as 25.00, or pay --request <pay>.");
    }
    const message = await phone.pay({
      ...(amount === undefined ? {} : { amount }),
      ...(request === undefined ? {} : { requestId: request }),
      ...(to === undefined ? {} : { to }),
    });
    cli.output().show(message, messageDetail);
  },
  ring: call("ring"),
  answer: call("answer"),
  hangup: call("hangup"),
  miss: call("miss"),
};

function call(action: CallAction): Deed {
  return async (cli, phone, words, { to, video }) => {
    if (words.length > 0) throw new UsageError(`${action} takes nothing more.`);
    const made = await phone.call({
      action,
      ...(video === undefined ? {} : { video }),
      ...(to === undefined ? {} : { to }),
    });
    cli
      .output()
      .show(made, ({ id, status, caller, to: called }, paint) =>
        [`${id}  ${caller} → ${called}`, paint(statusStyle(status), status)].join("  "),
      );
  };
}

async function showSettings(cli: Cli, phone: Phone, words: string[], options: PhoneOptions): Promise<void> {
  if (words.length > 0) throw new UsageError("settings are options, such as --online off.");
  const { online, imessage, readReceipts, edits, latency, loss } = options;
  const changes: Partial<PhoneSettings> = {
    ...(online === undefined ? {} : { online }),
    ...(imessage === undefined ? {} : { imessage }),
    ...(readReceipts === undefined ? {} : { readReceipts }),
    ...(edits === undefined ? {} : { edits }),
    ...(latency === undefined ? {} : { latencyMs: latency * 1000 }),
    ...(loss === undefined ? {} : { lossPercent: loss }),
  };
  const settings = Object.keys(changes).length === 0 ? await phone.settings() : await phone.change(changes);
  cli.output().show(settings, settingsDetail);
}

function settingsDetail(
  { online, imessage, readReceipts, edits, latencyMs, lossPercent }: PhoneSettings,
  paint: Paint,
): string {
  const word = (on: boolean) => (on ? "on" : "off");
  return listing(
    {
      online: word(online),
      imessage: word(imessage),
      readReceipts: word(readReceipts),
      edits: word(edits),
      latency: `${latencyMs} ms`,
      loss: `${lossPercent} %`,
    },
    paint,
  );
}
