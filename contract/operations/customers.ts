/** Operations on customers and usage. */

import { Type } from "typebox";
import {
  AddNumber,
  CreateCustomer,
  Customer,
  CustomerList,
  CustomerNumber,
  CustomerWithNumbers,
  customerExample,
  numberExample,
  QuietHours,
  quietHoursExample,
  Route,
  routesExample,
  SetQuietHours,
  SetRoutes,
} from "../customers.ts";
import { linksTo, operation, type Section } from "../operation.ts";
import { IDS, LAST_PAGE, OWN } from "../samples.ts";
import { orNull } from "../schema.ts";
import { countsExample, Usage, UsageQuery } from "../usage.ts";
import { Deleted, PageQuery } from "../values.ts";

const records: Section["operations"] = {
  "POST /v1/admin/customers": operation({
    id: "createCustomer",
    summary: "Create a customer",
    description: "Then add a number, and create a key.",
    status: 201,
    body: CreateCustomer,
    response: Customer,
    example: customerExample,
    bodyExample: { name: "Bistro Ada", email: "it@bistro.example" },
    links: linksTo("getCustomer", "addNumber"),
  }),
  "GET /v1/admin/customers": operation({
    id: "listCustomers",
    summary: "List customers",
    description: "Lists customers, newest first.",
    query: PageQuery,
    response: CustomerList,
    example: { customers: [customerExample], pagination: LAST_PAGE },
  }),
  "GET /v1/admin/customers/:id": operation({
    id: "getCustomer",
    summary: "Get a customer",
    description: "Includes the customer's numbers.",
    response: CustomerWithNumbers,
    example: { ...customerExample, numbers: [numberExample], warnings: [] },
  }),
};

const numbers: Section["operations"] = {
  "POST /v1/admin/customers/:id/numbers": operation({
    id: "addNumber",
    summary: "Add a number to a customer",
    description:
      "Give exactly one of `phoneNumber` and `email`. A number belongs to one customer. The first number is the default.",
    status: 201,
    body: AddNumber,
    response: CustomerNumber,
    example: numberExample,
    errors: ["NUMBER_TAKEN"],
    bodyExample: { phoneNumber: OWN, provider: "sandbox" },
    links: [
      { to: "makeDefaultNumber", parameters: { id: "$request.path.id", numberId: "id" } },
      { to: "removeNumber", parameters: { id: "$request.path.id", numberId: "id" } },
    ],
  }),
  "DELETE /v1/admin/customers/:id/numbers/:numberId": operation({
    id: "removeNumber",
    summary: "Remove a number from a customer",
    description: "Messages that wait to be sent from the number are still sent.",
    response: Deleted,
    example: { id: IDS.number, deleted: true },
  }),
  "PUT /v1/admin/customers/:id/numbers/:numberId/default": operation({
    id: "makeDefaultNumber",
    summary: "Make a number the default",
    description: "Messages without `from` are sent from the default number.",
    response: CustomerNumber,
    example: numberExample,
  }),
};

const rules: Section["operations"] = {
  "GET /v1/admin/customers/:id/routes": operation({
    id: "getRoutes",
    summary: "Get a customer's SMS routes",
    description: "Returns the instances that carry the customer's SMS, by recipient prefix.",
    response: Type.Array(Route),
    example: routesExample,
  }),
  "PUT /v1/admin/customers/:id/routes": operation({
    id: "setRoutes",
    summary: "Route a customer's SMS by recipient prefix",
    description:
      "Replaces all routes of the customer. An SMS takes the routes with the longest `prefix` of the recipient's number, `+` being every number: the first instance that is up, and the next one if it refuses the message. If no route matches, the SMS takes the instance of the number that it is sent from.",
    body: SetRoutes,
    response: Type.Array(Route),
    example: routesExample,
    bodyExample: routesExample,
  }),
  "GET /v1/admin/customers/:id/quiet-hours": operation({
    id: "getQuietHours",
    summary: "Get a customer's quiet hours",
    description: "`data` is null if the customer has none.",
    response: orNull(QuietHours),
    example: quietHoursExample,
  }),
  "PUT /v1/admin/customers/:id/quiet-hours": operation({
    id: "setQuietHours",
    summary: "Set a customer's quiet hours",
    description:
      "Holds the customer's messages from `start` until `end`, which may be on the next day, by the clock of each recipient: that of the country of the number, in North America of its area code. Waiting messages are checked again.",
    body: SetQuietHours,
    response: QuietHours,
    example: quietHoursExample,
    bodyExample: { start: "21:00", end: "08:00", timeZone: "America/New_York" },
  }),
  "DELETE /v1/admin/customers/:id/quiet-hours": operation({
    id: "deleteQuietHours",
    summary: "Remove a customer's quiet hours",
    description: "Messages that the quiet hours hold are sent at once.",
    response: Type.Null(),
    example: null,
  }),
};

export const customers: Section = {
  tag: "Customers",
  description: "The customers of this service, and the numbers that they send from. Takes an admin key.",
  parameters: {
    id: { description: "Id of the customer.", example: IDS.customer },
    numberId: { description: "Id of the number.", example: IDS.number },
  },
  operations: { ...records, ...numbers, ...rules },
};

export const usage: Section = {
  tag: "Usage",
  description: "Usage by day or hour.",
  operations: {
    "GET /v1/admin/usage": operation({
      id: "getUsage",
      summary: "Get usage",
      description:
        "A customer's key gets its own usage. An admin key names a key or a customer, or gets all. The period is 30 days unless given, and has at most 400 points.",
      scope: "any",
      query: UsageQuery,
      response: Usage,
      example: {
        key: { id: IDS.key, name: "Booking system" },
        period: { from: "2026-03-01T00:00:00.000Z", to: "2026-03-02T00:00:00.000Z" },
        totals: countsExample,
        series: [{ at: "2026-03-01T00:00:00.000Z", ...countsExample }],
      },
      errors: ["NOT_FOUND"],
      queryExample: { from: "2026-03-01", to: "2026-03-01", granularity: "day" },
    }),
  },
};
