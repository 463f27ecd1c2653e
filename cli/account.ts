/** `tightbeam numbers`, `capabilities` and `usage`: the rows of their commands. */

import type { Usage, UsageCounts } from "../sdk/wire.ts";
import { type CommandRow, request } from "./command.ts";
import { listing, type Paint, statusStyle } from "./output.ts";
import { type Column, table } from "./table.ts";

/** Shows which channels reach an address. */
export const capabilities: CommandRow = request({
  name: "capabilities",
  help: "Show which channels reach a phone number or e-mail address.",
  arguments: { "<phone>": "phone number (+15005550100) or iMessage e-mail address" },
  examples: {
    "tightbeam capabilities +15005550102": "no iMessage there",
    "tightbeam capabilities +15005550100 | jq -r .recommendedChannel": "one field of it",
  },
  call: (client, phone: string) => client.capabilities(phone),
  show: (found, paint) => {
    const { capabilities: channels, phoneNumber, recommendedChannel, focused, focusMode, lastChecked, cached } = found;
    return listing({ phoneNumber, ...channels, recommendedChannel, focused, focusMode, lastChecked, cached }, paint);
  },
});

/** Lists the numbers of the key's customer. */
export const numbers: CommandRow = request({
  name: "numbers",
  help: "List the numbers that you send from, and their health.",
  examples: { "tightbeam numbers | jq -r '.[] | select(.isDefault).phoneNumber'": "the default" },
  call: (client) => client.numbers(),
  show: (found, paint, width) =>
    table(
      found,
      [
        { title: "NUMBER", value: (number) => number.phoneNumber ?? number.email },
        {
          title: "HEALTH",
          value: (number) => number.healthStatus,
          style: (number) => statusStyle(number.healthStatus),
        },
        { title: "DEFAULT", value: (number) => (number.isDefault ? "yes" : "") },
        { title: "INSTANCE", value: (number) => number.instanceName },
      ],
      paint,
      width,
      "No numbers: an administrator has to give this customer one.",
    ),
});

interface UsageOptions {
  from?: string;
  to?: string;
  granularity?: "day" | "hour";
  ofKey?: string;
  ofCustomer?: string;
  admin?: boolean;
}

/** Shows what a key, a customer or everybody used. */
export const usage: CommandRow = {
  name: "usage",
  help: "Show requests, messages and webhooks of the last 30 days, or of another period.",
  options: {
    "--from <time>": "start of the period (ISO 8601)",
    "--to <time>": "end of the period (ISO 8601)",
    "--granularity <step>": { help: "one line for each (default: day)", choices: ["day", "hour"] },
    "--of-key <id>": "of this key (key_…); needs the admin key",
    "--of-customer <id>": "of this customer (cust_…); needs the admin key",
    "--admin": "of all, with the admin key",
  },
  examples: {
    "tightbeam usage": "of your own key",
    "tightbeam usage --from 2031-05-01T00:00:00Z --to 2031-05-02T00:00:00Z --granularity hour": "one day, by the hour",
    "tightbeam usage --admin": "of everybody",
    "tightbeam usage | jq .totals.messagesSent": "one number of it",
  },
  run: async (cli, { ofKey, ofCustomer, admin, ...period }: UsageOptions) => {
    const isAdmins = admin || ofKey !== undefined || ofCustomer !== undefined;
    const client = cli.client(isAdmins ? "admin" : "messages");
    cli.output().show(await client.usage({ ...period, keyId: ofKey, customerId: ofCustomer }), usageDetail);
  },
};

const COLUMNS: readonly Column<UsageCounts & { at: string }>[] = [
  { title: "AT", value: (point) => point.at },
  { title: "REQUESTS", value: (point) => point.requests },
  { title: "LIMITED", value: (point) => point.rateLimited },
  { title: "SENT", value: (point) => point.messagesSent },
  { title: "SEGMENTS", value: (point) => point.segments },
  { title: "RECEIVED", value: (point) => point.messagesReceived },
  { title: "WEBHOOKS", value: (point) => point.webhooksDelivered },
  { title: "FAILED", value: (point) => point.webhooksFailed },
];

function usageDetail({ key, period, series, totals }: Usage, paint: Paint, width: number): string {
  const facts = { key: key === null ? "all" : `${key.name} (${key.id})`, from: period.from, to: period.to };
  const busy = series.filter(({ at: _, ...counts }) => Object.values(counts).some((count) => count > 0));
  const rows = table([...busy, { at: "total", ...totals }], COLUMNS, paint, width, "");
  return `${listing(facts, paint)}\n\n${rows}`;
}
