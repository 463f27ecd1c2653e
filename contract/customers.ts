/** Customers: their numbers, the routes of their SMS, and their quiet hours. */

import { type Static, Type } from "typebox";
import { HealthStatus, type PROVIDERS, ProviderName } from "./instances.ts";
import { at, IDS, OWN } from "./samples.ts";
import {
  exactlyOne,
  flag,
  id,
  list,
  optional,
  record,
  request,
  SHOWN,
  says,
  string,
  stringOrNull,
  text,
} from "./schema.ts";
import { created, Email, IdempotencyKey, Pagination, Phone } from "./values.ts";

/** Longest name of a customer, a company or a key, in characters. */
const NAME_LENGTH_MAX = 200;
const ROUTES_MAX = 1_000;

/** A display name. */
export const Name = text(1, NAME_LENGTH_MAX, "Display name.");

export const CreateCustomer = request("CreateCustomer", "Body of `POST /v1/admin/customers`.", {
  name: Name,
  email: optional(says(Email, "E-mail address of the customer.")),
  company: optional(says(Name, "Company.")),
  idempotencyKey: optional(IdempotencyKey),
});

/** These providers carry SMS alone and have no e-mail addresses. */
const smsProviders: (typeof PROVIDERS)[number][] = ["smpp", "twilio"];

export const AddNumber = request(
  "AddNumber",
  "Body of `POST /v1/admin/customers/:id/numbers`: exactly one of `phoneNumber` and `email`.",
  {
    phoneNumber: optional(says(Phone, "Phone number in E.164 form, such as `+15005550100`.")),
    email: optional(says(Email, "E-mail address that iMessage knows.")),
    provider: says(ProviderName, "Provider that carries the number."),
    instanceId: optional(text(1, 128, "The provider instance. Default: the oldest one of the provider.")),
    idempotencyKey: optional(IdempotencyKey),
  },
  {
    allOf: [
      exactlyOne("phoneNumber", "email"),
      { not: { required: ["email"], properties: { email: {}, provider: { enum: smsProviders } } } },
    ],
  },
);

export const CustomerNumber = record("CustomerNumber", "A number of a customer, as admin routes return it.", {
  id: id("num"),
  phoneNumber: stringOrNull("Phone number in E.164 form."),
  email: stringOrNull("E-mail address that iMessage knows."),
  provider: says(ProviderName, "Provider that carries the number."),
  instanceId: id("inst", "The provider instance."),
  capabilities: Type.Object(
    { imessage: flag("Whether the number sends iMessages."), sms: flag("Whether the number sends SMS.") },
    { description: "Channels of the number." },
  ),
  isDefault: flag("Whether the number is used when a request has no `from`."),
  ...created,
});

export const OwnNumber = record("OwnNumber", "A number, as its customer sees it.", {
  phoneNumber: stringOrNull("Phone number in E.164 form."),
  email: stringOrNull("E-mail address that iMessage knows."),
  instanceName: string("Name of the provider instance."),
  isDefault: flag("Whether the number is used when a request has no `from`."),
  healthStatus: says(HealthStatus, "Health of the provider instance."),
});

const customerFields = {
  id: id("cust"),
  name: string("Display name."),
  email: stringOrNull("E-mail address of the customer."),
  company: stringOrNull("Company."),
  ...created,
};

export const Customer = record("Customer", "A customer.", customerFields);

export const CustomerWithNumbers = record("CustomerWithNumbers", "A customer with its numbers.", {
  ...customerFields,
  numbers: list(CustomerNumber, "The customer's numbers."),
  warnings: list(
    Type.String(),
    "Problems for the operator to fix, such as a signing secret under 16 characters, or one that begins with `whsec_` and is not base64.",
  ),
});

export const CustomerList = record("CustomerList", "A page of customers.", {
  customers: list(Customer, "The customers of this page."),
  pagination: says(Pagination, "Where the list continues."),
});

export const Route = record("Route", "The instance that carries SMS to numbers with a prefix.", {
  prefix: string("Start of the recipient's number; `+` is every number."),
  instanceId: id("inst", "The provider instance that carries the SMS."),
});

/** Body of `PUT /v1/admin/customers/:id/routes`. The engine checks the instances, and that no pair occurs twice. */
export const SetRoutes = Type.Array(
  request("SetRoute", "One route of a customer's SMS.", {
    prefix: Type.String({
      format: "prefix",
      maxLength: 16,
      description: "Start of the recipient's number; `+` is every number.",
      [SHOWN]: { pattern: "^\\+\\d{0,15}$" },
    }),
    instanceId: text(1, 128, "The provider instance that carries the SMS; it must have SMS."),
  }),
  { maxItems: ROUTES_MAX, [SHOWN]: { uniqueItems: true } },
);

const clockTime = (sentence: string) =>
  Type.String({
    format: "clockTime",
    maxLength: 5,
    description: sentence,
    [SHOWN]: { pattern: "^(?:[01]\\d|2[0-3]):[0-5]\\d$" },
  });

export const SetQuietHours = request("SetQuietHours", "Body of `PUT /v1/admin/customers/:id/quiet-hours`.", {
  start: clockTime("When the quiet hours start, as `HH:MM`."),
  end: clockTime("When the quiet hours end, as `HH:MM`; before `start` it is on the next day."),
  timeZone: optional(
    Type.String({
      format: "timeZone",
      maxLength: 64,
      description:
        "IANA time zone of recipients whose number does not tell theirs. Default: UTC. If a country has several zones and this is none of them, messages wait while it is quiet in any.",
      [SHOWN]: { pattern: "^[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*$" },
    }),
  ),
});

export const QuietHours = record("QuietHours", "When a customer's messages wait, by the clock of each recipient.", {
  start: string("When the quiet hours start, as `HH:MM`."),
  end: string("When the quiet hours end; before `start` it is on the next day."),
  timeZone: stringOrNull("Time zone of recipients whose number does not tell theirs; null is UTC."),
});

export const customerExample: Static<typeof Customer> = {
  id: IDS.customer,
  name: "Bistro Ada",
  email: "it@bistro.example",
  company: null,
  createdAt: at(0),
};

export const numberExample: Static<typeof CustomerNumber> = {
  id: IDS.number,
  phoneNumber: OWN,
  email: null,
  provider: "sandbox",
  instanceId: IDS.instance,
  capabilities: { imessage: true, sms: true },
  isDefault: true,
  createdAt: at(0),
};

export const routesExample: Static<typeof Route>[] = [
  { prefix: "+", instanceId: IDS.instance },
  { prefix: "+44", instanceId: `${IDS.instance.slice(0, -1)}b` },
];

export const quietHoursExample: Static<typeof QuietHours> = {
  start: "21:00",
  end: "08:00",
  timeZone: "America/New_York",
};
