/** `tightbeam usage`: what was used, by this key, another, a customer or all. */

import { type Command, Option } from "commander";
import type { Usage, UsageCounts } from "../sdk/wire.ts";
import { type Cli, examples } from "./command.ts";
import { listing, type Paint } from "./output.ts";
import { type Column, table } from "./table.ts";

interface UsageOptions {
  from?: string;
  to?: string;
  granularity?: "day" | "hour";
  ofKey?: string;
  ofCustomer?: string;
  admin?: boolean;
}

type Point = UsageCounts & { at: string };

const COLUMNS: readonly Column<Point>[] = [
  { title: "AT", value: (point) => point.at },
  { title: "REQUESTS", value: (point) => point.requests },
  { title: "LIMITED", value: (point) => point.rateLimited },
  { title: "SENT", value: (point) => point.messagesSent },
  { title: "SEGMENTS", value: (point) => point.segments },
  { title: "RECEIVED", value: (point) => point.messagesReceived },
  { title: "WEBHOOKS", value: (point) => point.webhooksDelivered },
  { title: "FAILED", value: (point) => point.webhooksFailed },
];

/** Adds `usage`. */
export function addUsage(program: Command, cli: Cli): void {
  program
    .command("usage")
    .description("Show requests, messages and webhooks of the last 30 days, or of another time.")
    .option("--from <time>", "from this time on (ISO 8601)")
    .option("--to <time>", "up to this time (ISO 8601)")
    .addOption(new Option("--granularity <step>", "one line for each (default: day)").choices(["day", "hour"]))
    .option("--of-key <id>", "of this key (key_…); needs the admin key")
    .option("--of-customer <id>", "of this customer (cust_…); needs the admin key")
    .option("--admin", "of all, with the admin key")
    .addHelpText(
      "after",
      examples({
        "tightbeam usage": "of your own key",
        "tightbeam usage --from 2031-05-01T00:00:00Z --to 2031-05-02T00:00:00Z --granularity hour":
          "one day, by the hour",
        "tightbeam usage --admin": "of everybody",
        "tightbeam usage | jq .totals.messagesSent": "one number of it",
      }),
    )
    .action(async ({ ofKey, ofCustomer, admin, ...period }: UsageOptions) => {
      const isAdmins = admin || ofKey !== undefined || ofCustomer !== undefined;
      const client = cli.client(isAdmins ? "admin" : "messages");
      cli.output().show(await client.usage({ ...period, keyId: ofKey, customerId: ofCustomer }), detail);
    });
}

function detail(usage: Usage, paint: Paint, width: number): string {
  const facts = listing(
    {
      key: usage.key === null ? "all" : `${usage.key.name} (${usage.key.id})`,
      from: usage.period.from,
      to: usage.period.to,
    },
    paint,
  );
  const busy = usage.series.filter(({ at: _, ...counts }) => Object.values(counts).some((count) => count > 0));
  const rows = [...busy, { at: "total", ...usage.totals }];
  return `${facts}\n\n${table(rows, COLUMNS, paint, width, "")}`;
}
