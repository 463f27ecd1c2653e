/** `tightbeam customers`, `routes` and `quiet-hours`: the rows of their commands. They need the admin key. */

import type { Tightbeam } from "../sdk/client.ts";
import {
  type Customer,
  type CustomerNumber,
  type CustomerWithNumbers,
  PROVIDERS,
  type ProviderName,
  type QuietHours,
  type Route,
} from "../sdk/wire.ts";
import { type CommandRow, customerRequest, list, present, request } from "./command.ts";
import { UsageError } from "./failure.ts";
import { listing, type Paint } from "./output.ts";
import { REQUEST_FIELDS } from "./request-fields.ts";
import { table } from "./table.ts";

/** Commands about customers and their numbers. */
export const customers: CommandRow = {
  name: "customers",
  key: "admin",
  help: "Create customers, and give them numbers to send from. Needs the admin key.",
  examples: {
    "tightbeam customers list": "",
    "tightbeam customers add-number +15005550007 --provider smpp": "for the only customer",
    "tightbeam customers get <id>": "one with its numbers and their channels",
  },
  commands: [
    list({
      name: "list",
      help: "List customers, the newest first.",
      examples: { "tightbeam customers list | jq -r '.[].id'": "just the ids" },
      pages: (client) => client.admin.customers,
      items: (page) => page.customers,
      columns: [
        { title: "ID", value: (customer) => customer.id },
        { title: "E-MAIL", value: (customer) => customer.email },
        { title: "COMPANY", value: (customer) => customer.company },
        { title: "NAME", value: (customer) => customer.name },
      ],
      empty: "No customers.",
    }),
    request({
      name: "get",
      help: "Show one customer with its numbers.",
      arguments: { "<id>": "customer id (cust_…)" },
      examples: { "tightbeam customers get <id> | jq '.numbers'": "just the numbers" },
      call: (client, id: string) => client.admin.customers.get(id),
      show: customerWithNumbers,
    }),
    request({
      name: "create",
      help: "Create a customer. Its keys see its own messages and nobody else's.",
      arguments: { "<name>": "display name" },
      options: {
        "--email <email>": REQUEST_FIELDS.CreateCustomer.email,
        "--company <company>": REQUEST_FIELDS.CreateCustomer.company,
      },
      examples: { 'tightbeam customers create "Bistro" --email jo@example.com': "" },
      call: (client, name: string, more: { email?: string; company?: string }) =>
        client.admin.customers.create({ name, ...more }),
      show: customerDetail,
    }),
    customerRequest({
      name: "add-number",
      help: "Give a customer a phone number, or an iMessage e-mail address, to send from.",
      arguments: { "<address>": "phone number in E.164 form, or e-mail address" },
      options: {
        "--provider <provider>": { help: REQUEST_FIELDS.AddNumber.provider, choices: PROVIDERS, required: true },
        "--instance <id>": REQUEST_FIELDS.AddNumber.instanceId,
      },
      examples: { "tightbeam customers add-number +15005550007 --provider bluebubbles": "" },
      call: (
        client,
        customerId,
        address: string,
        { provider, instance }: { provider: ProviderName; instance?: string },
      ) => {
        const named = address.includes("@") ? { email: address } : { phoneNumber: address };
        return client.admin.numbers.add(customerId, { ...named, provider, ...present({ instanceId: instance }) });
      },
      show: numberDetail,
    }),
    customerRequest({
      name: "remove-number",
      help: "Take a number from a customer.",
      arguments: { "<address>": "the number" },
      examples: { "tightbeam customers remove-number +15005550007": "its queued messages are still sent" },
      call: async (client, customerId, address: string) =>
        client.admin.numbers.remove(customerId, (await findNumber(client, customerId, address)).id),
      show: (_deleted, _paint, _width, address: string) => `${address} removed`,
    }),
    customerRequest({
      name: "default-number",
      help: "Make a number the customer's default sender.",
      arguments: { "<address>": "the number" },
      examples: { "tightbeam customers default-number +15005550007": "" },
      call: async (client, customerId, address: string) =>
        client.admin.numbers.makeDefault(customerId, (await findNumber(client, customerId, address)).id),
      show: numberDetail,
    }),
  ],
};

/** The customer's number with this address. */
async function findNumber(client: Tightbeam, customerId: string, address: string): Promise<CustomerNumber> {
  const { numbers } = await client.admin.customers.get(customerId);
  const number = numbers.find(({ phoneNumber, email }) => phoneNumber === address || email === address);
  if (number === undefined) throw new UsageError(`customer ${customerId} has no number ${address}.`);
  return number;
}

function channelsOf({ capabilities: { imessage, sms } }: CustomerNumber): string {
  return [...(imessage ? ["imessage"] : []), ...(sms ? ["sms"] : [])].join(", ");
}

function customerDetail({ id, name, email, company, createdAt }: Customer, paint: Paint): string {
  return listing({ id, name, email, company, createdAt }, paint);
}

function customerWithNumbers(customer: CustomerWithNumbers, paint: Paint, width: number): string {
  const numbers = table(
    customer.numbers,
    [
      { title: "NUMBER", value: (number) => number.phoneNumber ?? number.email },
      { title: "CHANNELS", value: channelsOf },
      { title: "PROVIDER", value: (number) => number.provider },
      { title: "INSTANCE", value: (number) => number.instanceId },
      { title: "DEFAULT", value: (number) => (number.isDefault ? "yes" : "") },
    ],
    paint,
    width,
    "No numbers: tightbeam customers add-number",
  );
  return `${customerDetail(customer, paint)}\n\n${numbers}`;
}

function numberDetail(number: CustomerNumber, paint: Paint): string {
  const { id, phoneNumber, email, provider, instanceId, isDefault } = number;
  const channels = channelsOf(number);
  return listing({ id, number: phoneNumber ?? email, channels, provider, instanceId, isDefault }, paint);
}

/** Commands about which instances carry a customer's SMS. */
export const routes: CommandRow = {
  name: "routes",
  key: "admin",
  help: "Route a customer's SMS to instances by recipient prefix. Needs the admin key.",
  examples: {
    "tightbeam routes set '+=inst_world'": "every SMS",
    "tightbeam routes set '+1=inst_a' '+1=inst_b'": "the second if the first is down or rejects a message",
    "tightbeam routes list": "",
    "tightbeam routes remove": "send SMS through the number's own instance again",
  },
  commands: [
    customerRequest({
      name: "list",
      help: "List a customer's SMS routes.",
      examples: { "tightbeam routes list | jq -r '.[].prefix'": "" },
      call: (client, customerId) => client.admin.customers.routes(customerId),
      show: routeTable,
    }),
    customerRequest({
      name: "set",
      help: "Replace all routes by these, each as `prefix=instance`.",
      arguments: {
        "<routes...>": {
          help: "each as prefix=instance; the longest prefix wins, and among equal prefixes the first instance that is up",
          parse: (text, before: Route[] | undefined) => [...(before ?? []), routeOf(text)],
        },
      },
      examples: { "tightbeam routes set '+44=inst_uk' '+=inst_world'": "" },
      call: (client, customerId, wanted: Route[]) => client.admin.customers.setRoutes(customerId, wanted),
      show: routeTable,
    }),
    customerRequest({
      name: "remove",
      help: "Remove all routes: SMS goes through the instance of the number that sends it.",
      examples: { "tightbeam routes remove": "" },
      call: (client, customerId) => client.admin.customers.setRoutes(customerId, []),
      show: routeTable,
    }),
  ],
};

function routeOf(text: string): Route {
  const [prefix = "", instanceId = "", ...more] = text.split("=");
  if (prefix !== "" && instanceId !== "" && more.length === 0) return { prefix, instanceId };
  throw new UsageError(`${text} is no route: write prefix=instance, such as '+44=inst_…'.`);
}

function routeTable(all: Route[], paint: Paint, width: number): string {
  return table(
    all,
    [
      { title: "PREFIX", value: (route) => route.prefix },
      { title: "INSTANCE", value: (route) => route.instanceId },
    ],
    paint,
    width,
    "No routes: SMS goes through the instance of the number that sends it.",
  );
}

/** Commands about a customer's quiet hours. */
export const quietHours: CommandRow = {
  name: "quiet-hours",
  key: "admin",
  help: "Hold a customer's messages during the recipients' quiet hours. Needs the admin key.",
  examples: {
    "tightbeam quiet-hours set 21:00 08:00": "send nothing from 9 p.m. to 8 a.m.",
    "tightbeam quiet-hours get": "",
    "tightbeam quiet-hours remove": "send what is held",
  },
  commands: [
    customerRequest({
      name: "get",
      help: "Show a customer's quiet hours.",
      examples: { "tightbeam quiet-hours get | jq -r '.timeZone'": "" },
      call: (client, customerId) => client.admin.customers.quietHours(customerId),
      show: quietHoursDetail,
    }),
    customerRequest({
      name: "set",
      help: "Set quiet hours from one time of day to another. They apply to waiting messages too.",
      arguments: { "<start>": "first minute, as HH:MM", "<end>": "end, as HH:MM; before the start: on the next day" },
      options: { "--time-zone <zone>": "for recipients whose number does not tell their time zone (default: UTC)" },
      examples: { "tightbeam quiet-hours set 21:00 08:00 --time-zone America/New_York": "" },
      call: (client, customerId, start: string, end: string, { timeZone }: { timeZone?: string }) =>
        client.admin.customers.setQuietHours(customerId, { start, end, ...present({ timeZone }) }),
      show: quietHoursDetail,
    }),
    customerRequest({
      name: "remove",
      help: "Remove a customer's quiet hours: waiting messages are sent at once.",
      examples: { "tightbeam quiet-hours remove": "" },
      call: (client, customerId) => client.admin.customers.deleteQuietHours(customerId),
      show: () => "no quiet hours",
    }),
  ],
};

function quietHoursDetail(hours: QuietHours | null, paint: Paint): string {
  if (hours === null) return "No quiet hours: messages are sent at any time.";
  const { start, end, timeZone } = hours;
  return listing({ start, end, timeZone: timeZone ?? "UTC, unless the number tells another" }, paint);
}
