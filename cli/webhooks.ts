/** `tightbeam webhooks`: the rows of its commands, and how an endpoint is shown. */

import type { Tightbeam } from "../sdk/client.ts";
import { EVENT_TYPES, type EventType, type SigningSecret, type Webhook } from "../sdk/wire.ts";
import { type CommandRow, present, request } from "./command.ts";
import { deliveryCommands, showAttempt, untilAttempted } from "./deliveries.ts";
import { listing, type Paint, statusStyle } from "./output.ts";
import { endpointOf, replayCommands } from "./replay.ts";
import { REQUEST_FIELDS } from "./request-fields.ts";
import { table } from "./table.ts";
import { oneOrMore, seconds, wholeNumber } from "./values.ts";

const ENDPOINT = { "[id]": "endpoint id (wh_…); default: the primary endpoint" };
const EVENT_CHOICES = ["*", ...EVENT_TYPES] as const;
/** How long the old secret keeps signing, unless the command says otherwise: the receiver is changed meanwhile. */
const GRACE_SECONDS = 86_400;
const NOT_CONFIGURED = "No webhook is configured: tightbeam webhooks set <url>";

interface SetOptions {
  events?: (EventType | "*")[];
  secret?: string;
  maxInFlight?: number;
}

interface CreateOptions extends SetOptions {
  name?: string;
}

interface UpdateOptions extends CreateOptions {
  to?: string;
}

const FIELDS = REQUEST_FIELDS.SetWebhook;
const CREATE_FIELDS = REQUEST_FIELDS.CreateWebhook;
const UPDATE_FIELDS = REQUEST_FIELDS.UpdateWebhook;
const ONE_ENDPOINT = { "<id>": "endpoint id (wh_…)" };

/** The option for the types of events. */
const eventsOption = (help: string) => ({
  help: `${help}; with commas between, may be repeated`,
  parse: oneOrMore(EVENT_CHOICES),
});

/** Whether events are delivered to an endpoint, the primary one if none is named. */
async function activate({ webhooks: api }: Tightbeam, id: string | undefined, active: boolean): Promise<Webhook> {
  return await api.endpoints.update(await endpointOf(api, id), { active });
}

/** Commands about endpoints and their deliveries. */
export const webhooks: CommandRow = {
  name: "webhooks",
  help: "Set where events are sent, test it, and see what was delivered.",
  examples: {
    "tightbeam webhooks set https://example.com/hook": "send every event there",
    "tightbeam webhooks test": "send one event now and wait for the response",
    "tightbeam webhooks deliveries --status exhausted": "what was never delivered",
    "tightbeam webhooks recover --since 1d": "send what the endpoint has not got again",
  },
  commands: [
    request({
      name: "get",
      help: "Show the primary endpoint, or another one.",
      arguments: ENDPOINT,
      examples: { "tightbeam webhooks get | jq -r .url": "just the address" },
      call: ({ webhooks: api }, id: string | undefined): PromiseLike<Webhook | null> =>
        id === undefined ? api.get() : api.endpoints.get(id),
      show: (found, paint) => (found === null ? NOT_CONFIGURED : detail(found, paint)),
    }),
    request({
      name: "list",
      help: "List every endpoint, the primary endpoint first.",
      examples: { "tightbeam webhooks list | jq -r '.[].id'": "just the ids" },
      call: (client) => client.webhooks.endpoints.list(),
      show: (all, paint, width) =>
        table(
          all,
          [
            { title: "ID", value: (webhook) => webhook.id },
            { title: "STATE", value: stateOf, style: (webhook) => statusStyle(stateOf(webhook)) },
            { title: "EVENTS", value: ({ events }) => (events.includes("*") ? "all" : events.length) },
            { title: "NAME", value: (webhook) => webhook.name },
            { title: "URL", value: (webhook) => webhook.url },
          ],
          paint,
          width,
          NOT_CONFIGURED,
        ),
    }),
    request({
      name: "delete",
      help: "Delete the primary endpoint, or another one. Its waiting deliveries are cancelled.",
      arguments: ENDPOINT,
      examples: { "tightbeam webhooks delete": "the next primary endpoint keeps the signing secret" },
      call: (client, id: string | undefined) => client.webhooks.delete(id),
      show: ({ id }) => `${id} deleted`,
    }),
    request({
      name: "set",
      help: "Set your primary webhook endpoint, or change it. Events of these types are sent there, signed.",
      arguments: {
        "<url>": "HTTPS address of your receiver; http://localhost works with a server for trying things out",
      },
      options: {
        "--events <list>": eventsOption(`${FIELDS.events} (default: all)`),
        "--secret <secret>": FIELDS.secret,
        "--max-in-flight <n>": { help: FIELDS.maxInFlight, parse: wholeNumber(1) },
      },
      examples: {
        "tightbeam webhooks set https://example.com/hook": "every event",
        "tightbeam webhooks set https://example.com/hook --events message.delivered,message.failed": "two types",
        "tightbeam webhooks set http://localhost:3000/hook": "your own machine",
      },
      notes: `Event types: ${EVENT_TYPES.join(" ")}`,
      call: (client, url: string, { events = ["*"], secret, maxInFlight }: SetOptions) =>
        client.webhooks.set({ url, events, ...present({ secret, maxInFlight }) }),
      show: detail,
    }),
    request({
      name: "create",
      help: "Create a further endpoint, with a signing secret of its own, which is shown once.",
      arguments: { "<url>": CREATE_FIELDS.url },
      options: {
        "--events <list>": eventsOption(`${CREATE_FIELDS.events} (default: all)`),
        "--name <name>": CREATE_FIELDS.name,
        "--secret <secret>": CREATE_FIELDS.secret,
        "--max-in-flight <n>": { help: CREATE_FIELDS.maxInFlight, parse: wholeNumber(1) },
      },
      examples: { "tightbeam webhooks create https://example.com/failures --events message.failed": "one type" },
      call: (client, url: string, { events = ["*"], ...more }: CreateOptions) =>
        client.webhooks.endpoints.create({ url, events, ...present(more) }),
      show: detail,
    }),
    request({
      name: "update",
      help: "Change an endpoint: what is not named stays as it is.",
      arguments: ONE_ENDPOINT,
      options: {
        // `--url` is the server of every command.
        "--to <url>": UPDATE_FIELDS.url,
        "--events <list>": eventsOption(UPDATE_FIELDS.events),
        "--name <name>": UPDATE_FIELDS.name,
        "--secret <secret>": UPDATE_FIELDS.secret,
        "--max-in-flight <n>": { help: UPDATE_FIELDS.maxInFlight, parse: wholeNumber(1) },
      },
      examples: { "tightbeam webhooks update <id> --to https://example.com/new": "the same secret and events" },
      call: (client, id: string, { to: url, ...more }: UpdateOptions) =>
        client.webhooks.endpoints.update(id, present({ url, ...more })),
      show: detail,
    }),
    request({
      name: "pause",
      help: "Deliver nothing to an endpoint until it is resumed. Its waiting deliveries are cancelled, and can be recovered.",
      arguments: ENDPOINT,
      examples: { "tightbeam webhooks pause": "while the receiver is being changed" },
      call: (client, id: string | undefined) => activate(client, id, false),
      show: detail,
    }),
    request({
      name: "resume",
      help: "Deliver events to a paused endpoint again, from now on.",
      arguments: ENDPOINT,
      examples: { "tightbeam webhooks resume && tightbeam webhooks recover --since 1h": "and what it missed" },
      call: (client, id: string | undefined) => activate(client, id, true),
      show: detail,
    }),
    {
      name: "test",
      help: "Send a webhook.test event now, and wait for the receiver's response.",
      arguments: ENDPOINT,
      examples: { "tightbeam webhooks test && echo works": "exit code 1 unless the response is a 2xx" },
      run: async (cli, id: string | undefined) => {
        const { test, deliveries } = cli.client().webhooks;
        showAttempt(cli, await untilAttempted(deliveries, cli.terminal, await test(id), 0));
      },
    },
    ...deliveryCommands,
    ...replayCommands,
    request({
      name: "rotate-secret",
      help: "Create a new signing secret and show it once.",
      arguments: {
        "[id]": "endpoint id (wh_…); default: your signing secret, that of the primary endpoint and every callbackUrl",
      },
      options: {
        "--grace <time>": {
          help: "how long the old secret keeps signing, such as 0, 15m or 7d (default: 24h)",
          parse: seconds,
        },
      },
      examples: {
        "tightbeam webhooks rotate-secret": "a day to change the receiver",
        "tightbeam webhooks rotate-secret --grace 0": "the old secret is known to others: it signs no more",
      },
      call: (client, id: string | undefined, { grace = GRACE_SECONDS }: { grace?: number }) =>
        client.webhooks.rotateSecret(id, { gracePeriodSeconds: grace }),
      show: detail,
    }),
  ],
};

function stateOf({ active, isGone }: Pick<Webhook, "active" | "isGone">): string {
  if (!active) return "paused";
  return isGone ? "gone" : "active";
}

function detail(webhook: Webhook | SigningSecret, paint: Paint): string {
  const { secret, previousSecretExpiresAt: until } = webhook;
  const old = until === null ? null : `signs until ${until}`;
  const facts = listing({ ...(webhook.id === null ? {} : factsOf(webhook)), secret, "old secret": old }, paint);
  if (secret === undefined) return facts;
  return `${facts}\n\n${paint("yellow", "This is the only time that the secret is shown.")}`;
}

function factsOf(webhook: Webhook) {
  const { id, name, url, events, maxInFlight, standardWebhooks } = webhook;
  const signed = standardWebhooks ? "X-Signature, webhook-signature" : "X-Signature";
  const state = stateOf(webhook);
  return { id, name, url, events: events.join(", "), state, "at once": maxInFlight, "signed by": signed };
}
