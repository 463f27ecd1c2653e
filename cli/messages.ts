/** `tightbeam messages`: the rows of its commands, and how a message is shown. */

import { CHANNELS, DIRECTIONS, MESSAGE_STATUSES, type Message, REACTION_COMMANDS } from "../sdk/wire.ts";
import { type CommandRow, list, present, request } from "./command.ts";
import { listing, type Paint, statusStyle } from "./output.ts";
import { type Column, table } from "./table.ts";

const MESSAGE = { "<id>": "message id (msg_…)" };
/** Marks a message that a person wrote in Messages on the Mac. */
const ON_DEVICE = "written on the device";

/** The columns of every list of messages. */
export const MESSAGE_COLUMNS: readonly Column<Message>[] = [
  { title: "ID", value: (message) => message.id },
  { title: "STATUS", value: (message) => message.status, style: (message) => statusStyle(message.status) },
  { title: "CHANNEL", value: (message) => message.channel },
  { title: "LINE", value: (message) => addressesOf(message).line, optional: true },
  { title: "CONTACT", value: (message) => addressesOf(message).contact },
  { title: "CREATED", value: (message) => message.createdAt },
  {
    title: "TEXT",
    value: ({ origin, content }) =>
      origin === "device" ? [`(${ON_DEVICE})`, content.text].filter(Boolean).join(" ") : content.text,
  },
];

/** The number that the service sends from and receives at, and the other side's address, whoever of the two wrote. */
function addressesOf({ direction, from, to }: Message): { line: string; contact: string } {
  return direction === "inbound" ? { line: to, contact: from } : { line: from, contact: to };
}

/** Commands about messages that are in the service already. */
export const messages: CommandRow = {
  name: "messages",
  help: "List messages, look at one, cancel, retry, edit, unsend or delete it.",
  examples: {
    "tightbeam messages list --status failed": "what went wrong",
    "tightbeam messages get <id>": "one message with its timeline",
    "tightbeam messages cancel <id>": "stop a scheduled message",
    "tightbeam messages retry <id>": "send a failed message again",
  },
  commands: [
    list({
      name: "list",
      help: "List messages, the newest first.",
      options: {
        "--status <status>": { help: "only messages in this status", choices: MESSAGE_STATUSES },
        "--direction <direction>": { help: "only messages sent, or received", choices: DIRECTIONS },
        "--to <address>": "only messages to this address",
        "--from <address>": "only messages from this address",
        "--external-id <id>": { help: "only messages with this identifier of your own", as: "externalMessageId" },
        "--after <time>": { help: "only messages created after this time (ISO 8601)", as: "createdAfter" },
        "--before <time>": { help: "only messages created before this time (ISO 8601)", as: "createdBefore" },
        "--channel <channel>": { help: "only messages by this channel", choices: CHANNELS },
        "--chat <id>": { help: "only messages of this conversation: its id, or an address", as: "chatId" },
        "--search <words>": { help: "only messages with all of these words in their text", as: "q" },
      },
      examples: {
        "tightbeam messages list --status failed": "what went wrong",
        "tightbeam messages list --to +15005550100 --limit 5": "the last five to one recipient",
        'tightbeam messages list --search "table ready"': "by words of the text",
        "tightbeam messages list --all | jq length": "how many there are",
      },
      pages: (client) => client.messages,
      items: (page) => page.messages,
      columns: MESSAGE_COLUMNS,
      empty: "No messages.",
    }),
    request({
      name: "get",
      help: "Show one message with its timeline.",
      arguments: MESSAGE,
      examples: { "tightbeam messages get <id> | jq -r .status": "one field of it" },
      call: (client, id: string) => client.messages.get(id),
      show: messageDetail,
    }),
    request({
      name: "cancel",
      help: "Cancel a scheduled message. Refused once the message is being sent.",
      arguments: MESSAGE,
      examples: { "tightbeam messages list --status scheduled": "what can be cancelled" },
      call: (client, id: string) => client.messages.cancel(id),
      show: messageDetail,
    }),
    request({
      name: "update",
      help: "Change a scheduled message. Refused once the message is being sent.",
      arguments: MESSAGE,
      options: {
        "--text <text>": "the new text",
        "--at <time>": "the new time to send it: ISO 8601 with Z or an offset",
      },
      examples: { "tightbeam messages update <id> --at 2031-05-01T09:00:00Z": "later, with the same text" },
      call: (client, id: string, { text, at }: { text?: string; at?: string }) =>
        client.messages.update(id, present({ content: text === undefined ? undefined : { text }, scheduledAt: at })),
      show: messageDetail,
    }),
    request({
      name: "retry",
      help: "Send a failed message again.",
      arguments: MESSAGE,
      options: {
        "--may-duplicate": "also if it is not known whether the message was sent: the recipient may get it twice",
      },
      examples: { "tightbeam messages list --status failed": "what can be sent again" },
      call: (client, id: string, { mayDuplicate }: { mayDuplicate?: boolean }) =>
        client.messages.retry(id, mayDuplicate ? { mayDuplicate } : undefined),
      show: messageDetail,
    }),
    request({
      name: "delete",
      help: "Delete a message: it leaves the lists, and its text is erased. A scheduled message is cancelled first.",
      arguments: MESSAGE,
      examples: { "tightbeam messages delete <id>": "cannot be undone" },
      call: (client, id: string) => client.messages.delete(id),
      show: ({ id }) => `${id} deleted`,
    }),
    request({
      name: "edit",
      help: "Change the text of a sent message, on the recipient's phone too (iMessage).",
      arguments: { ...MESSAGE, "<text>": "the new text; a text that starts with - goes after --" },
      options: { "--for-old-phones <text>": "shown by phones that do not support edits" },
      examples: { 'tightbeam messages edit <id> "See you at 9"': "" },
      call: (client, id: string, text: string, { forOldPhones }: { forOldPhones?: string }) =>
        client.messages.edit(id, { text, ...present({ backwardsCompatibilityMessage: forOldPhones }) }),
      show: messageDetail,
    }),
    request({
      name: "unsend",
      help: "Unsend a message, from the recipient's phone too (iMessage).",
      arguments: MESSAGE,
      examples: { "tightbeam messages unsend <id>": "its record stays" },
      call: (client, id: string) => client.messages.unsend(id),
      show: messageDetail,
    }),
    request({
      name: "react",
      help: "React to a message, or remove a reaction with a minus (iMessage).",
      arguments: {
        ...MESSAGE,
        // Help and completion offer the six; the service decides whether another text is an emoji.
        "<reaction>": {
          help: "or one emoji; a minus goes after --",
          choices: REACTION_COMMANDS,
          parse: (text) => text,
        },
      },
      examples: {
        "tightbeam messages react <id> love": "",
        "tightbeam messages react <id> 🎉": "any emoji, if the channel can send it",
        "tightbeam messages react <id> -- -love": "remove it",
      },
      call: (client, id: string, reaction: string) => client.messages.react(id, reaction),
      show: ({ reaction, messageId }) => `${reaction} on ${messageId}`,
    }),
  ],
};

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
      "files not sent": message.attachmentsDropped || null,
      error: errorCode === null ? null : `${errorCode} ${errorMessage ?? ""}`,
      providerErrorCode: message.providerErrorCode,
      retryCount: message.retryCount || null,
      origin: message.origin === "device" ? ON_DEVICE : message.origin === "api" ? null : message.origin,
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
