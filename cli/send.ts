/** `tightbeam send`: sends a message and follows it until it ends. */

import type { Tightbeam } from "../sdk/client.ts";
import { TightbeamError } from "../sdk/errors.ts";
import type {
  AcceptedMessage,
  AttachmentsRule,
  Channel,
  DryRun,
  Message,
  MessageStatus,
  PlannedHop,
  SendMessage,
  TimelineEntry,
} from "../sdk/wire.ts";
import { ATTACHMENTS_RULES, CHANNELS } from "../sdk/wire.ts";
import { printableLine } from "../server/core/printable.ts";
import { pageAddress } from "./addresses.ts";
import type { Cli } from "./cli.ts";
import { type CommandRow, present } from "./command.ts";
import { Failure, wasNeverReached } from "./failure.ts";
import { listing, type Paint, statusStyle, type Terminal } from "./output.ts";
import { REQUEST_FIELDS } from "./request-fields.ts";
import { type Column, table, wrapped } from "./table.ts";
import { oneOf, oneOrMore, pair, repeated, seconds } from "./values.ts";

const AWAITABLE = ["sent", "delivered", "read"] as const;

interface SendOptions {
  from?: string;
  channel?: Channel[];
  fallback: boolean;
  attach?: string[];
  attachments?: AttachmentsRule;
  at?: string;
  callbackUrl?: string;
  externalId?: string;
  metadata?: Record<string, string>;
  idempotencyKey?: string;
  dryRun?: boolean;
  follow: boolean;
  until: (typeof AWAITABLE)[number];
  timeout: number;
}

const FIELDS = REQUEST_FIELDS.SendMessage;

/** Sends a message. */
export const send: CommandRow = {
  name: "send",
  help: "Send a message and follow it until it is delivered or has failed.",
  arguments: {
    "<to>": FIELDS.to,
    "<text>": "the text; a text that starts with - goes after --",
  },
  options: {
    "--from <address>": FIELDS.from,
    "--channel <list>": {
      help: `${REQUEST_FIELDS.Routing.preference}: ${CHANNELS.join(", ")}`,
      parse: oneOrMore(CHANNELS),
    },
    "--no-fallback": "never try a second channel",
    "--attach <url>": { help: "HTTPS URL of a file to send; may be repeated", parse: repeated },
    "--attachments <rule>": { help: REQUEST_FIELDS.Routing.attachments, parse: oneOf(ATTACHMENTS_RULES) },
    "--at <time>": `${FIELDS.scheduledAt}; not followed`,
    "--callback-url <url>": FIELDS.callbackUrl,
    "--external-id <id>": FIELDS.externalMessageId,
    "--metadata <key=value>": { help: `${FIELDS.metadata}; may be repeated`, parse: pair },
    "--idempotency-key <key>": FIELDS.idempotencyKey,
    "--dry-run": "show what would happen, and send nothing",
    "--no-follow": "print what was accepted, and end",
    "--until <status>": {
      help: "follow until it is sent, delivered or read",
      parse: awaitable,
      default: "delivered",
    },
    "--timeout <time>": { help: "follow for this long", parse: seconds, default: 60 },
  },
  examples: {
    'tightbeam send +15005550100 "Hello"': "iMessage, with SMS as fallback",
    'tightbeam send +15005550102 "Hello" --channel sms': "SMS only",
    'tightbeam send +15005550101 "Hello" --until read': "wait for the read receipt",
    [`tightbeam send +15005550100 "Later" --at ${tomorrow()}`]: "schedule it, at most 30 days ahead",
    'tightbeam send +15005550102 "Hello" --dry-run': "which channel, and how many SMS segments",
    'tightbeam send +15005550100 "Hello" --no-follow | jq -r .id': "just the id",
  },
  notes:
    "Exit codes: 0 it reached --until, or was accepted and not followed; 1 it was refused or failed, or the time was\n" +
    "up first (it continues: see `tightbeam messages get <id>`); 2 wrong usage.",
  run: sendAndFollow,
};

function awaitable(text: string): SendOptions["until"] {
  return oneOrMore(AWAITABLE)(text, undefined)[0] ?? "delivered";
}

async function sendAndFollow(cli: Cli, to: string, text: string, options: SendOptions): Promise<void> {
  const client = cli.client();
  const output = cli.output();
  if (options.dryRun === true)
    return output.show(await client.messages.dryRun(messageOf(to, text, options)), dryRunDetail);
  const accepted = await accept(client, messageOf(to, text, options), options.idempotencyKey ?? crypto.randomUUID());
  const page = ({ id }: AcceptedMessage, paint: Paint) => paint("dim", pageAddress(cli.server().baseUrl, id));
  const isFollowed = options.follow && accepted.status !== "scheduled";
  if (!isFollowed) {
    output.show(
      accepted,
      (message, paint, width) =>
        `${summary(message, width)}\n${page(message, paint)}\n${paint(statusStyle(message.status), endOf(message))}`,
    );
    return;
  }
  output.progress((paint, width) => `${summary(accepted, width)}\n${page(accepted, paint)}`);
  const message = await follow(client, cli.terminal, accepted.id, options, (entry) =>
    output.progress((paint, width) => {
      const [time, status, channel] = [entry.at.slice(11, 24), entry.status.padEnd(9), entry.channel.padEnd(8)];
      const lead = `${time}  ${status}  ${channel}  `.length;
      const reason = wrapped(printableLine(entry.reason ?? ""), Math.max(20, width - lead), lead);
      return `${paint("dim", time)}  ${paint(statusStyle(entry.status), status)}  ${channel}  ${reason}`.trimEnd();
    }),
  );
  if (output.json) output.show(message, () => "");
  requireReached(message, options);
}

/** Outcome of a dry run, then every route that was considered. */
function dryRunDetail(run: DryRun, paint: Paint, width: number): string {
  const { to, from, channel, instanceId, reason, segments, encoding, scheduledAt, quietUntil } = run;
  const facts = {
    to,
    from,
    channel: channel ?? "none",
    instanceId,
    reason,
    "files not sent": run.attachmentsDropped || null,
    [channel === "sms" ? "segments" : "segments, if by sms"]: segments,
    [channel === "sms" ? "encoding" : "encoding, if by sms"]: encoding,
    scheduledAt,
    quietUntil,
  };
  const hops = table(run.hops, HOP_COLUMNS, paint, width, "No route was considered.");
  return `${listing(facts, paint)}\n\n${hops}\n\nNothing was sent.`;
}

const HOP_COLUMNS: readonly Column<PlannedHop>[] = [
  { title: "CHANNEL", value: (hop) => hop.channel },
  { title: "TRIED", value: (hop) => (hop.usable ? "yes" : "no"), style: (hop) => (hop.usable ? "green" : "dim") },
  { title: "WHY", value: (hop) => hop.reason, wraps: true },
];

function messageOf(to: string, text: string, options: SendOptions): SendMessage {
  const { from, at, attach, callbackUrl, externalId, metadata } = options;
  const routing = present({
    preference: options.channel,
    fallback: options.fallback ? undefined : false,
    attachments: options.attachments,
  });
  const attachments = attach?.map((url) => ({ type: "url" as const, url }));
  return {
    to,
    content: { text },
    ...present({ from, attachments, scheduledAt: at, callbackUrl, externalMessageId: externalId, metadata }),
    ...(Object.keys(routing).length === 0 ? {} : { routing }),
  };
}

async function accept(client: Tightbeam, message: SendMessage, idempotencyKey: string): Promise<AcceptedMessage> {
  try {
    return await client.messages.send(message, { idempotencyKey });
  } catch (error) {
    if (!(error instanceof TightbeamError) || error.status !== 0 || wasNeverReached(error)) throw error;
    throw new Failure(error.code, error.message, [
      "It is unknown whether the message was accepted. To make sure without sending it twice, run the same command with:",
      `--idempotency-key ${idempotencyKey}`,
    ]);
  }
}

/** One line, or two if the terminal is too narrow. */
function summary({ id, to, from, channel }: AcceptedMessage, width: number): string {
  const way = printableLine(`to ${to}  from ${from}  by ${channel}`);
  return `${id}${id.length + 2 + way.length > width ? "\n" : "  "}${way}`;
}

function endOf(message: AcceptedMessage): string {
  return message.scheduledAt === null ? message.status : `${message.status} for ${message.scheduledAt}`;
}

const ENDED: readonly MessageStatus[] = ["failed", "cancelled", "unsent"];
const PROGRESS: readonly MessageStatus[] = ["sent", "delivered", "read"];
const POLL_MS_FIRST = 100;
/** The poll interval doubles up to this: a minute of following costs about a third of the default rate limit of 100. */
const POLL_MS_MAX = 2_000;

/** Polls the message until it ends, reaches `until` or the time is up. Waits for a server that restarts. */
async function follow(
  client: Tightbeam,
  terminal: Terminal,
  id: string,
  { until, timeout }: Pick<SendOptions, "until" | "timeout">,
  onEntry: (entry: TimelineEntry) => void,
): Promise<Message> {
  const endAt = performance.now() + timeout * 1000;
  let shown = 0;
  for (let pollMs = POLL_MS_FIRST; ; pollMs = Math.min(pollMs * 2, POLL_MS_MAX)) {
    const leftMs = endAt - performance.now();
    const message = await client.messages.get(id).catch((error: unknown) => {
      if (error instanceof TightbeamError && error.status === 0 && leftMs > 0) return null;
      throw error;
    });
    for (const entry of message?.timeline.slice(shown) ?? []) onEntry(entry);
    shown = Math.max(shown, message?.timeline.length ?? 0);
    if (message !== null && (leftMs <= 0 || isOver(message.status, until))) return message;
    await terminal.sleep(Math.max(1, Math.min(pollMs, leftMs)));
  }
}

function isOver(status: MessageStatus, until: MessageStatus): boolean {
  return ENDED.includes(status) || hasReached(status, until);
}

function hasReached(status: MessageStatus, until: MessageStatus): boolean {
  return PROGRESS.indexOf(status) >= PROGRESS.indexOf(until);
}

function requireReached(message: Message, options: SendOptions): void {
  if (hasReached(message.status, options.until)) return;
  if (message.status === "failed") {
    const provider = message.providerErrorCode === null ? [] : [`providerErrorCode: ${message.providerErrorCode}`];
    throw new Failure(message.errorCode ?? "FAILED", message.errorMessage ?? "The message failed.", provider);
  }
  if (ENDED.includes(message.status))
    throw new Failure(message.status.toUpperCase(), `The message was ${message.status}.`);
  throw new Failure("NOT_YET", `The message is ${message.status} after ${options.timeout} s, and continues.`, [
    `Look again with: tightbeam messages get ${message.id}`,
  ]);
}

/** This time tomorrow, to the minute: an example that can be tried. */
function tomorrow(): string {
  return `${new Date(Date.now() + 86_400_000).toISOString().slice(0, 16)}Z`;
}
