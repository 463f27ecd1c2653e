/** `tightbeam events`: what happened, and what of it is to be delivered once more. */

import { type Command, Option } from "commander";
import type { Tightbeam } from "../sdk/client.ts";
import type { EventQuery } from "../sdk/events.ts";
import { type Delivery, EVENT_TYPES, type Event } from "../sdk/wire.ts";
import { addPaging, type Cli, examples, type Paging, showList } from "./command.ts";
import { isAccepted, resultOf, untilAttempted } from "./deliveries.ts";
import { listenSecret, ownDirectory } from "./directory.ts";
import { Failure } from "./failure.ts";
import type { Forward } from "./forward.ts";
import { type Paint, printable, statusStyle } from "./output.ts";
import { type Column, cut, shortId, table } from "./table.ts";
import { oneOf } from "./values.ts";
import { widthOf } from "./width.ts";

interface ListOptions extends Paging {
  type?: NonNullable<EventQuery["type"]>;
  message?: string;
  after?: string;
}

interface ResendOptions {
  endpoint?: string;
  forwardTo?: string;
  secret?: string;
}

const COLUMNS: readonly Column<Event>[] = [
  { title: "AT", value: (event) => event.timestamp },
  { title: "TYPE", value: (event) => event.type },
  { title: "ID", value: (event) => event.id },
  { title: "ABOUT", value: aboutEvent },
];

/** Adds `events` and what is under it. */
export function addEvents(program: Command, cli: Cli): void {
  const events = program
    .command("events")
    .description("List events, look at one, or have it delivered once more.")
    .addHelpText(
      "after",
      examples({
        "tightbeam events list --type message.failed": "what failed",
        "tightbeam events get <id>": "the whole envelope",
        "tightbeam events resend <id>": "to your endpoints, and to a `tightbeam listen` that runs",
        "tightbeam listen": "as they happen",
      }),
    );
  addPaging(
    events
      .command("list")
      .description("List events, the newest first; those after one, the oldest first.")
      .addOption(new Option("--type <type>", "only this type").choices(EVENT_TYPES).argParser(oneOf(EVENT_TYPES)))
      .option("--message <id>", "only those about this message (msg_…)")
      .option("--after <id>", "only those after this event (evt_…), the oldest first"),
  )
    .addHelpText(
      "after",
      examples({
        "tightbeam events list --message <id>": "the story of one message",
        "tightbeam events list --type message.inbound --limit 5": "the last five that came in",
        "tightbeam events list --after <id> --all | jq length": "how many there were since",
      }),
    )
    .action(({ message, ...rest }: ListOptions) => {
      const { list, listAll } = cli.client("messages").events;
      return showList(
        cli,
        { list, listAll, itemsOf: (page) => page.events, columns: COLUMNS, empty: "No events." },
        { ...rest, messageId: message },
      );
    });
  events
    .command("get")
    .description("Show one event, as it was delivered.")
    .argument("<id>", "event id (evt_…)")
    .addHelpText("after", examples({ "tightbeam events get <id> | jq .data": "what it says" }))
    .action(async (id: string) =>
      cli.output().show(await cli.client("messages").events.get(id), (event) => JSON.stringify(event, null, 2)),
    );
  addResend(events, cli);
}

function addResend(events: Command, cli: Cli): void {
  events
    .command("resend")
    .description("Have an event delivered once more, at once, and wait for what the receivers answer.")
    .argument("<id>", "event id (evt_…)")
    .option("--endpoint <id>", "only to this endpoint (wh_…)")
    .option("--forward-to <url>", "not by the service: signed, from here to this address, or port of this machine")
    .option("--secret <secret>", "with --forward-to: sign with this secret, not with that of `tightbeam listen`")
    .addHelpText(
      "after",
      `${examples({
        "tightbeam events resend <id>": "to all that it went to, and to a `tightbeam listen` that runs",
        "tightbeam events resend <id> --endpoint <wh>": "to one endpoint",
        "tightbeam events resend <id> --forward-to http://localhost:3000/hook": "to a receiver that you work on",
      })}\n\nExit codes: 0 all took it; 1 one did not, or there was nobody to send it to.`,
    )
    .action((id: string, options: ResendOptions) => resend(cli, id, options));
}

async function resend(cli: Cli, id: string, { endpoint, forwardTo, secret }: ResendOptions): Promise<void> {
  const client = cli.client("messages");
  const event = await client.events.get(id);
  const directory = ownDirectory(cli.terminal.env);
  const resent: Resent = { eventId: event.id, deliveries: [], forwards: [] };
  if (forwardTo !== undefined) {
    const { forward, parseTarget } = await import("./forward.ts");
    const target = { url: parseTarget(forwardTo), secret: secret || listenSecret(directory), version: cli.version };
    resent.forwards = [{ ...(await forward(event, target)), resent: true }];
  } else {
    resent.deliveries = await redeliver(cli, client, id, endpoint);
    if (endpoint === undefined) {
      const { tellListeners } = await import("./listeners.ts");
      resent.forwards = await tellListeners(directory, id);
    }
  }
  cli.output().show(resent, detail);
  complainUnlessTaken(resent);
}

/** What a resend led to: deliveries of the service, and attempts of listeners, or from here. */
interface Resent {
  eventId: string;
  deliveries: Delivery[];
  forwards: Forward[];
}

/** One attempt more of each delivery of the event, the newest to each receiver, with how it went. */
async function redeliver(
  cli: Cli,
  { webhooks: { deliveries, endpoints } }: Tightbeam,
  eventId: string,
  webhookId: string | undefined,
): Promise<Delivery[]> {
  const active = new Set((await endpoints.list()).filter((endpoint) => endpoint.active).map(({ id }) => id));
  // One that is named is tried whatever it is: that it is paused is then said.
  const isThere = (id: string | null) => id === null || id === webhookId || active.has(id);
  const newest = new Map<string, Delivery>();
  for await (const delivery of deliveries.listAll({ eventId, webhookId, limit: 100 })) {
    const receiver = `${delivery.webhookId} ${delivery.webhookId === null ? delivery.url : ""}`;
    if (isThere(delivery.webhookId) && !newest.has(receiver)) newest.set(receiver, delivery);
  }
  const again = async (before: Delivery) => {
    const asked = await deliveries.retry(before.id);
    return await untilAttempted(deliveries, cli.terminal, asked, before.attempts.length);
  };
  return await Promise.all([...newest.values()].map(again));
}

function complainUnlessTaken({ eventId, deliveries, forwards }: Resent): void {
  if (deliveries.length + forwards.length === 0) {
    throw new Failure("NOBODY_THERE", `${eventId} was delivered to no endpoint, and nothing listens here.`, [
      "To forward it to a receiver of yours: --forward-to <url>, or run tightbeam listen --forward-to <url> meanwhile.",
      "To send an endpoint what it has not had: tightbeam webhooks replay --since <time>",
    ]);
  }
  const refused = [
    ...deliveries.filter((delivery) => !isAccepted(delivery.attempts.at(-1))).map(({ url }) => url),
    ...forwards.filter((forward) => !isAccepted(forward)).map(({ url }) => url),
  ];
  if (refused.length > 0) throw new Failure("DELIVERY_FAILED", `${eventId} was not taken by ${refused.join(", ")}.`);
}

function detail({ deliveries, forwards }: Resent, paint: Paint, width: number): string {
  const rows = [
    ...deliveries.map((delivery) => ({ by: delivery.id, url: delivery.url, attempt: delivery.attempts.at(-1) })),
    ...forwards.map((forward) => ({ by: "listen", url: forward.url, attempt: forward })),
  ];
  return table(
    rows,
    [
      {
        title: "RESULT",
        value: ({ attempt }) => resultOf(attempt),
        style: ({ attempt }) => statusStyle(String(attempt?.status ?? "failed")),
      },
      { title: "MS", value: ({ attempt }) => attempt?.durationMs ?? null },
      { title: "BY", value: ({ by }) => by },
      { title: "URL", value: ({ url }) => url },
    ],
    paint,
    width,
    "Nobody was there to take it.",
  );
}

/** An event in one line: the time of day in UTC, type, id, and what it is about, as far as that fits into `width`. */
export function eventLine(event: Event, paint: Paint, width = Number.POSITIVE_INFINITY): string {
  const { timestamp, type, id } = event;
  const about = aboutEvent(event);
  const lead = (shown: string) => TIME_WIDTH + TYPE_WIDTH + shown.length + 6;
  const shownId = lead(id) + widthOf(about) <= width ? id : shortId(id);
  const time = paint("dim", timestamp.slice(11, 11 + TIME_WIDTH));
  const told = cut(about, Math.max(ABOUT_WIDTH_MIN, width - lead(shownId)));
  return `${time}  ${paint("bold", type.padEnd(TYPE_WIDTH))}  ${shownId}  ${told}`.trimEnd();
}

const TIME_WIDTH = "12:00:00.000".length;
const TYPE_WIDTH = 26;
/** So much of what an event is about is shown on the narrowest terminal. */
const ABOUT_WIDTH_MIN = 20;

/** What of an event's data is worth a glance, in this order. */
const TELLING = [
  "channel",
  "status",
  "amount",
  "participant",
  "title",
  "errorCode",
  "reason",
  "note",
  "text",
  "message",
];

/** What an event says in the fewest words: from whom to whom, and what. */
function aboutEvent({ type, data }: Event): string {
  const ends = [data.from ?? data.actor, data.to].filter((end) => typeof end === "string");
  const told = TELLING.map((name) => data[name]).filter((value) => typeof value === "string" && !type.endsWith(value));
  const typing = typeof data.typing === "boolean" ? [data.typing ? "is typing" : "has ceased to type"] : [];
  const reaction = typeof data.reaction === "object" ? [Object(data.reaction).content].map(String) : [];
  return printable([ends.join(" → "), ...told, ...typing, ...reaction].filter((part) => part !== "").join("  "));
}
