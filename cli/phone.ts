/** `tightbeam sandbox phone`: acts as a contact on a phone of the sandbox. */

import type { Tightbeam } from "../sdk/client.ts";
import {
  CALL_ACTIONS,
  type CallAction,
  CHANNELS,
  type Channel,
  type PhoneSettings,
  REACTION_COMMANDS,
} from "../sdk/wire.ts";
import type { Cli } from "./cli.ts";
import { type CommandRow, present } from "./command.ts";
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

/** Acts as a contact. */
export const phone: CommandRow = {
  name: "phone",
  help: "Act on a contact's phone: write, type, react, keep, pay, call, or change its settings.",
  arguments: {
    "<number>": "the contact's number, such as +15005550199",
    "<action>": { help: "what the contact does", choices: ACTIONS },
    "[words...]": "the text, message or amount: see the examples",
  },
  options: {
    "--to <address>": "one of your numbers (default: your default number)",
    "--channel <channel>": { help: "say: by which channel", choices: CHANNELS },
    "--reply-to <id>": "say: in reply to this message (msg_…)",
    "--request <id>": "pay: this payment request (pay_…), with its amount unless another is given",
    "--video": "ring: a video call",
    "--online <on|off>": {
      help: "settings: whether it can be reached; waiting messages arrive when it is on again",
      parse: onOrOff,
    },
    "--imessage <on|off>": { help: "settings: whether it has iMessage", parse: onOrOff },
    "--read-receipts <on|off>": { help: "settings: whether it sends read receipts", parse: onOrOff },
    "--edits <on|off>": { help: "settings: whether messages on it can be edited", parse: onOrOff },
    "--latency <time>": { help: "settings: time before each receipt, up to 10m", parse: seconds },
    "--loss <percent>": { help: "settings: percentage of messages that it loses", parse: wholeNumber(0) },
  },
  examples: {
    'tightbeam sandbox phone +15005550199 say "Hello"': "",
    "tightbeam sandbox phone +15005550199 type": "start to type; type stop ends it",
    "tightbeam sandbox phone +15005550199 react <msg> love": "or one emoji; a minus after -- removes it",
    "tightbeam sandbox phone +15005550199 keep <msg>": "an audio message of yours",
    "tightbeam sandbox phone +15005550199 photo <chat>": "change the photo of a group",
    "tightbeam sandbox phone +15005550199 pay 25.00": "or: pay --request <pay>",
    "tightbeam sandbox phone +15005550199 ring --video": "then: answer, hangup or miss",
    "tightbeam sandbox phone +15005550199 settings": "show its settings",
    "tightbeam sandbox phone +15005550199 settings --online off": "switch it off",
  },
  run: async (cli, number: string, action: Action, words: string[], options: PhoneOptions) =>
    await ACTS[action](cli, cli.client().sandbox.phone(number), words, options),
};

type Phone = ReturnType<Tightbeam["sandbox"]["phone"]>;
type Act = (cli: Cli, phone: Phone, words: string[], options: PhoneOptions) => Promise<void>;

const ACTS: Readonly<Record<Action, Act>> = {
  async say(cli, phone, words, { to, channel, replyTo }) {
    const text = words.join(" ");
    if (text === "") throw new UsageError('say what? Such as: say "Hello"');
    const message = await phone.write({ text, ...present({ to, channel, replyTo }) });
    cli.output().show(message, messageDetail);
  },
  async type(cli, phone, [status = "start", ...more], { to }) {
    if (more.length > 0 || !["start", "stop"].includes(status)) throw new UsageError("type, or type stop.");
    const typing = await phone.type({ typing: status === "start", ...present({ to }) });
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
    cli.output().show(await phone.changePhoto({ chatId }), ({ id }) => `new photo in ${id}`);
  },
  async pay(cli, phone, [amount, ...more], { to, request }) {
    if (more.length > 0 || (amount === undefined && request === undefined)) {
      throw new UsageError("pay <amount>, such as 25.00, or pay --request <pay>.");
    }
    const message = await phone.pay(present({ amount, requestId: request, to }));
    cli.output().show(message, messageDetail);
  },
  ring: call("ring"),
  answer: call("answer"),
  hangup: call("hangup"),
  miss: call("miss"),
  settings: showSettings,
};

function call(action: CallAction): Act {
  return async (cli, phone, words, { to, video }) => {
    if (words.length > 0) throw new UsageError(`${action} takes no further words.`);
    const made = await phone.call({ action, ...present({ video, to }) });
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
  const latencyMs = latency === undefined ? undefined : latency * 1000;
  const changes = present({ online, imessage, readReceipts, edits, latencyMs, lossPercent: loss });
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
