/** `tightbeam webhooks`: where events go, and whether they got there. */

import type { Command } from "commander";
import { EVENT_TYPES, type EventType, type Webhook } from "../sdk/wire.ts";
import { type Cli, examples } from "./command.ts";
import { addDeliveries, showAttempt, untilAttempted } from "./deliveries.ts";
import { UsageError } from "./failure.ts";
import { listing, type Paint, statusStyle } from "./output.ts";
import { table } from "./table.ts";
import { oneOrMore, seconds, wholeNumber } from "./values.ts";

const EVENT_CHOICES = ["*", ...EVENT_TYPES] as const;

/** Adds `webhooks` and what is under it. */
export function addWebhooks(program: Command, cli: Cli): void {
  const webhooks = program
    .command("webhooks")
    .description("Say where events go, try it, and see what was delivered.")
    .addHelpText(
      "after",
      examples({
        "tightbeam webhooks set https://example.com/hook": "send every event there",
        "tightbeam webhooks test": "send one event now and wait for the answer",
        "tightbeam webhooks deliveries --status exhausted": "what never arrived",
        "tightbeam webhooks replay --since 2031-05-01T09:00:00Z": "send the events since then again",
      }),
    );
  addConfiguration(webhooks, cli);
  addSet(webhooks, cli);
  addTest(webhooks, cli);
  addDeliveries(webhooks, cli);
  addReplay(webhooks, cli);
  addRotateSecret(webhooks, cli);
}

function addConfiguration(webhooks: Command, cli: Cli): void {
  webhooks
    .command("get")
    .description("Show the configuration, or another endpoint.")
    .argument("[id]", "endpoint id (wh_…)")
    .addHelpText("after", examples({ "tightbeam webhooks get | jq -r .url": "just the address" }))
    .action(async (id: string | undefined) => {
      const routes = cli.client("messages").webhooks;
      const webhook = id === undefined ? await routes.get() : await routes.endpoints.get(id);
      cli.output().show(webhook, (found, paint) => (found === null ? NOT_CONFIGURED : detail(found, paint)));
    });
  webhooks
    .command("list")
    .description("List every endpoint, the configuration first.")
    .addHelpText("after", examples({ "tightbeam webhooks list | jq -r '.[].id'": "just the ids" }))
    .action(async () => {
      const all = await cli.client("messages").webhooks.endpoints.list();
      cli.output().show(all, (rows, paint, width) =>
        table(
          rows,
          [
            { title: "ID", value: (row) => row.id },
            { title: "STATE", value: stateOf, style: (row) => statusStyle(stateOf(row)) },
            { title: "EVENTS", value: (row) => (row.events.includes("*") ? "all" : row.events.length) },
            { title: "NAME", value: (row) => row.name },
            { title: "URL", value: (row) => row.url },
          ],
          paint,
          width,
          NOT_CONFIGURED,
        ),
      );
    });
  webhooks
    .command("delete")
    .description("Remove the configuration, or another endpoint. Its waiting deliveries are cancelled.")
    .argument("[id]", "endpoint id (wh_…)")
    .addHelpText("after", examples({ "tightbeam webhooks delete": "the signing secret stays for the next one" }))
    .action(async (id: string | undefined) =>
      cli.output().show(await cli.client("messages").webhooks.delete(id), (deleted) => `${deleted.id} deleted`),
    );
}

const NOT_CONFIGURED = "No webhook is configured: tightbeam webhooks set <url>";

function addSet(webhooks: Command, cli: Cli): void {
  webhooks
    .command("set")
    .description("Make the configuration, or change it: every event of these types is sent to this address, signed.")
    .argument("<url>", "HTTPS address of your receiver; http://localhost works with a server for trying things out")
    .option(
      "--events <list>",
      "event types with commas between; may be repeated (default: all)",
      oneOrMore(EVENT_CHOICES),
    )
    .option("--secret <secret>", "sign with this secret; left out, the one there is stays, or one is made and shown")
    .option("--max-in-flight <n>", "at most so many at once, 1 to 256; left out, it stays as it is", wholeNumber(1))
    .addHelpText(
      "after",
      `${examples({
        "tightbeam webhooks set https://example.com/hook": "every event",
        "tightbeam webhooks set https://example.com/hook --events message.delivered,message.failed": "two types",
        "tightbeam webhooks set http://localhost:3000/hook": "your own machine",
      })}\n\nEvent types: ${EVENT_TYPES.join(" ")}`,
    )
    .action(async (url: string, options: { events?: (EventType | "*")[]; secret?: string; maxInFlight?: number }) => {
      const webhook = await cli.client("messages").webhooks.set({
        url,
        events: options.events ?? ["*"],
        ...(options.secret === undefined ? {} : { secret: options.secret }),
        ...(options.maxInFlight === undefined ? {} : { maxInFlight: options.maxInFlight }),
      });
      cli.output().show(webhook, detail);
    });
}

function addTest(webhooks: Command, cli: Cli): void {
  webhooks
    .command("test")
    .description("Send a webhook.test event now, and wait for what the receiver answers.")
    .argument("[id]", "endpoint id (wh_…); the configuration when left out")
    .addHelpText(
      "after",
      `${examples({ "tightbeam webhooks test && echo works": "exit code 1 when it was not taken" })}`,
    )
    .action(async (id: string | undefined) => {
      const routes = cli.client("messages").webhooks;
      const delivery = await routes.test(id);
      showAttempt(cli, await untilAttempted(routes.deliveries, cli.terminal, delivery, 0));
    });
}

function addReplay(webhooks: Command, cli: Cli): void {
  webhooks
    .command("replay")
    .description("Send the events of a time again, those that were missed while an endpoint was away included.")
    .argument("[id]", "endpoint id (wh_…); the configuration when left out")
    .requiredOption("--since <time>", "from this time on (ISO 8601)")
    .option("--until <time>", "and before this time (ISO 8601)")
    .option("--types <list>", "only these event types, with commas between", oneOrMore(EVENT_TYPES))
    .addHelpText(
      "after",
      examples({
        "tightbeam webhooks replay --since 2031-05-01T09:00:00Z": "to the configuration",
        "tightbeam webhooks replay <id> --since 2031-05-01T09:00:00Z --types message.inbound": "one type",
      }),
    )
    .action(async (id: string | undefined, options: { since: string; until?: string; types?: EventType[] }) => {
      const routes = cli.client("messages").webhooks;
      const target = id ?? (await routes.get())?.id;
      if (target === undefined) throw new UsageError("no webhook is configured, and no endpoint was named.");
      const replayed = await routes.replay(target, options);
      cli.output().show(replayed, ({ deliveries }) => `${deliveries} deliveries under way to ${target}`);
    });
}

function addRotateSecret(webhooks: Command, cli: Cli): void {
  webhooks
    .command("rotate-secret")
    .description("Make a new signing secret and show it once.")
    .argument("[id]", "endpoint id (wh_…); the configuration when left out")
    .option("--grace <time>", "how long the old secret signs too, up to 7d (default: 0)", seconds)
    .addHelpText("after", examples({ "tightbeam webhooks rotate-secret --grace 1d": "time to change the receiver" }))
    .action(async (id: string | undefined, { grace }: { grace?: number }) => {
      const body = grace === undefined ? undefined : { gracePeriodSeconds: grace };
      cli.output().show(await cli.client("messages").webhooks.rotateSecret(id, body), detail);
    });
}

function stateOf(webhook: Webhook): string {
  return webhook.active ? "active" : "paused";
}

function detail(webhook: Webhook, paint: Paint): string {
  const facts = listing(
    {
      id: webhook.id,
      name: webhook.name,
      url: webhook.url,
      events: webhook.events.join(", "),
      state: stateOf(webhook),
      "at once": webhook.maxInFlight,
      secret: webhook.secret,
    },
    paint,
  );
  if (webhook.secret === undefined) return facts;
  return `${facts}\n\n${paint("yellow", "This is the only time that the secret is shown.")}`;
}
