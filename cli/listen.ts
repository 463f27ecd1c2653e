/** `tightbeam listen`: prints events as they happen and forwards them, signed, to your own receiver. No tunnel, no endpoint. */

import { TightbeamError } from "../sdk/errors.ts";
import { BEFORE_ALL_EVENTS } from "../sdk/stream.ts";
import { type AnyEvent, EVENT_TYPES, type EventType } from "../sdk/wire.ts";
import { pageAddress } from "./addresses.ts";
import type { Cli } from "./cli.ts";
import type { CommandRow } from "./command.ts";
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

/** Attempts under way may take this long after Ctrl-C. */
const GRACE_MS = 3_000;

const NOTES = `Forwarding needs no public address and no webhook: the events come over the API, and this program posts them with the
same bytes and headers as the service. An answer other than 2xx is tried again after 1, 5, 15, 30 and 60 s, and
\`tightbeam events resend <id>\` sends an event again at any time. After a lost connection it continues with the next event.`;

/** Prints events as they happen, and forwards them. */
export const listen: CommandRow = {
  name: "listen",
  help: "Show events as they happen, and forward them, signed, to a receiver that you work on.",
  options: {
    "--forward-to <url>": "POST each event there as a webhook: an address, or a port of this machine",
    "--events <list>": {
      help: "only these types, with commas between; may be repeated (default: all)",
      parse: oneOrMore(EVENT_TYPES),
    },
    "--message <id>": "only events about this message (msg_…)",
    "--print <form>": {
      help: "a line for people, or JSON lines (default: JSON without a terminal)",
      choices: ["short", "json"],
    },
    "--secret <secret>": "sign with this secret instead of the one that is stored for you",
    "--print-secret": "print the secret that is stored for you, and end",
  },
  examples: {
    "tightbeam listen": "every event of your customer, until Ctrl-C",
    "tightbeam listen --forward-to http://localhost:3000/hook": "also to your own receiver, signed",
    "tightbeam listen --forward-to 3000 --events message.inbound,message.failed": "two types, to port 3000",
    'export WEBHOOK_SECRET="$(tightbeam listen --print-secret)"': "the secret for your receiver",
    "tightbeam listen | jq -r .type": "JSON, a line for each event",
  },
  notes: NOTES,
  run: (cli, options: ListenOptions) => (options.printSecret ? showSecret(cli) : printEvents(cli, options)),
};

function showSecret(cli: Cli): void {
  const secret = listenSecret(ownDirectory(cli.terminal.env));
  cli.output().line(() => secret);
}

async function printEvents(cli: Cli, options: ListenOptions): Promise<void> {
  const output = cli.output();
  const isJson = options.print === undefined ? output.json : options.print === "json";
  const print = (data: object, render: (paint: Paint, width: number) => string) =>
    output.line(isJson ? () => JSON.stringify(data) : render);
  const url = options.forwardTo === undefined ? null : (await import("./forward.ts")).parseTarget(options.forwardTo);
  // Fails at once if the server is down or the key is wrong; later a lost connection is waited for.
  const newest = (await cli.client().events.list({ limit: 1 })).events[0]?.id;
  const forwarder = await forwarderFor(cli, url, options.secret, (forward) =>
    print({ forward }, (paint, width) => forwardLine(forward, paint, width)),
  );
  const stopResends = forwarder === null ? null : await acceptResends(cli, forwarder);
  const stop = new AbortController();
  const release = cli.terminal.onInterrupt(() => {
    if (stop.signal.aborted) forwarder?.cut();
    forwarder?.close();
    stop.abort();
  });
  try {
    const { baseUrl } = cli.connection("messages");
    output.note(`Listening to ${baseUrl}. Ctrl-C ends it. An event's page: ${pageAddress(baseUrl, "evt_")}…`);
    const count = await follow(cli, options, { from: newest, signal: stop.signal }, async (event) => {
      print(event, (paint, width) => eventLine(event, paint, width));
      await forwarder?.take(event);
    });
    if (forwarder === null) output.note(`${counted(count)}.`);
  } finally {
    stopResends?.();
    if (forwarder !== null) output.note(summary(await forwarder.finish(GRACE_MS)));
    release();
  }
}

/** Gives each event to `take`, in order, until the signal. Returns the number of events. */
async function follow(
  cli: Cli,
  { events, message }: ListenOptions,
  { from, signal }: { from: string | undefined; signal: AbortSignal },
  take: (event: AnyEvent) => Promise<void>,
): Promise<number> {
  let count = 0;
  const onGap = () => cli.output().note("Events were missed: the service no longer keeps the last one seen.");
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

/** The forwarder, after printing its signing secret; null if nothing is forwarded. */
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

/** Accepts requests of `events resend`. Returns the function that ends this, or null if there can be no socket. */
async function acceptResends(cli: Cli, forwarder: Forwarder): Promise<(() => void) | null> {
  const { serveResends } = await import("./resend-socket.ts");
  const { events } = cli.client();
  const resend = async (id: string): Promise<Forward | null> => {
    const event = await events.get(id).catch((error: unknown) => {
      if (error instanceof TightbeamError && error.status === 404) return null;
      throw error;
    });
    return event === null ? null : await forwarder.resend(event);
  };
  const stop = await serveResends(ownDirectory(cli.terminal.env), resend).catch(() => null);
  if (stop === null) cli.output().note("`tightbeam events resend` cannot reach this `listen`: give it --forward-to.");
  return stop;
}

/** Width of the time before an event, so that types and ids are aligned. */
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

/** More lines would scroll the rest away. */
const MISSED_SHOWN_MAX = 20;

function summary({ events, accepted, missed }: Tally): string {
  const first = `${counted(events)}, ${accepted} accepted by the receiver.`;
  if (missed.length === 0) return first;
  const shown = missed.slice(0, MISSED_SHOWN_MAX).map((id) => `  tightbeam events resend ${id} --forward-to <url>`);
  const others = missed.length - shown.length;
  return [`${first} Not accepted:`, ...shown, ...(others > 0 ? [`  and ${others} more`] : [])].join("\n");
}
