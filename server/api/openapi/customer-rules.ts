/** Reference of how a customer's messages are sent: which instances carry its SMS, and when they wait. */

import { Type } from "typebox";
import type { QuietHours as WireQuietHours, Route as WireRoute } from "../../../sdk/wire.ts";
import { wire } from "../schemas/common.ts";
import { component, id, operation, orNull, type Section, TextOrNull } from "./operation.ts";
import { IDS } from "./samples.ts";

const SmsRoute = wire<WireRoute>()(component("Route", { prefix: Type.String(), instanceId: id("inst") }));

const QuietHours = wire<WireQuietHours>()(
  component("QuietHours", { start: Type.String(), end: Type.String(), timeZone: TextOrNull }),
);

const smsRoutes: WireRoute[] = [
  { prefix: "+", instanceId: IDS.instance },
  { prefix: "+44", instanceId: `${IDS.instance.slice(0, -1)}b` },
];

const quietHours: WireQuietHours = { start: "21:00", end: "08:00", timeZone: "America/New_York" };

/** Operations on the rules of one customer: a part of the section of customers. */
export const ruleOperations: Section["operations"] = {
  "GET /v1/admin/customers/:id/routes": operation({
    id: "getRoutes",
    summary: "Get a customer's routes",
    description: "Which instances carry its SMS, by what the recipient's number begins with.",
    answer: Type.Array(SmsRoute),
    example: smsRoutes,
  }),
  "PUT /v1/admin/customers/:id/routes": operation({
    id: "setRoutes",
    summary: "Set a customer's routes",
    description:
      "In place of all that it had. An SMS goes by the routes with the longest `prefix` that the recipient's number begins with, `+` being every number; of several the first that is up, and the next where it is refused. Where no route matches, it goes by the instance that the number it is sent from lives on.",
    answer: Type.Array(SmsRoute),
    example: smsRoutes,
    body: smsRoutes,
  }),
  "GET /v1/admin/customers/:id/quiet-hours": operation({
    id: "getQuietHours",
    summary: "Get a customer's quiet hours",
    description: "Null where it has none.",
    answer: orNull(QuietHours),
    example: quietHours,
  }),
  "PUT /v1/admin/customers/:id/quiet-hours": operation({
    id: "setQuietHours",
    summary: "Set a customer's quiet hours",
    description:
      "From `start` until `end`, which may be on the next day, its messages wait, by the clock of each recipient: that of the country, and in North America of the area code, of the number. What waits already is looked at again.",
    answer: QuietHours,
    example: quietHours,
    body: { start: "21:00", end: "08:00", timeZone: "America/New_York" },
  }),
  "DELETE /v1/admin/customers/:id/quiet-hours": operation({
    id: "deleteQuietHours",
    summary: "Take a customer's quiet hours away",
    description: "What they hold back goes out at once.",
    answer: Type.Null(),
    example: null,
  }),
};
