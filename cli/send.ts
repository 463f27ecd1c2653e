/** `tightbeam send`: a message out, followed to its end. */

import type { Command } from "commander";
import type { Tightbeam } from "../sdk/client.ts";
import { TightbeamError } from "../sdk/errors.ts";
import type {
  AcceptedMessage,
  Channel,
  DryRun,
  Message,
  MessageStatus,
  PlannedHop,
  SendMessage,
  TimelineEntry,
} from "../sdk/wire.ts";
import { CHANNELS } from "../sdk/wire.ts";
import { type Cli, examples } from "./command.ts";
import { Failure, wasNeverReached } from "./failure.ts";
import { listing, type Paint, printable, statusStyle, type Terminal } from "./output.ts";
import { type Column, table, wrapped } from "./table.ts";
import { oneOrMore, pair, seconds } from "./values.ts";

const AWAITABLE = ["sent", "delivered", "read"] as const;

interface SendOptions {
  from?: string;
  channel?: Channel[];
  fallback: boolean;
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

/** Adds `send`. */
export function addSend(program: Command, cli: Cli): void {
  program
    .command("send")
    .description("Send a message and follow it until it is delivered, or has failed.")
    .argument("<to>", "phone number (+15005550100) or iMessage e-mail address")
    .argument("<text>", "what to say; a text that starts with - goes after --")
    .option("--from <address>", "one of your numbers; by default the one that last wrote with them")
    .option("--channel <list>", "channels to try, in this order: imessage, sms", oneOrMore(CHANNELS))
    .option("--no-fallback", "never try a second channel")
    .option("--at <time>", "send then: ISO 8601 with Z or an offset, at most 30 days ahead; not followed")
    .option("--callback-url <url>", "also send every event of this message there")
    .option("--external-id <id>", "your own identifier of it, in its events and as a filter")
    .option("--metadata <key=value>", "given back in its events; may be repeated", pair)
    .option("--idempotency-key <key>", "the same key again sends nothing twice")
    .option("--dry-run", "say what would become of it, and send nothing")
    .option("--no-follow", "print what was accepted and end")
    .option("--until <status>", "follow until it is sent, delivered or read", awaitable, "delivered")
    .option("--timeout <time>", "follow for this long", seconds, 60)
    .addHelpText(
      "after",
      `${examples({
        'tightbeam send +15005550100 "Hello"': "iMessage, by SMS where there is none",
        'tightbeam send +15005550102 "Hello" --channel sms': "SMS only",
        'tightbeam send +15005550101 "Hello" --until read': "wait for the read receipt",
        [`tightbeam send +15005550100 "Later" --at ${tomorrow()}`]: "schedule it, at most 30 days ahead",
        'tightbeam send +15005550102 "Hello" --dry-run': "which channel, and how many SMS",
        'tightbeam send +15005550100 "Hello" --no-follow | jq -r .id': "just the id",
      })}\n\nExit codes: 0 it got as far as --until, or was accepted and not followed; 1 it was refused, failed, or the` +
        " time was\nup first (it goes on: see `tightbeam messages get <id>`); 2 wrong usage.",
    )
    .action((to: string, text: string, options: SendOptions) => send(cli, to, text, options));
}

function awaitable(text: string): SendOptions["until"] {
  return oneOrMore(AWAITABLE)(text, undefined)[0] ?? "delivered";
}

async function send(cli: Cli, to: string, text: string, options: SendOptions): Promise<void> {
  const client = cli.client("messages");
  const output = cli.output();
  if (options.dryRun === true)
    return output.show(await client.messages.dryRun(messageOf(to, text, options)), rehearsal);
  const accepted = await accept(client, messageOf(to, text, options), options.idempotencyKey ?? crypto.randomUUID());
  const isFollowed = options.follow && accepted.status !== "scheduled";
  if (!isFollowed) {
    output.show(
      accepted,
      (message, paint, width) => `${summary(message, width)}\n${paint(statusStyle(message.status), endOf(message))}`,
    );
    return;
  }
  output.progress((_, width) => summary(accepted, width));
  const message = await follow(client, cli.terminal, accepted.id, options, (entry) =>
    output.progress((paint, width) => {
      const [time, status, channel] = [entry.at.slice(11, 23), entry.status.padEnd(9), entry.channel.padEnd(8)];
      const lead = `${time}  ${status}  ${channel}  `.length;
      const reason = wrapped(printable(entry.reason ?? ""), Math.max(20, width - lead), lead);
      return `${paint("dim", time)}  ${paint(statusStyle(entry.status), status)}  ${channel}  ${reason}`.trimEnd();
    }),
  );
  if (output.json) output.show(message, () => "");
  complainUnlessDone(message, options);
}

/** What would become of it: the outcome, then every way considered. */
function rehearsal(run: DryRun, paint: Paint, width: number): string {
  const { to, from, channel, instanceId, reason, segments, encoding, scheduledAt, quietUntil } = run;
  const facts = {
    to,
    from,
    channel: channel ?? "none",
    instanceId,
    reason,
    [channel === "sms" ? "segments" : "segments, if by sms"]: segments,
    [channel === "sms" ? "encoding" : "encoding, if by sms"]: encoding,
    scheduledAt,
    quietUntil,
  };
  const hops = table(run.hops, HOP_COLUMNS, paint, width, "Nothing was considered.");
  return `${listing(facts, paint)}\n\n${hops}\n\nNothing was sent.`;
}

const HOP_COLUMNS: readonly Column<PlannedHop>[] = [
  { title: "CHANNEL", value: (hop) => hop.channel },
  { title: "TRIED", value: (hop) => (hop.usable ? "yes" : "no"), style: (hop) => (hop.usable ? "green" : "dim") },
  { title: "WHY", value: (hop) => hop.reason, wraps: true },
];

function messageOf(to: string, text: string, options: SendOptions): SendMessage {
  const routing = {
    ...(options.channel === undefined ? {} : { preference: options.channel }),
    ...(options.fallback ? {} : { fallback: false }),
  };
  return {
    to,
    content: { text },
    ...(options.from === undefined ? {} : { from: options.from }),
    ...(Object.keys(routing).length === 0 ? {} : { routing }),
    ...(options.at === undefined ? {} : { scheduledAt: options.at }),
    ...(options.callbackUrl === undefined ? {} : { callbackUrl: options.callbackUrl }),
    ...(options.externalId === undefined ? {} : { externalMessageId: options.externalId }),
    ...(options.metadata === undefined ? {} : { metadata: options.metadata }),
  };
}

async function accept(client: Tightbeam, message: SendMessage, idempotencyKey: string): Promise<AcceptedMessage> {
  try {
    return await client.messages.send(message, { idempotencyKey });
  } catch (error) {
    if (!(error instanceof TightbeamError) || error.status !== 0 || wasNeverReached(error)) throw error;
    throw new Failure(error.code, error.message, [
      "Whether it was accepted is not known. To be sure and not send it twice, run the same command again with:",
      `--idempotency-key ${idempotencyKey}`,
    ]);
  }
}

/** One line, or two where the terminal is too narrow for it. */
function summary({ id, to, from, channel }: AcceptedMessage, width: number): string {
  const way = printable(`to ${to}  from ${from}  by ${channel}`);
  return `${id}${id.length + 2 + way.length > width ? "\n" : "  "}${way}`;
}

function endOf(message: AcceptedMessage): string {
  return message.scheduledAt === null ? message.status : `${message.status} for ${message.scheduledAt}`;
}

const ENDED: readonly MessageStatus[] = ["failed", "cancelled", "unsent"];
const PROGRESS: readonly MessageStatus[] = ["sent", "delivered", "read"];
const POLL_MS_FIRST = 100;
/** Doubled up to this, so that a minute of following costs about a third of the default rate limit of 100. */
const POLL_MS_MAX = 2_000;

/** Looks at the message until it ended, has reached `until` or the time is up; a server that restarts is waited for. */
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

function complainUnlessDone(message: Message, options: SendOptions): void {
  if (hasReached(message.status, options.until)) return;
  if (message.status === "failed") {
    const provider = message.providerErrorCode === null ? [] : [`providerErrorCode: ${message.providerErrorCode}`];
    throw new Failure(message.errorCode ?? "FAILED", message.errorMessage ?? "The message failed.", provider);
  }
  if (ENDED.includes(message.status))
    throw new Failure(message.status.toUpperCase(), `The message was ${message.status}.`);
  throw new Failure("NOT_YET", `The message is ${message.status} after ${options.timeout} s, and goes on.`, [
    `Look again with: tightbeam messages get ${message.id}`,
  ]);
}

/** This time tomorrow, to the minute: an example that can be tried. */
function tomorrow(): string {
  return `${new Date(Date.now() + 86_400_000).toISOString().slice(0, 16)}Z`;
}
