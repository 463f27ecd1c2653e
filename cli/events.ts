/** `tightbeam events`: the rows of its commands, the resend of an event, and an event in one line. */

import type { Tightbeam } from "../sdk/client.ts";
import { type AnyEvent, type Delivery, EVENT_TYPES } from "../sdk/wire.ts";
import { printableLine } from "../server/core/printable.ts";
import type { Cli } from "./cli.ts";
import { type CommandRow, list, request } from "./command.ts";
import { isAccepted, resultOf, untilAttempted } from "./deliveries.ts";
import { listenSecret, ownDirectory } from "./directory.ts";
import { Failure } from "./failure.ts";
import type { Forward } from "./forward.ts";
import { type Paint, statusStyle } from "./output.ts";
import { cut, shortId, table } from "./table.ts";
import { oneOf } from "./values.ts";
import { widthOf } from "./width.ts";

interface ResendOptions {
  endpoint?: string;
  forwardTo?: string;
  secret?: string;
}

/** Commands about events. */
export const events: CommandRow = {
  name: "events",
  help: "List events, look at one, or send it to its receivers again.",
  examples: {
    "tightbeam events list --type message.failed": "what failed",
    "tightbeam events get <id>": "the whole envelope",
    "tightbeam events resend <id>": "to your endpoints, and to a running `tightbeam listen`",
    "tightbeam listen": "as they happen",
  },
  commands: [
    list({
      name: "list",
      help: "List events, the newest first; with --after, the oldest first.",
      options: {
        "--type <type>": { help: "only this type", choices: EVENT_TYPES, parse: oneOf(EVENT_TYPES) },
        "--message <id>": { help: "only events about this message (msg_…)", as: "messageId" },
        "--after <id>": "only events after this one (evt_…), the oldest first",
      },
      examples: {
        "tightbeam events list --message <id>": "the history of one message",
        "tightbeam events list --type message.inbound --limit 5": "the last five inbound messages",
        "tightbeam events list --after <id> --all | jq length": "how many there were since",
      },
      pages: (client) => client.events,
      items: (page) => page.events,
      columns: [
        { title: "AT", value: (event) => event.timestamp },
        { title: "TYPE", value: (event) => event.type },
        { title: "ID", value: (event) => event.id },
        { title: "ABOUT", value: aboutEvent },
      ],
      empty: "No events.",
    }),
    request({
      name: "get",
      help: "Show one event, as it was delivered.",
      arguments: { "<id>": "event id (evt_…)" },
      examples: { "tightbeam events get <id> | jq .data": "its data" },
      call: (client, id: string) => client.events.get(id),
      show: (event) => JSON.stringify(event, null, 2),
    }),
    {
      name: "resend",
      help: "Send an event to its receivers again, now, and wait for their responses.",
      arguments: { "<id>": "event id (evt_…)" },
      options: {
        "--endpoint <id>": "only to this endpoint (wh_…)",
        "--forward-to <url>": "signed, from this machine, to this address or local port instead",
        "--secret <secret>": "with --forward-to: sign with this secret instead of that of `tightbeam listen`",
      },
      examples: {
        "tightbeam events resend <id>": "to all its endpoints, and to a running `tightbeam listen`",
        "tightbeam events resend <id> --endpoint <wh>": "to one endpoint",
        "tightbeam events resend <id> --forward-to http://localhost:3000/hook": "to a receiver that you work on",
      },
      notes: "Exit codes: 0 all receivers accepted it; 1 one did not, or there was no receiver.",
      run: resend,
    },
  ],
};

async function resend(cli: Cli, id: string, { endpoint, forwardTo, secret }: ResendOptions): Promise<void> {
  const client = cli.client();
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
      const { requestResends } = await import("./resend-socket.ts");
      resent.forwards = await requestResends(directory, id);
    }
  }
  cli.output().show(resent, detail);
  requireAccepted(resent);
}

/** The result of a resend: deliveries by the service, and attempts by running `listen` commands or by this one. */
interface Resent {
  eventId: string;
  deliveries: Delivery[];
  forwards: Forward[];
}

/** Makes an extra attempt at the newest delivery of the event to each receiver, and waits for the results. */
async function redeliver(
  cli: Cli,
  { webhooks: { deliveries, endpoints } }: Tightbeam,
  eventId: string,
  webhookId: string | undefined,
): Promise<Delivery[]> {
  const active = new Set((await endpoints.list()).filter((endpoint) => endpoint.active).map(({ id }) => id));
  // A named endpoint is tried even if it is paused: the service then refuses it and says why.
  const isActive = (id: string | null) => id === null || id === webhookId || active.has(id);
  const newest = new Map<string, Delivery>();
  for await (const delivery of deliveries.listAll({ eventId, webhookId, limit: 100 })) {
    const receiver = `${delivery.webhookId} ${delivery.webhookId === null ? delivery.url : ""}`;
    if (isActive(delivery.webhookId) && !newest.has(receiver)) newest.set(receiver, delivery);
  }
  const retry = async (before: Delivery) => {
    const retried = await deliveries.retry(before.id);
    return await untilAttempted(deliveries, cli.terminal, retried, before.attempts.length);
  };
  return await Promise.all([...newest.values()].map(retry));
}

function requireAccepted({ eventId, deliveries, forwards }: Resent): void {
  if (deliveries.length + forwards.length === 0) {
    throw new Failure(
      "NOBODY_THERE",
      `${eventId} was delivered to no endpoint, and no \`tightbeam listen\` runs here.`,
      [
        "To forward it to your own receiver: --forward-to <url>, or run tightbeam listen --forward-to <url> meanwhile.",
        "To send an endpoint the events that it missed: tightbeam webhooks replay --since <time>",
      ],
    );
  }
  const refused = [
    ...deliveries.filter((delivery) => !isAccepted(delivery.attempts.at(-1))).map(({ url }) => url),
    ...forwards.filter((forward) => !isAccepted(forward)).map(({ url }) => url),
  ];
  if (refused.length > 0) throw new Failure("DELIVERY_FAILED", `${eventId} was not accepted by ${refused.join(", ")}.`);
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
    "There was no receiver.",
  );
}

/** An event in one line: time of day in UTC, type, id, and its subject, cut to `width`. */
export function eventLine(event: AnyEvent, paint: Paint, width = Number.POSITIVE_INFINITY): string {
  const { timestamp, type, id } = event;
  const about = aboutEvent(event);
  const lead = (shown: string) => TIME_WIDTH + TYPE_WIDTH + shown.length + 6;
  const shownId = lead(id) + widthOf(about) <= width ? id : shortId(id);
  const time = paint("dim", timestamp.slice(11, 11 + TIME_WIDTH));
  const subject = cut(about, Math.max(ABOUT_WIDTH_MIN, width - lead(shownId)));
  return `${time}  ${paint("bold", type.padEnd(TYPE_WIDTH))}  ${shownId}  ${subject}`.trimEnd();
}

const TIME_WIDTH = "12:00:00.000Z".length;
const TYPE_WIDTH = 26;
/** Characters of the subject that are shown on the narrowest terminal. */
const ABOUT_WIDTH_MIN = 20;

/** Fields of an event's data that are shown in one line, in this order. */
const SUBJECT_FIELDS = [
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

/** Subject of an event: sender and recipient, then the main fields of its data. */
function aboutEvent({ type, data: given }: AnyEvent): string {
  const data: Readonly<Record<string, unknown>> = { ...given };
  const ends = [data.from ?? data.actor, data.to].filter((end) => typeof end === "string");
  const texts = SUBJECT_FIELDS.map((name) => data[name]).filter(
    (value) => typeof value === "string" && !type.endsWith(value),
  );
  const typing = typeof data.typing === "boolean" ? [data.typing ? "is typing" : "stopped typing"] : [];
  const reaction = typeof data.reaction === "object" ? [Object(data.reaction).content].map(String) : [];
  return printableLine([ends.join(" → "), ...texts, ...typing, ...reaction].filter((part) => part !== "").join("  "));
}
