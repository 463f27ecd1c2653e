/** `tightbeam listen`: events as they happen, on the screen and, signed, at a receiver of your own. No tunnel, no endpoint. */

import type { Command } from "commander";
import { Option } from "commander";
import { TightbeamError } from "../sdk/errors.ts";
import { BEFORE_ALL_EVENTS } from "../sdk/events.ts";
import { EVENT_TYPES, type Event, type EventType } from "../sdk/wire.ts";
import { type Cli, examples } from "./command.ts";
import { listenSecret, ownDirectory } from "./directory.ts";
import { eventLine } from "./events.ts";
import type { Forward, Forwarder, Tally } from "./forward.ts";
import { type Paint, statusStyle } from "./output.ts";
import { shortId } from "./table.ts";
import { oneOrMore } from "./values.ts";
import { widthOf } from "./width.ts";

interface ListenOptions {
  forwardTo?: string;
  events?: EventType[];
  message?: string;
  print?: "short" | "json";
  secret?: string;
  printSecret?: boolean;
}

/** What is under way when the end comes is given so long. */
const GRACE_MS = 3_000;

/** Adds `listen`. */
export function addListen(program: Command, cli: Cli): void {
  program
    .command("listen")
    .description("Show events as they happen, and forward them, signed, to a receiver that you work on.")
    .option("--forward-to <url>", "POST each event there as a webhook: an address, or a port of this machine")
    .option(
      "--events <list>",
      "only these types, with commas between; may be repeated (default: all)",
      oneOrMore(EVENT_TYPES),
    )
    .option("--message <id>", "only those about this message (msg_…)")
    .addOption(
      new Option("--print <form>", "a line for people, or JSON lines (default: JSON without a terminal)").choices([
        "short",
        "json",
      ]),
    )
    .option("--secret <secret>", "sign with this secret, not with the one that is kept for you")
    .option("--print-secret", "print the secret that is kept for you, and end")
    .addHelpText(
      "after",
      `${examples({
        "tightbeam listen": "every event of your customer, until Ctrl-C",
        "tightbeam listen --forward-to http://localhost:3000/hook": "also to your own receiver, signed",
        "tightbeam listen --forward-to 3000 --events message.inbound,message.failed": "two types, to port 3000",
        'export WEBHOOK_SECRET="$(tightbeam listen --print-secret)"': "what your receiver verifies with",
        "tightbeam listen | jq -r .type": "JSON, a line for each event",
      })}\n\n${GUIDE}`,
    )
    .action((options: ListenOptions) => (options.printSecret ? showSecret(cli) : listen(cli, options)));
}

const GUIDE = `Forwarding needs no public address and no webhook: the events come over the API, and this program posts them with the
same bytes and headers as the service. An answer other than 2xx is tried again after 1, 5, 15, 30 and 60 s, and
\`tightbeam events resend <id>\` sends one again at any time. A connection that is lost is taken up where it broke.`;

function showSecret(cli: Cli): void {
  const secret = listenSecret(ownDirectory(cli.terminal.env));
  cli.output().line(() => secret);
}

async function listen(cli: Cli, options: ListenOptions): Promise<void> {
  const output = cli.output();
  const isJson = options.print === undefined ? output.json : options.print === "json";
  const print = (data: object, render: (paint: Paint, width: number) => string) =>
    output.line(isJson ? () => JSON.stringify(data) : render);
  const url = options.forwardTo === undefined ? null : (await import("./forward.ts")).parseTarget(options.forwardTo);
  // Refused at once when the server is down or the key is none; from then on a lost connection is waited for.
  const newest = (await cli.client("messages").events.list({ limit: 1 })).events[0]?.id;
  const forwarder = await forwarderFor(cli, url, options.secret, (forward) =>
    print({ forward }, (paint, width) => forwardLine(forward, paint, width)),
  );
  const stopHearing = forwarder === null ? null : await hear(cli, forwarder);
  const stop = new AbortController();
  const release = cli.terminal.onInterrupt(() => {
    if (stop.signal.aborted) forwarder?.cut();
    forwarder?.close();
    stop.abort();
  });
  try {
    output.note(`Listening to ${cli.connection("messages").baseUrl}. Ctrl-C ends it.`);
    const count = await follow(cli, options, { from: newest, signal: stop.signal }, async (event) => {
      print(event, (paint, width) => eventLine(event, paint, width));
      await forwarder?.take(event);
    });
    if (forwarder === null) output.note(`${counted(count)}.`);
  } finally {
    stopHearing?.();
    if (forwarder !== null) output.note(summary(await forwarder.finish(GRACE_MS)));
    release();
  }
}

/** Gives each event to `take`, in order, until the signal; answers how many there were. */
async function follow(
  cli: Cli,
  { events, message }: ListenOptions,
  { from, signal }: { from: string | undefined; signal: AbortSignal },
  take: (event: Event) => Promise<void>,
): Promise<number> {
  let count = 0;
  const onGap = () => cli.output().note("Events were missed: the last one seen is no longer kept.");
  const lastEventId = from ?? BEFORE_ALL_EVENTS;
  const stream = cli
    .client("messages", "waits")
    .events.stream({ events, messageId: message, lastEventId, signal, onGap });
  try {
    for await (const event of stream) {
      count += 1;
      await take(event);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return count;
}

/** What forwards, after saying what it signs with; null when nothing is to be forwarded. */
async function forwarderFor(
  cli: Cli,
  url: URL | null,
  given: string | undefined,
  onForward: (forward: Forward) => void,
): Promise<Forwarder | null> {
  if (url === null) return null;
  const { Forwarder } = await import("./forward.ts");
  const secret = given || listenSecret(ownDirectory(cli.terminal.env));
  const output = cli.output();
  output.note(`Forwarding to ${url.href}`);
  output.note(`Signed with    ${secret}`);
  return new Forwarder({ url, secret, version: cli.version }, onForward);
}

/** Lets `events resend` reach it. Answers how to end that; null where it cannot be. */
async function hear(cli: Cli, forwarder: Forwarder): Promise<(() => void) | null> {
  const { hearResends } = await import("./listeners.ts");
  const { events } = cli.client("messages");
  const resend = async (id: string): Promise<Forward | null> => {
    const event = await events.get(id).catch((error: unknown) => {
      if (error instanceof TightbeamError && error.status === 404) return null;
      throw error;
    });
    return event === null ? null : await forwarder.resend(event);
  };
  const stop = await hearResends(ownDirectory(cli.terminal.env), resend).catch(() => null);
  if (stop === null) cli.output().note("`tightbeam events resend` does not reach it here: give it --forward-to.");
  return stop;
}

/** As wide as the time before an event, so that types and ids stand under each other. */
const RESULT_WIDTH = "12:00:00.000".length;

function forwardLine(forward: Forward, paint: Paint, width: number): string {
  const { status, error, eventType, eventId, durationMs, attempt, retryInMs, resent } = forward;
  const result = String(status ?? error).padStart(RESULT_WIDTH);
  const style = statusStyle(String(status ?? "failed"));
  const more = [
    `${durationMs} ms`,
    ...(resent ? ["resent"] : attempt > 1 ? [`attempt ${attempt}`] : []),
    ...(retryInMs === null ? [] : [`again in ${retryInMs / 1000} s`]),
  ];
  const took = paint("dim", more.join(", "));
  const lineOf = (type: string, id: string) => `${paint(style, result)}  ${type}  ${id}  ${took}`;
  const wide = lineOf(eventType.padEnd(26), eventId);
  return widthOf(wide) <= width ? wide : lineOf(eventType.padEnd(18), shortId(eventId));
}

function counted(events: number): string {
  return events === 1 ? "1 event" : `${events} events`;
}

/** More of them would scroll the rest away. */
const MISSED_SHOWN_MAX = 20;

function summary({ events, taken, missed }: Tally): string {
  const first = `${counted(events)}, ${taken} taken by the receiver.`;
  if (missed.length === 0) return first;
  const shown = missed.slice(0, MISSED_SHOWN_MAX).map((id) => `  tightbeam events resend ${id} --forward-to <url>`);
  const others = missed.length - shown.length;
  return [`${first} Not taken:`, ...shown, ...(others > 0 ? [`  and ${others} more`] : [])].join("\n");
}
