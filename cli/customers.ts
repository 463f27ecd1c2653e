/** `tightbeam customers`: whose messages this service carries, and the numbers that they send from. Needs the admin key. */

import { type Command, Option } from "commander";
import {
  type AddNumber,
  type Customer,
  type CustomerNumber,
  type CustomerWithNumbers,
  PROVIDERS,
  type ProviderName,
} from "../sdk/wire.ts";
import { addPaging, type Cli, examples, onlyCustomer, type Paging, showList } from "./command.ts";
import { UsageError } from "./failure.ts";
import { listing, type Paint } from "./output.ts";
import { type Column, table } from "./table.ts";

const COLUMNS: readonly Column<Customer>[] = [
  { title: "ID", value: (customer) => customer.id },
  { title: "E-MAIL", value: (customer) => customer.email },
  { title: "COMPANY", value: (customer) => customer.company },
  { title: "NAME", value: (customer) => customer.name },
];

const NUMBER_COLUMNS: readonly Column<CustomerNumber>[] = [
  { title: "NUMBER", value: (number) => number.phoneNumber ?? number.email },
  { title: "CHANNELS", value: channelsOf },
  { title: "PROVIDER", value: (number) => number.provider },
  { title: "INSTANCE", value: (number) => number.instanceId },
  { title: "DEFAULT", value: (number) => (number.isDefault ? "yes" : "") },
];

interface OfCustomer {
  customer?: string;
}

/** Adds `customers` and what is under it. */
export function addCustomers(program: Command, cli: Cli): void {
  const customers = program
    .command("customers")
    .description("Make customers, and give them numbers to send from. Needs the admin key.")
    .addHelpText(
      "after",
      examples({
        "tightbeam customers list": "",
        "tightbeam customers add-number +15005550007 --provider smpp": "for the one customer there is",
        "tightbeam customers get <id>": "one with its numbers and their channels",
      }),
    );
  addPaging(customers.command("list").description("List customers, the newest first."))
    .addHelpText("after", examples({ "tightbeam customers list | jq -r '.[].id'": "just the ids" }))
    .action((options: Paging) => {
      const { list, listAll } = cli.client("admin").admin.customers;
      return showList(
        cli,
        { list, listAll, itemsOf: (page) => page.customers, columns: COLUMNS, empty: "No customers." },
        options,
      );
    });
  customers
    .command("get")
    .description("Show one customer with its numbers.")
    .argument("<id>", "customer id (cust_…)")
    .addHelpText("after", examples({ "tightbeam customers get <id> | jq '.numbers'": "just the numbers" }))
    .action(async (id: string) => cli.output().show(await cli.client("admin").admin.customers.get(id), detail));
  customers
    .command("create")
    .description("Make a customer: its keys see its own messages and nobody else's.")
    .argument("<name>", "how you call it")
    .option("--email <email>", "an e-mail address to find it by")
    .option("--company <company>", "the company it belongs to")
    .addHelpText("after", examples({ 'tightbeam customers create "Bistro" --email jo@example.com': "" }))
    .action(async (name: string, more: { email?: string; company?: string }) =>
      cli.output().show(await cli.client("admin").admin.customers.create({ name, ...more }), facts),
    );
  addNumbers(customers, cli);
}

function addNumbers(customers: Command, cli: Cli): void {
  const withCustomer = (command: Command) =>
    command.option("--customer <id>", "whose it is (cust_…); not needed while there is only one customer");
  withCustomer(
    customers
      .command("add-number")
      .description("Give a customer a number, or an e-mail address of iMessage, to send from.")
      .argument("<address>", "phone number in E.164 form, or e-mail address")
      .addOption(new Option("--provider <provider>", "who carries it").choices(PROVIDERS).makeOptionMandatory())
      .option("--instance <id>", "which instance of it (inst_…); else its oldest one"),
  )
    .addHelpText("after", examples({ "tightbeam customers add-number +15005550007 --provider bluebubbles": "" }))
    .action(async (address: string, given: OfCustomer & { provider: ProviderName; instance?: string }) => {
      const { provider, instance } = given;
      const number: AddNumber = {
        ...(address.includes("@") ? { email: address } : { phoneNumber: address }),
        provider,
        ...(instance === undefined ? {} : { instanceId: instance }),
      };
      const client = cli.client("admin");
      const customerId = given.customer ?? (await onlyCustomer(client));
      cli.output().show(await client.admin.numbers.add(customerId, number), numberFacts);
    });
  const one = (name: string, description: string, meaning: string) =>
    withCustomer(customers.command(name).description(description).argument("<address>", "the number")).addHelpText(
      "after",
      examples({ [`tightbeam customers ${name} +15005550007`]: meaning }),
    );
  one("remove-number", "Take a number from a customer.", "what is queued from it still goes out").action(
    async (address: string, given: OfCustomer) => {
      const { routes, customerId, number } = await find(cli, address, given);
      cli.output().show(await routes.remove(customerId, number.id), () => `${address} removed`);
    },
  );
  one("default-number", "Send from this number where no other is named.", "").action(
    async (address: string, given: OfCustomer) => {
      const { routes, customerId, number } = await find(cli, address, given);
      cli.output().show(await routes.makeDefault(customerId, number.id), numberFacts);
    },
  );
}

/** The number with this address of the customer that is named, else of the only one. */
async function find(cli: Cli, address: string, given: OfCustomer) {
  const client = cli.client("admin");
  const customerId = given.customer ?? (await onlyCustomer(client));
  const { numbers } = await client.admin.customers.get(customerId);
  const number = numbers.find(({ phoneNumber, email }) => phoneNumber === address || email === address);
  if (number === undefined) throw new UsageError(`customer ${customerId} has no number ${address}.`);
  return { routes: client.admin.numbers, customerId, number };
}

function channelsOf({ capabilities: { imessage, sms } }: CustomerNumber): string {
  return [...(imessage ? ["imessage"] : []), ...(sms ? ["sms"] : [])].join(", ");
}

function facts({ id, name, email, company, createdAt }: Customer, paint: Paint): string {
  return listing({ id, name, email, company, createdAt }, paint);
}

function numberFacts(number: CustomerNumber, paint: Paint): string {
  const { id, phoneNumber, email, provider, instanceId, isDefault } = number;
  const channels = channelsOf(number);
  return listing({ id, number: phoneNumber ?? email, channels, provider, instanceId, isDefault }, paint);
}

function detail(customer: CustomerWithNumbers, paint: Paint, width: number): string {
  const numbers = table(customer.numbers, NUMBER_COLUMNS, paint, width, "No numbers: tightbeam customers add-number");
  return `${facts(customer, paint)}\n\n${numbers}`;
}
