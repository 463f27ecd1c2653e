/** Usage: what a key or customer has used. */

import { type Static, Type } from "typebox";
import { choice, closed, at as instant, list, NAME, optional, orNull, record, says, string, text } from "./schema.ts";
import { boundShown, size } from "./values.ts";

const counts = {
  requests: size("Requests that got a response."),
  rateLimited: size("Requests that were refused by the rate limit."),
  messagesSent: size("Messages that a provider accepted."),
  segments: size("SMS segments that were sent."),
  messagesReceived: size("Messages that were received."),
  webhooksDelivered: size("Webhook attempts that succeeded."),
  webhooksFailed: size("Webhook attempts that failed."),
};

export const UsageCounts = record("UsageCounts", "Counts of usage.", counts);
export const UsagePoint = record("UsagePoint", "Usage of one day or hour.", {
  at: instant("Start of the day or hour."),
  ...counts,
});

export const Usage = record("Usage", "Response of `GET /v1/admin/usage`.", {
  key: orNull(
    Type.Object({ id: string("Id of the key."), name: string("Display name.") }),
    "The key that the usage is of; null if it is of several.",
  ),
  period: Type.Object(
    { from: instant("Start of the period."), to: instant("End of the period, exclusive.") },
    { description: "Start and end." },
  ),
  totals: says(UsageCounts, "Usage of the whole period."),
  series: list(UsagePoint, "Usage by day or hour, including those without any."),
});

export const GRANULARITIES = ["day", "hour"] as const;
export const Granularity = choice("Granularity", GRANULARITIES, "Length of one point of usage.");

/** Query of `GET /v1/admin/usage`. */
export const UsageQuery = closed({
  keyId: optional(text(1, 128, "Only this key; takes an admin key.")),
  customerId: optional(text(1, 128, "Only this customer; takes an admin key.")),
  from: optional(
    text(1, 40, "Start of the period: a date or an instant. Default: 30 days before its end.", boundShown),
  ),
  to: optional(text(1, 40, "End of the period: a date, inclusive, or an instant. Default: now.", boundShown)),
  granularity: Type.Enum([...GRANULARITIES], {
    default: "day",
    description: "Length of one point.",
    [NAME]: "Granularity",
  }),
});

export const countsExample: Static<typeof UsageCounts> = {
  requests: 41,
  rateLimited: 0,
  messagesSent: 20,
  segments: 22,
  messagesReceived: 7,
  webhooksDelivered: 88,
  webhooksFailed: 1,
};
